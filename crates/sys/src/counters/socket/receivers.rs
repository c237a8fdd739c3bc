//! Sockets that take datagrams from anyone: who owns them.
//!
//! Read from `/proc/net/udp`, because sock_diag tells of UDP only where the kernel has a module for
//! that alone, and a machine has few such sockets. Cost: a file of a line for each socket.

use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;

/// One UDP socket that takes datagrams from anyone.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Receiver {
    /// Where it receives; unspecified is everywhere.
    pub address: IpAddr,
    /// Its port.
    pub port: u16,
    /// The inode that `/proc/PID/fd` shows.
    pub inode: u64,
}

impl Receiver {
    /// Whether a datagram to `address` may come to it.
    pub fn answers(&self, address: IpAddr) -> bool {
        super::hears(self.address, address)
    }
}

/// All of them on `port`, IPv4 and IPv6, as `proc` tells.
pub fn receivers(proc: &Path, port: u16) -> io::Result<Vec<Receiver>> {
    let mut found = parse(&fs::read_to_string(proc.join("net/udp"))?);
    match fs::read_to_string(proc.join("net/udp6")) {
        Ok(text) => found.extend(parse(&text)),
        // Where the kernel has no IPv6 there is no such file.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    found.retain(|one| one.port == port);
    Ok(found)
}

/// Those to which the kernel gives a datagram to `address`: those that are bound to that very
/// address, and only where there are none, those that are bound to no address.
pub fn receivers_at(proc: &Path, address: SocketAddr) -> io::Result<Vec<Receiver>> {
    let found = receivers(proc, address.port())?;
    Ok(super::nearest(found, |one| one.address, address.ip()))
}

/// What the lines of such a file tell; those of connected sockets, which hear one peer alone, and
/// what cannot be read are left out.
fn parse(text: &str) -> Vec<Receiver> {
    let lines = text.lines().skip(1);
    lines.filter_map(receiver).collect()
}

/// `sl local rem st tx:rx tr:when retransmits uid timeout inode ...`
fn receiver(line: &str) -> Option<Receiver> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (address, port) = place(fields.next()?)?;
    let (_, peer) = place(fields.next()?)?;
    let inode = fields.nth(6)?.parse().ok()?;
    (peer == 0).then_some(Receiver {
        address,
        port,
        inode,
    })
}

/// `0100007F:1F90`: an address in words of the machine's own order, and a port.
fn place(text: &str) -> Option<(IpAddr, u16)> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        let digits = address.get(at * 8..at * 8 + 8)?;
        Some(u32::from_str_radix(digits, 16).ok()?.to_ne_bytes())
    };
    let address = match address.len() {
        8 => Ipv4Addr::from(word(0)?).into(),
        32 => {
            let mut bytes = [0; 16];
            for (at, four) in bytes.chunks_exact_mut(4).enumerate() {
                four.copy_from_slice(&word(at)?);
            }
            Ipv6Addr::from(bytes).into()
        }
        _ => return None,
    };
    Some((address, port))
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;

    use super::*;

    #[test]
    #[cfg(target_endian = "little")]
    fn lines_are_read_and_connected_sockets_left_out() {
        let rest = "00000000:00000000 00:00000000 00000000 0 0";
        let zeros = "0".repeat(32);
        let text = format!(
            "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when uid inode\n\
             11: 0100007F:1F90 00000000:0000 07 {rest} 4711 2 0000000000000000 3\n\
             12: 0100007F:1F91 0100007F:1F90 01 {rest} 4712 2 0000000000000000 0\n\
             13: {}01000000:01BB {zeros}:0000 07 {rest} 4713 2 0000000000000000 0\n\
             nonsense\n",
            &zeros[8..]
        );
        let expected = [("127.0.0.1", 8_080, 4_711), ("::1", 443, 4_713)];
        let expected = expected.map(|(address, port, inode)| Receiver {
            address: address.parse().unwrap(),
            port,
            inode,
        });
        assert_eq!(parse(&text), expected);
    }

    #[test]
    fn a_socket_of_ours_is_found_by_its_port_until_it_is_connected() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let port = socket.local_addr().unwrap().port();
        let proc = Path::new("/proc");
        let found = receivers(proc, port).unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].address.is_loopback(), "{found:?}");
        let ours = crate::counters::process::sockets(proc, std::process::id()).unwrap();
        assert!(ours.contains(&found[0].inode), "{found:?}");
        socket.connect("127.0.0.1:9").unwrap();
        assert_eq!(receivers(proc, port).unwrap(), []);
    }
}
