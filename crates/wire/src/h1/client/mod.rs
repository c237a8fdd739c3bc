//! The side of an HTTP/1.1 connection that asks (RFC 9112).
//!
//! Answers come in the order of the requests, so what is in flight is two counters and a bit per
//! exchange; a connection without a split head costs 80 bytes.

use model::Instant;

use crate::client::{
    Availability, Broken, Client, End, ProtocolError, Refused, Sink, StreamId, Transmit,
};
use crate::h1::body::ChunkedDecoder;
use crate::h1::parse::{self, KnownHead, ResponseHead};
use crate::message::{Framing, Head, Request, RequestId};

/// The longest head that is read, unless the plan says otherwise. Servers send at most 8 to 32 KiB
/// by default; browsers read up to 256 KiB.
pub const HEAD_BYTES: usize = 128 * 1024;

/// A final answer comes after at most so many interim ones.
const INTERIM: u32 = 32;

/// One bit each says which exchanges in flight are HEAD.
const IN_FLIGHT: u32 = 64;

/// What the connections of one worker have in common.
#[derive(Debug)]
pub struct Shared {
    known: KnownHead,
    /// Buffers for heads that come in pieces, given back when the head is complete.
    spare: Vec<Vec<u8>>,
    /// The longest head that is read.
    head_bytes: usize,
    /// Exchanges in flight on one connection.
    pipeline: u32,
}

