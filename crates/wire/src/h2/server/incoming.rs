//! What a client sends: each frame is held against the state of its stream and of the connection.

use model::Instant;

use super::answer::write_continue;
use super::stream::{Body, Stage, Stream};
use super::{BODY_PROGRESS, Block, Ending, PATIENCE_PER_RESET, STREAMS, Server};
use crate::h1::request::{FieldSpace, Rejection, parse_translated};
use crate::h2::PREFACE;
use crate::h2::frame::{self, Code, FrameHead, flag, kind};
use crate::h2::reader::{Piece, Reader};
use crate::h2::settings::{Settings, WINDOW_AT_FIRST, WINDOW_LARGEST};
use crate::service::Handler;

/// An update of a window that is smaller counts as one that brings nothing.
const SHORT_UPDATE: u32 = 64;

impl<F: Clone, K> Server<F, K> {
    /// Takes what was received; what is wrong with it ends the connection.
    pub(super) fn take(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        let mut rest = bytes;
        if self.preface < PREFACE.len() {
            let wanted = &PREFACE[self.preface..];
            let count = wanted.len().min(rest.len());
            if wanted[..count] != rest[..count] {
                return Err(Code::PROTOCOL);
            }
            self.preface += count;
            rest = &rest[count..];
            if self.preface < PREFACE.len() {
                return Ok(());
            }
            self.greet();
        }
        // The reader lends what it holds of a frame, while the frame changes the rest of us.
        let mut reader = std::mem::take(&mut self.reader);
        let taken = self.take_frames(now, &mut rest, &mut reader, handler);
        self.reader = reader;
        taken
    }

    fn take_frames(
        &mut self,
        now: Instant,
        rest: &mut &[u8],
        reader: &mut Reader,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        while !self.is_over() {
            match reader.next(rest)? {
                None => return Ok(()),
                Some(Piece::Frame(head, payload)) => self.frame(now, head, payload, handler)?,
                Some(Piece::Data {
                    head,
                    content,
                    is_first,
                    is_last,
                }) => {
                    if is_first {
                        self.begin_data(head)?;
                    }
                    self.content(now, head, content.len(), handler)?;
                    if is_last && head.has(flag::END_STREAM) {
                        self.end_body(now, head.stream, handler)?;
                    }
                }
            }
        }
        Ok(())
    }

    fn frame(
        &mut self,
        now: Instant,
        head: FrameHead,
        payload: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        if !std::mem::replace(&mut self.is_greeted, true)
            && (head.kind != kind::SETTINGS || head.has(flag::ACK))
        {
            return Err(Code::PROTOCOL);
        }
        if self.block.is_some() && head.kind != kind::CONTINUATION {
            return Err(Code::PROTOCOL);
        }
        match head.kind {
            kind::HEADERS => self.headers(now, head, payload, handler),
            kind::CONTINUATION => self.continuation(now, head, payload, handler),
            kind::SETTINGS => self.take_settings(head, payload),
            kind::WINDOW_UPDATE => self.window_update(head, payload),
            kind::PING => {
                if head.stream != 0 {
                    return Err(Code::PROTOCOL);
                }
                if payload.len() != 8 {
                    return Err(Code::FRAME_SIZE);
                }
                if !head.has(flag::ACK) {
                    frame::ping_ack(&mut self.out, payload);
                }
                self.spend(1)
            }
            kind::RST_STREAM => self.reset(now, head, payload),
            kind::GOAWAY => {
                if head.stream != 0 {
                    return Err(Code::PROTOCOL);
                }
                // It opens no more streams, and ends the connection when it has its answers.
                if self.ending == Ending::Open {
                    self.drain();
                }
                self.spend(1)
            }
            kind::PRIORITY if head.stream == 0 => Err(Code::PROTOCOL),
            kind::PRIORITY if payload.len() != 5 => Err(Code::FRAME_SIZE),
            kind::PUSH_PROMISE => Err(Code::PROTOCOL),
            // What is not known means nothing (RFC 9113 §5.5).
            _ => self.spend(1),
        }
    }

    fn headers(
        &mut self,
        now: Instant,
        head: FrameHead,
        payload: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        if head.stream.is_multiple_of(2) {
            return Err(Code::PROTOCOL);
        }
        let fragment = frame::without_padding(head, payload).ok_or(Code::PROTOCOL)?;
        let is_end = head.has(flag::END_STREAM);
        if head.has(flag::END_HEADERS) {
            return self.whole_head(now, head.stream, is_end, fragment, handler);
        }
        self.deadline = now + self.limits.head_time;
        self.block = Some(Block {
            stream: head.stream,
            is_end,
            bytes: fragment.to_vec(),
        });
        Ok(())
    }

    fn continuation(
        &mut self,
        now: Instant,
        head: FrameHead,
        payload: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        let mut block = self.block.take().ok_or(Code::PROTOCOL)?;
        if block.stream != head.stream {
            return Err(Code::PROTOCOL);
        }
        self.spend(1)?;
        if block.bytes.len() + payload.len() > self.limits.head.head.max(frame::PAYLOAD) {
            return Err(Code::CALM);
        }
        block.bytes.extend_from_slice(payload);
        if head.has(flag::END_HEADERS) {
            return self.whole_head(now, block.stream, block.is_end, &block.bytes, handler);
        }
        self.block = Some(block);
        Ok(())
    }

