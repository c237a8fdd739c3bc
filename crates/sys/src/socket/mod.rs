//! Sockets with every option said aloud: nothing is left to a default that differs elsewhere.

mod apart;
pub(crate) mod stamps;
pub mod unix;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, sockopt};

pub use self::apart::reserve_apart;
use crate::Errno;

/// Listens on `address`, without blocking and without delay of small segments (accepted
/// connections inherit that). `share` sets `SO_REUSEPORT`: one listener per worker, the kernel
/// spreads the connections. Port 0 lets the kernel choose; [`local_address`] tells.
pub fn listen(address: SocketAddr, backlog: u32, share: bool) -> io::Result<OwnedFd> {
    let socket = open(address)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if share {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    set_no_delay(&socket)?;
    net::bind(&socket, &address)?;
    net::listen(&socket, i32::try_from(backlog).unwrap_or(i32::MAX))?;
    Ok(socket)
}

/// Keeps `address` for a listener that comes later, perhaps in another process. As long as the
/// socket lives, the kernel gives its port to nobody who asks for any port and to no outgoing
/// connection; a listener that names the port and sets `SO_REUSEADDR`, as servers do, gets it.
/// Fails where somebody listens already. Port 0 lets the kernel choose; [`local_address`] tells.
pub fn reserve(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(address)?;
    sockopt::set_socket_reuseaddr(&socket, true)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    net::bind(&socket, &address)?;
    Ok(socket)
}

/// A socket ready to connect to `target`: not blocking, without delay of small segments, bound to
/// `source` if given. The port of `source` is 0 for "any"; the kernel then chooses it at connect
/// (`IP_BIND_ADDRESS_NO_PORT`), so that one source address reaches every port of every target.
pub fn outgoing(target: SocketAddr, source: Option<SocketAddr>) -> io::Result<OwnedFd> {
    let socket = open(target)?;
    set_no_delay(&socket)?;
    if let Some(source) = source {
        if source.port() == 0 {
            set_bind_without_port(&socket)?;
        } else {
            sockopt::set_socket_reuseaddr(&socket, true)?;
        }
        net::bind(&socket, &source)?;
    }
    Ok(socket)
}

/// Begins to connect. `Ok(true)`: established at once; `Ok(false)`: the kernel will tell.
pub fn connect(socket: &OwnedFd, target: SocketAddr) -> io::Result<bool> {
    match net::connect(socket, &target) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::INPROGRESS) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// How the connect on `socket` ended (`SO_ERROR`, which reading clears).
pub fn take_error(socket: &OwnedFd) -> Option<Errno> {
    let error = sockopt::socket_error(socket).unwrap_or_else(Err).err()?;
    Some(Errno::new(error.raw_os_error()))
}

/// Makes the next close of `socket` a reset: what is unsent is dropped, no TIME_WAIT remains.
pub fn set_reset_on_close(socket: &OwnedFd) -> io::Result<()> {
    Ok(sockopt::set_socket_linger(socket, Some(Duration::ZERO))?)
}

/// Tells the peer that nothing more will be sent.
pub fn shutdown_write(socket: &OwnedFd) -> io::Result<()> {
    Ok(net::shutdown(socket, net::Shutdown::Write)?)
}

/// Sets the kernel's receive buffer of `socket` (it doubles the number for its own use).
pub fn set_receive_buffer(socket: &OwnedFd, bytes: u32) -> io::Result<()> {
    Ok(sockopt::set_socket_recv_buffer_size(
        socket,
        bytes as usize,
    )?)
}

/// Small segments leave at once (`TCP_NODELAY`).
pub fn set_no_delay(socket: &OwnedFd) -> io::Result<()> {
    Ok(sockopt::set_tcp_nodelay(socket, true)?)
}

/// The address that `socket` is bound to.
pub fn local_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    Ok(net::getsockname(socket)?.try_into()?)
}

/// The address at the other end of `socket`.
pub fn peer_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    let peer = net::getpeername(socket)?;
    Ok(peer.ok_or(rustix::io::Errno::NOTCONN)?.try_into()?)
}

/// Accepts one connection, if one waits: not blocking, closed on exec.
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    Ok(net::accept_with(listener, flags)?)
}

