//! UDP, for protocols that keep their own order: many datagrams in one call where the kernel can
//! cut and join them (GSO, GRO).
//!
//! Congestion marks (ECN) are set as the protocol asks, and read. Datagrams are not fragmented on
//! their way, so a protocol may find out how long they can be.

use std::io::{self, IoSliceMut};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use model::Mark;
use model::units::Instant;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSockRef, UdpSocketState};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::net::{self, AddressFamily, SocketFlags, SocketType, sockopt};

use crate::reactor::Waker;
use crate::{clock, socket, timer};

/// What is asked for as room of a socket in the kernel; it gives what its limits allow.
const ROOM: usize = 2 * 1024 * 1024;

/// A socket, with what the kernel can do for it.
#[derive(Debug)]
pub(crate) struct Channel {
    state: UdpSocketState,
    peer: SocketAddr,
}

/// What one call received: datagrams of this length each, the last perhaps shorter, and all with
/// the same mark.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Batch {
    pub(crate) length: usize,
    pub(crate) each: usize,
    pub(crate) mark: Mark,
}

impl Channel {
    /// For a socket that is connected to `peer`.
    pub(crate) fn new(socket: &OwnedFd, peer: SocketAddr) -> io::Result<Self> {
        Ok(Self {
            state: state_of(socket)?,
            peer,
        })
    }

    /// Sends `bytes`, cut into datagrams of `segment` bytes with that mark; 0: they are one.
    pub(crate) fn send(
        &self,
        socket: &OwnedFd,
        bytes: &[u8],
        segment: usize,
        mark: Mark,
    ) -> io::Result<()> {
        let way = Way {
            to: self.peer,
            from: None,
            segment,
            mark,
        };
        send(&self.state, socket, bytes, way)
    }

    /// Receives as many datagrams of one length as the kernel has joined.
    pub(crate) fn receive(&self, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Batch> {
        let received = receive(&self.state, socket, buffer)?;
        Ok(received.batch)
    }
}

/// Makes a socket to send datagrams to `target`, not blocking, from `source` if given.
pub(crate) fn outgoing(target: SocketAddr, source: Option<SocketAddr>) -> io::Result<OwnedFd> {
    let socket = open(target)?;
    if let Some(source) = source {
        net::bind(&socket, &source)?;
    }
    Ok(socket)
}

fn open(address: SocketAddr) -> io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let protocol = Some(net::ipproto::UDP);
    let socket = net::socket_with(family, SocketType::DGRAM, flags, protocol)?;
    // With less than that, more datagrams are lost when many come at once.
    let _as_it_is = sockopt::set_socket_recv_buffer_size(&socket, ROOM);
    let _as_it_is = sockopt::set_socket_send_buffer_size(&socket, ROOM);
    Ok(socket)
}

/// Where datagrams go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Way {
    /// Whom to.
    pub to: SocketAddr,
    /// From which of our addresses; none leaves it to the kernel.
    pub from: Option<IpAddr>,
    /// How long each but the last is; 0: there is one.
    pub segment: usize,
    /// How each is marked.
    pub mark: Mark,
}

/// What one call brought from one sender.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Received {
    /// Who sent it.
    pub from: SocketAddr,
    /// To which of our addresses, where the kernel tells.
    pub to: Option<IpAddr>,
    batch: Batch,
}

impl Received {
    /// How the datagrams were marked, where the kernel tells.
    pub const fn mark(&self) -> Mark {
        self.batch.mark
    }

    /// The datagrams, which lie in the buffer that they were received into.
    pub fn datagrams<'a>(&self, buffer: &'a [u8]) -> impl Iterator<Item = &'a [u8]> {
        buffer[..self.batch.length].chunks(self.batch.each.max(1))
    }
}

/// Sockets that serve, and a wait for all of them.
#[derive(Debug)]
pub struct Ports {
    ports: Vec<(OwnedFd, UdpSocketState)>,
    event: Arc<OwnedFd>,
}

impl Ports {
    /// None yet.
    pub fn new() -> io::Result<Self> {
        Ok(Self {
            ports: Vec::new(),
            event: Arc::new(timer::event()?),
        })
    }

