//! The two queues of io_uring, with the few ways in which they are used here.

use std::collections::VecDeque;
use std::io;

use io_uring::types::{CancelBuilder, Fd, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue, squeue};
use model::units::Span;

use super::super::Settings;
use super::Unavailable;
use super::operations::Token;
use super::steps::Item;

/// `IORING_ENTER_GETEVENTS`: run deferred work and look for completions.
const GETEVENTS: u32 = 1;
/// `IORING_ENTER_EXT_ARG`: a timeout comes with the call.
const EXT_ARG: u32 = 8;

pub(super) struct Ring {
    uring: IoUring,
    /// Operations that found no room in the kernel's queue. They follow with the next entry, so
    /// that nothing goes to the kernel before the caller says so.
    line: VecDeque<squeue::Entry>,
}

/// How an entry into the kernel ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Entered {
    Done,
    /// Completions must be taken first; what is in line stays there.
    Busy,
    /// A signal came.
    Interrupted,
}

impl Ring {
    pub(super) fn new(settings: &Settings, files: u32) -> Result<Self, Unavailable> {
        let entries = settings.connections.next_power_of_two().clamp(64, 8_192);
        let mut builder = IoUring::builder();
        builder
            .setup_single_issuer()
            .setup_submit_all()
            .setup_taskrun_flag()
            .setup_cqsize(entries * 4)
            .setup_clamp();
        let mut deferred = builder.clone();
        deferred.setup_defer_taskrun();
        // Without the array of indexes, which Linux 6.6 can spare, a submission touches less.
        let newest = deferred.clone().setup_no_sqarray().build(entries);
        let uring = match newest.or_else(|_| deferred.build(entries)) {
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
        Ok(Self {
            uring,
            line: VecDeque::new(),
        })
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

    /// Whether operations are in line.
    #[inline]
    pub(super) fn is_queued(&mut self) -> bool {
        !self.uring.submission().is_empty() || !self.line.is_empty()
    }

    /// Whether all completions have been taken.
    #[inline]
    pub(super) fn is_drained(&mut self) -> bool {
        self.uring.completion().is_empty() && !self.uring.submission().cq_overflow()
    }

    /// Puts `operation` in line.
    ///
    /// # Safety
    ///
    /// Memory that the operation names must stay valid until it has completed.
    #[inline]
    pub(super) unsafe fn push(&mut self, operation: &squeue::Entry) {
        if self.line.is_empty() {
            // SAFETY: the caller vouches for the memory that the operation names.
            let pushed = unsafe { self.uring.submission().push(operation) };
            if pushed.is_ok() {
                return;
            }
        }
        self.line.push_back(operation.clone());
    }

    /// Moves operations from our line to the kernel's queue, as far as there is room.
    fn refill(&mut self) {
        let mut submission = self.uring.submission();
        while let Some(operation) = self.line.front() {
            // SAFETY: whoever put the operation in line vouched for the memory that it names.
            if unsafe { submission.push(operation) }.is_err() {
                return;
            }
            self.line.pop_front();
        }
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
        while !self.line.is_empty() {
            let before = self.line.len();
            let entered = self.enter_once(0, GETEVENTS, None);
            self.refill();
            if entered != Entered::Done || self.line.len() == before {
                return entered;
            }
        }
        self.enter_once(wanted, flags, arguments)
    }

    #[inline]
    fn enter_once(
        &mut self,
        wanted: u32,
        flags: u32,
        arguments: Option<&SubmitArgs<'_, '_>>,
    ) -> Entered {
        let queued = u32::try_from(self.uring.submission().len()).unwrap_or(u32::MAX);
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
                Some(libc::ETIME) => Entered::Done,
                Some(libc::EBUSY | libc::EAGAIN) => Entered::Busy,
                Some(libc::EINTR) => Entered::Interrupted,
                _ => panic!("io_uring_enter with valid arguments failed: {error}"),
            },
        }
    }

    /// Takes completions as long as there are some and room for them; how many.
    #[inline]
    pub(super) fn take(&mut self, items: &mut [Item]) -> usize {
        let mut count = 0;
        for (item, completion) in items.iter_mut().zip(self.uring.completion()) {
            *item = Item {
                token: Token(completion.user_data()),
                result: completion.result(),
                flags: completion.flags(),
            };
            count += 1;
        }
        count
    }

    /// The next completion in the queue.
    pub(super) fn pop(&mut self) -> Option<cqueue::Entry> {
        self.uring.completion().next()
    }

    /// Ends everything that is under way, and returns when the kernel touches no memory any more.
    pub(super) fn cancel_all(&mut self) -> io::Result<()> {
        self.look();
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
