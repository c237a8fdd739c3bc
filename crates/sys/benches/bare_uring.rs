//! The fastest closed loop that io_uring allows: the measure of what checking and recording cost.
//!
//! Multishot receive into provided buffers, registered files, one silent send per response, a ring
//! that one thread alone uses and that defers its work; no parsing, a response is so many bytes;
//! the clock is read once per batch. To wait for several answers at once would cost less, but it
//! would delay answers, so that it is not a loop that a generator could have.
//!
//! `--target 127.0.0.1:8080 --path / --connections 64 --seconds 3 --cpu 1`; `--without MEANS`
//! does without one of: silent, files, multishot, deferred, issuer, array, ring.

#![allow(clippy::print_stdout, reason = "a program that prints its result")]
#![allow(unsafe_code, reason = "bare system calls")]

mod common;
#[path = "common/ring.rs"]
mod ring;

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{cqueue, opcode, squeue, types};
use ring::{GROUP, Means, Ring};

const SEND: u64 = 1 << 32;
/// Few buffers stay in the cache, and a size that is no power of two spreads them over it.
const BUFFERS: u16 = 128;
const BUFFER_BYTES: usize = 4_096 + 320;

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
    let without = arguments.text("without").unwrap_or_default();
    let known = [
        "silent",
        "files",
        "multishot",
        "deferred",
        "issuer",
        "array",
        "ring",
        "",
    ];
    assert!(
        known.contains(&without),
        "--without takes one of {known:?}, not '{without}'"
    );
    let all = Means::ALL;
    let means = Means {
        deferred: all.deferred && without != "deferred",
        single_issuer: all.single_issuer && without != "issuer",
        no_array: all.no_array && without != "array",
        registered_ring: all.registered_ring && without != "ring",
    };
    let mut ring = Ring::new(count, BUFFERS, BUFFER_BYTES, means);
    let sockets = connect(target, count);
    let files: Vec<i32> = sockets.iter().map(AsRawFd::as_raw_fd).collect();
    ring.uring
        .submitter()
        .register_files_update(0, &files)
        .expect("the table has room");
    let operations = Operations {
        files: (without == "files").then_some(files),
        request,
        is_silent: without != "silent",
        is_multishot: without != "multishot",
    };
    let seconds = arguments.number("seconds", 3);
    run(&mut ring, &operations, length, count, 1);
    run(&mut ring, &operations, length, count, seconds);
}

fn connect(target: std::net::SocketAddr, count: u32) -> Vec<OwnedFd> {
    let connect = |_| {
        let stream = std::net::TcpStream::connect(target).expect("the server accepts");
        stream.set_nodelay(true).expect("a TCP socket");
        OwnedFd::from(stream)
    };
    (0..count).map(connect).collect()
}

/// What is asked of the kernel.
struct Operations {
    /// The descriptors, where the table of files is not used.
    files: Option<Vec<i32>>,
    request: Vec<u8>,
    is_silent: bool,
    is_multishot: bool,
}

impl Operations {
    #[inline]
    fn send(&self, file: u32) -> squeue::Entry {
        let bytes = u32::try_from(self.request.len()).expect("small");
        let start = self.request.as_ptr();
        let entry = match &self.files {
            None => opcode::Send::new(types::Fixed(file), start, bytes).build(),
            Some(files) => opcode::Send::new(types::Fd(files[file as usize]), start, bytes).build(),
        };
        let entry = entry.user_data(u64::from(file) | SEND);
        if self.is_silent {
            entry.flags(squeue::Flags::SKIP_SUCCESS)
        } else {
            entry
        }
    }

    #[inline]
    fn receive(&self, file: u32) -> squeue::Entry {
        let most = u32::try_from(BUFFER_BYTES).expect("small");
        let once = std::ptr::null_mut();
        let entry = match (&self.files, self.is_multishot) {
            (None, true) => opcode::RecvMulti::new(types::Fixed(file), GROUP).build(),
            (Some(files), true) => {
                opcode::RecvMulti::new(types::Fd(files[file as usize]), GROUP).build()
            }
            (None, false) => opcode::Recv::new(types::Fixed(file), once, most)
                .buf_group(GROUP)
                .build()
                .flags(squeue::Flags::BUFFER_SELECT),
            (Some(_), false) => unreachable!("one of the means is left out, not two"),
        };
        entry.user_data(u64::from(file))
    }
}

/// Asks on all connections for so many seconds, then lets what is under way end.
fn run(ring: &mut Ring, operations: &Operations, length: usize, count: u32, seconds: u32) {
    let mut received = vec![0; count as usize];
    for file in 0..count {
        ring.push(&operations.receive(file));
        ring.push(&operations.send(file));
    }
    let tally = common::Tally::begin();
    let end = tally.end_after(seconds);
    let mut batch = Vec::with_capacity(1_024);
    let mut responses = 0;
    let mut open = count;
    while open > 0 {
        ring.wait();
        let over = sys::clock::monotonic() >= end;
        ring.take(&mut batch);
        for completion in &batch {
            let result = completion.result();
            if completion.user_data() & SEND != 0 {
                assert!(result >= 0 && !operations.is_silent, "a send failed");
                continue;
            }
            let file = u32::try_from(completion.user_data()).expect("the file's number");
            if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
                ring.give_back(buffer);
            }
            if result == -libc::ECANCELED {
                open -= 1;
                continue;
            }
            let place = &mut received[file as usize];
            if result != -libc::ENOBUFS {
                *place += usize::try_from(result).expect("a receive failed");
            }
            let is_whole = *place >= length;
            let is_armed = cqueue::more(completion.flags());
            if is_whole {
                *place -= length;
                responses += 1;
            }
            if is_whole && over {
                if is_armed {
                    let cancel = opcode::AsyncCancel::new(u64::from(file)).build();
                    ring.push(&cancel.flags(squeue::Flags::SKIP_SUCCESS).user_data(SEND));
                } else {
                    open -= 1;
                }
                continue;
            }
            if !is_armed {
                ring.push(&operations.receive(file));
            }
            if is_whole {
                ring.push(&operations.send(file));
            }
        }
        ring.tell_buffers();
    }
    if seconds > 1 {
        tally.print(responses);
    }
}
