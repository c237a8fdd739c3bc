//! HTTP/1.1, the server side of one connection: requests are answered in the order in which they
//! come, also when several come at once, and their bodies are read and dropped.
//!
//! A request with a body is answered when the body has ended, so that what follows it is never
//! taken for part of it. Everything the client can make grow is bounded: the head, the body, the
//! requests that wait, the answers that wait.
//!
//! Cost: none of its own for a request that was answered before; a copy of what is left over when a
//! head comes in pieces. An idle connection keeps no buffer.

use std::collections::VecDeque;

use model::{Instant, Span};

use super::body::ChunkedDecoder;
use super::request::{
    FieldSpace, HeadScan, Limits, Rejection, RequestBody, RequestHead, parse_request,
};
use crate::message::Version;
use crate::service::{Handler, Part, Persistence, Service, Transmit};

/// No further request is looked at while so many bytes of answers wait to be sent.
const ANSWERS_LIMIT: usize = 8 * 1024;
/// No further bytes are wanted while so many wait to be looked at.
const WAITING_LIMIT: usize = 64 * 1024;
/// A body that grows by this much within the body's time has earned as much time again.
const BODY_PROGRESS: u64 = 64 * 1024;
/// What one connection may ask, and how long it may take to do so.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServerLimits {
    /// Of a request's head.
    pub head: Limits,
    /// Of a request's body, in bytes: 413 beyond it.
    pub body: u64,
    /// Requests on one connection; the last answer says that it closes.
    pub requests: u64,
    /// From the first byte of a head to its last: 408 beyond it.
    pub head_time: Span,
    /// For each 64 KiB of a body: 408 beyond it.
    pub body_time: Span,
    /// Between requests.
    pub idle_time: Span,
}

/// The server side of one HTTP/1.1 connection.
#[derive(Debug)]
pub struct Server<F, K> {
    limits: ServerLimits,
    /// Received and not yet looked at; starts where a request or its body goes on.
    input: Vec<u8>,
    scan: HeadScan,
    /// The request whose body is being read.
    body: Option<Body>,
    /// An answer given before that waits to be sent, before all others.
    kept: Option<K>,
    /// Answers that wait to be sent.
    out: Vec<u8>,
    /// What follows them.
    parts: VecDeque<Part<F>>,
    ending: Ending,
    requests: u64,
    deadline: Instant,
}

/// How near its end a connection is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Ending {
    /// It goes on.
    Open,
    /// The client will send no more.
    PeerFinished,
    /// No more requests are read; it closes when all is sent.
    Closing { linger: bool },
}

/// A request whose body is being read.
#[derive(Debug)]
struct Body {
    head: Vec<u8>,
    framing: Framing,
    received: u64,
    deadline_earned_at: u64,
}

#[derive(Debug)]
enum Framing {
    Chunked(ChunkedDecoder),
    Remaining(u64),
}

impl<F: Clone, K> Server<F, K> {
    /// A connection on which nothing has been received.
    pub fn new(now: Instant, limits: ServerLimits) -> Self {
        Self {
            limits,
            input: Vec::new(),
            scan: HeadScan::default(),
            body: None,
            kept: None,
            out: Vec::new(),
            parts: VecDeque::new(),
            ending: Ending::Open,
            requests: 0,
            deadline: now + limits.head_time,
        }
    }

