//! What is to be sent: bytes stored before, bytes copied into a pool, ranges of files; and the
//! short queue of them that each connection has.
//!
//! Nothing is freed while the kernel may read it: a stored buffer counts its uses, a pooled buffer
//! and a file belong to the piece that sends them until the piece is let go.

use std::fs::File;
use std::sync::Arc;

use super::{Refused, SENDS_MAX, Settings, Source, Stored, Transmit};
use crate::slots::{Key, Slots};

/// All memory that sends are made from.
#[derive(Debug)]
pub(super) struct Outgoing {
    stored: Slots<Bytes>,
    copies: Box<[u8]>,
    copy_bytes: usize,
    free: Vec<u32>,
}

#[derive(Debug)]
struct Bytes {
    bytes: Box<[u8]>,
    uses: u32,
    discarded: bool,
}

/// One send under way.
#[derive(Debug)]
pub(super) struct Piece {
    content: Content,
    /// Bytes that the kernel has taken.
    pub(super) done: u64,
    /// Bytes in all.
    pub(super) length: u64,
    /// Another one follows at once.
    pub(super) more: bool,
    /// Its end is to be told.
    pub(super) notify: bool,
    /// Its coming to the front is to be told by this name.
    pub(super) tag: Option<u32>,
}

#[derive(Debug)]
enum Content {
    Copied(u32),
    File(Arc<File>, u64),
    Stored(Key),
}

/// What the kernel is to be given next.
#[derive(Debug)]
pub(super) enum Rest<'a> {
    /// These bytes; they stay where they are until the piece is let go.
    Bytes(&'a [u8]),
    /// This part of a file.
    File(&'a File, u64, u64),
}

impl Outgoing {
    pub(super) fn new(settings: &Settings) -> Self {
        let copy_bytes = settings.copy_bytes as usize;
        Self {
            stored: Slots::new(16),
            copies: vec![0; settings.copies as usize * copy_bytes].into_boxed_slice(),
            copy_bytes,
            free: (0..settings.copies).rev().collect(),
        }
    }

    pub(super) fn store(&mut self, bytes: Vec<u8>) -> Stored {
        let bytes = Bytes {
            bytes: bytes.into_boxed_slice(),
            uses: 0,
            discarded: false,
        };
        Stored(self.stored.insert_growing(bytes))
    }

    pub(super) fn discard(&mut self, stored: Stored) {
        if let Some(bytes) = self.stored.get_mut(stored.0) {
            bytes.discarded = true;
            if bytes.uses == 0 {
                self.stored.remove(stored.0);
            }
        }
    }

    /// Takes hold of what `transmit` names.
    #[inline]
    pub(super) fn piece(&mut self, transmit: Transmit<'_>) -> Result<Piece, Refused> {
        let (content, length) = match transmit.source {
            Source::Stored(Stored(key)) => {
                let bytes = self.stored.get_mut(key).ok_or(Refused::Stale)?;
                if bytes.discarded {
                    return Err(Refused::Stale);
                }
                bytes.uses += 1;
                (Content::Stored(key), bytes.bytes.len() as u64)
            }
            Source::Copied(bytes) => {
                if bytes.len() > self.copy_bytes {
                    return Err(Refused::TooLong);
                }
                let place = self.free.pop().ok_or(Refused::Buffers)?;
                let start = place as usize * self.copy_bytes;
                self.copies[start..start + bytes.len()].copy_from_slice(bytes);
                (Content::Copied(place), bytes.len() as u64)
            }
            Source::File {
                file,
                offset,
                length,
            } => (Content::File(file, offset), length),
        };
        Ok(Piece {
            content,
            done: 0,
            length,
            more: transmit.more,
            notify: transmit.notify,
            tag: transmit.tag,
        })
    }

    /// Whether there is room for one more copy.
    pub(super) const fn may_copy(&self) -> bool {
        !self.free.is_empty()
    }

    /// What of `piece` is not done.
    #[inline]
    pub(super) fn rest<'a>(&'a self, piece: &'a Piece) -> Rest<'a> {
        match &piece.content {
            Content::Stored(key) => {
                let bytes = self.stored.get(*key).map_or(&[][..], |b| &b.bytes);
                Rest::Bytes(&bytes[to_usize(piece.done)..])
            }
            Content::Copied(place) => {
                let start = *place as usize * self.copy_bytes;
                let range = start + to_usize(piece.done)..start + to_usize(piece.length);
                Rest::Bytes(&self.copies[range])
            }
            Content::File(file, offset) => {
                Rest::File(file, offset + piece.done, piece.length - piece.done)
            }
        }
    }

    /// Lets go of `piece`: the kernel reads its memory no more.
    #[inline]
    pub(super) fn release(&mut self, piece: &Piece) {
        match &piece.content {
            Content::Stored(key) => {
                let Some(bytes) = self.stored.get_mut(*key) else {
                    return;
                };
                debug_assert!(bytes.uses > 0, "released more often than used");
                bytes.uses -= 1;
                if bytes.uses == 0 && bytes.discarded {
                    self.stored.remove(*key);
                }
            }
            Content::Copied(place) => self.free.push(*place),
            Content::File(..) => {}
        }
    }
}

/// An offset into memory; it is one, because a slice of that length exists.
#[expect(
    clippy::cast_possible_truncation,
    reason = "bounded by the length of a slice in memory"
)]
const fn to_usize(offset: u64) -> usize {
    offset as usize
}

/// The sends of one connection, in order.
#[derive(Debug, Default)]
pub(super) struct Queue {
    pieces: [Option<Piece>; SENDS_MAX],
    first: u8,
    count: u8,
}

impl Queue {
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(super) const fn is_full(&self) -> bool {
        self.count as usize == SENDS_MAX
    }

    /// Puts `piece` at the end; the caller has looked that there is room.
    #[inline]
    pub(super) fn push(&mut self, piece: Piece) {
        debug_assert!(!self.is_full(), "looked before");
        let place = (self.first + self.count) as usize % SENDS_MAX;
        self.pieces[place] = Some(piece);
        self.count += 1;
    }

    #[inline]
    pub(super) const fn front_mut(&mut self) -> Option<&mut Piece> {
        self.pieces[self.first as usize].as_mut()
    }

    #[inline]
    pub(super) fn pop(&mut self) -> Option<Piece> {
        let piece = self.pieces[self.first as usize].take()?;
        self.first += 1;
        if self.first as usize == SENDS_MAX {
            self.first = 0;
        }
        self.count -= 1;
        Some(piece)
    }

    /// Lets go of everything.
    pub(super) fn clear(&mut self, outgoing: &mut Outgoing) {
        while let Some(piece) = self.pop() {
            outgoing.release(&piece);
        }
    }
}

#[cfg(test)]
mod tests;
