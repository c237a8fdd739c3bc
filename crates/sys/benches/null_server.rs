//! The cheapest HTTP server there can be: a fixed answer of 210 bytes for whatever arrives.
//!
//! It is the far end of every comparison of generators, and must be faster than all of them: one
//! send per request, and no receive. A multishot poll tells of each arrival, an arrival is taken
//! for one request (so clients must not pipeline), and what arrived is dropped unread, many
//! requests at a time.
//!
//! `--port 0 --cpu 0`; prints `port N` when it listens and runs until it is killed. With
//! `--heads changing` the values of Date, Age and X-Request-Id differ from answer to answer, with
//! `--heads fixed` they stand there and do not.

#![allow(clippy::print_stdout, reason = "a program that prints its port")]
#![allow(unsafe_code, reason = "bare system calls")]

mod common;
#[path = "common/ring.rs"]
mod ring;

use std::os::fd::{AsRawFd as _, OwnedFd};

use io_uring::{cqueue, opcode, squeue, types};
use ring::{Means, Ring};
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
    let answers = match arguments.text("heads") {
        Some("changing") => (0..ANSWERS).map(answer).collect(),
        Some("fixed") => vec![answer(0); ANSWERS],
        _ => vec![ANSWER.to_vec()],
    };
    serve(&listener, &answers);
}

/// So many differ, and come one after the other.
const ANSWERS: usize = 256;

/// One of the answers with values that change: all of the same length.
fn answer(number: usize) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\n\
        Server: null\r\n\
        Date: Thu, 01 Jan 1970 00:{:02}:{:02} GMT\r\n\
        Content-Type: text/plain\r\n\
        Content-Length: 7\r\n\
        Age: {}\r\n\
        X-Request-Id: {:032x}\r\n\
        Connection: keep-alive\r\n\
        \r\n\
        1234567",
        number / 60,
        number % 60,
        1_000 + number,
        number as u128 * 0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835 % u128::MAX,
    );
    head.into_bytes()
}

fn serve(listener: &OwnedFd, answers: &[Vec<u8>]) -> ! {
    // It receives nothing: its ring of buffers is as small as can be.
    let mut ring = Ring::new(FILES, 1, 64, Means::ALL);
    let mut answers = answers.iter().cycle();
    let mut batch = Vec::with_capacity(4_096);
    let accept = opcode::AcceptMulti::new(types::Fd(listener.as_raw_fd()))
        .allocate_file_index(true)
        .build()
        .user_data(ACCEPT);
    ring.push(&accept);
    let mut unread = vec![0; FILES as usize];
    loop {
        ring.wait();
        ring.take(&mut batch);
        for completion in &batch {
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
                _ => {
                    let unread = &mut unread[number as usize];
                    if arrived(&mut ring, completion, number) {
                        let answer = answers.next().expect("they go round");
                        respond(&mut ring, number, answer, unread);
                    }
                }
            }
        }
    }
}

/// No completion comes of it unless it fails.
fn silent(entry: squeue::Entry, number: u32) -> squeue::Entry {
    let entry = entry.flags(squeue::Flags::SKIP_SUCCESS);
    entry.user_data(u64::from(number) | SILENT)
}

/// One request, or the end of the connection; whether it is a request.
#[inline]
fn arrived(ring: &mut Ring, completion: &cqueue::Entry, number: u32) -> bool {
    let file = types::Fixed(number);
    let ends = libc::POLLRDHUP | libc::POLLHUP | libc::POLLERR;
    if completion.result() < 0 || completion.result() & i32::from(ends) != 0 {
        // Its polls go on as long as it is open; this ends them.
        if cqueue::more(completion.flags()) {
            let remove = opcode::PollRemove::new(u64::from(number)).build();
            ring.push(&silent(remove, number));
        }
        if completion.result() != -libc::ECANCELED {
            ring.push(&silent(opcode::Close::new(file).build(), number));
        }
        return false;
    }
    if !cqueue::more(completion.flags()) {
        ring.push(&arrivals(number));
    }
    true
}

/// Answers a request, and drops the latest ones unread where they are many.
#[inline]
fn respond(ring: &mut Ring, number: u32, answer: &[u8], unread: &mut u32) {
    let file = types::Fixed(number);
    let length = u32::try_from(answer.len()).expect("small");
    let send = opcode::Send::new(file, answer.as_ptr(), length);
    ring.push(&silent(send.build(), number));
    *unread += 1;
    if *unread == UNREAD {
        *unread = 0;
        let flags = libc::MSG_TRUNC | libc::MSG_DONTWAIT;
        let drop = opcode::Recv::new(file, std::ptr::null_mut(), UNREAD_BYTES).flags(flags);
        ring.push(&drop.build().user_data(u64::from(number) | DROP));
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
