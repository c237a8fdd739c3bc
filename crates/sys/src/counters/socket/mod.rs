//! Listening sockets: who owns them, how long their accept queue is and may be; and whether their
//! connections have ended, and an end to those that only wait. Those that take datagrams have a
//! file of their own.
//!
//! Asked of the kernel by sock_diag, because `/proc/net/tcp` has no limit of the queue and lists
//! every connection in TIME_WAIT before it comes to an end. Cost: one socket, one reply.

mod memory;
mod receivers;
mod time_wait;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use crate::netlink::{self, Question};

pub use self::memory::{Memory, memory};
pub use self::receivers::{Receiver, receivers, receivers_at};
pub use self::time_wait::end_time_wait;

/// One listening TCP socket.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Listener {
    /// Where it listens; unspecified is everywhere.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// The inode that `/proc/PID/fd` shows: 0 when the kernel shows none.
    pub inode: u64,
    /// Connections that wait to be accepted.
    pub queue: u32,
    /// How many may wait: the least of what the server asked and `net.core.somaxconn`.
    pub queue_limit: u32,
}

impl Listener {
    /// Whether a connection to `address` may come to it.
    pub fn answers(&self, address: IpAddr) -> bool {
        hears(self.address, address)
    }
}

/// Whether a socket bound to `bound` may hear who asks `address`. An IPv6 socket that is bound to
/// no address counts for IPv4 too, unless it says otherwise, which is not told here.
fn hears(bound: IpAddr, address: IpAddr) -> bool {
    let (ours, asked) = (bound.to_canonical(), address.to_canonical());
    ours == asked || (ours.is_unspecified() && (ours.is_ipv6() || asked.is_ipv4()))
}

/// All listening sockets on `port` in this network namespace, IPv4 and IPv6.
pub fn listeners(port: u16) -> io::Result<Vec<Listener>> {
    let mut found = all_listeners()?;
    found.retain(|one| one.port == port);
    Ok(found)
}

/// The listening sockets to which the kernel gives a connection to `address`: those that are bound
/// to that very address, and only where there are none, those that are bound to no address.
pub fn listeners_at(address: SocketAddr) -> io::Result<Vec<Listener>> {
    let found = listeners(address.port())?;
    Ok(nearest(found, |one| one.address, address.ip()))
}

/// Those of `found` that hear who asks `address`, the nearest alone.
fn nearest<T>(mut found: Vec<T>, bound: impl Fn(&T) -> IpAddr, address: IpAddr) -> Vec<T> {
    let is_same = |one: &T| bound(one).to_canonical() == address.to_canonical();
    match found.iter().any(is_same) {
        true => found.retain(is_same),
        false => found.retain(|one| hears(bound(one), address)),
    }
    found
}

/// All listening sockets in this network namespace, IPv4 and IPv6.
pub fn all_listeners() -> io::Result<Vec<Listener>> {
    let mut found = dump(libc::AF_INET, LISTEN)?;
    found.extend(dump(libc::AF_INET6, LISTEN)?);
    Ok(found)
}

/// How many connections this machine's servers on `port` have not ended yet: those in TIME_WAIT
/// are the kernel's alone.
pub fn connections(port: u16) -> io::Result<usize> {
    let mut found = dump(libc::AF_INET, OPEN)?;
    found.extend(dump(libc::AF_INET6, OPEN)?);
    Ok(found.iter().filter(|one| one.port == port).count())
}

/// Sizes of `struct inet_diag_msg` and `struct inet_diag_req_v2` (linux/inet_diag.h).
const MESSAGE: usize = 72;
const REQUEST: usize = 56;
/// `SOCK_DIAG_BY_FAMILY` (linux/sock_diag.h).
const BY_FAMILY: u16 = 20;
/// TCP_LISTEN as a bit of the states that are asked for.
const LISTEN: u32 = 1 << 10;
/// ESTABLISHED, SYN_RECV, FIN_WAIT1 and 2, CLOSE_WAIT, LAST_ACK, CLOSING.
const OPEN: u32 = 1 << 1 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 8 | 1 << 9 | 1 << 11;

fn dump(family: libc::c_int, states: u32) -> io::Result<Vec<Listener>> {
    let mut found = Vec::new();
    ask(&request(family, states), &mut |body| {
        found.extend(listener(body));
    })?;
    Ok(found)
}

/// Asks for all sockets that `request` describes, and hands each answer to `take`.
fn ask(request: &[u8], take: &mut dyn FnMut(&[u8])) -> io::Result<()> {
    let question = Question {
        family: libc::NETLINK_SOCK_DIAG,
        kind: BY_FAMILY,
        is_dump: true,
        body: request,
    };
    netlink::ask(&question, take)
}

/// `struct inet_diag_req_v2`, asking for every socket in one of these states.
fn request(family: libc::c_int, states: u32) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(REQUEST);
    bytes.push(u8::try_from(family).expect("address families are small"));
    bytes.push(u8::try_from(libc::IPPROTO_TCP).expect("it is 6"));
    bytes.extend([0, 0]); // extensions, padding
    bytes.extend(states.to_ne_bytes());
    bytes.resize(REQUEST, 0); // any address
    bytes
}

fn listener(body: &[u8]) -> Option<Listener> {
    (body.len() >= MESSAGE).then(|| Listener {
        address: address(body),
        // Ports travel in network order after family, state, timer and retransmits.
        port: u16::from_be_bytes([body[4], body[5]]),
        queue: u32_at(body, 56),
        queue_limit: u32_at(body, 60),
        inode: u64::from(u32_at(body, 68)),
    })
}

/// The source address behind the two ports; its family comes first of all.
fn address(body: &[u8]) -> IpAddr {
    let bytes: [u8; 16] = std::array::from_fn(|at| body[8 + at]);
    if libc::c_int::from(body[0]) == libc::AF_INET {
        IpAddr::V4(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]))
    } else {
        IpAddr::V6(Ipv6Addr::from(bytes))
    }
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

#[cfg(test)]
mod tests;
