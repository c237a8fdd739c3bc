//! The cheapest HTTP server there can be: a fixed answer of 210 bytes for whatever arrives.
//!
//! It is the far end of every comparison of generators: it must be faster than all of them. One
//! multishot accept, one multishot receive per connection, one send per receive, no parsing.
//!
//! `--port 0 --cpu 0`; prints `port N` when it listens and runs until it is killed.

#![allow(clippy::print_stdout, reason = "a program that prints its port")]
#![allow(unsafe_code, reason = "bare system calls")]

mod common;
#[path = "common/ring.rs"]
mod ring;

use io_uring::{cqueue, opcode, types};
use ring::{GROUP, Ring};

const FILES: u32 = 8_192;
const ACCEPT: u64 = 1 << 32;
const SEND: u64 = 2 << 32;
const BODY: &[u8] =
    b"<html><body>This answer is always the same, 210 bytes long with its head</body></html>\n";

fn main() {
    if !common::is_asked() {
        return;
    }
    let arguments = common::Arguments::read();
    arguments.pin();
    let port = u16::try_from(arguments.number("port", 0)).expect("--port is below 65536");
    let address = (std::net::Ipv4Addr::LOCALHOST, port).into();
    let listener = sys::socket::listen(address, 4_096, false).expect("the port is free");
    let address = sys::socket::local_address(&listener).expect("it listens");
    println!("port {}", address.port());
    serve(&listener, &answer());
}

/// Exactly 210 bytes.
fn answer() -> Vec<u8> {
    let mut answer = format!(
        "HTTP/1.1 200 OK\r\nServer: null\r\nContent-Type: text/html\r\nContent-Length: {}\r\n",
        BODY.len()
    )
    .into_bytes();
    let padding = 210 - answer.len() - BODY.len() - "X: \r\n\r\n".len();
    answer.extend_from_slice(b"X: ");
    answer.resize(answer.len() + padding, b'-');
    answer.extend_from_slice(b"\r\n\r\n");
    answer.extend_from_slice(BODY);
    assert_eq!(answer.len(), 210, "as documented");
    answer
}

fn serve(listener: &std::os::fd::OwnedFd, answer: &[u8]) -> ! {
    use std::os::fd::AsRawFd;
    let mut ring = Ring::new(FILES, 4_096, 2_048);
    let accept = opcode::AcceptMulti::new(types::Fd(listener.as_raw_fd()))
        .allocate_file_index(true)
        .build()
        .user_data(ACCEPT);
    ring.push(&accept);
    let length = u32::try_from(answer.len()).expect("small");
    loop {
        ring.wait(None);
        while let Some(completion) = ring.next() {
            let data = completion.user_data();
            let file = types::Fixed(u32::try_from(data & 0xffff_ffff).expect("masked"));
            let receive = opcode::RecvMulti::new(file, GROUP).build();
            let receive = receive.user_data(data);
            if data & ACCEPT != 0 {
                let Ok(file) = u32::try_from(completion.result()) else {
                    continue;
                };
                let receive = opcode::RecvMulti::new(types::Fixed(file), GROUP).build();
                ring.push(&receive.user_data(u64::from(file)));
                continue;
            }
            if data & SEND != 0 {
                continue;
            }
            if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                ring.give_back(buffer);
            }
            if completion.result() > 0 {
                let send = opcode::Send::new(file, answer.as_ptr(), length).build();
                let send = send.flags(io_uring::squeue::Flags::SKIP_SUCCESS);
                ring.push(&send.user_data(data | SEND));
                if !cqueue::more(completion.flags()) {
                    ring.push(&receive);
                }
            } else if completion.result() == -libc::ENOBUFS {
                ring.push(&receive);
            } else {
                let close = opcode::Close::new(file).build();
                let close = close.flags(io_uring::squeue::Flags::SKIP_SUCCESS);
                ring.push(&close.user_data(data | SEND));
            }
        }
    }
}
