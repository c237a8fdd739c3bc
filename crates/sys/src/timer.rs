//! Descriptors that become readable at an instant (timerfd) or on another thread's word (eventfd).

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use model::units::Instant;

use crate::socket::own;

/// A timer on the monotonic clock, not yet set.
pub(crate) fn timer() -> io::Result<OwnedFd> {
    let flags = libc::TFD_NONBLOCK | libc::TFD_CLOEXEC;
    // SAFETY: the call takes two integers and touches no memory of ours.
    let fd = unsafe { libc::timerfd_create(libc::CLOCK_MONOTONIC, flags) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(own(fd))
}

/// Lets `timer` become readable at `deadline`, at once if that has passed.
pub(crate) fn set(timer: &OwnedFd, deadline: Instant) {
    let zero = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let value = libc::itimerspec {
        it_interval: zero,
        it_value: timespec(deadline.as_ns().max(1)),
    };
    // SAFETY: `value` is a valid itimerspec, only read; null says that the old one is not wanted.
    let result = unsafe {
        libc::timerfd_settime(
            timer.as_raw_fd(),
            libc::TFD_TIMER_ABSTIME,
            &raw const value,
            std::ptr::null_mut(),
        )
    };
    debug_assert_eq!(result, 0, "a valid time on an open timer");
}

/// A counter that becomes readable when something is added to it.
pub(crate) fn event() -> io::Result<OwnedFd> {
    // SAFETY: the call takes two integers and touches no memory of ours.
    let fd = unsafe { libc::eventfd(0, libc::EFD_NONBLOCK | libc::EFD_CLOEXEC) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(own(fd))
}

/// `ns` nanoseconds as the kernel reads them.
pub(crate) fn timespec(ns: u64) -> libc::timespec {
    const SECOND: u64 = 1_000_000_000;
    libc::timespec {
        tv_sec: libc::time_t::try_from(ns / SECOND).unwrap_or(libc::time_t::MAX),
        tv_nsec: libc::c_long::try_from(ns % SECOND).unwrap_or(0),
    }
}
