//! The ring that the bare io_uring programs share: set up as the reactor's, and nothing more.

use io_uring::types::{BufRingEntry, Timespec};
use io_uring::{IoUring, cqueue, squeue};

/// An io_uring with one ring of provided buffers.
pub(crate) struct Ring {
    pub(crate) uring: IoUring,
    buffers: Vec<u8>,
    entries: *mut BufRingEntry,
    buffer_bytes: usize,
    count: u16,
    tail: u16,
}

pub(crate) const GROUP: u16 = 0;

impl Ring {
    pub(crate) fn new(files: u32, count: u16, buffer_bytes: usize) -> Self {
        let uring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_no_sqarray()
            .setup_cqsize(8_192)
            .build(2_048)
            .expect("io_uring is permitted and Linux is 6.1 or later");
        uring
            .submitter()
            .register_files_sparse(files)
            .expect("a table of files");
        uring
            .submitter()
            .register_ring_fd()
            .expect("the ring's own descriptor can be registered");
        let layout = std::alloc::Layout::from_size_align(usize::from(count) * 16, 4_096)
            .expect("a power of two");
        // SAFETY: the layout has a size above zero.
        let memory = unsafe { std::alloc::alloc_zeroed(layout) };
        assert!(!memory.is_null(), "out of memory");
        // SAFETY: the memory has room for `count` entries, is aligned to a page and never freed.
        unsafe {
            uring
                .submitter()
                .register_buf_ring_with_flags(memory as u64, count, GROUP, 0)
        }
        .expect("a ring of buffers");
        let mut ring = Self {
            uring,
            buffers: vec![0; usize::from(count) * buffer_bytes],
            entries: memory.cast(),
            buffer_bytes,
            count,
            tail: 0,
        };
        for buffer in 0..count {
            ring.give_back(buffer);
        }
        ring
    }

    /// Gives `buffer` to the kernel.
    #[inline]
    pub(crate) fn give_back(&mut self, buffer: u16) {
        let place = usize::from(self.tail & (self.count - 1));
        // SAFETY: `place` is below the number of entries.
        let entry = unsafe { self.entries.add(place) };
        // SAFETY: `buffer` is below `count`, so that its offset lies in the buffers.
        let address = unsafe {
            self.buffers
                .as_mut_ptr()
                .add(usize::from(buffer) * self.buffer_bytes)
        };
        // SAFETY: the entry is ours until the tail passes it.
        let entry = unsafe { &mut *entry };
        entry.set_addr(address as u64);
        entry.set_len(u32::try_from(self.buffer_bytes).expect("small"));
        entry.set_bid(buffer);
        self.tail = self.tail.wrapping_add(1);
        // SAFETY: the ring's first entry holds its tail.
        let tail = unsafe { BufRingEntry::tail(self.entries) };
        // SAFETY: the tail is a u16 that the kernel reads, written by this thread alone.
        let tail = unsafe { &*tail.cast::<std::sync::atomic::AtomicU16>() };
        tail.store(self.tail, std::sync::atomic::Ordering::Release);
    }

    /// Puts `entry` in line; if there is no room, what is in line is submitted first.
    #[inline]
    pub(crate) fn push(&mut self, entry: &squeue::Entry) {
        loop {
            // SAFETY: all memory that entries name lives as long as the program.
            if unsafe { self.uring.submission().push(entry) }.is_ok() {
                return;
            }
            self.uring.submit().expect("the kernel takes submissions");
        }
    }

    /// Submits and waits for at least one completion, or for the time given.
    #[inline]
    pub(crate) fn wait(&self, timeout: Option<&Timespec>) {
        let result = match timeout {
            None => self.uring.submit_and_wait(1),
            Some(time) => {
                let arguments = io_uring::types::SubmitArgs::new().timespec(time);
                self.uring.submitter().submit_with_args(1, &arguments)
            }
        };
        if let Err(error) = result {
            let number = error.raw_os_error();
            assert!(
                matches!(number, Some(libc::ETIME | libc::EINTR | libc::EBUSY)),
                "io_uring_enter: {error}"
            );
        }
    }

    /// The next completion, if one is there.
    #[inline]
    pub(crate) fn next(&mut self) -> Option<cqueue::Entry> {
        self.uring.completion().next()
    }
}
