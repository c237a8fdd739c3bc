//! The sockets at which a server hears who asks: of TCP, or of UDP where it is asked in HTTP/3.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::path::Path;

use model::plan::Protocol;
use sys::counters::socket;
use sys::socket as sockets;

/// One socket.
pub(super) struct Ear {
    /// As `/proc/PID/fd` shows it.
    pub(super) inode: u64,
    /// How many connections may wait there; none where there are no connections.
    pub(super) queue_limit: Option<u32>,
}

/// All at which `protocol` is heard on `port`, whoever owns them: by who asks `address`, and by a
/// part of the server that asks another one over loopback. What somebody else hears on the same
/// port of another address is never ours.
pub(super) fn ears(port: u16, address: Ipv4Addr, protocol: Protocol) -> io::Result<Vec<Ear>> {
    let asked = [address, Ipv4Addr::LOCALHOST].map(IpAddr::from);
    if protocol == Protocol::Http3 {
        let mut receivers = socket::receivers(Path::new("/proc"), port)?;
        receivers.retain(|one| asked.iter().any(|&address| one.answers(address)));
        let ear = |receiver: socket::Receiver| Ear {
            inode: receiver.inode,
            queue_limit: None,
        };
        return Ok(receivers.into_iter().map(ear).collect());
    }
    let ear = |listener: socket::Listener| Ear {
        inode: listener.inode,
        queue_limit: Some(listener.queue_limit),
    };
    let mut listeners = socket::listeners(port)?;
    listeners.retain(|one| asked.iter().any(|&address| one.answers(address)));
    Ok(listeners.into_iter().map(ear).collect())
}

/// A port at which `protocol` can be heard, in words.
pub(super) fn port_words(port: u16, protocol: Protocol) -> String {
    match protocol {
        Protocol::Http3 => format!("UDP port {port}"),
        Protocol::Http1 | Protocol::Http2 => format!("port {port}"),
    }
}

/// A port for a server, and what keeps it from everyone else until the server listens, whichever of
/// this machine's addresses it listens on. One for HTTP/3 is free for datagrams, too.
pub(super) fn port(protocol: Protocol) -> io::Result<(u16, OwnedFd)> {
    let anywhere = Ipv4Addr::UNSPECIFIED;
    let kept = match protocol {
        Protocol::Http3 => sockets::reserve_apart(anywhere.into())?,
        Protocol::Http1 | Protocol::Http2 => sockets::reserve((anywhere, 0).into())?,
    };
    Ok((sockets::local_address(&kept)?.port(), kept))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};

    use super::*;

    #[test]
    fn the_same_port_of_another_address_is_no_ear() {
        let elsewhere = Ipv4Addr::new(127, 0, 0, 9);
        // Kept from everyone who does not name it, at every address.
        let (free, _kept) = port(Protocol::Http3).unwrap();
        let _listener = TcpListener::bind((elsewhere, free)).unwrap();
        let _receiver = UdpSocket::bind((elsewhere, free)).unwrap();
        for protocol in [Protocol::Http1, Protocol::Http3] {
            let heard = |address| ears(free, address, protocol).unwrap().len();
            assert_eq!(heard(Ipv4Addr::LOCALHOST), 0, "{protocol:?}");
            assert_eq!(heard(elsewhere), 1, "{protocol:?}");
        }
        // A part that others ask over loopback, and one that hears everybody.
        for bound in [Ipv4Addr::LOCALHOST, Ipv4Addr::UNSPECIFIED] {
            let listener = TcpListener::bind((bound, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            assert_eq!(ears(port, elsewhere, Protocol::Http1).unwrap().len(), 1);
        }
    }
}
