//! The side of an HTTP/1.1 connection that asks (RFC 9112).
//!
//! Answers come in the order of the requests, so what is in flight is a ring of places: a bit and
//! a byte for each. A connection without a split head costs 152 bytes.

use model::Instant;

use crate::client::{Broken, Client, End, ProtocolError, Refused, Sink, StreamId, Transmit};
use crate::h1::body::ChunkedDecoder;
use crate::h1::known::KnownHeads;
use crate::h1::parse::{self, ResponseHead};
use crate::message::{Framing, Head, Request, RequestId};
use crate::tls::Inner;

/// The longest head that is read, unless the plan says otherwise. Servers send at most 8 to 32 KiB
/// by default; browsers read up to 256 KiB.
pub const HEAD_BYTES: usize = 128 * 1024;

/// A final answer comes after at most so many interim ones.
const INTERIM: u32 = 32;

/// The most exchanges in flight on one connection: one bit each says which are HEAD.
const IN_FLIGHT: u32 = 64;
/// Heads are remembered for so many requests of a plan; the others share their places.
const REQUESTS: usize = 256;

/// What the connections of one worker have in common.
#[derive(Debug)]
pub struct Shared {
    known: KnownHeads,
    /// Buffers for heads that come in pieces, given back when the head is complete.
    spare: Vec<Vec<u8>>,
    /// The longest head that is read.
    head_bytes: usize,
    /// Exchanges in flight on one connection.
    pipeline: u32,
}

impl Shared {
    /// For connections with up to `pipeline` exchanges in flight, of `requests` requests, and heads
    /// up to `head_bytes`.
    pub fn new(pipeline: u32, requests: usize, head_bytes: usize) -> Self {
        assert!(
            (1..=IN_FLIGHT).contains(&pipeline),
            "1 to {IN_FLIGHT} in flight"
        );
        Self {
            known: KnownHeads::new(requests.min(REQUESTS)),
            spare: (0..16).map(|_| Vec::with_capacity(4096)).collect(),
            head_bytes,
            pipeline,
        }
    }
}

/// Where in an answer the next byte is.
#[derive(Debug)]
enum State {
    Head,
    Chunked(ChunkedDecoder),
    /// The server has announced the close, and said all that it had to: what follows means nothing
    /// (RFC 9112 §9.6).
    Goodbye,
    /// So many bytes of content to come.
    Length(u64),
    UntilClose,
}

/// One connection.
#[derive(Debug)]
pub struct Connection {
    state: State,
    /// The start of a head of which the rest has not come.
    partial: Vec<u8>,
    /// The place of the exchange whose answer comes next.
    oldest: u8,
    /// Exchanges in flight, in the places from `oldest` on, around.
    in_flight: u8,
    pipeline: u8,
    /// Whether our last request asked for the close, or the server announced it.
    closing: bool,
    /// Whether the server announced it, with an answer that has begun.
    announced: bool,
    /// A bit for each place: whether a HEAD is in flight there.
    heads: u64,
    /// Whose like the answer in each place is expected to be: where heads of its request are
    /// remembered.
    likely: [u8; IN_FLIGHT as usize],
    interim: u32,
    to_send: Option<(StreamId, RequestId)>,
}

impl Client for Connection {
    type Shared = Shared;

    fn new(shared: &mut Shared) -> Self {
        Self {
            state: State::Head,
            partial: Vec::new(),
            oldest: 0,
            in_flight: 0,
            pipeline: u8::try_from(shared.pipeline).unwrap_or(u8::MAX),
            closing: false,
            announced: false,
            heads: 0,
            likely: [0; IN_FLIGHT as usize],
            interim: 0,
            to_send: None,
        }
    }

    #[inline]
    fn capacity(&self) -> u32 {
        u32::from(self.pipeline)
    }

    #[inline]
    fn free(&self) -> u32 {
        if self.closing || self.to_send.is_some() {
            0
        } else {
            u32::from(self.pipeline - self.in_flight)
        }
    }

    #[inline]
    fn is_closing(&self) -> bool {
        self.closing
    }

    #[inline]
    fn begin(&mut self, request: &Request) -> Result<StreamId, Refused> {
        if self.closing {
            return Err(Refused::Closing);
        }
        if self.free() == 0 {
            return Err(Refused::Busy);
        }
        let place = self.place_after(self.in_flight);
        let bit = 1u64 << place;
        if request.is_head() {
            self.heads |= bit;
        } else {
            self.heads &= !bit;
        }
        self.likely[usize::from(place)] = request.heads();
        self.in_flight += 1;
        let stream = StreamId(u32::from(place));
        self.to_send = Some((stream, request.id()));
        self.closing = request.closes();
        Ok(stream)
    }

    #[inline]
    fn handle_bytes(
        &mut self,
        shared: &mut Shared,
        now: Instant,
        bytes: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        self.handle_plain(shared, now, bytes, sink)
    }

