//! How often a thread allocates, and how much: for tests of loops that must not, and of what must
//! stay small.
//!
//! A test binary makes [`Counting`] its global allocator; no program that measures does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Without a destructor and with a constant to begin with: reading it never allocates.
    static COUNT: Cell<u64> = const { Cell::new(0) };
    static BYTES: Cell<Bytes> = const { Cell::new(Bytes { allocated: 0, freed: 0 }) };
}

/// The system's allocator, counted per thread.
#[derive(Debug)]
pub struct Counting;

/// How often this thread has asked [`Counting`] for memory, or for more of it.
pub fn of_this_thread() -> u64 {
    COUNT.get()
}

/// What a thread has asked for and given back, in bytes.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Bytes {
    /// Asked for in all.
    pub allocated: u64,
    /// Given back in all.
    pub freed: u64,
}

impl Bytes {
    /// What this thread has asked [`Counting`] for and given back so far.
    pub fn of_this_thread() -> Self {
        BYTES.get()
    }

    /// What is held of all that was asked for since `earlier`. Memory that another thread gives
    /// back is never missed.
    pub fn held_since(&self, earlier: &Self) -> u64 {
        let allocated = self.allocated - earlier.allocated;
        allocated.saturating_sub(self.freed - earlier.freed)
    }
}

fn asked(size: usize) {
    COUNT.set(COUNT.get() + 1);
    let bytes = BYTES.get();
    BYTES.set(Bytes {
        allocated: bytes.allocated + size as u64,
        ..bytes
    });
}

fn gave_back(size: usize) {
    let bytes = BYTES.get();
    BYTES.set(Bytes {
        freed: bytes.freed + size as u64,
        ..bytes
    });
}

// SAFETY: every call is handed on to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        asked(layout.size());
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        asked(layout.size());
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same here.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        gave_back(layout.size());
        // SAFETY: the memory came from the system's allocator, by one of the calls above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        gave_back(layout.size());
        asked(size);
        // SAFETY: the memory came from the system's allocator, by one of the calls above.
        unsafe { System.realloc(memory, layout, size) }
    }
}
