//! `socket`, `bind`, `listen`, `connect`, `accept`, each alone.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd as _, OwnedFd};

use super::check;
use crate::socket::{own, to_kernel};

/// The family of a socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Family {
    /// IPv4.
    V4,
    /// IPv6.
    V6,
}

/// A new stream socket that never blocks, bound to nothing.
#[inline]
pub fn stream(family: Family) -> io::Result<OwnedFd> {
    new(family, libc::SOCK_NONBLOCK)
}

/// A new stream socket whose calls wait.
#[inline]
pub fn blocking_stream(family: Family) -> io::Result<OwnedFd> {
    new(family, 0)
}

#[inline]
fn new(family: Family, flags: libc::c_int) -> io::Result<OwnedFd> {
    let domain = match family {
        Family::V4 => libc::AF_INET,
        Family::V6 => libc::AF_INET6,
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_CLOEXEC | flags;
    // SAFETY: the call takes numbers and returns a new descriptor.
    let fd = check(unsafe { libc::socket(domain, kind, 0) })?;
    Ok(own(fd))
}

/// Binds it; port 0 lets the kernel choose.
#[inline]
pub fn bind(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let (storage, length) = to_kernel(address);
    // SAFETY: the kernel reads `length` bytes of `storage`, which is larger.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const storage).cast(), length) })?;
    Ok(())
}

/// Lets it listen.
#[inline]
pub fn listen(socket: &OwnedFd, backlog: u32) -> io::Result<()> {
    let backlog = libc::c_int::try_from(backlog).unwrap_or(libc::c_int::MAX);
    // SAFETY: the call takes numbers.
    check(unsafe { libc::listen(socket.as_raw_fd(), backlog) })?;
    Ok(())
}

/// Connects it, and waits for that if it is a socket whose calls wait.
#[inline]
pub fn connect(socket: &OwnedFd, target: SocketAddr) -> io::Result<()> {
    let (storage, length) = to_kernel(target);
    // SAFETY: the kernel reads `length` bytes of `storage`, which is larger.
    check(unsafe { libc::connect(socket.as_raw_fd(), (&raw const storage).cast(), length) })?;
    Ok(())
}

/// Takes one connection off a listener's queue.
#[inline]
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    let (nowhere, no_length) = (std::ptr::null_mut(), std::ptr::null_mut());
    let flags = libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: null pointers ask for no address; the descriptor is new.
    let fd = check(unsafe { libc::accept4(listener.as_raw_fd(), nowhere, no_length, flags) })?;
    Ok(own(fd))
}

/// Several sockets may listen on one address.
pub fn share_port(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_REUSEPORT)
}

/// Binding to a source address leaves the port to `connect`, which knows the target and can use
/// one port for several of them.
pub fn bind_without_port(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT)
}

fn set(socket: &OwnedFd, level: libc::c_int, option: libc::c_int) -> io::Result<()> {
    let on: libc::c_int = 1;
    let length = libc::socklen_t::try_from(size_of::<libc::c_int>()).unwrap_or(4);
    // SAFETY: the kernel reads one integer, of the length given.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const on).cast(),
            length,
        )
    })?;
    Ok(())
}

/// Whether the peer has neither closed nor reset the connection, asked without waiting.
pub fn is_open(socket: &OwnedFd) -> bool {
    let mut byte = 0_u8;
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    // SAFETY: the kernel writes at most the one byte that there is room for.
    let count = unsafe { libc::recv(socket.as_raw_fd(), (&raw mut byte).cast(), 1, flags) };
    match count {
        0 => false,
        -1 => io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock,
        _ => true,
    }
}
