//! TCP sockets with every option said aloud: nothing is left to a default that differs elsewhere.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};

use crate::Errno;

/// Listens on `address`, without blocking and without delay of small segments (accepted
/// connections inherit that). `share` sets `SO_REUSEPORT`: one listener per worker, the kernel
/// spreads the connections. Port 0 lets the kernel choose; [`local_address`] tells.
pub fn listen(address: SocketAddr, backlog: u32, share: bool) -> io::Result<OwnedFd> {
    let socket = open(address)?;
    set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    if share {
        set(&socket, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
    }
    if address.is_ipv6() {
        set(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
    }
    set_no_delay(&socket)?;
    bind(&socket, address)?;
    let backlog = i32::try_from(backlog).unwrap_or(i32::MAX);
    // SAFETY: the descriptor is open, because it is owned here.
    check(unsafe { libc::listen(socket.as_raw_fd(), backlog) })?;
    Ok(socket)
}

/// Keeps `address` for a listener that comes later, perhaps in another process. As long as the
/// socket lives, the kernel gives its port to nobody who asks for any port and to no outgoing
/// connection; a listener that names the port and sets `SO_REUSEADDR`, as servers do, gets it.
/// Fails where somebody listens already. Port 0 lets the kernel choose; [`local_address`] tells.
pub fn reserve(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(address)?;
    set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
    if address.is_ipv6() {
        set(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 1)?;
    }
    bind(&socket, address)?;
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
            set(&socket, libc::IPPROTO_IP, libc::IP_BIND_ADDRESS_NO_PORT, 1)?;
        } else {
            set(&socket, libc::SOL_SOCKET, libc::SO_REUSEADDR, 1)?;
        }
        bind(&socket, source)?;
    }
    Ok(socket)
}

/// Begins to connect. `Ok(true)`: established at once; `Ok(false)`: the kernel will tell.
pub fn connect(socket: &OwnedFd, target: SocketAddr) -> io::Result<bool> {
    let (address, length) = to_kernel(target);
    // SAFETY: the address is a valid sockaddr of the length given, and the descriptor is open.
    let result = unsafe { libc::connect(socket.as_raw_fd(), (&raw const address).cast(), length) };
    match check(result) {
        Ok(_) => Ok(true),
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Ok(false),
        Err(error) => Err(error),
    }
}

/// How the connect on `socket` ended (`SO_ERROR`, which reading clears).
pub fn take_error(socket: &OwnedFd) -> Option<Errno> {
    let mut value: libc::c_int = 0;
    let mut length = length_of::<libc::c_int>();
    // SAFETY: both places are valid for the sizes given, and the descriptor is open.
    let result = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_ERROR,
            (&raw mut value).cast(),
            &raw mut length,
        )
    };
    match (result, value) {
        (0, 0) => None,
        (0, number) => Some(Errno::new(number)),
        _ => Some(Errno::last()),
    }
}

/// Makes the next close of `socket` a reset: what is unsent is dropped, no TIME_WAIT remains.
pub fn set_reset_on_close(socket: &OwnedFd) -> io::Result<()> {
    let linger = libc::linger {
        l_onoff: 1,
        l_linger: 0,
    };
    set_option(socket, libc::SOL_SOCKET, libc::SO_LINGER, &linger)
}

/// Tells the peer that nothing more will be sent.
pub fn shutdown_write(socket: &OwnedFd) -> io::Result<()> {
    // SAFETY: the descriptor is open, because it is owned here.
    check(unsafe { libc::shutdown(socket.as_raw_fd(), libc::SHUT_WR) }).map(drop)
}

/// Sets the kernel's send buffer of `socket` (it doubles the number for its own use).
pub fn set_send_buffer(socket: &OwnedFd, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, bytes)
}

/// Sets the kernel's receive buffer of `socket` (it doubles the number for its own use).
pub fn set_receive_buffer(socket: &OwnedFd, bytes: u32) -> io::Result<()> {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    set(socket, libc::SOL_SOCKET, libc::SO_RCVBUF, bytes)
}

/// Small segments leave at once (`TCP_NODELAY`).
pub fn set_no_delay(socket: &OwnedFd) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, 1)
}

/// The address that `socket` is bound to.
pub fn local_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    address_by(socket, libc::getsockname)
}

/// The address at the other end of `socket`.
pub fn peer_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    address_by(socket, libc::getpeername)
}

/// Accepts one connection, if one waits: not blocking, closed on exec.
pub fn accept(listener: &OwnedFd) -> io::Result<OwnedFd> {
    let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: null for the address says that it is not wanted; the descriptor is open.
    let fd = check(unsafe {
        libc::accept4(
            listener.as_raw_fd(),
            std::ptr::null_mut(),
            std::ptr::null_mut(),
            flags,
        )
    })?;
    Ok(own(fd))
}

