//! Ctrl-C as a flag, and waiting for a descriptor without missing it.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// How often SIGINT or SIGTERM arrived since the flag was armed. A handler can do no more.
static INTERRUPTS: AtomicU32 = AtomicU32::new(0);

/// The news that a person (or the system) wants this process to come to an end.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    _armed: (),
}

impl Interrupt {
    /// From now on SIGINT and SIGTERM are counted instead of ending this process; the third one
    /// ends it after all, so that nobody is ever locked in.
    pub fn arm() -> io::Result<Self> {
        for signal in [libc::SIGINT, libc::SIGTERM] {
            // SAFETY: sigaction is plain data, for which all zero is a value.
            let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
            let handler: extern "C" fn(libc::c_int) = note;
            action.sa_sigaction = handler as libc::sighandler_t;
            // SAFETY: the handler touches an atomic and calls _exit: both async-signal-safe.
            let result =
                unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) };
            if result == -1 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { _armed: () })
    }

    /// Whether it has arrived.
    pub fn is_raised(self) -> bool {
        INTERRUPTS.load(Ordering::Relaxed) > 0
    }
}

extern "C" fn note(_signal: libc::c_int) {
    if INTERRUPTS.fetch_add(1, Ordering::Relaxed) >= 2 {
        // SAFETY: _exit is async-signal-safe.
        unsafe { libc::_exit(130) }
    }
}

/// What came of waiting.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Readiness {
    /// A read will not block: there are bytes, or the end.
    Readable,
    /// Nothing yet: the time is over, or a signal came.
    NotYet,
}

/// Waits until `fd` can be read, at most so long. A signal ends the wait early.
pub fn wait_readable(fd: RawFd, at_most: Duration) -> io::Result<Readiness> {
    let mut poll = libc::pollfd {
        fd,
        events: libc::POLLIN,
        revents: 0,
    };
    let ms = i32::try_from(at_most.as_millis().max(1)).unwrap_or(i32::MAX);
    // SAFETY: one pollfd is given, and its count.
    match unsafe { libc::poll(&raw mut poll, 1, ms) } {
        0 => Ok(Readiness::NotYet),
        -1 => {
            let error = io::Error::last_os_error();
            if error.kind() == io::ErrorKind::Interrupted {
                Ok(Readiness::NotYet)
            } else {
                Err(error)
            }
        }
        _ => Ok(Readiness::Readable),
    }
}
