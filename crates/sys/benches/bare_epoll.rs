//! The fastest closed loop that epoll allows: one receive and one send per response.
//!
//! Each socket is registered once, edge-triggered; no parsing, a response is so many bytes; the
//! clock is read once per batch. With `--discard 1` the kernel drops what arrives instead of
//! copying it: the way to drive a server that sends large bodies.
//!
//! `--target 127.0.0.1:8080 --path / --connections 64 --seconds 3 --cpu 1`

#![allow(clippy::print_stdout, reason = "a program that prints its result")]
#![allow(unsafe_code, reason = "bare system calls")]

mod common;

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use sys::socket;

const EVENTS: usize = 256;
const BUFFER_BYTES: usize = 64 * 1024;

fn main() {
    if !common::is_asked() {
        return;
    }
    let arguments = common::Arguments::read();
    arguments.pin();
    let request = arguments.request();
    let target = arguments.target();
    let length = common::response_length(target, &request);
    let count = arguments.number("connections", 64);
    let mut client = Client::connect(target, count, arguments.number("discard", 0) != 0);
    client.run(&request, length, 1);
    client.run(&request, length, arguments.number("seconds", 3));
}

struct Client {
    epoll: OwnedFd,
    sockets: Vec<OwnedFd>,
    discard: bool,
    buffer: Vec<u8>,
}

impl Client {
    fn connect(target: SocketAddr, count: u32, discard: bool) -> Self {
        // SAFETY: the call takes one integer and touches no memory of ours.
        let epoll = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        assert!(epoll >= 0, "epoll_create1: {}", io::Error::last_os_error());
        // SAFETY: the kernel has just returned this descriptor, and nobody else knows it.
        let epoll = unsafe { OwnedFd::from_raw_fd(epoll) };
        let connect = |number: u32| {
            let stream = std::net::TcpStream::connect(target).expect("the server accepts");
            stream.set_nodelay(true).expect("a TCP socket");
            stream.set_nonblocking(true).expect("a TCP socket");
            let mut event = libc::epoll_event {
                events: (libc::EPOLLIN | libc::EPOLLET).cast_unsigned(),
                u64: u64::from(number),
            };
            // SAFETY: the event is live, and both descriptors are open.
            let result = unsafe {
                libc::epoll_ctl(
                    epoll.as_raw_fd(),
                    libc::EPOLL_CTL_ADD,
                    stream.as_raw_fd(),
                    &raw mut event,
                )
            };
            assert_eq!(result, 0, "epoll_ctl: {}", io::Error::last_os_error());
            OwnedFd::from(stream)
        };
        Self {
            sockets: (0..count).map(connect).collect(),
            epoll,
            discard,
            buffer: vec![0; BUFFER_BYTES],
        }
    }

    /// Asks on all connections for so many seconds, then lets what is under way end.
    fn run(&mut self, request: &[u8], length: usize, seconds: u32) {
        let mut events = [libc::epoll_event { events: 0, u64: 0 }; EVENTS];
        let mut received = vec![0; self.sockets.len()];
        for socket in &self.sockets {
            socket::send(socket, request, false).expect("an idle connection takes a request");
        }
        let tally = common::Tally::begin();
        let end = tally.end_after(seconds);
        let mut responses = 0;
        let mut open = self.sockets.len();
        while open > 0 {
            let ready = self.wait(&mut events);
            let over = sys::clock::monotonic() >= end;
            for event in &events[..ready] {
                let number = usize::try_from(event.u64).expect("a small number");
                let place = &mut received[number];
                *place += self.receive(number, length - *place);
                if *place < length {
                    continue;
                }
                *place = 0;
                responses += 1;
                if over {
                    open -= 1;
                } else {
                    socket::send(&self.sockets[number], request, false)
                        .expect("an idle connection takes a request");
                }
            }
        }
        if seconds > 1 {
            tally.print(responses);
        }
    }

    #[inline]
    fn wait(&self, events: &mut [libc::epoll_event; EVENTS]) -> usize {
        let room = i32::try_from(EVENTS).expect("a small number");
        // SAFETY: the events are live and as many as said, and the descriptor is open.
        let ready =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), events.as_mut_ptr(), room, -1) };
        usize::try_from(ready).unwrap_or(0)
    }

    /// All that is there, until `wanted` bytes or nothing more.
    #[inline]
    fn receive(&mut self, number: usize, wanted: usize) -> usize {
        let socket = &self.sockets[number];
        let mut received = 0;
        while received < wanted {
            let (result, asked) = if self.discard {
                let asked = wanted - received;
                (socket::discard(socket, asked), asked)
            } else {
                (socket::receive(socket, &mut self.buffer), BUFFER_BYTES)
            };
            match result {
                Ok(0) => panic!("the server closed a connection"),
                Ok(count) => {
                    received += count;
                    if count < asked {
                        break;
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) => panic!("a receive failed: {error}"),
            }
        }
        received
    }
}
