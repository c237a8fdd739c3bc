//! What comes on a connection: requests, and the client's control stream.

use quinn_proto::{Dir, ReadError, StreamId};

use super::peer::Peer;
use super::stream::{Stage, Stream};
use crate::h1::request::{FieldSpace, parse_translated};
use crate::h1::server::ServerLimits;
use crate::h2::server::request::Wrong;
use crate::h3::Code;
use crate::h3::frame::{self, Piece, Stop, check_settings};
use crate::h3::one_way::{OneWay, begin_control};
use crate::service::Handler;
use model::Instant;

/// A body that grows by this much within the body's time has earned as much time again.
const BODY_PROGRESS: u64 = 64 * 1024;

/// A head is remembered that is no longer as text.
const REMEMBERED: usize = 1024;

type Heard = Result<(), Code>;

/// The head of a request that a connection had last, in both forms: a client that asks for the same
/// again writes the same.
#[derive(Debug, Default)]
pub(super) struct LastRequest {
    block: Vec<u8>,
    text: Vec<u8>,
    /// How long its content is to be.
    length: Option<u64>,
}

impl LastRequest {
    fn remember(&mut self, block: &[u8], text: &[u8], length: Option<u64>) {
        self.block.clear();
        self.text.clear();
        if text.len() <= REMEMBERED {
            self.block.extend_from_slice(block);
            self.text.extend_from_slice(text);
            self.length = length;
        }
    }

    /// The text and the length of `block`, if that is the one.
    fn of(&self, block: &[u8]) -> Option<(&[u8], Option<u64>)> {
        let is_same = !self.text.is_empty() && self.block == block;
        is_same.then_some((&self.text, self.length))
    }
}

