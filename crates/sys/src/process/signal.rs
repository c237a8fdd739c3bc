//! Ctrl-C as a flag, and waiting for a descriptor without missing it.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::clock;

/// When the first signal arrived, in nanoseconds of the monotonic clock; 0: none has. A handler can
/// do no more than note it.
static FIRST: AtomicU64 = AtomicU64::new(0);

/// One order may come as several signals: `timeout` sends SIGTERM to its child and then to its
/// whole process group. What comes so soon after the first belongs to it.
const ECHO: u64 = 200_000_000;

/// The news that a person (or the system) wants this process to come to an end.
#[derive(Clone, Copy, Debug)]
pub struct Interrupt {
    _armed: (),
}

impl Interrupt {
    /// From now on the first SIGHUP, SIGINT or SIGTERM is noted instead of ending this process. A
    /// second SIGINT or SIGTERM ends it at once, so that nobody is ever locked in. SIGHUP stays
    /// ignored where it is ignored (`nohup`), and a second one is no order of its own: a terminal
    /// that closes sends it by the shell and by the kernel.
    pub fn arm() -> io::Result<Self> {
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGTERM] {
            if signal == libc::SIGHUP && is_ignored(signal)? {
                continue;
            }
            // SAFETY: the handler reads a clock, touches an atomic and calls _exit: all of them
            // async-signal-safe.
            unsafe { handle(signal, note, 0) }?;
        }
        Ok(Self { _armed: () })
    }

    /// Takes it as arrived: somebody wants this process to come to an end by other means.
    pub fn raise(self) {
        let now = clock::monotonic().as_ns().max(1);
        // Noted already, it stays as it is.
        let _noted = FIRST.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// Whether it has arrived.
    pub fn is_raised(self) -> bool {
        FIRST.load(Ordering::Relaxed) > 0
    }
}

/// From now on a file that reaches the limit on the size of files (`ulimit -f`) is an error of the
/// write, as a full disk is, instead of the silent end of this process. Programs that it starts are
/// ended as ever: a handler, unlike a signal that is ignored, is not handed on to them.
pub fn outlive_file_limits() -> io::Result<()> {
    extern "C" fn go_on(_: libc::c_int) {}
    // SAFETY: the handler does nothing.
    unsafe { handle(libc::SIGXFSZ, go_on, libc::SA_RESTART) }
}

/// Has `handler` called at `signal`.
///
/// # Safety
///
/// All that `handler` does is async-signal-safe.
unsafe fn handle(
    signal: libc::c_int,
    handler: extern "C" fn(libc::c_int),
    flags: libc::c_int,
) -> io::Result<()> {
    // SAFETY: sigaction is plain data, for which all zero is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler as libc::sighandler_t;
    action.sa_flags = flags;
    // SAFETY: the caller answers for the handler.
    match unsafe { libc::sigaction(signal, &raw const action, std::ptr::null_mut()) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Whether this process ignores `signal`, by the will of whoever started it.
fn is_ignored(signal: libc::c_int) -> io::Result<bool> {
    // SAFETY: sigaction is plain data, for which all zero is a value.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: null asks for no change; the kernel fills the struct that it is given.
    let result = unsafe { libc::sigaction(signal, std::ptr::null(), &raw mut action) };
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(action.sa_sigaction == libc::SIG_IGN)
}

extern "C" fn note(signal: libc::c_int) {
    let now = clock::monotonic().as_ns().max(1);
    let noted = FIRST.compare_exchange(0, now, Ordering::Relaxed, Ordering::Relaxed);
    if let Err(first) = noted
        && signal != libc::SIGHUP
        && now.saturating_sub(first) > ECHO
    {
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
