//! Ports for servers of HTTP/3, which listen for connections and for datagrams at one number.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;

use rustix::net::{self, sockopt};

use super::{local_address, open, reserve};
use crate::datagram;

/// The lowest port that is tried: below it are those of services that have a name.
const LOWEST: u16 = 10_000;
/// How many are tried.
const TRIES: usize = 64;

/// Keeps a port of `address` as [`super::reserve`] does, where nobody receives datagrams either.
/// Nothing keeps a port for somebody else's datagrams, and each client of HTTP/3 takes one that the
/// kernel chooses. So this one is not of those that it chooses from
/// (`net.ipv4.ip_local_port_range`), unless there are none between 10,000 and the lowest of them.
pub fn reserve_apart(address: IpAddr) -> io::Result<OwnedFd> {
    let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range");
    let lowest = range.ok().and_then(|text| lowest(&text));
    let mut last = None;
    for _ in 0..TRIES {
        let any = reserve(SocketAddr::new(address, 0))?;
        let chosen = local_address(&any)?.port();
        let port = lowest.and_then(|lowest| apart(chosen, lowest));
        let kept = match port {
            Some(port) => reserve_alone(SocketAddr::new(address, port)),
            None => Ok(any),
        };
        let free = kept.and_then(|kept| {
            datagram::bind(local_address(&kept)?, false)?;
            Ok(kept)
        });
        match free {
            Ok(kept) => return Ok(kept),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into()))
}

/// As [`reserve`], but fails where somebody else keeps the same port.
fn reserve_alone(address: SocketAddr) -> io::Result<OwnedFd> {
    let socket = open(address)?;
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    net::bind(&socket, &address)?;
    // The kernel asks for this when the next one binds.
    sockopt::set_socket_reuseaddr(&socket, true)?;
    Ok(socket)
}

/// The lower of the two numbers.
fn lowest(range: &str) -> Option<u16> {
    range.split_whitespace().next()?.parse().ok()
}

/// A port below `lowest`, chosen by chance as `chosen` was: the kernel chooses one of two parities.
fn apart(chosen: u16, lowest: u16) -> Option<u16> {
    let room = lowest.checked_sub(LOWEST).filter(|room| *room > 0)?;
    Some(LOWEST + chosen % room)
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, UdpSocket};

    use super::*;

    #[test]
    fn nobody_who_asks_for_any_port_gets_it() {
        let range = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap();
        let Some(lowest) = lowest(&range).filter(|lowest| *lowest > LOWEST) else {
            return;
        };
        let kept: Vec<OwnedFd> = (0..100)
            .map(|_| reserve_apart(Ipv4Addr::LOCALHOST.into()).unwrap())
            .collect();
        let mut seen = std::collections::BTreeSet::new();
        for kept in &kept {
            let address = local_address(kept).unwrap();
            assert!((LOWEST..lowest).contains(&address.port()), "{address}");
            // A server may listen there for both.
            let _both = (
                super::super::listen(address, 16, false).unwrap(),
                UdpSocket::bind(address).unwrap(),
            );
            seen.insert(address.port());
        }
        assert_eq!(seen.len(), kept.len(), "two keep the same port: {seen:?}");
    }

    #[test]
    fn where_the_kernel_chooses_from_all_one_of_those_is_taken() {
        assert_eq!(lowest("32768\t60999\n"), Some(32_768));
        assert_eq!(apart(40_001, 32_768), Some(10_000 + 40_001 % 22_768));
        assert_eq!(apart(40_001, 1_024), None);
        assert_eq!(apart(40_001, LOWEST), None);
    }
}
