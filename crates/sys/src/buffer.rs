//! Memory that is allocated once, page-aligned, and whose address the kernel is told.

use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::ptr::NonNull;

const PAGE_BYTES: usize = 4_096;

/// Zeroed memory that the kernel may write into while it is here. It is never borrowed as a
/// whole: who reads a part vouches that the kernel is done with that part.
#[derive(Debug)]
pub(crate) struct Memory {
    start: NonNull<u8>,
    bytes: usize,
    allocation: NonNull<u8>,
    layout: Layout,
}

impl Memory {
    /// `bytes` zeroes. The system hands the pages out when they are first touched.
    pub(crate) fn zeroed(bytes: usize) -> Self {
        // A larger alignment would make the allocator write all the zeroes itself, and so touch
        // every page: an unaligned allocation with room to align within does not.
        let layout = Layout::array::<u8>(bytes + PAGE_BYTES).expect("a size that memory can have");
        // SAFETY: the layout's size is above zero.
        let start = unsafe { alloc_zeroed(layout) };
        let Some(allocation) = NonNull::new(start) else {
            handle_alloc_error(layout);
        };
        let skip = allocation.align_offset(PAGE_BYTES);
        debug_assert!(skip < PAGE_BYTES, "the room that was added is enough");
        // SAFETY: the offset is below the page that the allocation is larger than what is needed.
        let start = unsafe { allocation.add(skip) };
        Self {
            start,
            bytes,
            allocation,
            layout,
        }
    }

    /// Its first byte.
    pub(crate) const fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// The byte at `offset`.
    pub(crate) const fn at(&self, offset: usize) -> NonNull<u8> {
        assert!(offset <= self.bytes, "inside");
        // SAFETY: the offset is within the allocation, as just checked.
        unsafe { self.start.add(offset) }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: it was allocated with this very layout, and nobody holds a part of it: parts
        // are borrowed through the owner of this value.
        unsafe { dealloc(self.allocation.as_ptr(), self.layout) };
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
