//! HTTP/3, the client side of one connection: as many exchanges at once as the plan wants and the
//! peer allows.
//!
//! What the loop sends and receives are datagrams: all that is received at once is one datagram,
//! and what is sent at once are some of [`Client::segment`] bytes each. Nothing is received on
//! streams that nobody reads, and heads are read only as far as a check needs.
//!
//! Cost: QUIC allocates for each datagram and each stream.

mod asking;
mod early;
mod incoming;
mod link;
mod pending;
#[cfg(test)]
mod raw;
mod request;
mod session;
mod tally;

use std::sync::Arc;

use bytes::Bytes;
use model::quic::QuicRecord;
use model::tls::{HandshakeKind, TlsRecord};
use model::{Instant, Mark, Random};
use quinn_proto::StreamId as Quic;

pub use self::request::{Encoded, encode};

use self::early::Beginnings;
use self::link::{Link, Setup};
use self::pending::Pending;
use self::request::transcribed;
use self::tally::Tally;
use super::fields::Known;
use super::frame::Reader;
use super::one_way::OneWay;
use super::{APPLICATION, Code};
use crate::client::{Broken, Client, End, ProtocolError, Refused, Sink, StreamId, Transmit};
use crate::message::Request;
use crate::tls::{self, Connector, Draw, Early, SetupError};

/// What is wrong below HTTP/3.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum QuicError {
    /// The peer broke QUIC.
    #[error("the server broke QUIC (code {0:#x})")]
    Broken(u64),
    /// The peer says that QUIC was broken.
    #[error("the server closed the connection with the QUIC code {0:#x}")]
    Closed(u64),
    /// The peer takes no connection.
    #[error("the server refused the QUIC connection")]
    Refused,
    /// No version in common.
    #[error("the server speaks no version of QUIC that we speak (1)")]
    Version,
}

/// What the connections of one worker have in common.
#[derive(Debug)]
pub struct Shared {
    /// One, or one for each certificate of the client.
    beginnings: Box<[Beginnings]>,
    /// Which of them the next connection has.
    turn: usize,
    draw: Option<Draw>,
    /// Whether sessions are resumed.
    resumes: bool,
    /// Exchanges at once that the plan wants on a connection.
    streams: u32,
    /// The longest head that is read.
    head_bytes: usize,
    /// Each head is told whole, also one like the one before.
    tells_heads: bool,
    tally: Tally,
    /// What handshakes came to.
    tls: tls::Tally,
    /// The last head that was read, as HTTP/1.1 would have it.
    text: Vec<u8>,
}

impl Shared {
    /// For connections as `connector` makes them, with up to `streams` exchanges at once, which
    /// read heads up to `head_bytes`. Which handshakes resume a session is drawn from `random`.
    ///
    /// # Errors
    ///
    /// QUIC wants TLS 1.3 and one suite that every peer has.
    pub fn new(
        connector: &Connector,
        streams: u32,
        head_bytes: usize,
        random: Random,
    ) -> Result<Self, SetupError> {
        let (offers, name) = connector.for_quic(APPLICATION);
        let draw = connector.draw(random);
        let beginnings = offers.iter();
        let beginnings = beginnings.map(|offer| Beginnings::new(offer, &name, draw.is_some()));
        let beginnings = beginnings.collect::<Result<Box<[_]>, SetupError>>()?;
        Ok(Self {
            tls: tls::Tally::of(beginnings.len()),
            beginnings,
            turn: 0,
            draw,
            resumes: connector.resumes(),
            streams,
            head_bytes,
            tells_heads: false,
            tally: Tally::default(),
            text: Vec::with_capacity(4_096),
        })
    }

    /// The same, which tells each head whole if it `tells_heads`, for whoever reads fields of it.
    #[must_use]
    pub fn telling(self, tells_heads: bool) -> Self {
        Self {
            tells_heads,
            ..self
        }
    }
}