    fn handle_end(&mut self, shared: &mut Shared, _now: Instant, how: End, sink: &mut impl Sink) {
        self.closing = true;
        self.to_send = None;
        let mut reached = match self.state {
            State::Goodbye => Broken::Unanswered,
            State::Head if self.partial.is_empty() && self.interim == 0 => Broken::Unanswered,
            State::Head => Broken::InHead,
            State::UntilClose if how == End::Finished => {
                let stream = self.take_oldest();
                sink.complete(stream);
                Broken::Unanswered
            }
            State::UntilClose if how == End::Truncated => Broken::Cut,
            State::Chunked(_) | State::Length(_) | State::UntilClose => Broken::InContent,
        };
        self.state = State::Head;
        self.give_back(shared);
        while self.in_flight > 0 {
            let stream = self.take_oldest();
            sink.broken(stream, reached);
            reached = Broken::Unanswered;
        }
    }

    #[inline]
    fn skippable(&self) -> u64 {
        match &self.state {
            State::Goodbye | State::Head => 0,
            State::Chunked(decoder) => decoder.skippable(),
            State::Length(remaining) => *remaining,
            State::UntilClose => u64::MAX,
        }
    }

    fn handle_skipped(&mut self, _now: Instant, count: u64, sink: &mut impl Sink) {
        let stream = self.oldest();
        let is_end = match &mut self.state {
            State::Length(remaining) => {
                assert!(count <= *remaining, "{count} skipped of {remaining}");
                *remaining -= count;
                *remaining == 0
            }
            State::Chunked(decoder) => {
                decoder.skip(count);
                false
            }
            State::Goodbye | State::Head | State::UntilClose => false,
        };
        sink.skipped(stream, count);
        if is_end {
            self.complete(&[], sink)
                .expect("nothing follows what was skipped");
        }
    }

    fn handle_timeout(&mut self, _now: Instant, _sink: &mut impl Sink) {}

    #[inline]
    fn wants_transmit(&self) -> bool {
        self.to_send.is_some()
    }

    #[inline]
    fn poll_transmit(&mut self, _now: Instant, _out: &mut Vec<u8>) -> Transmit {
        match self.to_send.take() {
            Some((stream, request)) => Transmit::Fixed {
                request,
                starts: Some(stream),
            },
            None => Transmit::Nothing,
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        None
    }
}

impl Inner for Connection {
    #[inline]
    fn handle_plain(
        &mut self,
        shared: &mut Shared,
        _now: Instant,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let mut rest = bytes;
        while !rest.is_empty() {
            let stream = self.oldest();
            rest = match &mut self.state {
                State::Goodbye => return Ok(()),
                State::Head => self.handle_head(shared, rest, sink)?,
                State::Length(remaining) => {
                    let here = usize::try_from(*remaining)
                        .map_or(rest.len(), |remaining| remaining.min(rest.len()));
                    let (content, rest) = rest.split_at(here);
                    *remaining -= here as u64;
                    let is_end = *remaining == 0;
                    sink.content(stream, content);
                    if is_end {
                        self.complete(rest, sink)?;
                    }
                    rest
                }
                State::Chunked(decoder) => {
                    let decoded = decoder.decode(rest).map_err(|_| ProtocolError::BadChunk)?;
                    if !decoded.content.is_empty() {
                        sink.content(stream, decoded.content);
                    }
                    let rest = &rest[decoded.consumed..];
                    if decoded.is_end {
                        self.complete(rest, sink)?;
                    }
                    rest
                }
                State::UntilClose => {
                    sink.content(stream, rest);
                    &[]
                }
            };
        }
        Ok(())
    }
}

impl Connection {
    /// The exchange whose answer comes next.
    #[inline]
    const fn oldest(&self) -> StreamId {
        StreamId(self.oldest as u32)
    }

    /// Its answer is over: the one after it is next.
    #[inline]
    fn take_oldest(&mut self) -> StreamId {
        let oldest = self.oldest();
        self.oldest = self.place_after(1);
        self.in_flight -= 1;
        oldest
    }

    /// The place so many after the oldest, around.
    #[inline]
    const fn place_after(&self, count: u8) -> u8 {
        let place = self.oldest + count;
        if place < self.pipeline {
            place
        } else {
            place - self.pipeline
        }
    }

    /// Whose like the next answer is expected to be.
    #[inline]
    fn likely(&self) -> usize {
        usize::from(self.likely[usize::from(self.oldest)])
    }

