//! One request and its answer, which goes out as far as windows allow.

use std::collections::VecDeque;

use model::Instant;

use super::answer::write_head;
use crate::h2::frame::{self, Code, PAYLOAD};
use crate::service::{Handler, Part};

/// A frame of content that windows make shorter than this counts as one that is asked for to harm.
const SHORT: usize = 64;

/// How far a stream is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Its answer goes out.
    Answering,
    /// The body of its request comes in.
    Reading(Body),
    /// Its request waits to be answered.
    Waiting(Vec<u8>),
}

/// The body of a request, which is dropped.
#[derive(Debug)]
pub(super) struct Body {
    pub(super) text: Vec<u8>,
    pub(super) received: u64,
    pub(super) length: Option<u64>,
    /// Bytes that were received since the client was last told that more may come.
    pub(super) unannounced: u32,
}

/// One request and its answer.
#[derive(Debug)]
pub(super) struct Stream<F> {
    pub(super) id: u32,
    pub(super) stage: Stage,
    /// How much content may be sent.
    pub(super) window: i64,
    /// The client may still send; it is told to stop when the answer is out.
    pub(super) is_half_open: bool,
    /// The next bytes of the answer, as for HTTP/1.1, of which so many are out.
    pub(super) bytes: Vec<u8>,
    sent: usize,
    /// What follows them.
    pub(super) parts: VecDeque<Part<F>>,
    is_head_out: bool,
    /// Where in a file that is sent again and again.
    position: u64,
    /// A delay that was ordered lasts until then.
    pub(super) until: Option<Instant>,
}

/// Why no more of an answer goes out for now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Halt {
    /// The connection ends here.
    Close,
    /// All is out.
    Done,
    /// Other bytes have to go first.
    Full,
    /// It waits: for a window, for the end of a delay, or for nothing.
    Later,
    /// The connection is reset here.
    Reset,
}

/// Where answers go.
pub(super) struct Way<'a> {
    pub(super) out: &'a mut Vec<u8>,
    pub(super) block: &'a mut Vec<u8>,
    /// How much content may be sent on the connection.
    pub(super) window: &'a mut i64,
    /// No more is written while there are so many bytes.
    pub(super) full: usize,
    /// Counts frames that windows made short.
    pub(super) short: &'a mut u32,
}

impl<F: Clone> Stream<F> {
    pub(super) const fn new(id: u32, window: i64, stage: Stage) -> Self {
        Self {
            id,
            stage,
            window,
            is_half_open: false,
            bytes: Vec::new(),
            sent: 0,
            parts: VecDeque::new(),
            is_head_out: false,
            position: 0,
            until: None,
        }
    }

    /// How many bytes of it are held in memory.
    pub(super) fn held(&self) -> usize {
        match &self.stage {
            Stage::Answering => self.bytes.len() - self.sent,
            Stage::Reading(body) => body.text.len(),
            Stage::Waiting(text) => text.len(),
        }
    }

    /// Writes as much of the answer as may go out.
    pub(super) fn write<K>(
        &mut self,
        now: Instant,
        way: &mut Way<'_>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Halt {
        if self.until.is_some_and(|until| until > now) {
            return Halt::Later;
        }
        self.until = None;
        loop {
            if way.out.len() >= way.full {
                return Halt::Full;
            }
            let halt = if self.sent < self.bytes.len() {
                self.write_bytes(way)
            } else {
                self.write_part(now, way, handler)
            };
            if let Some(halt) = halt {
                return halt;
            }
        }
    }

    /// How much content may go out in one frame, of as much as there is.
    fn room(&self, there: u64, way: &mut Way<'_>) -> Option<usize> {
        let window = self.window.min(*way.window);
        let window = usize::try_from(window).unwrap_or(0);
        let wanted = usize::try_from(there).map_or(PAYLOAD, |there| there.min(PAYLOAD));
        if window == 0 {
            return None;
        }
        if window < wanted.min(SHORT) {
            *way.short += 1;
        }
        Some(window.min(wanted))
    }

    #[expect(clippy::cast_possible_wrap, reason = "a frame has at most 16 KiB")]
    fn take(&mut self, count: usize, way: &mut Way<'_>) {
        self.window -= count as i64;
        *way.window -= count as i64;
    }

    fn write_bytes(&mut self, way: &mut Way<'_>) -> Option<Halt> {
        let is_last_part = self.parts.is_empty();
        if !self.is_head_out {
            let text = &self.bytes[self.sent..];
            let Some(length) = write_head(text, self.id, is_last_part, way.block, way.out) else {
                frame::reset(way.out, self.id, Code::INTERNAL);
                return Some(Halt::Done);
            };
            self.is_head_out = true;
            self.sent += length;
            return (is_last_part && self.sent == self.bytes.len()).then_some(Halt::Done);
        }
        let there = self.bytes.len() - self.sent;
        let Some(count) = self.room(there as u64, way) else {
            return Some(Halt::Later);
        };
        let is_last = is_last_part && count == there;
        frame::data(way.out, self.id, count, is_last);
        way.out
            .extend_from_slice(&self.bytes[self.sent..self.sent + count]);
        self.sent += count;
        self.take(count, way);
        is_last.then_some(Halt::Done)
    }

    fn write_part<K>(
        &mut self,
        now: Instant,
        way: &mut Way<'_>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Option<Halt> {
        let Some(part) = self.parts.pop_front() else {
            frame::data(way.out, self.id, 0, true);
            return Some(Halt::Done);
        };
        match part {
            Part::Bytes(bytes) => {
                self.bytes = bytes;
                self.sent = 0;
                None
            }
            Part::Close => Some(Halt::Close),
            Part::Cycle {
                file,
                block,
                length,
            } => {
                let there = length.min(block - self.position);
                let (halt, count) =
                    self.write_file(&file, self.position, there, length, way, handler);
                self.position = (self.position + count) % block.max(1);
                if length > count {
                    let length = length - count;
                    self.parts.push_front(Part::Cycle {
                        file,
                        block,
                        length,
                    });
                }
                halt
            }
            Part::File {
                file,
                offset,
                length,
            } => {
                let (halt, count) = self.write_file(&file, offset, length, length, way, handler);
                if length > count {
                    self.parts.push_front(Part::File {
                        file,
                        offset: offset + count,
                        length: length - count,
                    });
                }
                halt
            }
            Part::Pause(span) => {
                self.until = Some(now + span);
                Some(Halt::Later)
            }
            Part::Reset => Some(Halt::Reset),
            Part::Stall => {
                self.parts.push_front(Part::Stall);
                Some(Halt::Later)
            }
        }
    }

    /// Writes a frame from a file, of which `there` bytes are there and `length` are to come in
    /// all; how many bytes that was.
    fn write_file<K>(
        &mut self,
        file: &F,
        offset: u64,
        there: u64,
        length: u64,
        way: &mut Way<'_>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> (Option<Halt>, u64) {
        if length == 0 {
            return (None, 0);
        }
        let Some(count) = self.room(there, way) else {
            return (Some(Halt::Later), 0);
        };
        let is_last = self.parts.is_empty() && count as u64 == length;
        let start = way.out.len();
        frame::data(way.out, self.id, count, is_last);
        if !handler.read(file, offset, count, way.out) {
            // The file is shorter than was promised.
            way.out.truncate(start);
            frame::reset(way.out, self.id, Code::INTERNAL);
            return (Some(Halt::Done), length);
        }
        self.take(count, way);
        (is_last.then_some(Halt::Done), count as u64)
    }
}