    /// Looks at `bytes` until they are used up or enough answers wait; tells how many were used.
    fn consume(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> usize {
        let mut used = 0;
        while self.takes_requests() && used < bytes.len() {
            let rest = &bytes[used..];
            if self.body.is_some() {
                match self.read_body(now, rest, handler) {
                    Ok(count) => used += count,
                    Err((status, why)) => {
                        self.reject(status, rest, why, handler);
                    }
                }
                continue;
            }
            if self.scan.is_fresh()
                && self.requests + 1 < self.limits.requests
                && let Some(found) = handler.repeat(rest)
            {
                debug_assert!((1..=rest.len()).contains(&found.request_length));
                used += found.request_length;
                // One by itself is sent from where it lies; of several, a single send costs less.
                if used == bytes.len() && self.kept.is_none() && self.out.is_empty() {
                    self.kept = Some(found.kept);
                } else {
                    self.borrow_room(handler);
                    handler.copy(&found.kept, &mut self.out);
                }
                self.parts.extend(found.rest);
                self.requests += 1;
                self.deadline = now + self.limits.idle_time;
                continue;
            }
            self.borrow_room(handler);
            let is_new = self.scan.is_fresh() && self.requests > 0;
            match self.scan.scan(rest, &self.limits.head) {
                Ok(Some(range)) => {
                    self.scan = HeadScan::default();
                    used += range.end;
                    self.begin(now, &rest[range.start..range.end], handler);
                }
                Ok(None) => {
                    if is_new {
                        self.deadline = now + self.limits.head_time;
                    }
                    break;
                }
                Err(rejection) => {
                    self.reject(rejection.status(), rest, &rejection.to_string(), handler);
                }
            }
        }
        if let Ending::Closing { linger } = &mut self.ending {
            // Of no interest any more; but closing on bytes unread would be a reset.
            *linger |= used < bytes.len();
            return bytes.len();
        }
        used
    }

    /// Answers are written where there is room already, if the handler has some.
    fn borrow_room(&mut self, handler: &mut impl Handler<File = F, Kept = K>) {
        if self.out.capacity() == 0 {
            self.out = handler.lend();
        }
    }

    fn takes_requests(&self) -> bool {
        self.parts.is_empty()
            && self.out.len() < ANSWERS_LIMIT
            && !matches!(self.ending, Ending::Closing { .. })
    }

    /// A whole head has come: it is answered, or its body read first.
    fn begin(&mut self, now: Instant, head: &[u8], handler: &mut impl Handler<File = F, Kept = K>) {
        let mut space = FieldSpace::default();
        let request = match parse_request(head, &mut space) {
            Ok(request) => request,
            Err(rejection) => {
                return self.reject(rejection.status(), head, &rejection.to_string(), handler);
            }
        };
        let framing = match request.body {
            RequestBody::Length(0) => return self.answer(now, &request, false, handler),
            RequestBody::Length(length) if length > self.limits.body => {
                return self.reject(413, head, "the body is too large", handler);
            }
            RequestBody::Length(length) => Framing::Remaining(length),
            RequestBody::Chunked => Framing::Chunked(ChunkedDecoder::for_request()),
        };
        if request.expects_continue {
            if !handler.wants_body(&request) {
                // Whether the body comes nevertheless cannot be known (RFC 9110 §10.1.1).
                return self.answer(now, &request, true, handler);
            }
            self.out.extend_from_slice(b"HTTP/1.1 100 Continue\r\n\r\n");
        }
        self.deadline = now + self.limits.body_time;
        self.body = Some(Body {
            head: head.to_vec(),
            framing,
            received: 0,
            deadline_earned_at: BODY_PROGRESS,
        });
    }

    /// Drops content from the front of `bytes`; tells how many bytes were dealt with.
    fn read_body(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<usize, (u16, &'static str)> {
        let body = self.body.as_mut().expect("the caller looked");
        let (used, is_end) = match &mut body.framing {
            Framing::Chunked(decoder) => {
                let decoded = decoder
                    .decode(bytes)
                    .map_err(|_| (400, "malformed request: the chunked coding"))?;
                body.received += decoded.content.len() as u64;
                (decoded.consumed, decoded.is_end)
            }
            Framing::Remaining(remaining) => {
                let used = usize::try_from(*remaining).map_or(bytes.len(), |r| r.min(bytes.len()));
                *remaining -= used as u64;
                body.received += used as u64;
                (used, *remaining == 0)
            }
        };
        if body.received > self.limits.body {
            return Err((413, "the body is too large"));
        }
        if body.received >= body.deadline_earned_at {
            body.deadline_earned_at = body.received + BODY_PROGRESS;
            self.deadline = now + self.limits.body_time;
        }
        if is_end && let Some(body) = self.body.take() {
            let mut space = FieldSpace::default();
            let request = parse_request(&body.head, &mut space).expect("it was parsed before");
            self.answer(now, &request, false, handler);
        }
        Ok(used)
    }

    fn answer(
        &mut self,
        now: Instant,
        request: &RequestHead<'_>,
        is_body_unread: bool,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        self.requests += 1;
        let goes_on = request.keep_alive && !is_body_unread && self.requests < self.limits.requests;
        let persistence = match (goes_on, request.version) {
            (false, _) => Persistence::Close,
            (true, Version::Http10) => Persistence::KeepAlive,
            (true, Version::Http11 | Version::Http2 | Version::Http3) => Persistence::Usual,
        };
        let parts = handler.answer(request, persistence, &mut self.out);
        self.parts.extend(parts);
        self.deadline = now + self.limits.idle_time;
        if !goes_on {
            self.ending = Ending::Closing {
                linger: is_body_unread,
            };
        }
    }

    fn reject(
        &mut self,
        status: u16,
        bytes: &[u8],
        why: &str,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        self.requests += 1;
        let held = self.body.take();
        let head = held.as_ref().map_or(bytes, |body| &body.head);
        handler.reject(status, Rejection::line_of(head), why, &mut self.out);
        self.ending = Ending::Closing { linger: true };
    }

    /// Looks again at what waited.
    fn consume_waiting(&mut self, now: Instant, handler: &mut impl Handler<File = F, Kept = K>) {
        let is_over = matches!(self.ending, Ending::Closing { .. });
        if !self.input.is_empty() && (is_over || self.takes_requests()) {
            let mut input = std::mem::take(&mut self.input);
            let used = self.consume(now, &input, handler);
            input.drain(..used);
            self.input = input;
        }
    }

    /// Keeps no memory for a connection on which nothing is under way: most are idle.
    fn release(&mut self, handler: &mut impl Handler<File = F, Kept = K>) {
        if self.out.capacity() > 0 {
            handler.take_back(std::mem::take(&mut self.out));
        }
        if self.input.capacity() > 0 {
            self.input = Vec::new();
        }
        if self.parts.capacity() > 0 {
            self.parts = VecDeque::new();
        }
    }

    fn next_part(&mut self, out: &mut Vec<u8>) -> Option<Transmit<F, K>> {
        Some(match self.parts.pop_front()? {
            Part::Bytes(bytes) => {
                out.extend_from_slice(&bytes);
                Transmit::Bytes
            }
            Part::Close => {
                self.ending = Ending::Closing { linger: false };
                self.parts.clear();
                Transmit::Close { linger: false }
            }
            Part::Cycle {
                file,
                block,
                length,
            } => {
                let rest = length.saturating_sub(block);
                if rest > 0 && block > 0 {
                    self.parts.push_front(Part::Cycle {
                        file: file.clone(),
                        block,
                        length: rest,
                    });
                }
                Transmit::File {
                    file,
                    offset: 0,
                    length: length.min(block),
                }
            }
            Part::File {
                file,
                offset,
                length,
            } => Transmit::File {
                file,
                offset,
                length,
            },
            Part::Pause(span) => Transmit::Pause(span),
            Part::Reset => Transmit::Reset,
            Part::Stall => {
                self.parts.push_front(Part::Stall);
                Transmit::Nothing
            }
        })
    }
}

impl<F: Clone, K> Service for Server<F, K> {
    type File = F;
    type Kept = K;

    fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        if self.input.is_empty() {
            let used = self.consume(now, bytes, handler);
            self.input.extend_from_slice(&bytes[used..]);
        } else {
            self.input.extend_from_slice(bytes);
            self.consume_waiting(now, handler);
        }
    }

    fn handle_end(&mut self) {
        if self.ending == Ending::Open {
            self.ending = Ending::PeerFinished;
        } else {
            self.ending = Ending::Closing { linger: false };
        }
    }

    fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Transmit<F, K> {
        loop {
            if let Some(kept) = self.kept.take() {
                if out.is_empty() {
                    return Transmit::Kept(kept);
                }
                handler.copy(&kept, out);
                return Transmit::Bytes;
            }
            if !self.out.is_empty() {
                if out.is_empty() {
                    std::mem::swap(out, &mut self.out);
                } else {
                    out.append(&mut self.out);
                }
                return Transmit::Bytes;
            }
            if let Some(next) = self.next_part(out) {
                return next;
            }
            self.consume_waiting(now, handler);
            if self.kept.is_none() && self.out.is_empty() && self.parts.is_empty() {
                break;
            }
        }
        match self.ending {
            Ending::Closing { linger } => Transmit::Close { linger },
            Ending::PeerFinished => Transmit::Close { linger: false },
            Ending::Open => {
                if self.is_idle() {
                    self.release(handler);
                }
                Transmit::Nothing
            }
        }
    }

    fn handle_timeout(&mut self, handler: &mut impl Handler<File = F, Kept = K>) {
        if self.is_idle() || !self.parts.is_empty() {
            self.parts.clear();
            self.ending = Ending::Closing { linger: false };
        } else if !matches!(self.ending, Ending::Closing { .. }) {
            let input = std::mem::take(&mut self.input);
            self.reject(408, &input, "the request took too long to arrive", handler);
        }
    }

    fn poll_timeout(&self) -> Instant {
        self.deadline
    }

    fn is_full(&self) -> bool {
        self.input.len() >= WAITING_LIMIT
    }

    fn is_idle(&self) -> bool {
        self.body.is_none()
            && self.input.is_empty()
            && self.kept.is_none()
            && self.out.is_empty()
            && self.parts.is_empty()
    }

    fn finish(&mut self) {
        if self.body.is_some() || !self.input.is_empty() {
            self.limits.requests = self.requests + 1;
        } else if self.ending == Ending::Open {
            self.ending = Ending::Closing { linger: false };
        }
    }
}

#[cfg(test)]
mod tests;
