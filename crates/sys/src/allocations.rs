//! How often a thread allocates: for tests of loops that must not.
//!
//! A test binary makes [`Counting`] its global allocator; no program that measures does.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Without a destructor and with a constant to begin with: reading it never allocates.
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counted per thread.
#[derive(Debug)]
pub struct Counting;

/// How often this thread has asked [`Counting`] for memory, or for more of it.
pub fn of_this_thread() -> u64 {
    COUNT.get()
}

fn count() {
    COUNT.set(COUNT.get() + 1);
}

// SAFETY: every call is handed on to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`, which is the same here.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc_zeroed`, which is the same here.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from the system's allocator, by one of the calls above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the memory came from the system's allocator, by one of the calls above.
        unsafe { System.realloc(memory, layout, size) }
    }
}
