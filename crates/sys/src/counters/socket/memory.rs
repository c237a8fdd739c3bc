//! Memory that the kernel holds for the contents of a server's TCP sockets.
//!
//! Asked of the kernel by sock_diag, which charges each socket with what waits in it (SKMEMINFO);
//! no other reading tells this of one program without a control group of its own. Cost: two
//! replies of some 120 bytes a connection, about a microsecond each.

use std::io;

use model::Bytes;

use super::{LISTEN, MESSAGE, OPEN, ask, request, u32_at};
use crate::netlink::attributes;

/// What the sockets of one port have in the kernel.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Memory {
    /// Sockets that listen there.
    pub listeners: u64,
    /// Connections, of which the kernel told what it holds.
    pub connections: u64,
    /// Of all of them: what was received and is not read, what was written and is not acknowledged,
    /// what is set aside for either, what options take, and what came while a socket was busy. The
    /// sockets themselves, their files and their inodes are not in it.
    pub held: Bytes,
}

/// What the sockets of this port hold in this network namespace, IPv4 and IPv6: those of the side
/// that listens there.
pub fn memory(port: u16) -> io::Result<Memory> {
    let mut sum = Memory::default();
    for family in [libc::AF_INET, libc::AF_INET6] {
        ask(&question(family, port), &mut |answer| sum.add(answer, port))?;
    }
    Ok(sum)
}

/// `INET_DIAG_SKMEMINFO` of linux/inet_diag.h: the number of an attribute, whose bit asks for it.
const SKMEMINFO: u16 = 7;
/// `TCP_LISTEN` of a message.
const LISTENS: u8 = 10;
/// Connections in SYN_RECV are no sockets yet.
const STATES: u32 = (OPEN | LISTEN) & !(1 << 3);
/// `SK_MEMINFO_RMEM_ALLOC`, `FWD_ALLOC`, `WMEM_QUEUED`, `OPTMEM` and `BACKLOG` of
/// linux/sock_diag.h. What is handed to a device (`WMEM_ALLOC`) is in the queue of what was written
/// as well, until it is acknowledged; the others are limits and a count.
const PARTS: [usize; 5] = [0, 4, 5, 6, 7];

/// A request of that family, with the extension and the port: the kernel leaves out all others.
fn question(family: libc::c_int, port: u16) -> Vec<u8> {
    let mut bytes = request(family, STATES);
    bytes[2] = 1 << (SKMEMINFO - 1);
    bytes[8..10].copy_from_slice(&port.to_be_bytes());
    bytes
}

impl Memory {
    /// Adds what an answer tells of one socket. One without the attribute is no full socket: its
    /// server has closed it.
    fn add(&mut self, answer: &[u8], port: u16) {
        if answer.len() < MESSAGE || u16::from_be_bytes([answer[4], answer[5]]) != port {
            return;
        }
        let mut told = attributes(answer, MESSAGE).filter(|(kind, _)| *kind == SKMEMINFO);
        let Some((_, parts)) = told.next() else {
            return;
        };
        match answer[1] {
            LISTENS => self.listeners += 1,
            _ => self.connections += 1,
        }
        let part = |at: &usize| match parts.get(at * 4..at * 4 + 4) {
            // Set aside may be less than nothing for a moment, while another CPU counts.
            Some(four) => u64::try_from(u32_at(four, 0).cast_signed()).unwrap_or(0),
            None => 0,
        };
        self.held += Bytes::new(PARTS.iter().map(part).sum());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;
    use crate::netlink::attribute;

    /// An answer of a socket at `port` in that state, with those numbers.
    fn answer(state: u8, port: u16, numbers: Option<[u32; 9]>) -> Vec<u8> {
        let mut bytes = vec![0; MESSAGE];
        bytes[1] = state;
        bytes[4..6].copy_from_slice(&port.to_be_bytes());
        bytes.extend(attribute(8, &[0]));
        if let Some(numbers) = numbers {
            let value: Vec<u8> = numbers.iter().flat_map(|one| one.to_ne_bytes()).collect();
            bytes.extend(attribute(SKMEMINFO, &value));
        }
        bytes
    }

    #[test]
    fn what_a_socket_is_charged_with_is_added_up() {
        let numbers = [1, 131_072, 20, 87_040, 300, 4_000, 50_000, 600_000, 9];
        let check = |answer: &[u8], listeners: u64, connections: u64, held: u64| {
            let mut sum = Memory::default();
            sum.add(answer, 80);
            let expected = Memory {
                listeners,
                connections,
                held: Bytes::new(held),
            };
            assert_eq!(sum, expected, "{answer:?}");
        };
        check(&answer(1, 80, Some(numbers)), 0, 1, 654_301);
        check(&answer(LISTENS, 80, Some([0; 9])), 1, 0, 0);
        // Below nothing, of another port, closed by the server, and cut short.
        let mut numbers = numbers;
        numbers[4] = u32::MAX;
        check(&answer(1, 80, Some(numbers)), 0, 1, 654_001);
        check(&answer(1, 81, Some(numbers)), 0, 0, 0);
        check(&answer(5, 80, None), 0, 0, 0);
        check(&answer(1, 80, Some(numbers))[..MESSAGE - 1], 0, 0, 0);
    }

    #[test]
    fn bytes_that_nobody_reads_are_held_until_somebody_does() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut client = TcpStream::connect(address).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let before = memory(address.port()).unwrap();
        assert_eq!((before.listeners, before.connections), (1, 1));
        let sent = vec![7; 32 << 10];
        client.write_all(&sent).unwrap();
        // Loopback delivers before the write returns, or a moment later.
        let mut first = [0];
        server.read_exact(&mut first).unwrap();
        let grown = |held: Bytes| held.count() >= before.held.count() + (30 << 10);
        while !grown(memory(address.port()).unwrap().held) {}
        // What the server writes and nobody acknowledged or read is the client's: it is at its end.
        let mut rest = vec![0; sent.len() - 1];
        server.read_exact(&mut rest).unwrap();
        while grown(memory(address.port()).unwrap().held) {}
    }

    #[test]
    fn a_port_that_nobody_has_holds_nothing() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        // A child of another test, between its fork and its exec, has the socket open, too.
        while memory(port).unwrap().listeners > 0 {}
        assert_eq!(memory(port).unwrap(), Memory::default());
    }
}