    /// The head of a request, or what follows its body, has come whole.
    fn whole_head(
        &mut self,
        now: Instant,
        id: u32,
        is_end: bool,
        block: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        self.builder.clear();
        let (builder, limits) = (&mut self.builder, &self.limits.head);
        let decoded = self
            .decoder
            .decode(block, |name, value| builder.field(name, value, limits));
        decoded.map_err(|_| Code::COMPRESSION)?;
        if self.builder.is_bomb(limits) {
            return Err(Code::CALM);
        }
        if id <= self.last {
            return self.trailers(now, id, is_end, handler);
        }
        self.last = id;
        if self.ending != Ending::Open || self.streams.len() >= STREAMS as usize {
            self.reset_stream(id, Code::REFUSED);
            return self.spend(1);
        }
        let mut stream = Stream::new(id, i64::from(self.settings.window), Stage::Answering);
        stream.is_half_open = !is_end;
        let mut text = Vec::with_capacity(256);
        if let Err(wrong) = self.builder.write(&self.limits.head, b"2.0", &mut text) {
            return self.reject(now, stream, wrong, handler);
        }
        if is_end {
            if self.builder.length.is_some_and(|length| length > 0) {
                frame::reset(&mut self.out, id, Code::PROTOCOL);
                return self.spend(1);
            }
            return self.ask(now, stream, &text, handler);
        }
        self.await_body(now, stream, text, handler)
    }

    /// A body follows the head of a request, unless it is not wanted.
    fn await_body(
        &mut self,
        now: Instant,
        mut stream: Stream<F>,
        text: Vec<u8>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        let length = self.builder.length;
        if length.is_some_and(|length| length > self.limits.body) {
            let why = (413, "the body is too large");
            self.reject_with(now, &mut stream, why, Rejection::line_of(&text), handler);
            return self.go_on(now, stream, handler);
        }
        let mut space = FieldSpace::default();
        match parse_translated(&text, &mut space) {
            Ok(request) if !request.expects_continue => {}
            Ok(request) if handler.wants_body(&request) => {
                write_continue(stream.id, &mut self.table, &mut self.out);
            }
            // It is refused before its body comes: another expectation is, too.
            Ok(_) | Err(_) => return self.ask(now, stream, &text, handler),
        }
        if self.held() + text.len() > super::WAITING_LIMIT {
            self.reset_stream(stream.id, Code::REFUSED);
            return self.spend(1);
        }
        stream.stage = Stage::Reading(Body {
            text,
            received: 0,
            length,
            unannounced: 0,
            deadline: now + self.limits.body_time,
        });
        self.streams.push(stream);
        Ok(())
    }

    /// Fields on a stream that was opened before: they end its body, and nobody reads them.
    fn trailers(
        &mut self,
        now: Instant,
        id: u32,
        is_end: bool,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        let Some(stream) = self.streams.iter().find(|stream| stream.id == id) else {
            if self.reset.contains(&id) {
                // They were under way when we ended the stream.
                return self.spend(1);
            }
            return Err(Code::STREAM_CLOSED);
        };
        if !stream.is_half_open {
            return Err(Code::STREAM_CLOSED);
        }
        if !is_end {
            return Err(Code::PROTOCOL);
        }
        self.end_body(now, id, handler)
    }

    /// A frame of content begins: it takes its length out of the window of the connection.
    fn begin_data(&mut self, head: FrameHead) -> Result<(), Code> {
        if !self.is_greeted || self.block.is_some() || head.stream == 0 || head.stream > self.last {
            return Err(Code::PROTOCOL);
        }
        let length = u32::try_from(head.length).map_err(|_| Code::FRAME_SIZE)?;
        self.unannounced += length;
        if self.unannounced > WINDOW_AT_FIRST {
            return Err(Code::FLOW_CONTROL);
        }
        if self.unannounced >= BODY_PROGRESS {
            let more = std::mem::take(&mut self.unannounced);
            frame::window_update(&mut self.out, 0, more);
        }
        if length == 0 && !head.has(flag::END_STREAM) {
            self.spend(1)?;
        }
        let Some(stream) = self.streams.iter_mut().find(|one| one.id == head.stream) else {
            if !self.reset.contains(&head.stream) {
                self.reset_stream(head.stream, Code::STREAM_CLOSED);
            }
            return self.spend(1);
        };
        if !stream.is_half_open {
            return Err(Code::STREAM_CLOSED);
        }
        if let Stage::Reading(body) = &mut stream.stage {
            body.unannounced += length;
            if body.unannounced > WINDOW_AT_FIRST {
                return Err(Code::FLOW_CONTROL);
            }
        }
        Ok(())
    }

