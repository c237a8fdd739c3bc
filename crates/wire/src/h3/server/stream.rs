//! One request and its answer, which goes out as far as windows allow.

use std::collections::VecDeque;

use bytes::Bytes;
use model::Instant;
use quinn_proto::{Connection, StreamId, WriteError};

use crate::h2::server::answer::each_field;
use crate::h3::frame::{Reader, kind, put_head};
use crate::h3::qpack::{self, Form};
use crate::service::{Handler, Part};

/// So much content stands in one frame.
const PAYLOAD: usize = 16 * 1024;

/// How far a stream is.
#[derive(Debug)]
pub(super) enum Stage {
    /// Its answer goes out.
    Answering,
    /// The head of its request comes in.
    Head,
    /// The body of its request comes in, after this head.
    Reading(Vec<u8>),
    /// Its request waits to be answered.
    Waiting(Vec<u8>),
}

/// Why no more of an answer goes out for now.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Halt {
    /// It cannot be sent as it was promised.
    Broken,
    /// The connection ends here.
    Close,
    /// All is out.
    Done,
    /// It waits: for a window, for the end of a delay, or for nothing.
    Later,
    /// The connection ends here, whatever was promised.
    Reset,
}

/// One request and its answer.
#[derive(Debug)]
pub(super) struct Stream<F> {
    pub(super) id: StreamId,
    pub(super) stage: Stage,
    pub(super) reader: Reader,
    /// How long its body should be, and is so far.
    pub(super) length: Option<u64>,
    pub(super) received: u64,
    /// Of that, since its time was last renewed.
    pub(super) earned: u64,
    /// Its request has to be whole by then.
    pub(super) deadline: Instant,
    /// The client may still send.
    pub(super) is_half_open: bool,
    /// The next bytes of the answer, as for HTTP/1.1, of which so many are out.
    pub(super) bytes: Vec<u8>,
    sent: usize,
    /// Frames that QUIC has not taken yet.
    rest: Bytes,
    /// What follows them.
    pub(super) parts: VecDeque<Part<F>>,
    is_head_out: bool,
    /// Where in a file that is sent again and again.
    position: u64,
    /// A delay that was ordered lasts until then.
    until: Option<Instant>,
}

impl<F: Clone> Stream<F> {
    pub(super) fn new(id: StreamId, deadline: Instant) -> Self {
        Self {
            id,
            stage: Stage::Head,
            reader: Reader::default(),
            length: None,
            received: 0,
            earned: 0,
            deadline,
            is_half_open: true,
            bytes: Vec::new(),
            sent: 0,
            rest: Bytes::new(),
            parts: VecDeque::new(),
            is_head_out: false,
            position: 0,
            until: None,
        }
    }

    /// Whether its request has not come whole.
    pub(super) const fn is_reading(&self) -> bool {
        matches!(self.stage, Stage::Head | Stage::Reading(_))
    }

    /// When it is to be looked at.
    pub(super) fn next_look(&self) -> Option<Instant> {
        if self.is_reading() {
            Some(self.deadline)
        } else {
            self.until
        }
    }

    /// How many bytes of it are held in memory.
    pub(super) fn held(&self) -> usize {
        let of_request = match &self.stage {
            Stage::Answering | Stage::Head => 0,
            Stage::Reading(text) | Stage::Waiting(text) => text.len(),
        };
        of_request + self.reader.held() + self.rest.len() + self.bytes.len() - self.sent
    }

    /// Writes as much of the answer as QUIC takes; whether that was anything.
    pub(super) fn write<K>(
        &mut self,
        now: Instant,
        quic: &mut Connection,
        block: &mut Vec<u8>,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> (Halt, bool) {
        let mut has_written = false;
        if self.until.is_some_and(|until| until > now) {
            return (Halt::Later, false);
        }
        self.until = None;
        loop {
            if !self.rest.is_empty() {
                let mut chunks = [std::mem::take(&mut self.rest)];
                let written = quic.send_stream(self.id).write_chunks(&mut chunks);
                let [rest] = chunks;
                match written {
                    Ok(written) if written.chunks == 0 => {
                        has_written = true;
                        self.rest = rest;
                    }
                    Ok(_) => has_written = true,
                    Err(WriteError::Blocked) => {
                        self.rest = rest;
                        return (Halt::Later, has_written);
                    }
                    Err(WriteError::Stopped(_) | WriteError::ClosedStream) => {
                        return (Halt::Broken, has_written);
                    }
                }
                continue;
            }
            let halt = if self.sent < self.bytes.len() {
                self.write_bytes(block)
            } else if self.parts.is_empty() {
                return match quic.send_stream(self.id).finish() {
                    Ok(()) => (Halt::Done, has_written),
                    Err(_) => (Halt::Broken, has_written),
                };
            } else {
                self.write_part(now, handler)
            };
            if let Some(halt) = halt {
                return (halt, has_written);
            }
        }
    }

    fn write_bytes(&mut self, block: &mut Vec<u8>) -> Option<Halt> {
        let text = &self.bytes[self.sent..];
        let mut frames;
        let taken = if self.is_head_out {
            let count = text.len().min(PAYLOAD);
            frames = Vec::with_capacity(count + 16);
            put_head(&mut frames, kind::DATA, count);
            frames.extend_from_slice(&text[..count]);
            count
        } else {
            block.clear();
            qpack::begin(block);
            let Some(length) = each_field(text, |name, value| {
                qpack::field(block, name, value, Form::Plain);
            }) else {
                return Some(Halt::Broken);
            };
            let content = text.len() - length;
            let count = content.min(PAYLOAD);
            frames = Vec::with_capacity(block.len() + count + 32);
            put_head(&mut frames, kind::HEADERS, block.len());
            frames.extend_from_slice(block);
            if count > 0 {
                put_head(&mut frames, kind::DATA, count);
                frames.extend_from_slice(&text[length..length + count]);
            }
            self.is_head_out = true;
            length + count
        };
        self.sent += taken;
        self.rest = frames.into();
        None
    }

    fn write_part<K>(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Option<Halt> {
        match self.parts.pop_front()? {
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
                let Some(count) = self.read(&file, self.position, there, handler) else {
                    return (length > 0).then_some(Halt::Broken);
                };
                self.position = (self.position + count) % block.max(1);
                if length > count {
                    let length = length - count;
                    self.parts.push_front(Part::Cycle {
                        file,
                        block,
                        length,
                    });
                }
                None
            }
            Part::File {
                file,
                offset,
                length,
            } => {
                let Some(count) = self.read(&file, offset, length, handler) else {
                    // The file is shorter than was promised.
                    return (length > 0).then_some(Halt::Broken);
                };
                if length > count {
                    self.parts.push_front(Part::File {
                        file,
                        offset: offset + count,
                        length: length - count,
                    });
                }
                None
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

    /// Reads a frame from a file, of which so much is there; how many bytes that was.
    fn read<K>(
        &mut self,
        file: &F,
        offset: u64,
        there: u64,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> Option<u64> {
        let count = usize::try_from(there).map_or(PAYLOAD, |there| there.min(PAYLOAD));
        if count == 0 {
            return None;
        }
        let mut frame = Vec::with_capacity(count + 16);
        put_head(&mut frame, kind::DATA, count);
        if !handler.read(file, offset, count, &mut frame) {
            return None;
        }
        self.rest = frame.into();
        Some(count as u64)
    }
}
