//! Unix sockets: streams to a server on this machine, which is found by a path.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketFlags, SocketType, sockopt};

use super::{family, length_of};

/// The most bytes that a path may have: the kernel wants a zero behind them (unix(7)).
pub const PATH_MOST: usize = 107;

/// Where a server listens, as the kernel reads it.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    address: SocketAddrUnix,
    kernel: libc::sockaddr_un,
}

impl Place {
    /// The one at `path`, which need not exist yet.
    pub(crate) fn new(path: &Path) -> io::Result<Self> {
        if path.as_os_str().len() > PATH_MOST {
            return Err(rustix::io::Errno::NAMETOOLONG.into());
        }
        let address = SocketAddrUnix::new(path)?;
        let mut kernel = libc::sockaddr_un {
            sun_family: family(libc::AF_UNIX),
            sun_path: [0; PATH_MOST + 1],
        };
        for (to, from) in kernel.sun_path.iter_mut().zip(path.as_os_str().as_bytes()) {
            *to = from.cast_signed();
        }
        Ok(Self { address, kernel })
    }

    /// Begins to connect: it succeeds or fails at once.
    pub(crate) fn connect(&self, socket: &OwnedFd) -> io::Result<()> {
        Ok(net::connect(socket, &self.address)?)
    }

    /// As the kernel reads it, for as long as this lives, and how long that is.
    pub(crate) const fn kernel(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        let start = (&raw const self.kernel).cast();
        (start, length_of::<libc::sockaddr_un>())
    }
}

/// A socket ready to connect, not blocking.
pub(crate) fn outgoing() -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::socket_with(
        AddressFamily::UNIX,
        SocketType::STREAM,
        flags,
        None,
    )?)
}

/// The process that listens at `path`: it is asked with a connection that ends at once
/// (`SO_PEERCRED`).
pub fn owner(path: &Path) -> io::Result<u32> {
    let socket = outgoing()?;
    Place::new(path)?.connect(&socket)?;
    let process = sockopt::socket_peercred(&socket)?.pid;
    Ok(process.as_raw_nonzero().get().unsigned_abs())
}