/// Sends `bytes`; how many the kernel took. `more` says that others follow at once.
#[inline]
pub fn send(socket: &OwnedFd, bytes: &[u8], more: bool) -> io::Result<usize> {
    let more = if more {
        SendFlags::MORE
    } else {
        SendFlags::empty()
    };
    Ok(net::send(socket, bytes, SendFlags::NOSIGNAL | more)?)
}

/// Receives into `buffer`; how many bytes came, 0 at the end of the stream.
#[inline]
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    let (count, _) = net::recv(socket, buffer, RecvFlags::empty())?;
    Ok(count)
}

/// Drops up to `count` received bytes inside the kernel, without copying them (`MSG_TRUNC` of
/// tcp(7)); how many were dropped, 0 at the end of the stream.
pub fn discard(socket: &OwnedFd, count: usize) -> io::Result<usize> {
    // SAFETY: with MSG_TRUNC on TCP the kernel writes nothing, so no buffer is needed.
    let count = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            std::ptr::null_mut(),
            count,
            libc::MSG_TRUNC,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Sends `count` bytes of `file` from `offset` on without passing through this process; how many
/// the kernel took, 0 where the file ends before.
pub fn send_file(
    socket: &OwnedFd,
    file: &std::fs::File,
    offset: u64,
    count: usize,
) -> io::Result<usize> {
    let mut position = offset;
    Ok(rustix::fs::sendfile(
        socket,
        file,
        Some(&mut position),
        count,
    )?)
}

/// Adds `number` to the counter of an eventfd; a counter that is full stays full, and readable.
pub(crate) fn write_number(event: &OwnedFd, number: u64) {
    let _full = rustix::io::write(event, &number.to_ne_bytes());
}

fn open(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let protocol = Some(net::ipproto::TCP);
    Ok(net::socket_with(
        family,
        SocketType::STREAM,
        flags,
        protocol,
    )?)
}

/// Takes charge of a descriptor that the kernel has just handed out.
pub(crate) fn own(fd: RawFd) -> OwnedFd {
    debug_assert!(fd >= 0, "a descriptor is not negative");
    // SAFETY: the kernel has just returned this descriptor, and nobody else knows it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// The port of a source address is chosen when it connects (`IP_BIND_ADDRESS_NO_PORT` of ip(7)).
fn set_bind_without_port(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)
}

/// The kernel is not to tell when a datagram came (`SO_TIMESTAMPNS` of socket(7)).
pub(crate) fn tell_no_times(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPNS, 0)
}

fn set(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> io::Result<()> {
    // SAFETY: the value is live and of the size given, and the descriptor is open.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            length_of::<libc::c_int>(),
        )
    };
    match result {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a socket option is small")]
const fn length_of<T>() -> libc::socklen_t {
    size_of::<T>() as libc::socklen_t
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "families are small numbers"
)]
const fn family(number: i32) -> libc::sa_family_t {
    number.unsigned_abs() as libc::sa_family_t
}

/// `address` as the kernel reads it, with its length.
pub(crate) fn to_kernel(address: SocketAddr) -> (libc::sockaddr_storage, libc::socklen_t) {
    // SAFETY: a sockaddr_storage is plain integers, for which all zeroes is a value.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let place = &raw mut storage;
    let length = match address {
        SocketAddr::V4(v4) => {
            let value = libc::sockaddr_in {
                sin_family: family(libc::AF_INET),
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            // SAFETY: a sockaddr_storage is large enough for a sockaddr_in and aligned for it.
            unsafe { place.cast::<libc::sockaddr_in>().write(value) };
            length_of::<libc::sockaddr_in>()
        }
        SocketAddr::V6(v6) => {
            let value = libc::sockaddr_in6 {
                sin6_family: family(libc::AF_INET6),
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            // SAFETY: a sockaddr_storage is large enough for a sockaddr_in6 and aligned for it.
            unsafe { place.cast::<libc::sockaddr_in6>().write(value) };
            length_of::<libc::sockaddr_in6>()
        }
    };
    (storage, length)
}

#[cfg(test)]
mod tests;
