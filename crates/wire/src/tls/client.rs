//! The side of a TLS connection that asks.

use std::sync::Arc;

use model::Instant;
use model::http2::Http2Record;
use model::tls::{HandshakeKind, Negotiated, TlsRecord};
use rustls::HandshakeKind as Kind;
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;

use super::connector::HTTP_1;
use super::error::TlsError;
use super::facts::{Facts, Tally};
use super::offer::{Draw, Early, Offer};
use super::session::{OVERHEAD, Session, Stop};
use crate::client::{Client, End, ProtocolError, Refused, Sink, StreamId, Transmit};
use crate::message::{Request, RequestId};

/// A protocol that can stand inside TLS: it reads what it is lent without changing it.
pub trait Inner: Client {
    /// Its name in ALPN.
    const APPLICATION: &'static [u8] = HTTP_1;
    /// Whether a server has to agree to it there.
    const IS_AGREED: bool = false;

    /// As [`Client::handle_bytes`].
    ///
    /// # Errors
    ///
    /// As there.
    fn handle_plain(
        &mut self,
        shared: &mut Self::Shared,
        now: Instant,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError>;
}

/// What the connections of one worker have in common.
#[derive(Debug)]
pub struct Shared<C: Client> {
    inner: C::Shared,
    /// One, or one for each certificate of the client.
    offers: Box<[Offer]>,
    /// Which of them the next connection makes.
    turn: usize,
    draw: Option<Draw>,
    name: ServerName<'static>,
    /// The bytes of each request, by its id.
    requests: Arc<[Box<[u8]>]>,
    /// The longest of them.
    longest: usize,
    /// The most that is sent at once.
    piece: usize,
    tally: Tally,
}

impl<C: Client> Shared<C> {
    pub(super) fn new(
        inner: C::Shared,
        offers: Box<[Offer]>,
        draw: Option<Draw>,
        name: ServerName<'static>,
        requests: Arc<[Box<[u8]>]>,
        piece: usize,
    ) -> Self {
        assert!(piece > OVERHEAD, "room for more than a header");
        let lengths = requests.iter().map(|request| request.len());
        Self {
            inner,
            tally: Tally::of(offers.len()),
            offers,
            turn: 0,
            draw,
            name,
            longest: lengths.max().unwrap_or(0),
            requests,
            piece,
        }
    }
}

/// One connection: `C` inside TLS.
#[derive(Debug)]
pub struct Tls<C> {
    session: Box<Session<UnbufferedClientConnection>>,
    inner: C,
    requests: Arc<[Box<[u8]>]>,
    longest: usize,
    piece: usize,
    /// What the inner side wrote, before it is encrypted.
    plain: Vec<u8>,
    /// A request that was sent in part: how much of it.
    sending: Option<(RequestId, usize)>,
    /// What is sent in place of the request that begins; empty: nothing is.
    dictated: Vec<u8>,
    /// The handshake is over, and counted.
    is_established: bool,
    /// Which certificate of the client it shows, of several.
    certificate: usize,
    /// Of which kind it was to be; none: as it comes.
    wanted: Option<HandshakeKind>,
    early: Early,
    /// What went out early.
    said: Vec<u8>,
    /// The peer was told that nothing more is asked.
    is_finished: bool,
    /// TLS takes or gives no more.
    is_over: bool,
}

impl<C: Inner> Client for Tls<C> {
    type Shared = Shared<C>;

    const HANDSHAKES: bool = true;
    const MULTIPLEXES: bool = C::MULTIPLEXES;
    const GATHERS: bool = C::GATHERS;
    const WRITES: bool = true;

    fn new(shared: &mut Shared<C>) -> Self {
        let wanted = shared.draw.as_mut().map(Draw::kind);
        let offer = &shared.offers[shared.turn];
        let (config, name) = (Arc::clone(offer.config(wanted)), shared.name.clone());
        let side = UnbufferedClientConnection::new(config, name);
        let mut session = Session::new(side.expect("one was made before the run"));
        if wanted == Some(HandshakeKind::Early) {
            let fits = shared.longest + OVERHEAD <= shared.piece;
            session.holds = fits && shared.longest <= offer.early_bytes(wanted);
        }
        let begun = session.begin();
        Self {
            early: match session.takes_early {
                true => Early::MayBegin,
                false => Early::No,
            },
            certificate: shared.turn,
            wanted,
            said: Vec::new(),
            session: Box::new(session),
            inner: C::new(&mut shared.inner),
            requests: Arc::clone(&shared.requests),
            longest: shared.longest,
            piece: shared.piece,
            plain: Vec::new(),
            sending: None,
            dictated: Vec::new(),
            is_established: false,
            is_finished: false,
            is_over: begun.is_err(),
        }
    }

