//! The cheapest HTTP server there can be: a fixed answer of 210 bytes for whatever arrives.
//!
//! It is the far end of every comparison of generators, and must be faster than all of them: one
//! send per request, and no receive. A multishot poll tells of each arrival, an arrival is taken
//! for one request (so clients must not pipeline), and what arrived is dropped unread, many
//! requests at a time.
//!
//! `--port 0 --cpu 0`; prints `port N` when it listens and runs until it is killed.

#![allow(clippy::print_stdout, reason = "a program that prints its port")]
#![allow(unsafe_code, reason = "bare system calls")]

mod common;
#[path = "common/ring.rs"]
mod ring;

use std::os::fd::{AsRawFd as _, OwnedFd};

use io_uring::{cqueue, opcode, squeue, types};
use ring::Ring;
use sys::socket;

/// How many connections there can be.
const FILES: u32 = 8_192;
/// How many requests lie unread before they are dropped.
const UNREAD: u32 = 64;
/// More than they can be together.
const UNREAD_BYTES: u32 = 1 << 20;

// What a completion is about; the connection's number is in the lower half.
const ACCEPT: u64 = 1 << 32;
const DROP: u64 = 2 << 32;
const SILENT: u64 = 4 << 32;

/// The head has the fields that real servers send with a small file. A client of HTTP/1.0 keeps
/// its connection only if it is told to.
const ANSWER: &[u8; 210] = b"HTTP/1.1 200 OK\r\n\
    Server: null\r\n\
    Date: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
    Content-Type: text/plain\r\n\
    Content-Length: 7\r\n\
    Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
    Connection: keep-alive\r\n\
    ETag: \"00000007\"\r\n\
    \r\n\
    1234567";

fn main() {
    if !common::is_asked() {
        return;
    }
    let arguments = common::Arguments::read();
    arguments.pin();
    let port = u16::try_from(arguments.number("port", 0)).expect("--port is below 65536");
    let address = (std::net::Ipv4Addr::LOCALHOST, port).into();
    let listener = socket::listen(address, 4_096, false).expect("the port is free");
    let address = socket::local_address(&listener).expect("it listens");
    println!("port {}", address.port());
    serve(&listener);
}

fn serve(listener: &OwnedFd) -> ! {
    // It receives nothing: its ring of buffers is as small as can be.
    let mut ring = Ring::new(FILES, 1, 64);
    let accept = opcode::AcceptMulti::new(types::Fd(listener.as_raw_fd()))
        .allocate_file_index(true)
        .build()
        .user_data(ACCEPT);
    ring.push(&accept);
    let mut unread = vec![0; FILES as usize];
    loop {
        ring.wait(None);
        while let Some(completion) = ring.next() {
            let number = u32::try_from(completion.user_data() & 0xffff_ffff).expect("masked");
            match completion.user_data() >> 32 << 32 {
                ACCEPT => {
                    if let Ok(number) = u32::try_from(completion.result()) {
                        unread[number as usize] = 0;
                        ring.push(&arrivals(number));
                    }
                }
                // A send or a close that failed, or what was dropped: nothing follows from it.
                SILENT | DROP => {}
                _ => arrived(&mut ring, &completion, number, &mut unread[number as usize]),
            }
        }
    }
}

/// One request, or the end of the connection.
#[inline]
fn arrived(ring: &mut Ring, completion: &cqueue::Entry, number: u32, unread: &mut u32) {
    let file = types::Fixed(number);
    let silent = |entry: squeue::Entry| {
        let entry = entry.flags(squeue::Flags::SKIP_SUCCESS);
        entry.user_data(u64::from(number) | SILENT)
    };
    let ends = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;
    if completion.result() < 0 || completion.result() & i32::from(ends) != 0 {
        // Its polls go on as long as it is open; this ends them.
        if cqueue::more(completion.flags()) {
            ring.push(&silent(opcode::PollRemove::new(u64::from(number)).build()));
        }
        if completion.result() != -libc::ECANCELED {
            ring.push(&silent(opcode::Close::new(file).build()));
        }
        return;
    }
    let length = u32::try_from(ANSWER.len()).expect("small");
    let send = opcode::Send::new(file, ANSWER.as_ptr(), length);
    ring.push(&silent(send.build()));
    *unread += 1;
    if *unread == UNREAD {
        *unread = 0;
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        let drop = opcode::Recv::new(file, std::ptr::null_mut(), UNREAD_BYTES).flags(flags);
        ring.push(&drop.build().user_data(u64::from(number) | DROP));
    }
    if !cqueue::more(completion.flags()) {
        ring.push(&arrivals(number));
    }
}

/// Tells of each arrival.
fn arrivals(number: u32) -> squeue::Entry {
    let events = libc::POLLIN | libc::POLLRDHUP;
    opcode::PollAdd::new(types::Fixed(number), u32::from(events.cast_unsigned()))
        .multi(true)
        .build()
        .user_data(u64::from(number))
}