/// One exchange.
#[derive(Debug, Default)]
struct Slot {
    /// Its stream; none: there is no exchange.
    id: Option<Quic>,
    is_head: bool,
    /// The head of its answer has come.
    has_head: bool,
    /// Its trailer has come.
    is_past_content: bool,
    interim: u32,
    /// How long its content should be, and is so far.
    length: Option<u64>,
    received: u64,
    reader: Reader,
    /// What is left to be sent of the request.
    rest: Bytes,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    setup: Arc<Setup>,
    /// Which certificate of the client it shows, of several.
    certificate: usize,
    /// None until the first datagram is asked for.
    link: Option<Link>,
    is_established: bool,
    /// Of which kind its handshake was to be; none: as it comes.
    wanted: Option<HandshakeKind>,
    /// Of which kind it was, when it is over.
    kind: HandshakeKind,
    early: Early,
    /// What went out early, for the exchange in that place.
    said: Option<(usize, Bytes)>,
    /// Until then it waits for sessions to be resumed; none: it waits for none.
    stays_until: Option<Instant>,
    /// Its handshake failed, and is counted.
    has_failed: bool,
    /// The peer has ended the connection, or is gone.
    has_ended: bool,
    closing: bool,
    /// There may be something to send.
    is_due: bool,
    timeout: Option<Instant>,
    segment: usize,
    /// The mark of what was written last.
    mark: Mark,
    /// The mark of the datagram that comes next.
    heard: Mark,
    /// Datagrams that were marked where a queue grew too long.
    marked: u64,
    slots: Box<[Slot]>,
    vacant: Vec<u32>,
    /// The stream of the next exchange, if the peer allows one more.
    next: Option<Quic>,
    /// Which exchanges have begun and not gone out.
    pending: Pending,
    one_way: Vec<OneWay>,
    has_settings: bool,
    known: Known,
    is_told: bool,
}

impl Client for Connection {
    type Shared = Shared;

    const HANDSHAKES: bool = true;
    const MULTIPLEXES: bool = true;
    const GATHERS: bool = true;
    const WRITES: bool = true;
    const DATAGRAMS: bool = true;

    fn new(shared: &mut Shared) -> Self {
        let wanted = shared.draw.as_mut().map(Draw::kind);
        Self {
            setup: Arc::clone(shared.beginnings[shared.turn].of(wanted)),
            certificate: shared.turn,
            link: None,
            is_established: false,
            wanted,
            kind: HandshakeKind::Full,
            early: Early::No,
            said: None,
            stays_until: None,
            has_failed: false,
            has_ended: false,
            closing: false,
            is_due: true,
            timeout: None,
            segment: 0,
            mark: Mark::NotCapable,
            heard: Mark::NotCapable,
            marked: 0,
            slots: (0..shared.streams).map(|_| Slot::default()).collect(),
            vacant: (0..shared.streams).rev().collect(),
            next: None,
            pending: Pending::new(shared.streams),
            one_way: Vec::new(),
            has_settings: false,
            known: Known::default(),
            is_told: false,
        }
    }

    fn identities(shared: &Shared) -> usize {
        shared.beginnings.len()
    }

    fn take_identity(shared: &mut Shared, turn: usize) {
        shared.turn = turn;
    }

    #[inline]
    fn is_established(&self) -> bool {
        self.is_established
    }

    fn handshake(&self) -> HandshakeKind {
        self.kind
    }

    fn may_begin_early(&mut self, now: Instant) -> bool {
        self.try_early(now)
    }

    fn may_part(&self) -> bool {
        self.has_ended || self.has_stayed()
    }

    fn finish(&mut self) {
        self.closing = true;
    }

    #[inline]
    fn has_ended(&self) -> bool {
        self.has_ended
    }

    fn tell(shared: &Shared) -> Option<TlsRecord> {
        Some(shared.tls.tell())
    }

    fn tell_quic(shared: &Shared) -> Option<QuicRecord> {
        Some(shared.tally.tell())
    }

    #[inline]
    fn capacity(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }

    #[inline]
    fn free(&self) -> u32 {
        let may = !self.is_closing() && self.next.is_some();
        if may && self.is_established {
            u32::try_from(self.vacant.len()).unwrap_or(0)
        } else {
            u32::from(may && self.early == Early::MayBegin)
        }
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.closing || self.has_ended
    }

    fn begin(&mut self, request: &Request) -> Result<StreamId, Refused> {
        self.ask(request, request.h3().bytes.clone())
    }

    fn begin_as(&mut self, request: &Request, message: &[u8]) -> Result<StreamId, Refused> {
        self.ask(request, transcribed(message))
    }

    fn cancel(&mut self, stream: StreamId) -> bool {
        self.give_up(stream)
    }

    fn handle_bytes(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        bytes: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        link.take(now, self.heard, bytes);
        let followed = self.follow(Some(shared), sink);
        if followed.is_err() {
            self.fail(shared);
        }
        followed
    }

