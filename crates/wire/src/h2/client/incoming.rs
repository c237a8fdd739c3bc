//! What a server sends.

use super::{Block, Connection, OUT_LIMIT, Shared, Table, WINDOW_LARGEST, WINDOW_USED};
use crate::client::{Broken, ProtocolError, Sink, StreamId, own_part};
use crate::h2::frame::{self, Code, FrameHead, flag, kind};
use crate::h2::reader::{Piece, Reader};
use crate::message::Version;

/// A final answer comes after at most so many interim ones.
const INTERIM: u32 = 32;
/// What the table holds unless the peer wants less.
const TABLE: u32 = 4_096;

impl Connection {
    /// Takes what was received.
    pub(super) fn take(
        &mut self,
        shared: &mut Shared,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        // The reader lends what it holds of a frame, while the frame changes the rest of us.
        let mut reader = std::mem::take(&mut self.reader);
        let taken = self.take_frames(shared, &mut reader, bytes, sink);
        self.reader = reader;
        match taken {
            Err(ProtocolError::Http2(_)) if !self.is_greeted => Err(ProtocolError::NotHttp2),
            taken => taken,
        }
    }

    fn take_frames(
        &mut self,
        shared: &mut Shared,
        reader: &mut Reader,
        bytes: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let mut rest = bytes;
        loop {
            match reader.next(&mut rest).map_err(ProtocolError::Http2)? {
                None => return Ok(()),
                Some(Piece::Data {
                    head,
                    content,
                    is_first,
                    is_last,
                }) => {
                    if is_first {
                        self.begin_data(head)?;
                    }
                    self.data(head, content, is_last, sink)?;
                }
                Some(Piece::Frame(head, payload)) => {
                    self.frame(shared, head, payload, sink)?;
                    if self.out.len() > OUT_LIMIT + self.pending.bytes() {
                        return Err(ProtocolError::Http2(Code::CALM));
                    }
                }
            }
        }
    }

    fn frame(
        &mut self,
        shared: &mut Shared,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let broken = |code| Err(ProtocolError::Http2(code));
        if !self.is_greeted && (head.kind != kind::SETTINGS || head.has(flag::ACK)) {
            return Err(ProtocolError::NotHttp2);
        }
        if self.block.is_some() && head.kind != kind::CONTINUATION {
            return broken(Code::PROTOCOL);
        }
        match head.kind {
            kind::HEADERS => self.headers(shared, head, payload, sink),
            kind::CONTINUATION => {
                let Some(mut block) = self.block.take() else {
                    return broken(Code::PROTOCOL);
                };
                if block.id != head.stream {
                    return broken(Code::PROTOCOL);
                }
                if block.bytes.len() + payload.len() > shared.head_bytes || payload.is_empty() {
                    return Err(ProtocolError::HeadTooLong(shared.head_bytes));
                }
                block.bytes.extend_from_slice(payload);
                if head.has(flag::END_HEADERS) {
                    return self.whole_head(shared, block.id, block.is_end, &block.bytes, sink);
                }
                self.block = Some(block);
                Ok(())
            }
            kind::SETTINGS => self.take_settings(shared, head, payload),
            kind::WINDOW_UPDATE => self.window_update(shared, head, payload, sink),
            kind::PING if payload.len() != 8 => broken(Code::FRAME_SIZE),
            kind::PING => {
                if !head.has(flag::ACK) {
                    frame::ping_ack(&mut self.out, payload);
                }
                Ok(())
            }
            kind::RST_STREAM => {
                let Some(code) = frame::code_at(payload, 0) else {
                    return broken(Code::FRAME_SIZE);
                };
                self.check_opened(head.stream)?;
                if let Some(place) = self.place_of(head.stream) {
                    shared.tally.resets.add(code);
                    sink.broken(self.vacate(place), Broken::Reset(code));
                }
                Ok(())
            }
            kind::GOAWAY => self.go_away(shared, payload, sink),
            // We said that we want none.
            kind::PUSH_PROMISE => broken(Code::PROTOCOL),
            _ => Ok(()),
        }
    }

    /// A stream that we have not opened can have no frames.
    fn check_opened(&self, id: u32) -> Result<(), ProtocolError> {
        if id == 0 || id.is_multiple_of(2) || id >= self.next {
            return Err(ProtocolError::Http2(Code::PROTOCOL));
        }
        Ok(())
    }

