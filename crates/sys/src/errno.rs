//! The number by which the kernel says why it refused, as a value that can be copied and counted.

use std::fmt;
use std::io;

/// An error number of the system.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Errno(i32);

impl Errno {
    /// `number` as the kernel gave it, without sign.
    pub const fn new(number: i32) -> Self {
        Self(number)
    }

    /// The number that `error` carries; `EIO` where it carries none.
    pub fn of(error: &io::Error) -> Self {
        Self(error.raw_os_error().unwrap_or(libc::EIO))
    }

    /// The number that the last failed call of this thread left behind.
    pub fn last() -> Self {
        Self::of(&io::Error::last_os_error())
    }

    /// The number.
    pub const fn number(self) -> i32 {
        self.0
    }

    /// Whether the peer broke the connection off.
    pub const fn is_reset(self) -> bool {
        matches!(self.0, libc::ECONNRESET | libc::EPIPE)
    }

    /// Whether this machine had no memory for it: nothing else is wrong.
    pub const fn is_out_of_memory(self) -> bool {
        matches!(self.0, libc::ENOBUFS | libc::ENOMEM)
    }

    /// Whether nobody listens there.
    pub const fn is_refused(self) -> bool {
        self.0 == libc::ECONNREFUSED
    }

    /// Whether this machine has no such address, or no port of it is free.
    pub const fn is_no_address(self) -> bool {
        self.0 == libc::EADDRNOTAVAIL
    }
}

impl fmt::Display for Errno {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        io::Error::from_raw_os_error(self.0).fmt(f)
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> Self {
        Self::from_raw_os_error(errno.0)
    }
}
