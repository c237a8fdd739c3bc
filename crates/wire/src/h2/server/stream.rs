//! One request and its answer, which goes out as far as windows allow.

use model::Instant;

use super::answer::{LastHead, Table, write_head};
use crate::answer::{Answer, Piece};
use crate::h2::frame::{self, Code, PAYLOAD};
use crate::service::Handler;

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
    /// It has to grow by then.
    pub(super) deadline: Instant,
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
    pub(super) answer: Answer<F>,
    is_head_out: bool,
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
    pub(super) last_head: &'a mut LastHead,
    pub(super) table: &'a mut Table,
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
            answer: Answer::new(),
            is_head_out: false,
        }
    }

    /// When the body of its request has to have grown.
    pub(super) const fn body_deadline(&self) -> Option<Instant> {
        match &self.stage {
            Stage::Reading(body) => Some(body.deadline),
            Stage::Answering | Stage::Waiting(_) => None,
        }
    }

    /// How many bytes of it are held in memory.
    pub(super) fn held(&self) -> usize {
        match &self.stage {
            Stage::Answering => self.answer.held(),
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
        loop {
            if way.out.len() >= way.full {
                return Halt::Full;
            }
            let (count, is_all) = match self.answer.next(now) {
                Piece::Bytes { bytes, is_last } if !self.is_head_out => {
                    let known = (&mut *way.last_head, &mut *way.table);
                    let Some(length) = write_head(bytes, self.id, is_last, known, way.out) else {
                        frame::reset(way.out, self.id, Code::INTERNAL);
                        return Halt::Done;
                    };
                    self.is_head_out = true;
                    if is_last && length == bytes.len() {
                        return Halt::Done;
                    }
                    self.answer.took(length);
                    continue;
                }
                Piece::Bytes { bytes, is_last } => {
                    let Some(count) = way.room(self.window, bytes.len() as u64) else {
                        return Halt::Later;
                    };
                    let is_all = is_last && count == bytes.len();
                    frame::data(way.out, self.id, count, is_all);
                    way.out.extend_from_slice(&bytes[..count]);
                    (count, is_all)
                }
                Piece::File {
                    file,
                    offset,
                    length,
                    is_last,
                } => {
                    let Some(count) = way.room(self.window, length) else {
                        return Halt::Later;
                    };
                    let is_all = is_last && count as u64 == length;
                    let start = way.out.len();
                    frame::data(way.out, self.id, count, is_all);
                    if !handler.read(file, offset, count, way.out) {
                        // The file is shorter than was promised.
                        way.out.truncate(start);
                        frame::reset(way.out, self.id, Code::INTERNAL);
                        return Halt::Done;
                    }
                    (count, is_all)
                }
                Piece::Close => return Halt::Close,
                Piece::End => {
                    frame::data(way.out, self.id, 0, true);
                    return Halt::Done;
                }
                Piece::Later => return Halt::Later,
                Piece::Reset => return Halt::Reset,
            };
            self.answer.took(count);
            let taken = i64::try_from(count).expect("a frame has at most 16 KiB");
            self.window -= taken;
            *way.window -= taken;
            if is_all {
                return Halt::Done;
            }
        }
    }
}

impl Way<'_> {
    /// How much content may go out in one frame of a stream with this window, of as much as there
    /// is.
    fn room(&mut self, window: i64, there: u64) -> Option<usize> {
        let window = usize::try_from(window.min(*self.window)).unwrap_or(0);
        let wanted = usize::try_from(there).map_or(PAYLOAD, |there| there.min(PAYLOAD));
        if window == 0 {
            return None;
        }
        if window < wanted.min(SHORT) {
            *self.short += 1;
        }
        Some(window.min(wanted))
    }
}
