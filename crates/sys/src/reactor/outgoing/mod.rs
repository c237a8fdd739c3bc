//! What is to be sent: bytes stored before, bytes copied into a pool, ranges of files; and the
//! short queue of them that each connection has.
//!
//! Nothing is freed while the kernel may read it: a stored buffer counts its uses, a pooled buffer
//! and a file belong to the piece that sends them until the piece is let go.
//!
//! A piece costs 64 bytes, and there are as many as connections and copies together.

mod copies;

use std::fs::File;
use std::io;
use std::sync::Arc;

use model::Mark;

use self::copies::Copies;
use super::{Refused, Settings, Source, Stored, Transmit};
use crate::slots::{Key, Slots};

/// All memory that sends are made from.
#[derive(Debug)]
pub(super) struct Outgoing {
    stored: Slots<Bytes>,
    copies: Copies,
    free: Vec<u32>,
    pool: Pool,
    /// Copies that silent sends were made of in this turn.
    lent: Vec<u32>,
    /// Stored bytes that were discarded while the kernel had not said that it is done with them.
    condemned: Vec<Stored>,
}

/// What a silent send gives to the kernel. It stays where it is until [`Outgoing::end_turn`].
#[derive(Clone, Copy, Debug)]
pub(super) enum Lent {
    /// Bytes of the pool of copies.
    Copied { place: u32, length: u32 },
    /// Bytes that were stored before.
    Stored(Stored),
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
    /// How long each datagram of it is; 0: it is one, or none.
    pub(super) segment: u16,
    /// How each datagram of it is marked.
    pub(super) mark: Mark,
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
    /// Fails where there is not address space enough for all copies.
    pub(super) fn new(settings: &Settings) -> io::Result<Self> {
        Ok(Self {
            stored: Slots::new(16),
            copies: Copies::new(settings.copies, settings.copy_bytes)?,
            free: (0..settings.copies).rev().collect(),
            pool: Pool::new(settings.connections as usize + settings.copies as usize),
            lent: Vec::with_capacity(settings.copies as usize),
            condemned: Vec::new(),
        })
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

    /// As [`Outgoing::discard`], but no sooner than [`Outgoing::end_turn`].
    pub(super) fn condemn(&mut self, stored: Stored) {
        if let Some(bytes) = self.stored.get_mut(stored.0) {
            bytes.discarded = true;
            self.condemned.push(stored);
        }
    }

    /// The kernel reads no bytes but those of pieces: silent sends have gone.
    #[inline]
    pub(super) fn end_turn(&mut self) {
        self.free.append(&mut self.lent);
        while let Some(stored) = self.condemned.pop() {
            self.discard(stored);
        }
    }

    /// Takes hold of what `source` names for a silent send, if it can be sent so.
    #[inline]
    pub(super) fn lend(&mut self, source: &Source<'_>) -> Option<Lent> {
        match *source {
            Source::Stored(stored) => {
                let bytes = self.stored.get(stored.0)?;
                (!bytes.discarded).then_some(Lent::Stored(stored))
            }
            Source::Copied(bytes) => {
                if bytes.len() > self.copies.each() {
                    return None;
                }
                let length = u32::try_from(bytes.len()).ok()?;
                let place = self.free.pop()?;
                self.copies.write(place, bytes);
                self.lent.push(place);
                Some(Lent::Copied { place, length })
            }
            Source::File { .. } => None,
        }
    }

    /// The bytes of a silent send, even if they were discarded since.
    #[inline]
    pub(super) fn lent(&self, lent: Lent) -> &[u8] {
        match lent {
            Lent::Copied { place, length } => self.copies.get(place, length as usize),
            Lent::Stored(stored) => {
                let bytes = self.stored.get(stored.0);
                bytes.map_or(&[], |bytes| &bytes.bytes)
            }
        }
    }

    /// What remains of a silent send, `done` bytes of which the kernel has taken.
    pub(super) fn remainder(&mut self, lent: Lent, done: u64, more: bool) -> Option<Piece> {
        let length = self.lent(lent).len() as u64;
        let content = match lent {
            Lent::Copied { place, .. } => {
                // The copy belongs to the piece from now on.
                let index = self.lent.iter().position(|lent| *lent == place)?;
                self.lent.swap_remove(index);
                Content::Copied(place)
            }
            Lent::Stored(Stored(key)) => {
                self.stored.get_mut(key)?.uses += 1;
                Content::Stored(key)
            }
        };
        Some(Piece {
            content,
            done,
            length,
            more,
            notify: false,
            tag: None,
            segment: 0,
            mark: Mark::NotCapable,
        })
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
                if bytes.len() > self.copies.each() {
                    return Err(Refused::TooLong);
                }
                let place = self.free.pop().ok_or(Refused::Buffers)?;
                self.copies.write(place, bytes);
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
            segment: transmit.segment,
            mark: transmit.mark,
        })
    }

    /// Whether there is room for one more piece with one more copy.
    pub(super) const fn has_room(&self) -> bool {
        self.may_append() && !self.free.is_empty()
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
                let bytes = self.copies.get(*place, to_usize(piece.length));
                Rest::Bytes(&bytes[to_usize(piece.done)..])
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

/// The sends of one connection, in order: a list through the pool of pieces.
#[derive(Debug)]
pub(super) struct Queue {
    first: u32,
    last: u32,
    count: u8,
}

/// The end of a list.
const NONE: u32 = u32::MAX;

impl Default for Queue {
    fn default() -> Self {
        Self {
            first: NONE,
            last: NONE,
            count: 0,
        }
    }
}

impl Queue {
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.count == 0
    }

    #[inline]
    pub(super) const fn len(&self) -> usize {
        self.count as usize
    }

    /// Where the first piece stands in the pool.
    #[inline]
    pub(super) const fn front(&self) -> u32 {
        self.first
    }
}

