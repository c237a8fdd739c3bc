//! What is asked of the kernel: every operation is put in line here, and nowhere else.
//!
//! An operation's completion carries what it was for (in the upper half of a number) and for which
//! place (in the lower half).

use std::net::SocketAddr;
use std::os::fd::AsRawFd;

use io_uring::squeue::{Entry, Flags};
use io_uring::{opcode, types};

use super::super::outgoing::Rest;
use super::buffers::Size;
use super::connection::{Phase, Receiving};
use super::ring::plain;
use super::{Uring, place_of, steps};
use crate::slots::Key;
use crate::{Errno, socket};

/// What a completion is for.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[repr(u8)]
pub(super) enum Purpose {
    Accept,
    Close,
    Connect,
    /// Of no interest: cancelling, changing the table of files.
    Nothing,
    Receive,
    Send,
    /// There is room to send again.
    Writable,
    Wakeup,
    /// Not of the kernel: a send has come to the front, to be told.
    Begun,
    /// Not of the kernel: a send has failed, to be told.
    SendFailed,
    /// Not of the kernel: sends have gone, to be told.
    Sent,
}

impl Purpose {
    const ALL: [Self; 11] = [
        Self::Accept,
        Self::Close,
        Self::Connect,
        Self::Nothing,
        Self::Receive,
        Self::Send,
        Self::Writable,
        Self::Wakeup,
        Self::Begun,
        Self::SendFailed,
        Self::Sent,
    ];

    #[inline]
    pub(super) const fn at(self, place: u32) -> u64 {
        (self as u64) << 32 | place as u64
    }

    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "it was packed from two halves"
    )]
    pub(super) fn of(number: u64) -> (Self, u32) {
        let purpose = Self::ALL[(number >> 32) as usize % Self::ALL.len()];
        (purpose, number as u32)
    }
}

/// One sendfile call moves at most this, so that one connection does not hold up the others.
const FILE_STEP_BYTES: u64 = 1 << 20;
/// One skipping receive asks for at most this, so that the count fits everywhere.
const SKIP_STEP_BYTES: u64 = 1 << 30;
/// `IORING_RECVSEND_POLL_FIRST`: nothing is there yet, do not even look.
const POLL_FIRST: u16 = 1;

/// Target addresses of connects in line: the kernel copies each when it is handed in.
#[derive(Debug)]
pub(super) struct Addresses {
    places: Box<[libc::sockaddr_storage]>,
    used: usize,
}

impl Default for Addresses {
    fn default() -> Self {
        let unused = socket::to_kernel(SocketAddr::from(([0; 4], 0))).0;
        Self {
            places: vec![unused; 64].into_boxed_slice(),
            used: 0,
        }
    }
}

impl Addresses {
    /// All that was in line has been handed in.
    #[inline]
    pub(super) const fn submitted(&mut self) {
        self.used = 0;
    }

    const fn is_full(&self) -> bool {
        self.used == self.places.len()
    }

    fn place(&mut self, address: SocketAddr) -> (*const libc::sockaddr, libc::socklen_t) {
        let (value, length) = socket::to_kernel(address);
        let place = &mut self.places[self.used];
        *place = value;
        self.used += 1;
        (std::ptr::from_ref(place).cast(), length)
    }
}

impl Uring {
    /// Puts `operation` in line. What it names lives in `self` until its completion was seen
    /// (stored bytes, copies, buffers), or until it is handed in (addresses, descriptors).
    #[inline]
    fn ask(&mut self, operation: &Entry) {
        // SAFETY: as the comment above says; `Drop` ends all operations before memory goes.
        while !unsafe { self.ring.push(operation) } {
            self.stamp();
            self.ring.submit();
            self.addresses.submitted();
        }
    }

    pub(super) fn watch_wakeup(&mut self) {
        let readable = u32::from(libc::POLLIN.unsigned_abs());
        let operation = opcode::PollAdd::new(plain(&*self.wakeup), readable)
            .multi(true)
            .build();
        self.ask(&operation.user_data(Purpose::Wakeup.at(0)));
    }

    pub(super) fn accept_on(&mut self, listener: usize) {
        let flags = libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        let operation = opcode::AcceptMulti::new(plain(&self.listeners[listener]))
            .flags(flags)
            .build();
        let listener = u32::try_from(listener).unwrap_or(u32::MAX);
        self.ask(&operation.user_data(Purpose::Accept.at(listener)));
    }

    pub(super) fn cancel_accept(&mut self, listener: usize) {
        let listener = u32::try_from(listener).unwrap_or(u32::MAX);
        self.cancel(Purpose::Accept.at(listener));
    }

    /// Puts the socket of `key` into the ring's table.
    pub(super) fn enter_table(&mut self, key: Key) {
        let place = key.index();
        let socket = self
            .connections
            .at_mut(place)
            .and_then(|c| c.socket.as_ref());
        self.descriptors[place] = socket.map_or(-1, AsRawFd::as_raw_fd);
        let offset = i32::try_from(place).unwrap_or(i32::MAX);
        let operation = opcode::FilesUpdate::new(&raw const self.descriptors[place], 1)
            .offset(offset)
            .build();
        self.ask(
            &operation
                .flags(Flags::SKIP_SUCCESS)
                .user_data(Purpose::Nothing.at(place_of(key))),
        );
    }

    pub(super) fn begin_connect(&mut self, key: Key, target: SocketAddr) {
        self.enter_table(key);
        if self.addresses.is_full() {
            self.stamp();
            self.ring.submit();
            self.addresses.submitted();
        }
        let place = place_of(key);
        let (address, length) = self.addresses.place(target);
        let operation = opcode::Connect::new(types::Fixed(place), address, length).build();
        self.count_operation(key.index());
        self.stamps.push(place);
        self.ask(&operation.user_data(Purpose::Connect.at(place)));
    }

