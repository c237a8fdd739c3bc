//! `epoll_create`, `epoll_ctl` and `epoll_wait`, each alone.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use super::check;
use crate::socket::own;

/// A set of descriptors that the kernel watches.
#[derive(Debug)]
pub struct Epoll {
    fd: OwnedFd,
}

impl Epoll {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        // SAFETY: the call takes a flag and returns a new descriptor.
        let fd = check(unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) })?;
        Ok(Self { fd: own(fd) })
    }

    /// Watches `source` for something to read.
    #[inline]
    pub fn add(&self, source: &impl AsRawFd, token: u64) -> io::Result<()> {
        let mut event = libc::epoll_event {
            events: libc::EPOLLIN as u32,
            u64: token,
        };
        let (set, fd) = (self.fd.as_raw_fd(), source.as_raw_fd());
        // SAFETY: the kernel reads one event.
        check(unsafe { libc::epoll_ctl(set, libc::EPOLL_CTL_ADD, fd, &raw mut event) })?;
        Ok(())
    }

    /// The token of something that can be read, within that time.
    #[inline]
    pub fn wait(&self, at_most: Duration) -> io::Result<Option<u64>> {
        let ms = i32::try_from(at_most.as_millis()).unwrap_or(i32::MAX);
        let mut event = libc::epoll_event { events: 0, u64: 0 };
        // SAFETY: the kernel writes at most the one event that there is room for.
        let count = check(unsafe { libc::epoll_wait(self.fd.as_raw_fd(), &raw mut event, 1, ms) })?;
        Ok((count > 0).then_some(event.u64))
    }
}

/// A descriptor that can be read while its count is above zero.
#[derive(Debug)]
pub struct EventFd {
    fd: OwnedFd,
}

impl EventFd {
    /// One with a count of zero.
    pub fn new() -> io::Result<Self> {
        let flags = libc::EFD_CLOEXEC | libc::EFD_NONBLOCK;
        // SAFETY: the call takes numbers and returns a new descriptor.
        let fd = check(unsafe { libc::eventfd(0, flags) })?;
        Ok(Self { fd: own(fd) })
    }

    /// Adds one to the count.
    pub fn raise(&self) {
        crate::socket::write_number(&self.fd, 1);
    }

    /// Takes the count.
    pub fn clear(&self) {
        let mut count = 0_u64;
        // SAFETY: the kernel writes at most the eight bytes of `count`.
        let _taken = unsafe {
            libc::read(
                self.fd.as_raw_fd(),
                (&raw mut count).cast(),
                size_of::<u64>(),
            )
        };
    }
}

impl AsRawFd for EventFd {
    fn as_raw_fd(&self) -> std::os::fd::RawFd {
        self.fd.as_raw_fd()
    }
}
