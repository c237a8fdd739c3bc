//! The fastest closed loop that io_uring allows: the measure of what checking and recording cost.
//!
//! Multishot receive into provided buffers, registered files, one send per response; no parsing, a
//! response is so many bytes; the clock is read once per batch.
//!
//! `--target 127.0.0.1:8080 --path / --connections 64 --seconds 3 --cpu 1`

#![allow(clippy::print_stdout, reason = "a program that prints its result")]
#![allow(unsafe_code, reason = "bare system calls")]

mod common;
#[path = "common/ring.rs"]
mod ring;

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{cqueue, opcode, squeue, types};
use ring::{GROUP, Ring};

const SEND: u64 = 1 << 32;

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
    // Few buffers stay in the cache, and a size that is no power of two spreads them over it.
    let mut ring = Ring::new(count, 128, 4_096 + 320);
    let sockets = connect(target, count);
    let files: Vec<i32> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    ring.uring
        .submitter()
        .register_files_update(0, &files)
        .expect("the table has room");
    let seconds = arguments.number("seconds", 3);
    run(&mut ring, &request, length, count, 1);
    run(&mut ring, &request, length, count, seconds);
}

fn connect(target: std::net::SocketAddr, count: u32) -> Vec<OwnedFd> {
    let connect = |_| {
        let stream = std::net::TcpStream::connect(target).expect("the server accepts");
        stream.set_nodelay(true).expect("a TCP socket");
        OwnedFd::from(stream)
    };
    (0..count).map(connect).collect()
}

/// Asks on all connections for so many seconds, then lets what is under way end.
fn run(ring: &mut Ring, request: &[u8], length: usize, count: u32, seconds: u32) {
    let bytes = u32::try_from(request.len()).expect("small");
    let send = |file: u32| {
        opcode::Send::new(types::Fixed(file), request.as_ptr(), bytes)
            .build()
            .flags(squeue::Flags::SKIP_SUCCESS)
            .user_data(u64::from(file) | SEND)
    };
    let receive = |file: u32| {
        opcode::RecvMulti::new(types::Fixed(file), GROUP)
            .build()
            .user_data(u64::from(file))
    };
    let mut received = vec![0; count as usize];
    for file in 0..count {
        ring.push(&receive(file));
        ring.push(&send(file));
    }
    let tally = common::Tally::begin();
    let end = tally.end_after(seconds);
    let mut responses = 0;
    let mut open = count;
    while open > 0 {
        ring.wait(None);
        let over = sys::clock::monotonic() >= end;
        while let Some(completion) = ring.next() {
            let file = u32::try_from(completion.user_data() & 0xffff_ffff).expect("masked");
            assert_eq!(completion.user_data() & SEND, 0, "a send failed");
            if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                ring.give_back(buffer);
            }
            if completion.result() == -libc::ECANCELED {
                open -= 1;
                continue;
            }
            if !cqueue::more(completion.flags()) {
                ring.push(&receive(file));
            }
            if completion.result() == -libc::ENOBUFS {
                continue;
            }
            let place = &mut received[file as usize];
            *place += usize::try_from(completion.result()).expect("a receive failed");
            if *place < length {
                continue;
            }
            *place -= length;
            responses += 1;
            if over {
                let cancel = opcode::AsyncCancel::new(u64::from(file)).build();
                ring.push(&cancel.flags(squeue::Flags::SKIP_SUCCESS).user_data(SEND));
            } else {
                ring.push(&send(file));
            }
        }
    }
    if seconds > 1 {
        tally.print(responses);
    }
}