    fn identities(shared: &Shared<C>) -> usize {
        shared.offers.len()
    }

    fn take_identity(shared: &mut Shared<C>, turn: usize) {
        shared.turn = turn;
    }

    #[inline]
    fn is_established(&self) -> bool {
        self.is_established
    }

    fn handshake(&self) -> HandshakeKind {
        match self.session.side.handshake_kind() {
            Some(Kind::Resumed) if self.early == Early::Taken => HandshakeKind::Early,
            Some(Kind::Resumed) => HandshakeKind::Resumed,
            _ => HandshakeKind::Full,
        }
    }

    #[inline]
    fn may_begin_early(&mut self, _: Instant) -> bool {
        self.early == Early::MayBegin
    }

    fn finish(&mut self) {
        if self.is_established && !self.is_over {
            self.is_finished = true;
            self.session.say_goodbye();
        }
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.session.has_ended
    }

    fn negotiated(&self) -> Option<Negotiated> {
        let facts = || Facts::of(&self.session.side).tell();
        self.is_established.then(facts)
    }

    fn tell(shared: &Shared<C>) -> Option<TlsRecord> {
        Some(shared.tally.tell())
    }

    fn tell_http2(shared: &Shared<C>) -> Option<Http2Record> {
        C::tell_http2(&shared.inner)
    }

    #[inline]
    fn capacity(&self) -> u32 {
        self.inner.capacity()
    }

    #[inline]
    fn free(&self) -> u32 {
        if !self.may_ask() || self.sending.is_some() || self.is_closing() {
            return 0;
        }
        let free = self.inner.free();
        if C::GATHERS && self.early == Early::MayBegin {
            // There is room for one request.
            return u32::from(free == self.inner.capacity());
        }
        free
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.is_over || self.session.has_ended || self.inner.is_closing()
    }

    #[inline]
    fn begin(&mut self, request: &Request) -> Result<StreamId, Refused> {
        self.check_room()?;
        self.dictated.clear();
        self.inner.begin(request)
    }

    fn begin_as(&mut self, request: &Request, message: &[u8]) -> Result<StreamId, Refused> {
        self.check_room()?;
        self.dictated.clear();
        if !C::WRITES {
            self.dictated.extend_from_slice(message);
        }
        self.inner.begin_as(request, message)
    }

    fn cancel(&mut self, stream: StreamId) -> bool {
        let may_say = self.is_established && !self.is_finished && !self.is_over;
        // A request that went out early, and was not taken, goes out whole once more.
        may_say && self.early != Early::Refused && self.inner.cancel(stream)
    }

    fn handle_bytes(
        &mut self,
        shared: &mut Shared<C>,
        now: Instant,
        bytes: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        if self.is_over {
            return Ok(());
        }
        // Whoever has not asked by now asks when the handshake is over.
        self.session.holds = false;
        let inner = &mut self.inner;
        let in_common = &mut shared.inner;
        let received = self.session.receive(bytes, |plain| {
            inner.handle_plain(in_common, now, plain, sink)
        });
        if !self.is_established && self.session.is_established() {
            self.is_established = true;
            self.count(&mut shared.tally);
            let agreed = self.session.side.alpn_protocol();
            if C::IS_AGREED && received.is_ok() && agreed != Some(C::APPLICATION) {
                self.is_over = true;
                return Err(ProtocolError::NotAgreed);
            }
        }
        match received {
            Ok(()) => Ok(()),
            Err(Stop::Inner(error)) => {
                self.is_over = true;
                Err(error)
            }
            Err(Stop::Tls(error)) => {
                self.is_over = true;
                shared.tally.failed += u64::from(!self.is_established);
                Err(TlsError::from(&error).into())
            }
        }
    }

    fn handle_end(&mut self, shared: &mut Shared<C>, now: Instant, how: End, sink: &mut impl Sink) {
        let how = match how {
            End::Finished if !self.session.has_ended => End::Truncated,
            how => how,
        };
        if self.is_established {
            shared.tally.closed_without_notify += u64::from(how == End::Truncated);
        } else if !self.is_over {
            shared.tally.failed += 1;
        }
        self.is_over = true;
        self.inner.handle_end(&mut shared.inner, now, how, sink);
    }

    /// Nothing can be dropped unread: each record is authenticated.
    #[inline]
    fn skippable(&self) -> u64 {
        0
    }

    fn handle_skipped(&mut self, _now: Instant, _count: u64, _sink: &mut impl Sink) {}

    fn handle_timeout(&mut self, now: Instant, sink: &mut impl Sink) {
        self.inner.handle_timeout(now, sink);
    }

