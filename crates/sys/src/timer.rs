//! Descriptors that become readable at an instant (timerfd) or on another thread's word (eventfd).

use std::io;
use std::os::fd::OwnedFd;

use model::units::Instant;
use rustix::event::{EventfdFlags, eventfd};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timer on the monotonic clock, not yet set.
pub(crate) fn timer() -> io::Result<OwnedFd> {
    let flags = TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC;
    Ok(timerfd_create(TimerfdClockId::Monotonic, flags)?)
}

/// Lets `timer` become readable at `deadline`, at once if that has passed.
pub(crate) fn set(timer: &OwnedFd, deadline: Instant) {
    let value = Itimerspec {
        it_interval: timespec(0),
        it_value: timespec(deadline.as_ns().max(1)),
    };
    let result = timerfd_settime(timer, TimerfdTimerFlags::ABSTIME, &value);
    debug_assert!(result.is_ok(), "a valid time on an open timer");
}

/// A counter that becomes readable when something is added to it.
pub(crate) fn event() -> io::Result<OwnedFd> {
    Ok(eventfd(0, EventfdFlags::NONBLOCK | EventfdFlags::CLOEXEC)?)
}

/// `ns` nanoseconds as the kernel reads them.
fn timespec(ns: u64) -> Timespec {
    const SECOND: u64 = 1_000_000_000;
    Timespec {
        tv_sec: i64::try_from(ns / SECOND).unwrap_or(i64::MAX),
        tv_nsec: i64::try_from(ns % SECOND).unwrap_or(0),
    }
}
