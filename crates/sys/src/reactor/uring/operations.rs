//! What is asked of the kernel: every operation but sends is put in line here.
//!
//! An operation's completion carries what it was for, the place of its connection, and how often
//! that place had been used before: what comes late for a connection that is closed finds nobody,
//! so that its place is free at once.

use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};

use super::buffers::Size;
use super::connection::{Phase, Receiving, Sending};
use super::ring::plain;
use super::{Uring, place_of, steps};
use crate::slots::Key;
use crate::socket;

/// What a completion is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(super) enum Purpose {
    Accept,
    Connect,
    /// Of no interest: cancelling, closing, changing the table of files.
    Nothing,
    Receive,
    /// A piece has gone or failed; its place in the pool stands for the connection's.
    Send,
    /// A silent send has failed, or not all of it has gone.
    Silent,
    Wakeup,
    /// There is room to send again.
    Writable,
    /// Not of the kernel: a send has come to the front, to be told.
    Begun,
    /// Not of the kernel: a send has failed, to be told.
    SendFailed,
    /// Not of the kernel: sends have gone, to be told.
    Sent,
}

/// Of how often a place was used so many bits are told apart.
const GENERATION_BITS: u64 = (1 << 28) - 1;

impl Purpose {
    const ALL: [Self; 11] = [
        Self::Accept,
        Self::Connect,
        Self::Nothing,
        Self::Receive,
        Self::Send,
        Self::Silent,
        Self::Wakeup,
        Self::Writable,
        Self::Begun,
        Self::SendFailed,
        Self::Sent,
    ];

    /// This purpose for what has that number: a listener, a piece.
    #[inline]
    pub(super) const fn at(self, number: u32) -> Token {
        Token((self as u64) << 60 | number as u64)
    }

    /// This purpose for the connection of `key`.
    #[inline]
    pub(super) fn of(self, key: Key) -> Token {
        let generation = u64::from(key.generation()) & GENERATION_BITS;
        Token((self as u64) << 60 | generation << 32 | u64::from(place_of(key)))
    }
}

/// What a completion carries.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Token(pub(super) u64);

impl Token {
    #[inline]
    pub(super) fn purpose(self) -> Purpose {
        Purpose::ALL[(self.0 >> 60) as usize % Purpose::ALL.len()]
    }

    /// The place of the connection, or whatever else was numbered.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "the lower half")]
    pub(super) const fn number(self) -> u32 {
        self.0 as u32
    }

    /// Whether it was made of `key`.
    #[inline]
    pub(super) fn is_of(self, key: Key) -> bool {
        (self.0 >> 32) & GENERATION_BITS == u64::from(key.generation()) & GENERATION_BITS
    }
}

/// One skipping receive asks for at most this, so that the count fits everywhere.
const SKIP_STEP_BYTES: u64 = 1 << 30;
/// `IORING_RECVSEND_POLL_FIRST`: nothing is there yet, do not even look.
const POLL_FIRST: u16 = 1;
/// Names in one piece of memory.
const NAMES_AT_ONCE: usize = 64;

/// What the kernel reads when an operation is handed in, and not later: the descriptor of a socket
/// that enters the ring's table, and the address that it connects to. They stay as they are until
/// everything in line was handed in.
#[derive(Debug)]
pub(super) struct Names {
    chunks: Vec<Box<[Name]>>,
    used: usize,
}

#[derive(Clone, Copy, Debug)]
struct Name {
    descriptor: i32,
    address: libc::sockaddr_in6,
}

fn no_names() -> Box<[Name]> {
    let (address, _) = short_address(SocketAddr::from(([0; 4], 0)));
    let name = Name {
        descriptor: -1,
        address,
    };
    vec![name; NAMES_AT_ONCE].into_boxed_slice()
}

/// As the kernel reads it; an address of IPv4 is shorter than the type.
fn short_address(address: SocketAddr) -> (libc::sockaddr_in6, libc::socklen_t) {
    let (storage, length) = socket::to_kernel(address);
    let start = (&raw const storage).cast::<libc::sockaddr_in6>();
    // SAFETY: the storage is larger than this, initialised, and aligned for every address.
    (unsafe { start.read() }, length)
}

impl Names {
    /// For so many connects in one turn; more of them allocate.
    pub(super) fn new(count: u32) -> Self {
        let chunks = (count as usize).div_ceil(NAMES_AT_ONCE);
        Self {
            chunks: (0..chunks).map(|_| no_names()).collect(),
            used: 0,
        }
    }

    /// All that was in line has been handed in.
    #[inline]
    pub(super) const fn clear(&mut self) {
        self.used = 0;
    }

    fn next(&mut self) -> &mut Name {
        let chunk = self.used / NAMES_AT_ONCE;
        if chunk == self.chunks.len() {
            self.chunks.push(no_names());
        }
        let name = &mut self.chunks[chunk][self.used % NAMES_AT_ONCE];
        self.used += 1;
        name
    }
}