    #[inline]
    fn wants_transmit(&self) -> bool {
        let has_request =
            self.sending.is_some() || self.early == Early::Refused || self.inner.wants_transmit();
        self.session.has_waiting() || (has_request && self.may_ask() && !self.is_over)
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Transmit {
        if self.session.has_waiting() {
            self.session.take_waiting(out, self.piece);
            // The end of the handshake goes together with the first request.
            if self.session.has_waiting() || out.len() + 2 * OVERHEAD > self.piece {
                return Transmit::Written { starts: None };
            }
        }
        let nothing = match out.is_empty() {
            true => Transmit::Nothing,
            false => Transmit::Written { starts: None },
        };
        if self.is_over || !self.may_ask() {
            return nothing;
        }
        match self.early {
            Early::MayBegin => return self.say_early(now, out),
            Early::Refused => return self.repeat(out),
            Early::No | Early::Sent | Early::Taken => {}
        }
        let (request, from, starts) = match self.sending.take() {
            Some((request, from)) => (request, from, None),
            None => match self.inner.poll_transmit(now, &mut self.plain) {
                Transmit::Fixed { request, starts } => (request, 0, starts),
                Transmit::Written { starts } => return self.seal(out, starts),
                Transmit::Nothing => return nothing,
            },
        };
        let bytes = match self.dictated.as_slice() {
            [] => &self.requests[usize::from(request.0)],
            dictated => dictated,
        };
        let room = self.piece - OVERHEAD - out.len();
        let end = bytes.len().min(from + room);
        if !self.session.encrypt(&bytes[from..end], out) {
            self.is_over = true;
            return nothing;
        }
        if end < bytes.len() {
            self.sending = Some((request, end));
        }
        Transmit::Written { starts }
    }

    #[inline]
    fn also_starts(&self) -> &[StreamId] {
        self.inner.also_starts()
    }

    #[inline]
    fn adds(&self) -> Option<usize> {
        let is_whole = self.sending.is_none() && !self.session.has_waiting();
        let is_late = self.is_established && self.early != Early::Refused;
        let inner = self.inner.adds().filter(|_| is_whole && is_late);
        inner.map(|more| more + OVERHEAD)
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.inner.poll_timeout()
    }
}

impl<C: Inner> Tls<C> {
    /// Whether requests go out: when the handshake is over, or one of them before.
    #[inline]
    fn may_ask(&self) -> bool {
        (self.is_established || self.early == Early::MayBegin) && !self.is_finished
    }

    /// Whether an exchange may begin now, and why not.
    #[inline]
    fn check_room(&self) -> Result<(), Refused> {
        if self.is_over || self.is_finished || self.session.has_ended {
            Err(Refused::Closing)
        } else if !self.may_ask() || self.sending.is_some() {
            Err(Refused::Busy)
        } else {
            Ok(())
        }
    }

    /// Sends a request behind the first message of the handshake.
    fn say_early(&mut self, now: Instant, out: &mut Vec<u8>) -> Transmit {
        if !out.is_empty() && out.len() + self.longest + OVERHEAD > self.piece {
            return Transmit::Written { starts: None };
        }
        let starts = match self.inner.poll_transmit(now, &mut self.said) {
            Transmit::Fixed { request, starts } => {
                self.said
                    .extend_from_slice(&self.requests[usize::from(request.0)]);
                starts
            }
            Transmit::Written { starts } => starts,
            Transmit::Nothing if out.is_empty() => return Transmit::Nothing,
            Transmit::Nothing => return Transmit::Written { starts: None },
        };
        self.is_over |= !self.session.encrypt_early(&self.said, out);
        self.early = Early::Sent;
        Transmit::Written { starts }
    }

    /// Sends that request again, whose start the server did not take.
    fn repeat(&mut self, out: &mut Vec<u8>) -> Transmit {
        if out.len() + self.said.len() + OVERHEAD <= self.piece {
            self.is_over |= !self.session.encrypt(&self.said, out);
            self.early = Early::No;
            self.said = Vec::new();
        }
        Transmit::Written { starts: None }
    }

    /// The handshake is over: counts what it came to.
    fn count(&mut self, tally: &mut Tally) {
        self.early = self.early.ended(self.session.ended_early);
        let mut facts = Facts::of(&self.session.side);
        facts.is_early = self.early == Early::Taken;
        tally.add(facts, self.certificate);
        tally.compare(self.wanted, self.handshake(), self.early);
    }

    /// Encrypts what the inner side wrote.
    fn seal(&mut self, out: &mut Vec<u8>, starts: Option<StreamId>) -> Transmit {
        self.is_over |= !self.session.encrypt(&self.plain, out);
        self.plain.clear();
        if out.is_empty() {
            Transmit::Nothing
        } else {
            Transmit::Written { starts }
        }
    }
}