    /// Takes a socket that [`bind`] made.
    pub fn add(&mut self, socket: OwnedFd) -> io::Result<()> {
        let state = state_of(&socket)?;
        self.ports.push((socket, state));
        Ok(())
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.ports.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    /// Something with which another thread ends a wait.
    pub fn waker(&self) -> Waker {
        Waker::of(Arc::clone(&self.event))
    }

    /// Receives on a port; none: nothing is there.
    pub fn receive(&self, port: usize, buffer: &mut [u8]) -> Option<Received> {
        let (socket, state) = self.ports.get(port)?;
        // Other errors are about a datagram that was sent before: its sender is told in time.
        receive(state, socket, buffer).ok()
    }

    /// Sends from a port; false: there is no room for it now. What cannot be sent for any other
    /// reason is lost, as on the way.
    pub fn send(&self, port: usize, way: Way, bytes: &[u8]) -> bool {
        let Some((socket, state)) = self.ports.get(port) else {
            return true;
        };
        let sent = send(state, socket, bytes, way);
        !sent.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
    }

    /// Waits until a datagram is there, `deadline` has passed, or a waker was used; and if `full`
    /// names a port, until that has room. Returns the clock right after.
    pub fn wait(&self, deadline: Instant, full: Option<usize>) -> Instant {
        let ports = self.ports.iter().enumerate();
        let mut watched: Vec<PollFd<'_>> = ports
            .map(|(place, (socket, _))| match full {
                Some(port) if port == place => PollFd::new(socket, PollFlags::IN | PollFlags::OUT),
                _ => PollFd::new(socket, PollFlags::IN),
            })
            .collect();
        watched.push(PollFd::new(&self.event, PollFlags::IN));
        let timeout = (deadline < Instant::FAR_FUTURE).then(|| {
            let left = deadline.saturating_since(clock::monotonic()).as_ns();
            Timespec::try_from(Duration::from_nanos(left)).unwrap_or_default()
        });
        // An interrupted wait is one that brought nothing.
        let _count = rustix::event::poll(&mut watched, timeout.as_ref());
        let is_woken = watched
            .last()
            .is_some_and(|event| event.revents().contains(PollFlags::IN));
        if is_woken {
            let mut count = [0; 8];
            let _count = rustix::io::read(&self.event, &mut count);
        }
        clock::monotonic()
    }
}

/// A socket that serves at `address`; `share` sets `SO_REUSEPORT`: one socket per worker, and the
/// kernel gives each sender to one of them.
pub fn bind(address: SocketAddr, share: bool) -> io::Result<OwnedFd> {
    let socket = open(address)?;
    if share {
        sockopt::set_socket_reuseport(&socket, true)?;
    }
    if address.is_ipv6() {
        sockopt::set_ipv6_v6only(&socket, true)?;
    }
    net::bind(&socket, &address)?;
    Ok(socket)
}

/// What the kernel can do for a socket.
fn state_of(socket: &OwnedFd) -> io::Result<UdpSocketState> {
    let state = UdpSocketState::new(UdpSockRef::from(socket))?;
    // The library asks for times, which nobody reads here. Beside them there is no room for the
    // marks of datagrams that the kernel has joined (quinn-udp 0.6.3: 96 bytes, and 112 are told).
    socket::tell_no_times(socket)?;
    Ok(state)
}

fn send(state: &UdpSocketState, socket: &OwnedFd, bytes: &[u8], way: Way) -> io::Result<()> {
    let is_cut = way.segment > 0 && way.segment < bytes.len();
    if !is_cut {
        return send_one(state, socket, bytes, way);
    }
    if state.max_gso_segments() > 1 {
        let sent = send_one(state, socket, bytes, way);
        // Some devices turn out not to cut: then the library has taken note of it.
        if sent.is_ok() || state.max_gso_segments() > 1 {
            return sent;
        }
    }
    // What is sent twice because there was no room for all of it is received once.
    let mut each = bytes.chunks(way.segment);
    each.try_for_each(|one| send_one(state, socket, one, way))
}

fn send_one(state: &UdpSocketState, socket: &OwnedFd, bytes: &[u8], way: Way) -> io::Result<()> {
    let transmit = Transmit {
        destination: way.to,
        ecn: EcnCodepoint::from_bits(way.mark.bits()),
        contents: bytes,
        segment_size: (way.segment > 0).then_some(way.segment),
        src_ip: way.from,
    };
    state.try_send(UdpSockRef::from(socket), &transmit)
}

fn receive(state: &UdpSocketState, socket: &OwnedFd, buffer: &mut [u8]) -> io::Result<Received> {
    let mut meta = [RecvMeta::default()];
    let mut buffers = [IoSliceMut::new(buffer)];
    state.recv(UdpSockRef::from(socket), &mut buffers, &mut meta)?;
    let [meta] = meta;
    Ok(Received {
        from: meta.addr,
        to: meta.dst_ip,
        batch: Batch {
            length: meta.len,
            each: meta.stride,
            mark: Mark::from_bits(meta.ecn.map_or(0, |mark| mark as u8)),
        },
    })
}

/// The address that a socket is bound to.
pub fn local_address(socket: &OwnedFd) -> io::Result<SocketAddr> {
    socket::local_address(socket)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is sent at once arrives as the datagrams that it was cut into, marked as it was sent.
    #[test]
    fn datagrams_keep_their_edges() {
        let server = bind("127.0.0.1:0".parse().unwrap(), true).unwrap();
        let address = local_address(&server).unwrap();
        let mut ports = Ports::new().unwrap();
        ports.add(server).unwrap();
        let client = outgoing(address, None).unwrap();
        socket::connect(&client, address).unwrap();
        let channel = Channel::new(&client, address).unwrap();
        let (some, none) = (Mark::Capable0, Mark::NotCapable);
        channel.send(&client, &[b'a'; 2_500], 1_000, some).unwrap();
        channel.send(&client, b"alone", 0, none).unwrap();
        let mut buffer = vec![0; 65_536];
        let (mut lengths, mut marks) = (Vec::new(), Vec::new());
        let mut sender = None;
        let far = clock::monotonic() + model::Span::from_s(60);
        while lengths.len() < 4 && clock::monotonic() < far {
            ports.wait(far, None);
            while let Some(received) = ports.receive(0, &mut buffer) {
                sender = Some(received.from);
                let before = lengths.len();
                lengths.extend(received.datagrams(&buffer).map(<[u8]>::len));
                marks.resize(marks.len() + lengths.len() - before, received.mark());
            }
        }
        assert_eq!(lengths, [1_000, 1_000, 500, 5]);
        assert_eq!(marks, [some, some, some, none]);
        let way = Way {
            to: sender.unwrap(),
            from: None,
            segment: 0,
            mark: Mark::Congested,
        };
        assert!(ports.send(0, way, b"answer"));
        let answer = loop {
            match channel.receive(&client, &mut buffer) {
                Ok(batch) => break batch,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(&buffer[..answer.length], b"answer");
        assert_eq!(answer.mark, Mark::Congested);
    }

    #[test]
    fn a_waker_ends_a_wait() {
        let ports = Ports::new().unwrap();
        ports.waker().wake();
        ports.wait(Instant::FAR_FUTURE, None);
    }
}
