//! Signals, taken by a thread that waits for them instead of a handler that interrupts.

use std::io;

use crate::Errno;

/// A request from outside.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Signal {
    /// SIGHUP: read or open again what may have changed.
    HangUp,
    /// SIGINT: Ctrl-C.
    Interrupt,
    /// SIGTERM: end in good order.
    Terminate,
}

impl Signal {
    const fn number(self) -> i32 {
        match self {
            Self::HangUp => libc::SIGHUP,
            Self::Interrupt => libc::SIGINT,
            Self::Terminate => libc::SIGTERM,
        }
    }
}

/// Signals that are kept until asked for.
#[derive(Debug)]
pub struct Signals {
    wanted: Vec<Signal>,
    set: libc::sigset_t,
}

impl Signals {
    /// Keeps `wanted` from now on, in this thread and those it starts afterwards: call it first.
    pub fn keep(wanted: &[Signal]) -> io::Result<Self> {
        let set = set_of(wanted);
        // SAFETY: `set` is a valid signal set, only read; null says the old one is not wanted.
        let error =
            unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut()) };
        if error != 0 {
            return Err(Errno::new(error).into());
        }
        Ok(Self {
            wanted: wanted.to_vec(),
            set,
        })
    }

    /// Lets `signals` do again what they do by themselves, for the calling thread.
    pub fn release(&self, signals: &[Signal]) -> io::Result<()> {
        let set = set_of(signals);
        // SAFETY: `set` is a valid signal set, only read; null says the old one is not wanted.
        let error = unsafe {
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut())
        };
        if error == 0 {
            Ok(())
        } else {
            Err(Errno::new(error).into())
        }
    }

    /// Blocks until one of them comes, or came.
    pub fn wait(&self) -> io::Result<Signal> {
        let mut number = 0;
        // SAFETY: `set` is a valid signal set, only read, and `number` a valid place for an
        // integer.
        let error = unsafe { libc::sigwait(&raw const self.set, &raw mut number) };
        if error != 0 {
            return Err(Errno::new(error).into());
        }
        self.wanted
            .iter()
            .copied()
            .find(|signal| signal.number() == number)
            .ok_or_else(|| Errno::new(libc::EINTR).into())
    }
}

fn set_of(signals: &[Signal]) -> libc::sigset_t {
    // SAFETY: a sigset_t is an array of integers, for which all zeroes is a value.
    let mut set: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a valid place for a signal set.
    unsafe { libc::sigemptyset(&raw mut set) };
    for signal in signals {
        // SAFETY: `set` is a valid signal set, and the number is that of a signal.
        unsafe { libc::sigaddset(&raw mut set, signal.number()) };
    }
    set
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_waits_until_it_is_asked_for() {
        let signals = Signals::keep(&[Signal::HangUp, Signal::Terminate]).unwrap();
        // SAFETY: raising a signal that this thread blocks does no more than note it.
        let result = unsafe { libc::raise(libc::SIGHUP) };
        assert_eq!(result, 0);
        assert_eq!(signals.wait().unwrap(), Signal::HangUp);
        signals.release(&[Signal::HangUp]).unwrap();
    }
}
