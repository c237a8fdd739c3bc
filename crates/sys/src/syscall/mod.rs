//! Single system calls as safe functions: what probes time, one call for one function.
//!
//! They do as little as they can beside the call, because whatever they do is timed with it.

pub mod epoll;
pub mod file;
pub mod limit;
pub mod mapping;
pub mod ring;
pub mod socket;
pub mod thread;

use std::io;

/// The result of a call that says -1 when it fails.
#[inline]
fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
    }
}

#[cfg(test)]
mod tests;
