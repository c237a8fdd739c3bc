//! The sockets at which a server hears who asks: of TCP, or of UDP where it is asked in HTTP/3.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::path::Path;

use model::plan::Protocol;
use sys::counters::socket;
use sys::{datagram, socket as sockets};

/// One socket.
pub(super) struct Ear {
    /// As `/proc/PID/fd` shows it.
    pub(super) inode: u64,
    /// How many connections may wait there; none where there are no connections.
    pub(super) queue_limit: Option<u32>,
}

/// All at which `protocol` is heard on `port`, whoever owns them.
pub(super) fn ears(port: u16, protocol: Protocol) -> io::Result<Vec<Ear>> {
    if protocol == Protocol::Http3 {
        let receivers = socket::receivers(Path::new("/proc"), port)?;
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
    Ok(socket::listeners(port)?.into_iter().map(ear).collect())
}

/// A port at which `protocol` can be heard, in words.
pub(super) fn port_words(port: u16, protocol: Protocol) -> String {
    match protocol {
        Protocol::Http3 => format!("UDP port {port}"),
        Protocol::Http1 | Protocol::Http2 => format!("port {port}"),
    }
}

/// How often a port is chosen anew that is in use for datagrams.
const TRIES: usize = 16;

/// A port for a server, and what keeps it from everyone else until the server listens. One for
/// HTTP/3 is free for datagrams, too, when it is chosen: nobody can keep that for somebody else.
pub(super) fn port(protocol: Protocol) -> io::Result<(u16, OwnedFd)> {
    let mut tries = TRIES;
    loop {
        let kept = sockets::reserve(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))?;
        let address = sockets::local_address(&kept)?;
        if protocol != Protocol::Http3 {
            return Ok((address.port(), kept));
        }
        match datagram::bind(address, false) {
            Ok(_free) => return Ok((address.port(), kept)),
            Err(error) if tries == 0 => return Err(error),
            Err(_) => tries -= 1,
        }
    }
}
