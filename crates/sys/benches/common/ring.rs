//! The ring that the bare io_uring programs share: set up as the reactor's, and nothing more.

use io_uring::types::BufRingEntry;
use io_uring::{IoUring, cqueue, squeue};

/// What newer kernels offer a ring. Each can be done without, to learn what it brings.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Means {
    /// Work waits until this thread enters the kernel (6.1).
    pub(crate) deferred: bool,
    /// One thread alone submits (6.0). Deferred work needs it.
    pub(crate) single_issuer: bool,
    /// No array of indexes into the submission queue (6.6).
    pub(crate) no_array: bool,
    /// The ring's own descriptor is registered (5.18).
    pub(crate) registered_ring: bool,
}

impl Means {
    /// All of them.
    pub(crate) const ALL: Self = Self {
        deferred: true,
        single_issuer: true,
        no_array: true,
        registered_ring: true,
    };
}

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
    pub(crate) fn new(files: u32, count: u16, buffer_bytes: usize, means: Means) -> Self {
        let mut builder = IoUring::builder();
        builder.setup_submit_all().setup_cqsize(8_192);
        if means.single_issuer {
            builder.setup_single_issuer();
        }
        if means.deferred && means.single_issuer {
            builder.setup_defer_taskrun();
        } else {
            builder.setup_coop_taskrun();
        }
        if means.no_array {
            builder.setup_no_sqarray();
        }
        let uring = builder
            .build(2_048)
            .expect("io_uring is permitted and Linux is 6.6 or later");
        uring
            .submitter()
            .register_files_sparse(files)
            .expect("a table of files");
        if means.registered_ring {
            uring
                .submitter()
                .register_ring_fd()
                .expect("the ring's own descriptor can be registered");
        }
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
        ring.tell_buffers();
        ring
    }

    /// Gives `buffer` back; the kernel takes it after [`Ring::tell_buffers`].
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
    }

    /// Tells the kernel of all buffers that were given back.
    #[inline]
    pub(crate) fn tell_buffers(&self) {
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

    /// Submits and waits for at least one completion.
    #[inline]
    pub(crate) fn wait(&self) {
        if let Err(error) = self.uring.submit_and_wait(1) {
            let number = error.raw_os_error();
            assert!(
                matches!(number, Some(libc::EINTR | libc::EBUSY)),
                "io_uring_enter: {error}"
            );
        }
    }

    /// Takes what has completed, as far as there is room in `batch`: one look at the queue for all.
    #[inline]
    pub(crate) fn take(&mut self, batch: &mut Vec<cqueue::Entry>) {
        let room = batch.capacity();
        batch.clear();
        batch.extend(self.uring.completion().take(room));
    }
}
