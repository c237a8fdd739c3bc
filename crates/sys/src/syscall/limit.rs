//! The limits of this process.

use std::io;

use rustix::process::{self, getrlimit, setpriority_process};

use super::check;

/// What is limited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resource {
    /// Address space, in bytes.
    AddressSpace,
    /// Descriptors.
    OpenFiles,
    /// Processes and threads of this user.
    Processes,
}

/// A soft and a hard limit; none is unlimited.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Bounds {
    /// What holds.
    pub soft: Option<u64>,
    /// How far it may be raised without a privilege.
    pub hard: Option<u64>,
}

/// The limits of `resource`.
pub fn bounds(resource: Resource) -> io::Result<Bounds> {
    let limit = getrlimit(match resource {
        Resource::AddressSpace => process::Resource::As,
        Resource::OpenFiles => process::Resource::Nofile,
        Resource::Processes => process::Resource::Nproc,
    });
    Ok(Bounds {
        soft: limit.current,
        hard: limit.maximum,
    })
}

/// Puts this process and those that it starts before all others that wait for the same CPU, within
/// the usual scheduling class. Needs a privilege.
pub fn go_first() -> io::Result<()> {
    const FIRST: i32 = -20;
    Ok(setpriority_process(None, FIRST)?)
}

/// The CPU time of all children that were reaped, and of those that they reaped.
pub fn cpu_of_children() -> io::Result<model::Span> {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: the kernel fills the struct that it is given.
    check(unsafe { libc::getrusage(libc::RUSAGE_CHILDREN, usage.as_mut_ptr()) })?;
    // SAFETY: the call succeeded, so the struct was filled.
    let usage = unsafe { usage.assume_init() };
    let span = |time: libc::timeval| {
        let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
        let us = u64::try_from(time.tv_usec).unwrap_or(0);
        model::Span::from_s(seconds) + model::Span::from_us(us)
    };
    Ok(span(usage.ru_utime) + span(usage.ru_stime))
}