    /// So much content has come.
    fn content(
        &mut self,
        now: Instant,
        head: FrameHead,
        count: usize,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        let Some(place) = self.streams.iter().position(|one| one.id == head.stream) else {
            return Ok(());
        };
        let Stage::Reading(body) = &mut self.streams[place].stage else {
            return Ok(());
        };
        body.received += count as u64;
        if body.length.is_some_and(|length| body.received > length) {
            self.streams.swap_remove(place);
            self.reset_stream(head.stream, Code::PROTOCOL);
            self.deadline = self.deadline.max(now + self.limits.idle_time);
            return self.spend(1);
        }
        if body.received > self.limits.body {
            let text = std::mem::take(&mut body.text);
            let mut stream = self.streams.swap_remove(place);
            let why = (413, "the body is too large");
            self.reject_with(now, &mut stream, why, Rejection::line_of(&text), handler);
            return self.go_on(now, stream, handler);
        }
        if body.unannounced >= BODY_PROGRESS && !head.has(flag::END_STREAM) {
            let more = std::mem::take(&mut body.unannounced);
            body.deadline = now + self.limits.body_time;
            frame::window_update(&mut self.out, head.stream, more);
        }
        Ok(())
    }

    /// When the body of some request has to have grown.
    pub(super) fn body_deadline(&self) -> Option<Instant> {
        self.streams.iter().filter_map(Stream::body_deadline).min()
    }

    /// Refuses the requests whose bodies had to grow until `now` and did not.
    pub(super) fn refuse_slow(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        let is_late = |one: &Stream<F>| one.body_deadline().is_some_and(|at| at <= now);
        while let Some(place) = self.streams.iter().position(is_late) {
            let mut stream = self.streams.swap_remove(place);
            if let Stage::Reading(body) = &mut stream.stage {
                let text = std::mem::take(&mut body.text);
                let why = (408, "the request took too long to arrive");
                self.reject_with(now, &mut stream, why, Rejection::line_of(&text), handler);
            }
            self.go_on(now, stream, handler)?;
        }
        Ok(())
    }

    /// The body of a request has ended: it is answered.
    fn end_body(
        &mut self,
        now: Instant,
        id: u32,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Result<(), Code> {
        let Some(place) = self.streams.iter().position(|stream| stream.id == id) else {
            return Ok(());
        };
        self.streams[place].is_half_open = false;
        if !matches!(self.streams[place].stage, Stage::Reading(_)) {
            return Ok(());
        }
        let mut stream = self.streams.swap_remove(place);
        let Stage::Reading(body) = std::mem::replace(&mut stream.stage, Stage::Answering) else {
            return Ok(());
        };
        if body.length.is_some_and(|length| length != body.received) {
            frame::reset(&mut self.out, id, Code::PROTOCOL);
            return self.spend(1);
        }
        self.ask(now, stream, &body.text, handler)
    }

    fn take_settings(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Code> {
        if head.stream != 0 {
            return Err(Code::PROTOCOL);
        }
        self.spend(1)?;
        if head.has(flag::ACK) {
            return if payload.is_empty() {
                Ok(())
            } else {
                Err(Code::FRAME_SIZE)
            };
        }
        let Settings { window, .. } = self.settings;
        self.settings.take(payload)?;
        self.table.allow(self.settings.table_size);
        let change = i64::from(self.settings.window) - i64::from(window);
        for stream in &mut self.streams {
            stream.window += change;
            if stream.window > i64::from(WINDOW_LARGEST) {
                return Err(Code::FLOW_CONTROL);
            }
        }
        frame::settings_ack(&mut self.out);
        Ok(())
    }

    fn window_update(&mut self, head: FrameHead, payload: &[u8]) -> Result<(), Code> {
        if payload.len() != 4 {
            return Err(Code::FRAME_SIZE);
        }
        let more = frame::number(payload).unwrap_or(0);
        if more < SHORT_UPDATE {
            self.spend(1)?;
        }
        if head.stream == 0 {
            self.window += i64::from(more);
            return match more {
                0 => Err(Code::PROTOCOL),
                _ if self.window > i64::from(WINDOW_LARGEST) => Err(Code::FLOW_CONTROL),
                _ => Ok(()),
            };
        }
        if head.stream > self.last {
            return Err(Code::PROTOCOL);
        }
        let Some(place) = self.streams.iter().position(|one| one.id == head.stream) else {
            return Ok(());
        };
        let stream = &mut self.streams[place];
        stream.window += i64::from(more);
        let wrong = match more {
            0 => Code::PROTOCOL,
            _ if stream.window > i64::from(WINDOW_LARGEST) => Code::FLOW_CONTROL,
            _ => return Ok(()),
        };
        self.reset_stream(head.stream, wrong);
        self.streams.swap_remove(place);
        self.spend(1)
    }

    fn reset(&mut self, now: Instant, head: FrameHead, payload: &[u8]) -> Result<(), Code> {
        if payload.len() != 4 {
            return Err(Code::FRAME_SIZE);
        }
        if head.stream == 0 || head.stream > self.last {
            return Err(Code::PROTOCOL);
        }
        if let Some(place) = self.streams.iter().position(|one| one.id == head.stream) {
            self.streams.swap_remove(place);
            // While its body came in, nothing else was timed.
            self.deadline = self.deadline.max(now + self.limits.idle_time);
        }
        self.spend(PATIENCE_PER_RESET)
    }
}
