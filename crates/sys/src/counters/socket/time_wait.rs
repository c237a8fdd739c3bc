//! Connections that have ended and whose ports the kernel still keeps.

use std::io;

use crate::netlink;

use super::{MESSAGE, REQUEST, ask, request};

/// TCP_TIME_WAIT as a bit of the states that are asked for.
const TIME_WAIT: u32 = 1 << 6;
/// `SOCK_DESTROY` (linux/sock_diag.h).
const DESTROY: u16 = 21;

/// Ends those in TIME_WAIT of which `port` is one end, in this network namespace, and says how many
/// there were. Root may do that, where the kernel can (CONFIG_INET_DIAG_DESTROY).
///
/// By itself the kernel ends them after 60 s, those of two seconds at once where its tick is 4 ms:
/// 10,000 of them take a CPU away for some milliseconds.
pub fn end_time_wait(port: u16) -> io::Result<usize> {
    let found = in_time_wait(port)?;
    netlink::tell(libc::NETLINK_SOCK_DIAG, DESTROY, &found)?;
    Ok(found.len())
}

/// What ends each of them: `struct inet_diag_req_v2` with the addresses, ports and cookie that the
/// kernel told.
fn in_time_wait(port: u16) -> io::Result<Vec<Vec<u8>>> {
    let mut found = Vec::new();
    for family in [libc::AF_INET, libc::AF_INET6] {
        let asked = request(family, TIME_WAIT);
        ask(&asked, &mut |body| {
            if body.len() >= MESSAGE && is_at(body, port) {
                let mut request = asked.clone();
                request[REQUEST - SOCKET..].copy_from_slice(&body[4..4 + SOCKET]);
                found.push(request);
            }
        })?;
    }
    Ok(found)
}

/// The size of `struct inet_diag_sockid`: behind four bytes of an answer, and at the end of a
/// question.
const SOCKET: usize = 48;

/// Whether one of the ends has that port: both stand in network order behind four bytes.
fn is_at(body: &[u8], port: u16) -> bool {
    let port = port.to_be_bytes();
    body[4..6] == port || body[6..8] == port
}

#[cfg(test)]
mod tests {
    use std::io::{ErrorKind, Read as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn those_of_a_port_are_ended_and_no_others() {
        let end = |address: &str| {
            let ours = TcpListener::bind(address).unwrap();
            for _ in 0..3 {
                let client = TcpStream::connect(ours.local_addr().unwrap()).unwrap();
                let (mut server, _) = ours.accept().unwrap();
                // Who closes first is the one that waits.
                client.shutdown(std::net::Shutdown::Write).unwrap();
                assert_eq!(server.read(&mut [0]).unwrap(), 0);
                drop(server);
                assert_eq!((&client).read(&mut [0]).unwrap(), 0);
            }
            ours.local_addr().unwrap().port()
        };
        let (one, other) = (end("127.0.0.1:0"), end("127.0.0.1:0"));
        assert_eq!(in_time_wait(one).unwrap().len(), 3);
        match end_time_wait(one) {
            Ok(ended) => assert_eq!(ended, 3),
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                return crate::testing::not_run("connections may not be ended here");
            }
            Err(error) => panic!("{error}"),
        }
        assert_eq!(in_time_wait(one).unwrap().len(), 0);
        assert_eq!(in_time_wait(other).unwrap().len(), 3);
        assert_eq!(end_time_wait(one).unwrap(), 0, "there are none any more");
    }
}