    fn count_operation(&mut self, place: usize) {
        if let Some(connection) = self.connections.at_mut(place) {
            connection.operations += 1;
        }
    }

    /// Arms the receive that the connection at `place` should have, if it has none.
    #[inline]
    pub(super) fn arm(&mut self, place: usize) {
        let Some(connection) = self.connections.at_mut(place) else {
            return;
        };
        let Some(receiving) = connection.next_receive() else {
            return;
        };
        let poll_first = if connection.drained { POLL_FIRST } else { 0 };
        let skip = connection.skipping.min(SKIP_STEP_BYTES);
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let file = types::Fixed(place);
        let operation = match receiving {
            Receiving::Multishot(size) => opcode::RecvMulti::new(file, size.group()).build(),
            Receiving::Single => opcode::Recv::new(file, std::ptr::null_mut(), 0)
                .buf_group(Size::Small.group())
                .ioprio(poll_first)
                .build()
                .flags(Flags::BUFFER_SELECT),
            Receiving::Skip => {
                let length = u32::try_from(skip).unwrap_or(u32::MAX);
                opcode::Recv::new(file, std::ptr::null_mut(), length)
                    .flags(libc::MSG_TRUNC)
                    .ioprio(poll_first)
                    .build()
            }
        };
        self.ask(&operation.user_data(Purpose::Receive.at(place)));
    }

    /// Ends the armed receive, if there is one.
    pub(super) fn cancel_receive(&mut self, place: usize) {
        let Some(connection) = self.connections.at_mut(place) else {
            return;
        };
        if connection.receiving.is_some() && !connection.cancelling {
            connection.cancelling = true;
            self.cancel(Purpose::Receive.at(u32::try_from(place).unwrap_or(u32::MAX)));
        }
    }

    fn cancel(&mut self, purpose: u64) {
        let operation = opcode::AsyncCancel::new(purpose).build();
        let nothing = Purpose::Nothing.at(0);
        self.ask(&operation.flags(Flags::SKIP_SUCCESS).user_data(nothing));
    }

    /// Gives the kernel what is first in line on the connection at `place`.
    #[inline]
    pub(super) fn send_on(&mut self, place: usize) {
        loop {
            let Some(connection) = self.connections.at_mut(place) else {
                return;
            };
            let Some(piece) = connection.sends.front_mut() else {
                return;
            };
            let number = u32::try_from(place).unwrap_or(u32::MAX);
            match self.outgoing.rest(piece) {
                Rest::Bytes(bytes) => {
                    let more = if piece.more { libc::MSG_MORE } else { 0 };
                    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    let operation = opcode::Send::new(types::Fixed(number), bytes.as_ptr(), length)
                        .flags(libc::MSG_NOSIGNAL | libc::MSG_WAITALL | more)
                        .build();
                    connection.sending = true;
                    connection.operations += 1;
                    self.ask(&operation.user_data(Purpose::Send.at(number)));
                    return;
                }
                Rest::File(file, offset, length) => {
                    let Some(socket) = &connection.socket else {
                        return;
                    };
                    let step = usize::try_from(length.min(FILE_STEP_BYTES)).unwrap_or(0);
                    let result = match socket::send_file(socket, file, offset, step) {
                        Ok(0) if step > 0 => Err(Errno::new(libc::EIO).into()),
                        other => other,
                    };
                    match result {
                        Ok(count) if (count as u64) < length => {
                            piece.done += count as u64;
                            connection.taken += count as u64;
                            self.wait_for_room(place);
                            return;
                        }
                        Ok(count) => self.took(place, count as u64),
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                            self.wait_for_room(place);
                            return;
                        }
                        Err(error) => {
                            self.send_failed(place, Errno::of(&error));
                            return;
                        }
                    }
                }
            }
        }
    }

    fn wait_for_room(&mut self, place: usize) {
        let Some(connection) = self.connections.at_mut(place) else {
            return;
        };
        connection.sending = true;
        connection.operations += 1;
        let place = u32::try_from(place).unwrap_or(u32::MAX);
        let writable = u32::from(libc::POLLOUT.unsigned_abs());
        let operation = opcode::PollAdd::new(types::Fixed(place), writable).build();
        self.ask(&operation.user_data(Purpose::Writable.at(place)));
    }

    /// Closes the connection at `place` once the kernel has ended what is under way on it. The
    /// caller's key is dead from now on.
    pub(super) fn begin_close(&mut self, place: usize) {
        let number = u32::try_from(place).unwrap_or(u32::MAX);
        let Some(connection) = self.connections.at_mut(place) else {
            return;
        };
        let connecting = connection.phase == Phase::Connecting;
        let sending = connection.sending;
        connection.phase = Phase::Closing;
        connection.operations += 1;
        // The ring's table keeps the socket open until the operations below have run.
        drop(connection.socket.take());
        self.cancel_receive(place);
        if connecting {
            self.cancel(Purpose::Connect.at(number));
        }
        if sending {
            self.cancel(Purpose::Send.at(number));
            self.cancel(Purpose::Writable.at(number));
        }
        let operation = opcode::Close::new(types::Fixed(number)).build();
        self.ask(&operation.user_data(Purpose::Close.at(number)));
    }

    /// Something to be told that is not a completion of the kernel's.
    pub(super) fn tell(&mut self, place: usize, purpose: Purpose, number: i32) {
        self.count_operation(place);
        self.batch.push_back(steps::Item {
            purpose,
            place: u32::try_from(place).unwrap_or(u32::MAX),
            result: number,
            flags: 0,
        });
    }
}
