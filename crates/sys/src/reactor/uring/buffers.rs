//! Buffers that the kernel picks when bytes arrive: idle connections hold none.
//!
//! Two rings of them: small ones, enough for a head and a small body, and large ones, to which a
//! connection changes when it fills a small one. The upper bit of a buffer's number says which
//! ring it belongs to.

use std::io;
use std::sync::atomic::{AtomicU16, Ordering};

use io_uring::IoUring;
use io_uring::types::BufRingEntry;

use crate::buffer::Memory;

/// Which ring.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Size {
    Small,
    Large,
}

impl Size {
    pub(super) const fn group(self) -> u16 {
        match self {
            Self::Small => 0,
            Self::Large => 1,
        }
    }
}

/// Bytes of a small buffer: a head and a body of a few kilobytes. Not a power of two, else all
/// buffers would begin in the same few sets of a cache.
pub(super) const SMALL_BYTES: usize = 4 * 1024 + 5 * 64;
/// Bytes of a large one: a 100 KB body in two.
pub(super) const LARGE_BYTES: usize = 64 * 1024;
const LARGE_COUNT: u16 = 64;
const LARGE_BIT: u16 = 1 << 15;

#[derive(Debug)]
pub(super) struct Buffers {
    small: Group,
    large: Group,
}

impl Buffers {
    /// Registers both rings: as many small buffers as `connections`, within bounds.
    pub(super) fn new(uring: &IoUring, connections: u32) -> io::Result<Self> {
        let count = connections.next_power_of_two().clamp(64, 2_048);
        let count = u16::try_from(count).unwrap_or(2_048);
        Ok(Self {
            small: Group::new(uring, Size::Small, count, SMALL_BYTES)?,
            large: Group::new(uring, Size::Large, LARGE_COUNT, LARGE_BYTES)?,
        })
    }

    /// `length` bytes from `offset` on of a buffer that the kernel handed out.
    #[inline]
    pub(super) fn bytes(&mut self, buffer: u16, offset: usize, length: usize) -> &mut [u8] {
        self.group(buffer)
            .bytes(buffer & !LARGE_BIT, offset, length)
    }

    /// Gives a buffer back to the kernel; nobody looks at it any more.
    #[inline]
    pub(super) fn give_back(&mut self, buffer: u16) {
        self.group(buffer).give(buffer);
    }

    pub(super) const fn capacity(buffer: u16) -> usize {
        if buffer & LARGE_BIT == 0 {
            SMALL_BYTES
        } else {
            LARGE_BYTES
        }
    }

    #[inline]
    const fn group(&mut self, buffer: u16) -> &mut Group {
        if buffer & LARGE_BIT == 0 {
            &mut self.small
        } else {
            &mut self.large
        }
    }
}

#[derive(Debug)]
struct Group {
    entries: Memory,
    memory: Memory,
    bytes: usize,
    mask: u16,
    tail: u16,
}

impl Group {
    fn new(uring: &IoUring, size: Size, count: u16, bytes: usize) -> io::Result<Self> {
        debug_assert!(count.is_power_of_two(), "the kernel asks for that");
        let entries = Memory::zeroed(usize::from(count) * size_of::<BufRingEntry>());
        let address = entries.start().as_ptr() as u64;
        // SAFETY: the entries live until after the ring is gone: see the order of fields there.
        unsafe {
            uring
                .submitter()
                .register_buf_ring_with_flags(address, count, size.group(), 0)?;
        }
        let mut group = Self {
            entries,
            memory: Memory::zeroed(usize::from(count) * bytes),
            bytes,
            mask: count - 1,
            tail: 0,
        };
        let bit = match size {
            Size::Small => 0,
            Size::Large => LARGE_BIT,
        };
        for buffer in 0..count {
            group.give(buffer | bit);
        }
        Ok(group)
    }

    #[inline]
    #[expect(
        clippy::needless_pass_by_ref_mut,
        reason = "the bytes are lent for writing, so nobody else may have them"
    )]
    fn bytes(&mut self, buffer: u16, offset: usize, length: usize) -> &mut [u8] {
        assert!(offset + length <= self.bytes, "inside one buffer");
        let start = self
            .memory
            .at(usize::from(buffer) * self.bytes + offset)
            .as_ptr();
        // SAFETY: these bytes are initialised and lie inside one buffer, which the kernel has
        // handed out and does not touch before it is given back; the borrow of `self` prevents
        // that while the slice lives.
        unsafe { std::slice::from_raw_parts_mut(start, length) }
    }

    #[inline]
    fn give(&mut self, buffer: u16) {
        let place = usize::from(self.tail & self.mask);
        let first = self.entries.start().cast::<BufRingEntry>();
        // SAFETY: the place is below the number of entries.
        let entry = unsafe { first.add(place) };
        let start = usize::from(buffer & !LARGE_BIT) * self.bytes;
        let address = self.memory.at(start).as_ptr() as u64;
        // SAFETY: the kernel looks at this entry only when the tail has passed it, and no other
        // reference to it exists.
        let entry = unsafe { &mut *entry.as_ptr() };
        entry.set_addr(address);
        entry.set_len(u32::try_from(self.bytes).unwrap_or(0));
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the pointer is that of the ring's first entry, in which its tail lies.
        let tail = unsafe { BufRingEntry::tail(first.as_ptr()) };
        // SAFETY: the tail is an aligned u16 that lives as long as the ring; the kernel only
        // reads it, and this thread alone writes it.
        let tail = unsafe { AtomicU16::from_ptr(tail.cast_mut()) };
        tail.store(self.tail, Ordering::Release);
    }
}