impl Uring {
    /// Puts `operation` in line. What it names lives in `self` until its completion was seen
    /// (pieces, buffers), or until it is handed in (names, bytes of silent sends).
    #[inline]
    pub(super) fn ask(&mut self, operation: &Entry) {
        // SAFETY: as the comment above says; `Drop` ends all operations before memory goes.
        unsafe { self.ring.push(operation) };
    }

    pub(super) fn watch_wakeup(&mut self) {
        let readable = u32::from(libc::POLLIN.unsigned_abs());
        let operation = opcode::PollAdd::new(plain(&*self.wakeup), readable)
            .multi(true)
            .build();
        self.ask(&operation.user_data(Purpose::Wakeup.at(0).0));
    }

    pub(super) fn accept_on(&mut self, listener: u32) {
        let Some(socket) = self.listeners.get(listener as usize) else {
            return;
        };
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let operation = opcode::AcceptMulti::new(plain(socket)).flags(flags).build();
        self.ask(&operation.user_data(Purpose::Accept.at(listener).0));
    }

    /// Puts the socket of `key` into the ring's table.
    pub(super) fn enter_table(&mut self, key: Key) {
        let turn = self.turn;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.entered = turn;
        let name = self.names.next();
        name.descriptor = connection.socket.as_raw_fd();
        let offset = i32::try_from(key.index()).unwrap_or(i32::MAX);
        let operation = opcode::FilesUpdate::new(&raw const name.descriptor, 1)
            .offset(offset)
            .build()
            .flags(Flags::SKIP_SUCCESS)
            .user_data(Purpose::Nothing.at(0).0);
        self.ask(&operation);
    }

    pub(super) fn begin_connect(&mut self, key: Key, target: SocketAddr) {
        self.enter_table(key);
        let (start, length) = match &self.unix {
            Some(place) => place.kernel(),
            None => {
                let (address, length) = short_address(target);
                let name = self.names.next();
                name.address = address;
                ((&raw const name.address).cast::<libc::sockaddr>(), length)
            }
        };
        let operation = opcode::Connect::new(types::Fixed(place_of(key)), start, length).build();
        self.ask(&operation.user_data(Purpose::Connect.of(key).0));
    }

    /// Arms the receive that the connection of `key` should have, if it has none.
    #[inline]
    pub(super) fn arm(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Some(receiving) = connection.next_receive() else {
            return;
        };
        let poll_first = if connection.drained { POLL_FIRST } else { 0 };
        let file = types::Fixed(place_of(key));
        let operation = match receiving {
            Receiving::Multishot(size) => opcode::RecvMulti::new(file, size.group()).build(),
            Receiving::Single => opcode::Recv::new(file, std::ptr::null_mut(), 0)
                .buf_group(Size::Small.group())
                .ioprio(poll_first)
                .build()
                .flags(Flags::BUFFER_SELECT),
            Receiving::Skip => {
                let length = connection.skipping.min(SKIP_STEP_BYTES);
                let length = u32::try_from(length).unwrap_or(u32::MAX);
                opcode::Recv::new(file, std::ptr::null_mut(), length)
                    .flags(libc::MSG_TRUNC)
                    .ioprio(poll_first)
                    .build()
            }
        };
        self.ask(&operation.user_data(Purpose::Receive.of(key).0));
    }

    /// Ends the armed receive, if there is one.
    pub(super) fn cancel_receive(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        if connection.receiving.is_some() && !connection.cancelling {
            connection.cancelling = true;
            self.cancel(Purpose::Receive.of(key));
        }
    }

    pub(super) fn cancel(&mut self, what: Token) {
        let operation = opcode::AsyncCancel::new(what.0).build();
        let nothing = Purpose::Nothing.at(0).0;
        self.ask(&operation.flags(Flags::SKIP_SUCCESS).user_data(nothing));
    }

    /// Closes the connection of `key`, which is dead from now on; its place is free. Whatever takes
    /// the place stands behind these operations in line.
    pub(super) fn begin_close(&mut self, key: Key) {
        self.cancel_receive(key);
        let Some(connection) = self.connections.remove(key) else {
            return;
        };
        if connection.phase == Phase::Connecting {
            self.cancel(Purpose::Connect.of(key));
        }
        let mut sends = connection.sends;
        match connection.sending {
            Sending::Bytes => {
                self.cancel(Purpose::Send.at(sends.front()));
                self.outgoing.abandon(sends);
            }
            Sending::Room => {
                self.cancel(Purpose::Writable.of(key));
                self.outgoing.clear(&mut sends);
            }
            Sending::No | Sending::Untold => self.outgoing.clear(&mut sends),
        }
        let operation = opcode::Close::new(types::Fixed(place_of(key))).build();
        let nothing = Purpose::Nothing.at(0).0;
        self.ask(&operation.flags(Flags::SKIP_SUCCESS).user_data(nothing));
        if connection.entered == self.turn {
            // The kernel may still have to read the number of its descriptor.
            self.closed.push(connection.socket);
        }
        self.serve_stalled();
    }

    /// Something to be told that is not a completion of the kernel's.
    pub(super) fn tell(&mut self, key: Key, purpose: Purpose, number: i32) {
        self.batch.push_back(steps::Item {
            token: purpose.of(key),
            result: number,
            flags: 0,
        });
    }
}