    fn handle_end(&mut self, shared: &mut Shared, _: Instant, _: End, sink: &mut impl Sink) {
        self.has_ended = true;
        self.pending.clear();
        self.fail(shared);
        self.tell_end(shared);
        for place in 0..self.slots.len() {
            let slot = &self.slots[place];
            if slot.id.is_none() {
                continue;
            }
            let reached = match slot.has_head {
                true => Broken::InContent,
                false if !slot.reader.is_between() => Broken::InHead,
                false => Broken::Unanswered,
            };
            sink.broken(self.vacate(place), reached);
        }
    }

    #[inline]
    fn skippable(&self) -> u64 {
        0
    }

    fn handle_skipped(&mut self, _: Instant, _: u64, _: &mut impl Sink) {}

    fn handle_timeout(&mut self, now: Instant, sink: &mut impl Sink) {
        self.wait_no_more(now);
        if let Some(link) = &mut self.link {
            link.pass(now);
            // Time alone breaks no rule: at most the connection is over.
            let followed = self.follow(None, sink);
            self.has_ended |= followed.is_err();
        }
    }

    #[inline]
    fn wants_transmit(&self) -> bool {
        self.is_due
    }

    fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Transmit {
        if self.link.is_none() {
            self.link = Link::new(&self.setup, now);
        }
        let Some(link) = &mut self.link else {
            (self.is_due, self.has_ended) = (false, true);
            return Transmit::Nothing;
        };
        let frames = |link: &Link| link.quic.stats().frame_tx.stream;
        let before = (!self.pending.is_empty()).then(|| frames(link));
        let written = link.write(now, out);
        self.timeout = link.next_timeout();
        let Some(cut) = written else {
            self.is_due = false;
            return Transmit::Nothing;
        };
        (self.segment, self.mark) = cut;
        let gone = before.map_or(0, |before| frames(link) - before);
        Transmit::Written {
            starts: self.pending.take(gone),
        }
    }

    fn also_starts(&self) -> &[StreamId] {
        self.pending.also_started()
    }

    fn poll_timeout(&self) -> Option<Instant> {
        let stay = self.until();
        self.timeout
            .map_or(stay, |at| Some(stay.map_or(at, |stay| stay.min(at))))
    }

    fn segment(&self) -> usize {
        self.segment
    }

    fn mark(&self) -> Mark {
        self.mark
    }

    fn hear_mark(&mut self, mark: Mark) {
        self.heard = mark;
        self.marked += u64::from(mark == Mark::Congested);
    }

    fn farewell(&mut self, shared: &mut Shared, now: Instant, out: &mut Vec<u8>) -> bool {
        self.tell_end(shared);
        let Some(link) = &mut self.link else {
            return false;
        };
        if !self.has_ended {
            link.close(Code::NO_ERROR);
        }
        let Some(cut) = link.write(now, out) else {
            return false;
        };
        (self.segment, self.mark) = cut;
        true
    }
}

impl Connection {
    /// The library has been given something: what has come of it.
    fn follow(
        &mut self,
        shared: Option<&mut Shared>,
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let result = self.hear(shared, sink);
        self.is_due = true;
        let Some(link) = &mut self.link else {
            return result;
        };
        if let Err(ProtocolError::Http3(code)) = &result {
            link.close(*code);
        }
        link.settle();
        self.timeout = link.next_timeout();
        if result.is_err() {
            self.closing = true;
            self.pending.clear();
        }
        result
    }

    /// The connection is over: if its handshake was not, that failed.
    fn fail(&mut self, shared: &mut Shared) {
        if !self.is_established && !std::mem::replace(&mut self.has_failed, true) {
            shared.tls.failed += 1;
        }
    }

    /// The place of the exchange on stream `id`.
    #[inline]
    fn place_of(&self, id: Quic) -> Option<usize> {
        self.slots.iter().position(|slot| slot.id == Some(id))
    }

    /// The exchange in `place` is over.
    #[inline]
    fn vacate(&mut self, place: usize) -> StreamId {
        let slot = &mut self.slots[place];
        slot.id = None;
        slot.rest = Bytes::new();
        let stream = StreamId(u32::try_from(place).unwrap_or(u32::MAX));
        self.vacant.push(stream.0);
        self.pending.forget(stream);
        stream
    }

    /// Counts what the connection did, once.
    fn tell_end(&mut self, shared: &mut Shared) {
        if let Some(link) = &self.link
            && !std::mem::replace(&mut self.is_told, true)
        {
            let stats = link.quic.stats();
            shared.tally.add(&stats, self.marked, self.is_established);
        }
    }
}
