//! Memory that is allocated once, page-aligned, and whose address the kernel is told.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4_096;

/// Zeroed memory that the kernel may write into while it is here. It is never borrowed as a
/// whole: who reads a part vouches that the kernel is done with that part.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    /// `bytes` zeroes. The system hands the pages out when they are first touched.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes.max(PAGE_BYTES), PAGE_BYTES)
            .expect("a size that memory can have");
        // SAFETY: the layout's size is above zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(start) = NonNull::new(start) else {
            handle_alloc_error(layout);
        };
        Self { start, layout }
    }

    /// Its first byte.
    pub(crate) const fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The byte at `offset`.
    pub(crate) const fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.layout.size(), "inside");
        // SAFETY: the offset is within the allocation, as just checked.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this very layout, and nobody holds a part of it: parts
        // are borrowed through the owner of this value.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_zero_and_aligned() {
        let memory = Memory::zeroed(10_000);
        assert_eq!(memory.start().as_ptr() as usize % PAGE_BYTES, 0);
        // SAFETY: the last byte lies in the allocation and is initialised.
        assert_eq!(unsafe { memory.at(9_999).read() }, 0);
    }
}
