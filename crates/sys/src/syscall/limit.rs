//! The limits of this process.

use std::io;

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
    let which = match resource {
        Resource::AddressSpace => libc::RLIMIT_AS,
        Resource::OpenFiles => libc::RLIMIT_NOFILE,
        Resource::Processes => libc::RLIMIT_NPROC,
    };
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: the kernel fills the struct that it is given.
    check(unsafe { libc::getrlimit(which, &raw mut limit) })?;
    let bounded = |value| (value != libc::RLIM_INFINITY).then_some(value);
    Ok(Bounds {
        soft: bounded(limit.rlim_cur),
        hard: bounded(limit.rlim_max),
    })
}

/// Whether this process runs as root.
pub fn is_root() -> bool {
    // SAFETY: the call takes nothing and cannot fail.
    unsafe { libc::geteuid() == 0 }
}
