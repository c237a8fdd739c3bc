//! One request and its answer, which goes out as far as windows allow.

use bytes::Bytes;
use model::Instant;
use quinn_proto::{Connection, StreamId, WriteError};

use crate::answer::{Answer, Piece};
use crate::h2::server::answer::LastHead;
use crate::h3::frame::{Reader, head_length, kind, put_head};
use crate::h3::qpack::{self, Form};
use crate::service::Handler;

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
    pub(super) answer: Answer<F>,
    is_head_out: bool,
    /// Frames that QUIC has not taken yet.
    rest: Bytes,
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
            answer: Answer::new(),
            is_head_out: false,
            rest: Bytes::new(),
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
            self.answer.until()
        }
    }

    /// How many bytes of it are held in memory.
    pub(super) fn held(&self) -> usize {
        let of_request = match &self.stage {
            Stage::Answering | Stage::Head => 0,
            Stage::Reading(text) | Stage::Waiting(text) => text.len(),
        };
        of_request + self.reader.held() + self.rest.len() + self.answer.held()
    }

    /// It is over: gives the handler its buffer back.
    pub(super) fn let_go<K>(&mut self, handler: &mut impl Handler<File = F, Kept = K>) {
        std::mem::replace(&mut self.answer, Answer::new()).drop(handler);
    }

    /// Says that the body of the request may come (RFC 9110 §15.2.1). What QUIC does not take now
    /// goes out before the answer.
    pub(super) fn let_come(&mut self, quic: &mut Connection) {
        let mut block = Vec::new();
        qpack::begin(&mut block);
        qpack::field(&mut block, b":status", b"100", Form::Plain);
        let mut frames = Vec::with_capacity(head_length(block.len()) + block.len());
        put_head(&mut frames, kind::HEADERS, block.len());
        frames.extend_from_slice(&block);
        let written = quic.send_stream(self.id).write(&frames).unwrap_or(0);
        self.rest = Bytes::from(frames.split_off(written));
    }

    /// Writes as much of the answer as QUIC takes; whether that was anything.
    pub(super) fn write<K>(
        &mut self,
        now: Instant,
        quic: &mut Connection,
        last_head: &mut LastHead,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) -> (Halt, bool) {
        let mut has_written = false;
        loop {
            while !self.rest.is_empty() {
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
            }
            let halt = match self.answer.next(now) {
                Piece::Bytes { bytes, .. } => {
                    let framed = match self.is_head_out {
                        true => Some(put_content(bytes)),
                        false => put_answer(bytes, last_head),
                    };
                    let Some((frames, taken)) = framed else {
                        return (Halt::Broken, has_written);
                    };
                    self.is_head_out = true;
                    self.answer.took(taken);
                    self.rest = frames;
                    continue;
                }
                Piece::File {
                    file,
                    offset,
                    length,
                    ..
                } => {
                    let count = usize::try_from(length).map_or(PAYLOAD, |there| there.min(PAYLOAD));
                    let mut frame = Vec::with_capacity(head_length(count) + count);
                    put_head(&mut frame, kind::DATA, count);
                    if !handler.read(file, offset, count, &mut frame) {
                        // The file is shorter than was promised.
                        return (Halt::Broken, has_written);
                    }
                    self.answer.took(count);
                    self.rest = frame.into();
                    continue;
                }
                Piece::Close => Halt::Close,
                Piece::End => match quic.send_stream(self.id).finish() {
                    Ok(()) => Halt::Done,
                    Err(_) => Halt::Broken,
                },
                Piece::Later => Halt::Later,
                Piece::Reset => Halt::Reset,
            };
            return (halt, has_written);
        }
    }
}

/// A frame of the content that `text` begins with; how much of it that is.
fn put_content(text: &[u8]) -> (Bytes, usize) {
    let count = text.len().min(PAYLOAD);
    let mut frames = Vec::with_capacity(head_length(count) + count);
    put_head(&mut frames, kind::DATA, count);
    frames.extend_from_slice(&text[..count]);
    (frames.into(), count)
}

/// Frames of the head that `text` begins with, and of some content; how much of it that is. None:
/// there is no whole head.
fn put_answer(text: &[u8], last_head: &mut LastHead) -> Option<(Bytes, usize)> {
    let (block, length) = last_head.block_of(text, qpack::begin, |block, name, value| {
        qpack::field(block, name, value, Form::Plain);
    })?;
    let content = text.len() - length;
    let count = content.min(PAYLOAD);
    let of_content = match count {
        0 => 0,
        _ => head_length(count) + count,
    };
    // With room to spare one more allocation would make `Bytes` of them.
    let room = head_length(block.len()) + block.len() + of_content;
    let mut frames = Vec::with_capacity(room);
    put_head(&mut frames, kind::HEADERS, block.len());
    frames.extend_from_slice(block);
    if count > 0 {
        put_head(&mut frames, kind::DATA, count);
        frames.extend_from_slice(&text[length..length + count]);
    }
    Some((frames.into(), length + count))
}