    /// Takes a head, or the part of it that is there; returns what follows.
    #[inline]
    fn handle_head<'a>(
        &mut self,
        shared: &mut Shared,
        bytes: &'a [u8],
        sink: &mut impl Sink,
    ) -> Result<&'a [u8], ProtocolError> {
        if self.in_flight == 0 {
            return self.handle_unasked(bytes);
        }
        sink.first_byte(self.oldest());
        if self.partial.is_empty() {
            if let Some((head, length)) = shared.known.recognise(self.likely(), bytes) {
                let (head_bytes, rest) = bytes.split_at(length);
                self.enter(head, head_bytes, rest, sink)?;
                return Ok(rest);
            }
            match parse::head_end(bytes, 0)? {
                Some(end) if end <= shared.head_bytes => {
                    let (head_bytes, rest) = bytes.split_at(end);
                    let head = parse::response(head_bytes)?;
                    shared.known.remember(self.likely(), head_bytes, head);
                    self.enter(head, head_bytes, rest, sink)?;
                    return Ok(rest);
                }
                Some(_) => return Err(ProtocolError::HeadTooLong(shared.head_bytes)),
                None => self.partial = shared.spare.pop().unwrap_or_default(),
            }
        }
        self.extend_partial(shared, bytes, sink)
    }

    /// Bytes came while nothing was in flight. A server that closes an idle connection may say so
    /// first, with status 408 (RFC 9110 §15.5.9): that is a close.
    #[cold]
    fn handle_unasked<'a>(&mut self, bytes: &'a [u8]) -> Result<&'a [u8], ProtocolError> {
        if parse::status_digits(bytes) != Some(408) || parse::head_end(bytes, 0).is_err() {
            return Err(ProtocolError::Unsolicited);
        }
        self.closing = true;
        self.state = State::Goodbye;
        Ok(&[])
    }

    /// The same for a head that comes in pieces.
    #[cold]
    fn extend_partial<'a>(
        &mut self,
        shared: &mut Shared,
        bytes: &'a [u8],
        sink: &mut impl Sink,
    ) -> Result<&'a [u8], ProtocolError> {
        let before = self.partial.len();
        let room = shared.head_bytes - before;
        self.partial
            .extend_from_slice(&bytes[..bytes.len().min(room)]);
        let Some(end) = parse::head_end(&self.partial, before)? else {
            if bytes.len() >= room {
                return Err(ProtocolError::HeadTooLong(shared.head_bytes));
            }
            return Ok(&[]);
        };
        let whole = std::mem::take(&mut self.partial);
        let rest = &bytes[end - before..];
        let head = parse::response(&whole[..end])?;
        let entered = self.enter(head, &whole[..end], rest, sink);
        self.partial = whole;
        self.give_back(shared);
        entered.map(|()| rest)
    }

    /// Gives the buffer of a split head back to the worker's store.
    fn give_back(&mut self, shared: &mut Shared) {
        if self.partial.capacity() > 0 {
            let mut buffer = std::mem::take(&mut self.partial);
            buffer.clear();
            shared.spare.push(buffer);
        }
    }

    /// What a complete head means for what follows it.
    #[inline]
    fn enter(
        &mut self,
        head: ResponseHead,
        bytes: &[u8],
        rest: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        if head.status < 200 {
            return self.enter_interim(head.status);
        }
        let is_head = self.heads & (1u64 << self.oldest) != 0;
        let framing = if is_head || matches!(head.status, 204 | 304) {
            Framing::None
        } else {
            head.framing
        };
        let keep_alive = head.keep_alive && framing != Framing::Close;
        self.closing |= !keep_alive;
        self.announced = !keep_alive;
        self.interim = 0;
        sink.head(
            self.oldest(),
            &Head {
                status: head.status,
                version: head.version,
                framing,
                coding: head.coding,
                keep_alive,
                bytes,
            },
        );
        match framing {
            Framing::None | Framing::Length(0) => return self.complete(rest, sink),
            Framing::Length(length) => self.state = State::Length(length),
            Framing::Chunked => self.state = State::Chunked(ChunkedDecoder::new()),
            Framing::Close | Framing::Frames => self.state = State::UntilClose,
        }
        Ok(())
    }

    #[cold]
    fn enter_interim(&mut self, status: u16) -> Result<(), ProtocolError> {
        self.interim += 1;
        if status == 101 {
            Err(ProtocolError::Switched)
        } else if self.interim > INTERIM {
            Err(ProtocolError::TooManyInterim(INTERIM))
        } else {
            Ok(())
        }
    }

    /// The oldest answer is complete; `rest` follows it.
    #[inline]
    fn complete(&mut self, rest: &[u8], sink: &mut impl Sink) -> Result<(), ProtocolError> {
        if self.in_flight == 1 && !rest.is_empty() {
            return Err(ProtocolError::Excess);
        }
        let stream = self.take_oldest();
        // RFC 9112 §9.6: requests behind an answer that announces the close are not processed.
        self.state = if self.announced && self.in_flight > 0 {
            State::Goodbye
        } else {
            State::Head
        };
        sink.complete(stream);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