/// Sends `bytes`; how many the kernel took. `more` says that others follow at once.
#[inline]
pub fn send(socket: &OwnedFd, bytes: &[u8], more: bool) -> io::Result<usize> {
    let flags = libc::MSG_NOSIGNAL | if more { libc::MSG_MORE } else { 0 };
    // SAFETY: the range is that of a live slice, only read; the descriptor is open.
    let count = unsafe {
        libc::send(
            socket.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            flags,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
}

/// Receives into `buffer`; how many bytes came, 0 at the end of the stream.
#[inline]
pub fn receive(socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the range is that of a live slice, borrowed for writing; the descriptor is open.
    let count = unsafe {
        libc::recv(
            socket.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            0,
        )
    };
    usize::try_from(count).map_err(|_| io::Error::last_os_error())
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
    let mut position = libc::off_t::try_from(offset).map_err(|_| Errno::new(libc::EOVERFLOW))?;
    // SAFETY: both descriptors are open, and `position` is a valid place for an offset.
    let sent = unsafe {
        libc::sendfile(
            socket.as_raw_fd(),
            file.as_raw_fd(),
            &raw mut position,
            count,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Adds `number` to the counter of an eventfd; a counter that is full stays full, and readable.
pub(crate) fn write_number(event: &OwnedFd, number: u64) {
    let bytes = number.to_ne_bytes();
    // SAFETY: the range is that of a live array, only read; the descriptor is open.
    let _full = unsafe { libc::write(event.as_raw_fd(), bytes.as_ptr().cast(), bytes.len()) };
}

fn open(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: the call takes three integers and touches no memory of ours.
    let fd = check(unsafe { libc::socket(family, kind, libc::IPPROTO_TCP) })?;
    Ok(own(fd))
}

/// Takes charge of a descriptor that the kernel has just handed out.
pub(crate) fn own(fd: RawFd) -> OwnedFd {
    debug_assert!(fd >= 0, "a descriptor is not negative");
    // SAFETY: the kernel has just returned this descriptor, and nobody else knows it.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

fn bind(socket: &OwnedFd, address: SocketAddr) -> io::Result<()> {
    let (address, length) = to_kernel(address);
    // SAFETY: the address is a valid sockaddr of the length given, and the descriptor is open.
    check(unsafe { libc::bind(socket.as_raw_fd(), (&raw const address).cast(), length) }).map(drop)
}

fn set(socket: &OwnedFd, level: i32, name: i32, value: i32) -> io::Result<()> {
    set_option(socket, level, name, &value)
}

fn set_option<T>(socket: &OwnedFd, level: i32, name: i32, value: &T) -> io::Result<()> {
    // SAFETY: the value is live and of the size given, and the descriptor is open.
    check(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            std::ptr::from_ref(value).cast(),
            length_of::<T>(),
        )
    })
    .map(drop)
}

fn check(result: i32) -> io::Result<i32> {
    if result < 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(result)
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

type AddressCall =
    unsafe extern "C" fn(libc::c_int, *mut libc::sockaddr, *mut libc::socklen_t) -> libc::c_int;

fn address_by(socket: &OwnedFd, call: AddressCall) -> io::Result<SocketAddr> {
    // SAFETY: a sockaddr_storage is plain integers, for which all zeroes is a value.
    let mut storage: libc::sockaddr_storage = unsafe { std::mem::zeroed() };
    let mut length = length_of::<libc::sockaddr_storage>();
    // SAFETY: both places are valid for the sizes given, and the descriptor is open.
    check(unsafe {
        call(
            socket.as_raw_fd(),
            (&raw mut storage).cast(),
            &raw mut length,
        )
    })?;
    from_kernel(&storage).ok_or_else(|| Errno::new(libc::EAFNOSUPPORT).into())
}

fn from_kernel(storage: &libc::sockaddr_storage) -> Option<SocketAddr> {
    let place = std::ptr::from_ref(storage);
    match i32::from(storage.ss_family) {
        libc::AF_INET => {
            // SAFETY: the family says that this is a sockaddr_in, which fits into the storage.
            let v4 = unsafe { place.cast::<libc::sockaddr_in>().read() };
            let ip = Ipv4Addr::from(v4.sin_addr.s_addr.to_ne_bytes());
            Some((IpAddr::V4(ip), u16::from_be(v4.sin_port)).into())
        }
        libc::AF_INET6 => {
            // SAFETY: the family says that this is a sockaddr_in6, which fits into the storage.
            let v6 = unsafe { place.cast::<libc::sockaddr_in6>().read() };
            let ip = Ipv6Addr::from(v6.sin6_addr.s6_addr);
            Some((IpAddr::V6(ip), u16::from_be(v6.sin6_port)).into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests;
