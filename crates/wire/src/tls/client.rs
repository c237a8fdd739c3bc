//! The side of a TLS connection that asks.

use std::sync::Arc;

use model::http2::Http2Record;
use model::tls::{HandshakeMix, Negotiated, TlsRecord};
use model::{Instant, Random};
use rustls::client::UnbufferedClientConnection;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, HandshakeKind};

use super::connector::HTTP_1;
use super::error::TlsError;
use super::facts::{Facts, Tally};
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

/// Says of each connection whether its handshake is to be a full one.
#[derive(Debug)]
pub(super) struct Draw {
    full: usize,
    all: usize,
    /// For those that are.
    config: Arc<ClientConfig>,
    random: Random,
}

impl Draw {
    pub(super) fn new(mix: HandshakeMix, config: ClientConfig, random: Random) -> Self {
        Self {
            full: mix.full as usize,
            all: mix.full as usize + mix.resumed as usize,
            config: Arc::new(config),
            random,
        }
    }

    fn is_full(&mut self) -> bool {
        self.random.below(self.all) < self.full
    }
}

/// What the connections of one worker have in common.
#[derive(Debug)]
pub struct Shared<C: Client> {
    inner: C::Shared,
    config: Arc<ClientConfig>,
    draw: Option<Draw>,
    name: ServerName<'static>,
    /// The bytes of each request, by its id.
    requests: Arc<[Box<[u8]>]>,
    /// The most that is sent at once.
    piece: usize,
    tally: Tally,
}

impl<C: Client> Shared<C> {
    pub(super) fn new(
        inner: C::Shared,
        config: Arc<ClientConfig>,
        draw: Option<Draw>,
        name: ServerName<'static>,
        requests: Arc<[Box<[u8]>]>,
        piece: usize,
    ) -> Self {
        assert!(piece > OVERHEAD, "room for more than a header");
        Self {
            inner,
            config,
            draw,
            name,
            requests,
            piece,
            tally: Tally::default(),
        }
    }
}

/// One connection: `C` inside TLS.
#[derive(Debug)]
pub struct Tls<C> {
    session: Box<Session<UnbufferedClientConnection>>,
    inner: C,
    requests: Arc<[Box<[u8]>]>,
    piece: usize,
    /// What the inner side wrote, before it is encrypted.
    plain: Vec<u8>,
    /// A request that was sent in part: how much of it.
    sending: Option<(RequestId, usize)>,
    /// What is sent in place of the request that begins; empty: nothing is.
    dictated: Vec<u8>,
    /// The handshake is over, and counted.
    is_established: bool,
    /// A session was to be resumed, if there was one.
    is_to_resume: bool,
    /// The peer was told that nothing more is asked.
    is_finished: bool,
    /// TLS takes or gives no more.
    is_over: bool,
}

impl<C: Inner> Client for Tls<C> {
    type Shared = Shared<C>;

    const HANDSHAKES: bool = true;
    const MULTIPLEXES: bool = C::MULTIPLEXES;

    fn new(shared: &mut Shared<C>) -> Self {
        let is_full = shared.draw.as_mut().map(Draw::is_full);
        let config = match &shared.draw {
            Some(draw) if is_full == Some(true) => &draw.config,
            _ => &shared.config,
        };
        let is_to_resume = is_full == Some(false);
        let (config, name) = (Arc::clone(config), shared.name.clone());
        let side = UnbufferedClientConnection::new(config, name);
        let mut session = Session::new(side.expect("one was made before the run"));
        let begun = session.begin();
        Self {
            session: Box::new(session),
            inner: C::new(&mut shared.inner),
            requests: Arc::clone(&shared.requests),
            piece: shared.piece,
            plain: Vec::new(),
            sending: None,
            dictated: Vec::new(),
            is_established: false,
            is_to_resume,
            is_finished: false,
            is_over: begun.is_err(),
        }
    }

    #[inline]
    fn is_established(&self) -> bool {
        self.is_established
    }

    fn has_resumed(&self) -> bool {
        self.session.side.handshake_kind() == Some(HandshakeKind::Resumed)
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
        let may_ask = self.is_established && !self.is_finished;
        if may_ask && self.sending.is_none() && !self.is_closing() {
            self.inner.free()
        } else {
            0
        }
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.is_over || self.session.has_ended || self.inner.is_closing()
    }

    #[inline]
    fn begin(&mut self, request: &Request) -> Result<StreamId, Refused> {
        if self.is_over || self.is_finished || self.session.has_ended {
            return Err(Refused::Closing);
        }
        if !self.is_established || self.sending.is_some() {
            return Err(Refused::Busy);
        }
        self.inner.begin(request)
    }

    fn dictate(&mut self, bytes: &[u8]) {
        self.dictated.clear();
        self.dictated.extend_from_slice(bytes);
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
        let inner = &mut self.inner;
        let in_common = &mut shared.inner;
        let received = self.session.receive(bytes, |plain| {
            inner.handle_plain(in_common, now, plain, sink)
        });
        if !self.is_established && self.session.is_established() {
            self.is_established = true;
            shared.tally.add(Facts::of(&self.session.side));
            let is_other = self.is_to_resume && !self.has_resumed();
            shared.tally.not_resumed += u64::from(is_other);
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
        let has_request = self.sending.is_some() || self.inner.wants_transmit();
        let may_ask = self.is_established && !self.is_finished && !self.is_over;
        self.session.has_waiting() || (has_request && may_ask)
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
        if self.is_over || self.is_finished || !self.is_established {
            return nothing;
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

    fn poll_timeout(&self) -> Option<Instant> {
        self.inner.poll_timeout()
    }
}

impl<C> Tls<C> {
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