/// A place for a piece.
#[derive(Debug)]
struct Node {
    piece: Option<Piece>,
    /// The next in the connection's list, or in the list of free places.
    next: u32,
    owner: Option<Key>,
}

/// All pieces that wait or are under way. A list costs a connection nothing while it is empty.
#[derive(Debug)]
struct Pool {
    nodes: Vec<Node>,
    free: u32,
    used: usize,
    room: usize,
}

impl Pool {
    fn new(room: usize) -> Self {
        let mut pool = Self {
            nodes: Vec::with_capacity(room),
            free: NONE,
            used: 0,
            room,
        };
        for _ in 0..room {
            pool.add();
        }
        pool
    }

    fn add(&mut self) {
        let place = u32::try_from(self.nodes.len()).expect("fewer than 2^32 pieces");
        self.nodes.push(Node {
            piece: None,
            next: self.free,
            owner: None,
        });
        self.free = place;
    }

    fn insert(&mut self, piece: Piece, owner: Option<Key>) -> u32 {
        if self.free == NONE {
            self.add();
        }
        let place = self.free;
        let node = &mut self.nodes[place as usize];
        self.free = node.next;
        self.used += 1;
        *node = Node {
            piece: Some(piece),
            next: NONE,
            owner,
        };
        place
    }

    fn remove(&mut self, place: u32) -> Option<(Piece, u32)> {
        let node = self.nodes.get_mut(place as usize)?;
        let piece = node.piece.take()?;
        let next = std::mem::replace(&mut node.next, self.free);
        self.free = place;
        self.used -= 1;
        Some((piece, next))
    }
}

impl Outgoing {
    /// Whether the pool has a place for one more piece.
    #[inline]
    pub(super) const fn may_append(&self) -> bool {
        self.pool.used < self.pool.room
    }

    /// Puts `piece` at the end of a list.
    #[inline]
    pub(super) fn append(&mut self, queue: &mut Queue, owner: Option<Key>, piece: Piece) {
        let place = self.pool.insert(piece, owner);
        if queue.count == 0 {
            queue.first = place;
        } else {
            self.pool.nodes[queue.last as usize].next = place;
        }
        queue.last = place;
        queue.count += 1;
    }

    /// Puts `piece` before all others of a list. There is always room for it.
    pub(super) fn prepend(&mut self, queue: &mut Queue, owner: Option<Key>, piece: Piece) {
        let place = self.pool.insert(piece, owner);
        if queue.count == 0 {
            queue.last = place;
        }
        self.pool.nodes[place as usize].next = queue.first;
        queue.first = place;
        queue.count += 1;
    }

    #[inline]
    pub(super) fn front(&self, queue: &Queue) -> Option<&Piece> {
        self.pool.nodes.get(queue.first as usize)?.piece.as_ref()
    }

    #[inline]
    pub(super) fn front_mut(&mut self, queue: &Queue) -> Option<&mut Piece> {
        let node = self.pool.nodes.get_mut(queue.first as usize)?;
        node.piece.as_mut()
    }

    /// Takes the first piece out of a list that has one.
    #[inline]
    pub(super) fn take_front(&mut self, queue: &mut Queue) -> Piece {
        let (piece, next) = self.pool.remove(queue.first).expect("the list has a piece");
        queue.first = next;
        queue.count -= 1;
        piece
    }

    /// Lets go of the first piece of a list. Whether its end is to be told.
    #[inline]
    pub(super) fn drop_front(&mut self, queue: &mut Queue) -> bool {
        let piece = self.take_front(queue);
        self.release(&piece);
        piece.notify
    }

    /// Lets go of all pieces of a list.
    pub(super) fn clear(&mut self, queue: &mut Queue) {
        while !queue.is_empty() {
            self.drop_front(queue);
        }
    }

    /// Lets go of all pieces of a list but the first, which the kernel still reads: it stays where
    /// it is until [`Outgoing::end_of_piece`].
    pub(super) fn abandon(&mut self, mut queue: Queue) {
        let Some(node) = self.pool.nodes.get_mut(queue.first as usize) else {
            return;
        };
        queue.first = std::mem::replace(&mut node.next, NONE);
        queue.count -= 1;
        self.clear(&mut queue);
    }

    /// Whose piece stands at `place` of the pool.
    #[inline]
    pub(super) fn owner(&self, place: u32) -> Option<Key> {
        self.pool.nodes.get(place as usize)?.owner
    }

    /// The kernel reads an abandoned piece no more.
    pub(super) fn end_of_piece(&mut self, place: u32) {
        if let Some((piece, _)) = self.pool.remove(place) {
            self.release(&piece);
        }
    }
}

#[cfg(test)]
mod tests;