    fn headers(
        &mut self,
        shared: &mut Shared,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        self.check_opened(head.stream)?;
        let fragment =
            frame::without_padding(head, payload).ok_or(ProtocolError::Http2(Code::PROTOCOL))?;
        if let Some(place) = self.place_of(head.stream) {
            sink.first_byte(stream(place));
        }
        let is_end = head.has(flag::END_STREAM);
        if head.has(flag::END_HEADERS) {
            return self.whole_head(shared, head.stream, is_end, fragment, sink);
        }
        self.block = Some(Block {
            id: head.stream,
            is_end,
            bytes: fragment.to_vec(),
        });
        Ok(())
    }

    /// The head of an answer, or what follows its content, has come whole.
    fn whole_head(
        &mut self,
        shared: &mut Shared,
        id: u32,
        is_end: bool,
        block: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let place = self.place_of(id);
        let has_head = place.is_some_and(|place| self.slots[place].has_head);
        let Some(place) = place.filter(|_| !has_head) else {
            // Nobody reads it, but the table has to follow.
            self.heads.skip(block)?;
            return match place {
                Some(place) if is_end => self.complete(place, sink),
                Some(_) => Err(ProtocolError::Http2(Code::PROTOCOL)),
                None => Ok(()),
            };
        };
        let (most, tells, text) = (shared.head_bytes, shared.tells_heads, &mut shared.text);
        let fields = self.heads.read(block, most, tells, text)?;
        let slot = &mut self.slots[place];
        match fields.status {
            0 => return Err(ProtocolError::BadHead("it has no :status")),
            101 => return Err(ProtocolError::Switched),
            100..200 => {
                slot.interim += 1;
                if slot.interim > INTERIM {
                    return Err(ProtocolError::TooManyInterim(INTERIM));
                }
                return match is_end {
                    true => Err(ProtocolError::Http2(Code::PROTOCOL)),
                    false => Ok(()),
                };
            }
            _ => {}
        }
        slot.has_head = true;
        let told = fields.head(Version::Http2, slot.is_head, &shared.text);
        slot.length = told.framing.length();
        sink.head(stream(place), &told);
        if is_end {
            return self.complete(place, sink);
        }
        Ok(())
    }

    /// A frame of content begins: it takes its length out of our windows.
    fn begin_data(&mut self, head: FrameHead) -> Result<(), ProtocolError> {
        if !self.is_greeted {
            return Err(ProtocolError::NotHttp2);
        }
        if self.block.is_some() {
            return Err(ProtocolError::Http2(Code::PROTOCOL));
        }
        self.check_opened(head.stream)?;
        self.used += head.length as u64;
        if self.used >= WINDOW_USED {
            let more = u32::try_from(std::mem::take(&mut self.used)).unwrap_or(WINDOW_LARGEST);
            frame::window_update(&mut self.out, 0, more);
        }
        let Some(place) = self.place_of(head.stream) else {
            return Ok(());
        };
        let slot = &mut self.slots[place];
        if !slot.has_head {
            return Err(ProtocolError::Http2(Code::PROTOCOL));
        }
        slot.used += head.length as u64;
        if slot.used >= WINDOW_USED {
            let more = u32::try_from(std::mem::take(&mut slot.used)).unwrap_or(WINDOW_LARGEST);
            frame::window_update(&mut self.out, head.stream, more);
        }
        Ok(())
    }

    #[inline]
    fn data(
        &mut self,
        head: FrameHead,
        content: &[u8],
        is_last: bool,
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        // What comes on a stream that is over was under way when it ended.
        let Some(place) = self.place_of(head.stream) else {
            return Ok(());
        };
        let slot = &mut self.slots[place];
        let own = own_part(content, slot.length, slot.received);
        slot.received += content.len() as u64;
        if !own.is_empty() {
            sink.content(stream(place), own);
        }
        if slot.length.is_some_and(|length| slot.received > length) {
            let ended = self.reset(place, Code::PROTOCOL);
            sink.broken(ended, Broken::Length);
            return Ok(());
        }
        if is_last && head.has(flag::END_STREAM) {
            return self.complete(place, sink);
        }
        Ok(())
    }