impl<F: Clone> Peer<F> {
    /// New streams have come.
    pub(super) fn accept<K>(
        &mut self,
        now: Instant,
        dir: Dir,
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Heard {
        while let Some(id) = self.quic.streams().accept(dir) {
            if dir == Dir::Uni {
                self.one_way.push(OneWay::new(id));
                self.read_one_way(id)?;
            } else if self.is_draining {
                self.refuse(id, Code::REQUEST_REJECTED);
            } else {
                self.after_last = u64::from(id) + 4;
                let stream = Stream::new(id, now + limits.head_time);
                self.streams.push(stream);
                self.read(now, id, limits, handler)?;
            }
        }
        Ok(())
    }

    /// Wants nothing of a stream, and says nothing on it.
    pub(super) fn refuse(&mut self, id: StreamId, code: Code) {
        let _over = self.quic.recv_stream(id).stop(code.to_quic());
        let _over = self.quic.send_stream(id).reset(code.to_quic());
    }

    /// Reads what has come of a request.
    pub(super) fn read<K>(
        &mut self,
        now: Instant,
        id: StreamId,
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Heard {
        let Some(place) = self.streams.iter().position(|stream| stream.id == id) else {
            return Ok(());
        };
        // It is put back where it was unless it is over.
        let mut stream = self.streams.swap_remove(place);
        let result = self.read_into(now, &mut stream, limits, handler);
        match result {
            Ok(true) => {
                self.streams.push(stream);
                let last = self.streams.len() - 1;
                self.streams.swap(place, last);
            }
            Ok(false) => stream.let_go(handler),
            Err(code) => {
                stream.let_go(handler);
                return Err(code);
            }
        }
        Ok(())
    }

    /// The same; false: the stream is over.
    fn read_into<K>(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<bool, Code> {
        loop {
            match self.next_chunk(stream.id) {
                Ok(Some(chunk)) => {
                    if !self.take(now, stream, &chunk, limits, handler)? {
                        return Ok(false);
                    }
                }
                Ok(None) => {
                    stream.is_half_open = false;
                    return self.end_of_request(now, stream, limits, handler);
                }
                Err(ReadError::Blocked) => return Ok(true),
                Err(ReadError::Reset(_)) => {
                    // Its client has given it up.
                    self.spend(super::peer::RESET)?;
                    let _over = self
                        .quic
                        .send_stream(stream.id)
                        .reset(Code::REQUEST_CANCELLED.to_quic());
                    return Ok(false);
                }
            }
        }
    }

    fn next_chunk(&mut self, id: StreamId) -> Result<Option<bytes::Bytes>, ReadError> {
        let mut stream = self.quic.recv_stream(id);
        let Ok(mut chunks) = stream.read(true) else {
            return Err(ReadError::Blocked);
        };
        let next = chunks.next(usize::MAX);
        let _asked_anyway = chunks.finalize();
        next.map(|chunk| chunk.map(|chunk| chunk.bytes))
    }

    /// Reads a slice of a request; false: its stream is over.
    fn take<K>(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        bytes: &[u8],
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<bool, Code> {
        let mut reader = std::mem::take(&mut stream.reader);
        let mut goes_on = true;
        let taken = reader.take(bytes, limits.head.head, |piece| {
            if !goes_on {
                return Ok(());
            }
            match piece {
                Piece::Begin(kind) => self.begin_frame(stream, kind),
                Piece::Whole(frame::kind::HEADERS, block) => {
                    goes_on = self.fields(now, stream, block, limits, handler)?;
                    Ok(())
                }
                Piece::Whole(..) => Err(Code::FRAME_UNEXPECTED),
                Piece::Content(content) => {
                    goes_on = self.content(now, stream, content.len() as u64, limits, handler);
                    Ok(())
                }
            }
        });
        stream.reader = reader;
        match taken {
            Ok(()) => Ok(goes_on),
            Err(Stop::Told(code)) => Err(code),
            Err(Stop::TooLong) if matches!(stream.stage, Stage::Head) => {
                let wrong = (431, "the request head is too large");
                self.builder.clear();
                self.reject(now, stream, wrong, limits, handler);
                // What follows cannot be read.
                let _over = self
                    .quic
                    .recv_stream(stream.id)
                    .stop(Code::NO_ERROR.to_quic());
                stream.is_half_open = false;
                Ok(true)
            }
            Err(Stop::TooLong) => Err(Code::EXCESSIVE_LOAD),
        }
    }

    /// RFC 9114 §4.1 and §7.2: which frames may come, and when.
    fn begin_frame(&mut self, stream: &Stream<F>, kind: u64) -> Heard {
        let is_head = matches!(stream.stage, Stage::Head);
        match kind {
            frame::kind::HEADERS if is_head => Ok(()),
            frame::kind::DATA if is_head => Err(Code::FRAME_UNEXPECTED),
            frame::kind::CANCEL_PUSH
            | frame::kind::SETTINGS
            | frame::kind::PUSH_PROMISE
            | frame::kind::GOAWAY
            | frame::kind::MAX_PUSH_ID => Err(Code::FRAME_UNEXPECTED),
            _ if frame::is_of_http2(kind) => Err(Code::FRAME_UNEXPECTED),
            // Each frame has to bring something.
            _ => self.spend(1),
        }
    }

    /// A head, or what follows the content, has come whole; false: the stream is over.
    fn fields<K>(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        block: &[u8],
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<bool, Code> {
        if !matches!(stream.stage, Stage::Head) {
            let decoded = self.decoder.decode(block, |_, _| {});
            return decoded.map(|()| true).map_err(|_| Code::DECOMPRESSION);
        }
        let text = match self.text_of(stream, block, limits)? {
            Ok(text) => text,
            Err(Wrong::Malformed) => {
                self.refuse(stream.id, Code::MESSAGE);
                self.spend(1)?;
                return Ok(false);
            }
            Err(Wrong::TargetTooLong) => {
                let wrong = (414, "the target of the request is too long");
                self.reject(now, stream, wrong, limits, handler);
                return Ok(true);
            }
            Err(Wrong::TooLarge) => {
                let wrong = (431, "the request head is too large");
                self.reject(now, stream, wrong, limits, handler);
                return Ok(true);
            }
        };
        if stream.length.is_some_and(|length| length > limits.body) {
            let wrong = (413, "the body of the request is too large");
            stream.stage = Stage::Reading(text);
            self.reject(now, stream, wrong, limits, handler);
            return Ok(true);
        }
        if memchr::memmem::find(&text, b"\r\nexpect:").is_some() {
            let mut space = FieldSpace::default();
            match parse_translated(&text, &mut space) {
                Ok(request) if !request.expects_continue => {}
                Ok(request) if handler.wants_body(&request) => stream.let_come(&mut self.quic),
                // It is refused before its body comes: another expectation is, too.
                Ok(_) | Err(_) => return self.ask(now, stream, text, limits, handler),
            }
        }
        stream.stage = Stage::Reading(text);
        stream.deadline = now + limits.body_time;
        stream.earned = 0;
        Ok(true)
    }

    /// The head of a request that came as `block`, as text; `stream` is told how long its content
    /// is to be.
    fn text_of(
        &mut self,
        stream: &mut Stream<F>,
        block: &[u8],
        limits: &ServerLimits,
    ) -> Result<Result<Vec<u8>, Wrong>, Code> {
        // Nothing that came before decides what a block means, so the same one means the same.
        if let Some((text, length)) = self.last_request.of(block) {
            stream.length = length;
            return Ok(Ok(text.to_vec()));
        }
        self.builder.clear();
        let (builder, head) = (&mut self.builder, &limits.head);
        let mut is_bomb = false;
        let decoded = self.decoder.decode(block, |name, value| {
            builder.field(name, value, head);
            is_bomb |= builder.is_bomb(head);
        });
        decoded.map_err(|_| Code::DECOMPRESSION)?;
        if is_bomb {
            return Err(Code::EXCESSIVE_LOAD);
        }
        stream.length = self.builder.length;
        let mut text = Vec::new();
        let written = self.builder.write(head, b"3.0", &mut text);
        Ok(written.map(|()| {
            self.last_request.remember(block, &text, stream.length);
            text
        }))
    }

    /// Content has come, which is dropped; false: the stream is over.
    fn content<K>(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        count: u64,
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> bool {
        stream.received += count;
        if !matches!(stream.stage, Stage::Reading(_)) {
            return true;
        }
        if stream.received > limits.body {
            let wrong = (413, "the body of the request is too large");
            self.reject(now, stream, wrong, limits, handler);
            return true;
        }
        if stream.length.is_some_and(|length| stream.received > length) {
            self.refuse(stream.id, Code::MESSAGE);
            return false;
        }
        stream.earned += count;
        if stream.earned >= BODY_PROGRESS {
            stream.earned = 0;
            stream.deadline = now + limits.body_time;
        }
        true
    }

    /// The request has come whole; false: its stream is over.
    fn end_of_request<K>(
        &mut self,
        now: Instant,
        stream: &mut Stream<F>,
        limits: &ServerLimits,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<bool, Code> {
        if !stream.reader.is_between() {
            return Err(Code::FRAME);
        }
        let is_short = stream
            .length
            .is_some_and(|length| stream.received != length);
        match &mut stream.stage {
            Stage::Answering | Stage::Waiting(_) => Ok(true),
            Stage::Reading(text) if !is_short => {
                let text = std::mem::take(text);
                self.ask(now, stream, text, limits, handler)
            }
            Stage::Head | Stage::Reading(_) => {
                let code = match is_short {
                    true => Code::MESSAGE,
                    false => Code::REQUEST_INCOMPLETE,
                };
                let _over = self.quic.send_stream(stream.id).reset(code.to_quic());
                self.spend(1)?;
                Ok(false)
            }
        }
    }

    /// Reads what has come on a stream of the client that goes one way.
    pub(super) fn read_one_way(&mut self, id: StreamId) -> Heard {
        let Some(position) = self.one_way.iter().position(|one| one.id == id) else {
            return Ok(());
        };
        let mut one = self.one_way.swap_remove(position);
        loop {
            match self.next_chunk(id) {
                Ok(Some(chunk)) => self.take_one_way(&mut one, &chunk)?,
                Err(ReadError::Blocked) => {
                    self.one_way.push(one);
                    return Ok(());
                }
                Ok(None) | Err(ReadError::Reset(_)) => {
                    return match one.is_critical() {
                        true => Err(Code::CLOSED_CRITICAL_STREAM),
                        false => self.spend(1),
                    };
                }
            }
        }
    }

    fn take_one_way(&mut self, one: &mut OneWay, bytes: &[u8]) -> Heard {
        // A client pushes nothing (RFC 9114 §6.2.2).
        let push = Code::STREAM_CREATION;
        let Some(rest) = one.take(bytes, &self.one_way, push)? else {
            return Ok(());
        };
        one.take_control(rest, |piece| match piece {
            Piece::Begin(kind) => {
                begin_control(kind, self.has_settings)?;
                match kind {
                    frame::kind::SETTINGS => Ok(()),
                    _ => self.spend(1),
                }
            }
            Piece::Whole(frame::kind::SETTINGS, payload) => {
                self.has_settings = true;
                check_settings(payload)
            }
            Piece::Whole(..) | Piece::Content(_) => Ok(()),
        })
    }
}