impl Shared {
    /// For connections with up to `pipeline` exchanges in flight and heads up to `head_bytes`.
    pub fn new(pipeline: u32, head_bytes: usize) -> Self {
        assert!(
            (1..=IN_FLIGHT).contains(&pipeline),
            "1 to {IN_FLIGHT} in flight"
        );
        Self {
            known: KnownHead::default(),
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
    /// The exchange whose answer comes next.
    oldest: u32,
    /// The exchange that begins next.
    next: u32,
    /// A bit for each in flight, by its number modulo 64: whether it is a HEAD.
    heads: u64,
    pipeline: u32,
    interim: u32,
    to_send: Option<(StreamId, RequestId)>,
    /// Our last request asked for it, or the server announced it.
    closing: bool,
}

impl Client for Connection {
    type Shared = Shared;

    fn new(shared: &mut Shared) -> Self {
        Self {
            state: State::Head,
            partial: Vec::new(),
            oldest: 0,
            next: 0,
            heads: 0,
            pipeline: shared.pipeline,
            interim: 0,
            to_send: None,
            closing: false,
        }
    }

    #[inline]
    fn availability(&self) -> Availability {
        if self.closing {
            Availability::Closing
        } else if self.in_flight() >= self.pipeline || self.to_send.is_some() {
            Availability::Busy
        } else {
            Availability::Ready
        }
    }

    #[inline]
    fn begin(&mut self, request: &Request) -> Result<StreamId, Refused> {
        match self.availability() {
            Availability::Busy => return Err(Refused::Busy),
            Availability::Closing => return Err(Refused::Closing),
            Availability::Ready => {}
        }
        let stream = StreamId(self.next);
        let bit = 1u64 << (self.next % IN_FLIGHT);
        if request.is_head() {
            self.heads |= bit;
        } else {
            self.heads &= !bit;
        }
        self.next = self.next.wrapping_add(1);
        self.to_send = Some((stream, request.id()));
        self.closing = request.closes();
        Ok(stream)
    }

    #[inline]
    fn handle_bytes(
        &mut self,
        shared: &mut Shared,
        _now: Instant,
        bytes: &mut [u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let mut rest: &[u8] = bytes;
        while !rest.is_empty() {
            let stream = StreamId(self.oldest);
            rest = match &mut self.state {
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

    fn handle_end(&mut self, shared: &mut Shared, _now: Instant, how: End, sink: &mut impl Sink) {
        self.closing = true;
        self.to_send = None;
        let mut reached = match self.state {
            State::Head if self.partial.is_empty() && self.interim == 0 => Broken::Unanswered,
            State::Head => Broken::InHead,
            State::UntilClose if how == End::Finished => {
                let stream = StreamId(self.oldest);
                self.oldest = self.oldest.wrapping_add(1);
                sink.complete(stream);
                Broken::Unanswered
            }
            State::Chunked(_) | State::Length(_) | State::UntilClose => Broken::InContent,
        };
        self.state = State::Head;
        self.give_back(shared);
        while self.in_flight() > 0 {
            let stream = StreamId(self.oldest);
            self.oldest = self.oldest.wrapping_add(1);
            sink.broken(stream, reached);
            reached = Broken::Unanswered;
        }
    }

    #[inline]
    fn skippable(&self) -> u64 {
        match &self.state {
            State::Head => 0,
            State::Chunked(decoder) => decoder.skippable(),
            State::Length(remaining) => *remaining,
            State::UntilClose => u64::MAX,
        }
    }

    fn handle_skipped(&mut self, _now: Instant, count: u64, sink: &mut impl Sink) {
        let stream = StreamId(self.oldest);
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
            State::Head | State::UntilClose => false,
        };
        sink.skipped(stream, count);
        if is_end {
            self.complete(&[], sink)
                .expect("nothing follows what was skipped");
        }
    }

    fn handle_timeout(&mut self, _now: Instant, _sink: &mut impl Sink) {}

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

impl Connection {
    const fn in_flight(&self) -> u32 {
        self.next.wrapping_sub(self.oldest)
    }

    /// Takes a head, or the part of it that is there; returns what follows.
    #[inline]
    fn handle_head<'a>(
        &mut self,
        shared: &mut Shared,
        bytes: &'a [u8],
        sink: &mut impl Sink,
    ) -> Result<&'a [u8], ProtocolError> {
        if self.in_flight() == 0 {
            return Err(ProtocolError::Unsolicited);
        }
        sink.first_byte(StreamId(self.oldest));
        if self.partial.is_empty() {
            if let Some((head, length)) = shared.known.recognise(bytes) {
                let (head_bytes, rest) = bytes.split_at(length);
                self.enter(head, head_bytes, rest, sink)?;
                return Ok(rest);
            }
            match parse::head_end(bytes, 0)? {
                Some(end) if end <= shared.head_bytes => {
                    let (head_bytes, rest) = bytes.split_at(end);
                    let (head, date) = parse::response(head_bytes)?;
                    shared.known.remember(head_bytes, head, date);
                    self.enter(head, head_bytes, rest, sink)?;
                    return Ok(rest);
                }
                Some(_) => return Err(ProtocolError::HeadTooLong(shared.head_bytes)),
                None => self.partial = shared.spare.pop().unwrap_or_default(),
            }
        }
        self.extend_partial(shared, bytes, sink)
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
        let (head, _) = parse::response(&whole[..end])?;
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
        let is_head = self.heads & (1u64 << (self.oldest % IN_FLIGHT)) != 0;
        let framing = if is_head || matches!(head.status, 204 | 304) {
            Framing::None
        } else {
            head.framing
        };
        let keep_alive = head.keep_alive && framing != Framing::Close;
        self.closing |= !keep_alive;
        self.interim = 0;
        sink.head(
            StreamId(self.oldest),
            &Head {
                status: head.status,
                version: head.version,
                framing,
                keep_alive,
                bytes,
            },
        );
        match framing {
            Framing::None | Framing::Length(0) => return self.complete(rest, sink),
            Framing::Length(length) => self.state = State::Length(length),
            Framing::Chunked => self.state = State::Chunked(ChunkedDecoder::new()),
            Framing::Close => self.state = State::UntilClose,
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
        if self.in_flight() == 1 && !rest.is_empty() {
            return Err(ProtocolError::Excess);
        }
        let stream = StreamId(self.oldest);
        self.oldest = self.oldest.wrapping_add(1);
        self.state = State::Head;
        sink.complete(stream);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