    /// The answer in `place` is complete.
    fn complete(&mut self, place: usize, sink: &mut impl Sink) -> Result<(), ProtocolError> {
        let slot = &self.slots[place];
        if !slot.has_head {
            return Err(ProtocolError::Http2(Code::PROTOCOL));
        }
        let is_short = slot.length.is_some_and(|length| slot.received != length);
        let ended = match slot.content {
            // The server answers without the rest of the request.
            Some(_) => self.reset(place, Code::NO_ERROR),
            None => self.vacate(place),
        };
        if is_short {
            sink.broken(ended, Broken::Length);
        } else {
            sink.complete(ended);
        }
        Ok(())
    }

    fn take_settings(
        &mut self,
        shared: &mut Shared,
        head: FrameHead,
        payload: &[u8],
    ) -> Result<(), ProtocolError> {
        let broken = |code| Err(ProtocolError::Http2(code));
        if head.stream != 0 {
            return broken(Code::PROTOCOL);
        }
        if head.has(flag::ACK) {
            return match payload {
                [] => Ok(()),
                _ => broken(Code::FRAME_SIZE),
            };
        }
        let before = self.settings;
        self.settings.take(payload).map_err(ProtocolError::Http2)?;
        let change = i64::from(self.settings.window) - i64::from(before.window);
        // Those that are vacant have no window: the next stream in them begins with a new one.
        for slot in self.slots.iter_mut().filter(|slot| slot.id != 0) {
            slot.window += change;
            if slot.window > i64::from(WINDOW_LARGEST) {
                return broken(Code::FLOW_CONTROL);
            }
        }
        if self.settings.table_size < TABLE && matches!(self.table, Table::New | Table::Filled) {
            self.table = Table::Shrunk;
        }
        let streams = self.settings.streams;
        if streams != u32::MAX {
            let lowest = shared.tally.streams.get_or_insert(streams);
            *lowest = streams.min(*lowest);
        }
        let is_first = !std::mem::replace(&mut self.is_greeted, true);
        if streams < shared.streams && (is_first || before.streams >= shared.streams) {
            shared.tally.limited += 1;
        }
        shared.tally.changes += u64::from(!is_first);
        frame::settings_ack(&mut self.out);
        Ok(())
    }

    fn window_update(
        &mut self,
        shared: &mut Shared,
        head: FrameHead,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let (Some(more), 4) = (frame::number(payload), payload.len()) else {
            return Err(ProtocolError::Http2(Code::FRAME_SIZE));
        };
        let wrong = |window: i64| match more {
            0 => Some(Code::PROTOCOL),
            _ if window > i64::from(WINDOW_LARGEST) => Some(Code::FLOW_CONTROL),
            _ => None,
        };
        if head.stream == 0 {
            self.window += i64::from(more);
            return wrong(self.window).map_or(Ok(()), |code| Err(ProtocolError::Http2(code)));
        }
        self.check_opened(head.stream)?;
        if let Some(place) = self.place_of(head.stream) {
            let slot = &mut self.slots[place];
            slot.window += i64::from(more);
            if let Some(code) = wrong(slot.window) {
                shared.tally.resets.add(code);
                let ended = self.reset(place, code);
                sink.broken(ended, Broken::Reset(code));
            }
        }
        Ok(())
    }

    /// RFC 9113 §6.8: what stands behind the last stream was not and will not be processed.
    fn go_away(
        &mut self,
        shared: &mut Shared,
        payload: &[u8],
        sink: &mut impl Sink,
    ) -> Result<(), ProtocolError> {
        let (Some(last), Some(code)) = (frame::number(payload), frame::code_at(payload, 4)) else {
            return Err(ProtocolError::Http2(Code::FRAME_SIZE));
        };
        shared.tally.go_aways.add(code);
        self.closing = true;
        sink.closing();
        for place in 0..self.slots.len() {
            let is_behind = self.slots[place].id > last;
            // Nothing more is asked here.
            let is_unsent = self.pending.withdraw(stream(place), &mut self.out);
            shared.tally.unprocessed += u64::from(is_behind);
            if is_behind || is_unsent {
                sink.unprocessed(self.vacate(place));
            }
        }
        Ok(())
    }
}

fn stream(place: usize) -> StreamId {
    StreamId(u32::try_from(place).unwrap_or(u32::MAX))
}
