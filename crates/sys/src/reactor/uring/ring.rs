//! The two queues of io_uring, with the few ways in which they are used here.

use std::io;

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, squeue};
use model::units::Span;

use super::super::Settings;
use super::Unavailable;

/// `IORING_ENTER_GETEVENTS`: run deferred work and look for completions.
const GETEVENTS: u32 = 1;
/// `IORING_ENTER_EXT_ARG`: a timeout comes with the call.
const EXT_ARG: u32 = 8;

pub(super) struct Ring {
    uring: IoUring,
}

/// How an entry into the kernel ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Entered {
    Done,
    /// A signal came.
    Interrupted,
}

impl Ring {
    pub(super) fn new(settings: &Settings, files: u32) -> Result<Self, Unavailable> {
        let entries = settings.connections.next_power_of_two().clamp(64, 4_096);
        let mut builder = IoUring::builder();
        builder
            .setup_single_issuer()
            .setup_submit_all()
            .setup_taskrun_flag()
            .setup_cqsize(entries * 8)
            .setup_clamp();
        let deferred = builder.clone().setup_defer_taskrun().build(entries);
        let uring = match deferred {
            Ok(uring) => uring,
            // Single issuer came with Linux 6.0, deferred work with 6.1.
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) => builder
                .setup_coop_taskrun()
                .build(entries)
                .map_err(|error| Unavailable::setup(&error))?,
            Err(error) => return Err(Unavailable::setup(&error)),
        };
        let features = uring.params();
        if !features.is_feature_ext_arg() || !features.is_feature_nodrop() {
            return Err(Unavailable::because("this kernel's io_uring is too old"));
        }
        // The descriptor of the ring itself is not registered: that would keep the ring, and every
        // connection in its table, until the thread ends; it saved nothing measurable.
        uring
            .submitter()
            .register_files_sparse(files)
            .map_err(|error| Unavailable::files(&error, files))?;
        Ok(Self { uring })
    }

    pub(super) const fn uring(&self) -> &IoUring {
        &self.uring
    }

    /// Whether completions lie in the queue, or wait in the kernel for us to enter it.
    #[inline]
    pub(super) fn has_news(&mut self) -> bool {
        let submission = self.uring.submission();
        let deferred = submission.taskrun() || submission.cq_overflow();
        drop(submission);
        deferred || !self.uring.completion().is_empty()
    }

    /// How many operations are in line.
    #[inline]
    pub(super) fn queued(&mut self) -> usize {
        self.uring.submission().len()
    }

    /// Puts `operation` in line, or says that the line is full.
    ///
    /// # Safety
    ///
    /// Memory that the operation names must stay valid until it has completed.
    #[inline]
    pub(super) unsafe fn push(&mut self, operation: &squeue::Entry) -> bool {
        // SAFETY: the caller vouches for the memory that the operation names.
        unsafe { self.uring.submission().push(operation) }.is_ok()
    }

    /// Hands in what is in line, without looking for completions.
    pub(super) fn submit(&mut self) -> Entered {
        self.enter(0, 0, None)
    }

    /// Hands in what is in line and lets the kernel deliver what has happened.
    #[inline]
    pub(super) fn look(&mut self) -> Entered {
        self.enter(0, GETEVENTS, None)
    }

    /// Hands in what is in line and blocks until something happens or `timeout` has passed.
    pub(super) fn block(&mut self, timeout: Option<Span>) -> Entered {
        let Some(timeout) = timeout else {
            return self.enter(1, GETEVENTS, None);
        };
        const SECOND: u64 = 1_000_000_000;
        let time = Timespec::new()
            .sec(timeout.as_ns() / SECOND)
            .nsec(u32::try_from(timeout.as_ns() % SECOND).unwrap_or(0));
        let arguments = SubmitArgs::new().timespec(&time);
        self.enter(1, GETEVENTS | EXT_ARG, Some(&arguments))
    }

    #[inline]
    fn enter(
        &mut self,
        wanted: u32,
        flags: u32,
        arguments: Option<&SubmitArgs<'_, '_>>,
    ) -> Entered {
        let queued = u32::try_from(self.queued()).unwrap_or(u32::MAX);
        // SAFETY: the arguments are live until the call returns, and are of the kind that the
        // flags announce; whoever pushed the operations vouched for them.
        let result = unsafe {
            self.uring
                .submitter()
                .enter(queued, wanted, flags, arguments)
        };
        match result {
            Ok(_) => Entered::Done,
            Err(error) => match error.raw_os_error() {
                // Time out; completions must be taken first: what is in line stays there.
                Some(libc::ETIME | libc::EBUSY | libc::EAGAIN) => Entered::Done,
                Some(libc::EINTR) => Entered::Interrupted,
                _ => panic!("io_uring_enter with valid arguments failed: {error}"),
            },
        }
    }

    /// The next completion in the queue.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<cqueue::Entry> {
        self.uring.completion().next()
    }

    /// Ends everything that is under way, and returns when the kernel touches no memory any more.
    pub(super) fn cancel_all(&mut self) -> io::Result<()> {
        self.submit();
        let result = self
            .uring
            .submitter()
            .register_sync_cancel(None, CancelBuilder::any());
        match result {
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(()),
            other => other,
        }
    }
}

impl std::fmt::Debug for Ring {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Ring").finish_non_exhaustive()
    }
}

/// A descriptor that is not in the ring's table.
pub(super) fn plain(fd: &impl std::os::fd::AsRawFd) -> Fd {
    Fd(fd.as_raw_fd())
}
