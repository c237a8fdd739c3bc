//! Network namespaces without names: they live as long as somebody holds or inhabits them.
//!
//! The kernel removes a namespace, with the devices in it, when the last descriptor of it is closed
//! and the last thread in it has ended. So what a process makes here does not outlive it.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::path::PathBuf;

/// A network namespace that we hold.
#[derive(Debug)]
pub struct Namespace {
    file: OwnedFd,
}

impl Namespace {
    /// Makes a new one, which nobody is in. It needs `CAP_SYS_ADMIN`.
    pub fn create() -> io::Result<Self> {
        // A thread that ends at once: the one that asks stays where it is.
        let made = std::thread::scope(|scope| {
            let make = || {
                // SAFETY: unshare takes flags; of this thread only the network changes.
                super::process::check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
                Self::of_this_thread()
            };
            scope.spawn(make).join()
        });
        made.unwrap_or_else(|_| Err(io::Error::other("the thread that makes it panicked")))
    }

    /// The one that the calling thread is in.
    pub fn of_this_thread() -> io::Result<Self> {
        let file = File::open("/proc/thread-self/ns/net")?.into();
        Ok(Self { file })
    }

    /// Puts the calling thread into it, with all that the thread starts, until the guard is
    /// dropped.
    pub fn enter(&self) -> io::Result<Inside> {
        let before = Self::of_this_thread()?;
        self.set()?;
        Ok(Inside {
            before,
            thread: PhantomData,
        })
    }

    fn set(&self) -> io::Result<()> {
        // SAFETY: setns takes a live descriptor and a flag.
        super::process::check(unsafe { libc::setns(self.file.as_raw_fd(), libc::CLONE_NEWNET) })
    }

    /// A path that leads other programs to it as long as we hold it.
    pub fn path(&self) -> PathBuf {
        let (pid, descriptor) = (std::process::id(), self.file.as_raw_fd());
        PathBuf::from(format!("/proc/{pid}/fd/{descriptor}"))
    }
}

/// The calling thread is in another namespace as long as this lives.
#[derive(Debug)]
pub struct Inside {
    before: Namespace,
    /// It is this thread that goes back: the guard stays with it.
    thread: PhantomData<*const ()>,
}

impl Drop for Inside {
    fn drop(&mut self) {
        // Who was permitted to enter may leave.
        let left = self.before.set();
        debug_assert!(left.is_ok(), "{left:?}");
    }
}

#[cfg(test)]
mod tests;
