//! io_uring, one entry at a time.

use std::io;
use std::os::fd::AsRawFd;

use io_uring::{IoUring, opcode, types};

/// A ring whose submissions are made and waited for one by one.
pub struct Ring {
    ring: IoUring,
}

/// What a completed entry carries if it was a no-op.
const NOP: u64 = u64::MAX;

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

impl Ring {
    /// A ring that can have `pending` operations under way.
    pub fn new(pending: u32) -> io::Result<Self> {
        let completions = pending.saturating_add(64).next_power_of_two();
        let ring = IoUring::builder()
            .setup_cqsize(completions)
            .setup_clamp()
            .build(64)?;
        Ok(Self { ring })
    }

    /// Submits an operation that stays under way: wait until `source` can be read.
    #[inline]
    pub fn arm(&mut self, source: &impl AsRawFd, token: u64) -> io::Result<()> {
        let readable = u32::try_from(libc::POLLIN).unwrap_or(1);
        let entry = opcode::PollAdd::new(types::Fd(source.as_raw_fd()), readable)
            .build()
            .user_data(token);
        // SAFETY: the entry refers to no memory of ours.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        self.ring.submit()?;
        Ok(())
    }

    /// Submits an operation that does nothing, waits for its completion and takes it.
    #[inline]
    pub fn nop(&mut self) -> io::Result<()> {
        let entry = opcode::Nop::new().build().user_data(NOP);
        // SAFETY: the entry refers to no memory of ours.
        unsafe { self.ring.submission().push(&entry) }.map_err(io::Error::other)?;
        self.ring.submit_and_wait(1)?;
        let done = self.ring.completion().next();
        match done {
            Some(done) if done.user_data() == NOP => Ok(()),
            Some(other) => Err(io::Error::other(format!(
                "entry {} completed with {} instead of the no-op",
                other.user_data(),
                other.result()
            ))),
            None => Err(io::Error::other("the no-op did not complete")),
        }
    }
}
