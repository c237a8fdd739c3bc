//! An answer on one stream among many, as a handler wrote it for HTTP/1.1, and how much of it is
//! out. HTTP/2 and HTTP/3 put what is next into frames of their own.

use std::collections::VecDeque;

use model::Instant;

use crate::h1::request::{FieldSpace, Rejection, parse_translated};
use crate::service::{Handler, Part, Persistence};

/// An answer, and how much of it is out.
#[derive(Debug)]
pub(crate) struct Answer<F> {
    /// The bytes at hand, of which so many are out.
    bytes: Vec<u8>,
    sent: usize,
    /// What follows them.
    parts: VecDeque<Part<F>>,
    /// Where in a file that is sent again and again.
    position: u64,
    /// A delay that was ordered lasts until then.
    until: Option<Instant>,
}

/// What is to go out next.
#[derive(Debug)]
pub(crate) enum Piece<'a, F> {
    /// These bytes, or the first of them.
    Bytes {
        bytes: &'a [u8],
        /// Nothing follows them.
        is_last: bool,
    },
    /// The connection ends here.
    Close,
    /// All is out.
    End,
    /// So many bytes of a file, or the first of them.
    File {
        file: &'a F,
        offset: u64,
        length: u64,
        /// Nothing follows them.
        is_last: bool,
    },
    /// Nothing for now: a delay lasts, or nothing will come any more.
    Later,
    /// The connection is reset here.
    Reset,
}

impl<F> Answer<F> {
    pub(crate) const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            sent: 0,
            parts: VecDeque::new(),
            position: 0,
            until: None,
        }
    }

    /// Lets the handler answer the request with this text.
    pub(crate) fn begin<K>(&mut self, text: &[u8], handler: &mut impl Handler<File = F, Kept = K>) {
        let mut bytes = handler.lend();
        if let Some(found) = handler.repeat(text)
            && found.request_length == text.len()
        {
            handler.copy(&found.kept, &mut bytes);
            self.parts.extend(found.rest);
        } else {
            let mut space = FieldSpace::default();
            match parse_translated(text, &mut space) {
                Ok(request) => {
                    let parts = handler.answer(&request, Persistence::Usual, &mut bytes);
                    self.parts.extend(parts);
                }
                Err(wrong) => {
                    let line = Rejection::line_of(text);
                    handler.reject(wrong.status(), line, &wrong.to_string(), &mut bytes);
                }
            }
        }
        self.bytes = bytes;
    }

    /// Refuses a request in words. `line` is as much of its request line as is known.
    pub(crate) fn reject<K>(
        &mut self,
        (status, why): (u16, &str),
        line: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        handler.reject(status, line, why, &mut self.bytes);
    }

    /// Gives the handler its buffer back.
    pub(crate) fn drop<K>(self, handler: &mut impl Handler<File = F, Kept = K>) {
        if self.bytes.capacity() > 0 {
            handler.take_back(self.bytes);
        }
    }

    /// How many bytes of it are held in memory.
    pub(crate) const fn held(&self) -> usize {
        self.bytes.len() - self.sent
    }

    /// The end of the delay that lasts, if one does.
    pub(crate) const fn until(&self) -> Option<Instant> {
        self.until
    }

    /// Whether nothing more of it will ever go out, although it is not whole.
    pub(crate) fn is_stalled(&self) -> bool {
        matches!(self.parts.front(), Some(Part::Stall))
    }

    /// What is to go out next; the same again until [`Answer::took`] says how much of it did.
    pub(crate) fn next(&mut self, now: Instant) -> Piece<'_, F> {
        if self.until.is_some_and(|until| until <= now) {
            self.until = None;
        }
        self.settle(now);
        let is_last = self.parts.len() == 1;
        match self.parts.front() {
            _ if self.until.is_some() => Piece::Later,
            _ if self.sent < self.bytes.len() => Piece::Bytes {
                bytes: &self.bytes[self.sent..],
                is_last: self.parts.is_empty(),
            },
            None => Piece::End,
            Some(Part::Close) => Piece::Close,
            Some(Part::Cycle {
                file,
                block,
                length,
            }) => {
                let there = (*length).min((*block).max(1) - self.position);
                Piece::File {
                    file,
                    offset: self.position,
                    length: there,
                    is_last: is_last && there == *length,
                }
            }
            Some(Part::File {
                file,
                offset,
                length,
            }) => Piece::File {
                file,
                offset: *offset,
                length: *length,
                is_last,
            },
            Some(Part::Reset) => Piece::Reset,
            Some(Part::Bytes(_) | Part::Pause(_) | Part::Stall) => Piece::Later,
        }
    }

    /// Goes on to the part that is next, or into a delay.
    fn settle(&mut self, now: Instant) {
        while self.sent == self.bytes.len() && self.until.is_none() {
            match self.parts.front_mut() {
                Some(Part::Bytes(bytes)) => {
                    self.bytes = std::mem::take(bytes);
                    self.sent = 0;
                }
                Some(Part::Pause(span)) => self.until = Some(now + *span),
                Some(Part::Cycle { length: 0, .. } | Part::File { length: 0, .. }) => {}
                _ => return,
            }
            self.parts.pop_front();
        }
    }

    /// So many bytes of what was next are out.
    pub(crate) fn took(&mut self, count: usize) {
        if self.sent < self.bytes.len() {
            self.sent += count;
            return;
        }
        let count = count as u64;
        match self.parts.front_mut() {
            Some(Part::Cycle { block, length, .. }) => {
                self.position = (self.position + count) % (*block).max(1);
                *length -= count;
            }
            Some(Part::File { offset, length, .. }) => {
                *offset += count;
                *length -= count;
            }
            _ => {}
        }
    }
}
