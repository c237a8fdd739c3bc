//! Sends: silent ones, of which the kernel says nothing unless something is wrong, and told ones.
//!
//! A *silent* send gives the kernel bytes in memory with `MSG_DONTWAIT` and asks for no completion
//! on success. It is carried out while it is handed in, or it fails: without room the kernel says
//! EAGAIN, with room for a part `MSG_WAITALL` makes it a failure that carries the count. So when
//! everything in line was handed in and all completions were taken (that is the end of a *turn*), a
//! silent send of which nothing was heard has gone. What remains of one goes by a told send, which
//! waits for room.
//!
//! A second send on a connection waits for the end of the turn, so that it never overtakes. Copies
//! that silent sends were made of are free again at the end of the turn, and so are stored bytes
//! that were discarded.

use std::os::unix::net::UnixStream;

use io_uring::squeue::Flags;
use io_uring::{opcode, types};

use super::super::outgoing::Rest;
use super::super::{Handed, Refused, SENDS_MAX, Transmit};
use super::connection::{Sending, Silent};
use super::operations::{Purpose, Token};
use super::ring::{Ring, plain};
use super::steps::shut_down;
use super::{Uring, place_of};
use crate::slots::Key;
use crate::{Errno, socket};

/// One sendfile call moves at most this, so that one connection does not hold up the others.
const FILE_STEP_BYTES: u64 = 1 << 20;
const FLAGS: i32 = libc::MSG_NOSIGNAL | libc::MSG_WAITALL;
/// More than a socket takes at once.
const PROBE_BYTES: usize = 4 << 20;

/// Whether this kernel carries silent sends out as the module's text says: a byte goes without a
/// word, more than there is room for fails with a count, and what finds no room fails.
pub(super) fn are_silent_sends_right(ring: &mut Ring) -> bool {
    // It lives as long as the program, should a kernel read it later than it should.
    static BYTES: [u8; PROBE_BYTES] = [0; PROBE_BYTES];
    let Ok((near, _far)) = UnixStream::pair() else {
        return false;
    };
    let mut send = |length: usize| {
        let length = u32::try_from(length).unwrap_or(1);
        let operation = opcode::Send::new(plain(&near), BYTES.as_ptr(), length)
            .flags(FLAGS | libc::MSG_DONTWAIT)
            .build();
        let operation = operation.flags(Flags::SKIP_SUCCESS);
        // SAFETY: the bytes live as long as the program.
        unsafe { ring.push(&operation.user_data(Purpose::Nothing.at(0).0)) };
        ring.look();
        let results: Vec<i32> = std::iter::from_fn(|| ring.pop())
            .map(|completion| completion.result())
            .collect();
        results
    };
    let whole = send(1);
    let part = send(PROBE_BYTES);
    let none = send(PROBE_BYTES);
    let is_part = |count: i32| usize::try_from(count).is_ok_and(|n| n > 0 && n < PROBE_BYTES);
    whole.is_empty() && matches!(part[..], [count] if is_part(count)) && none == [-libc::EAGAIN]
}

impl Uring {
    #[inline]
    pub(super) fn begin_send(
        &mut self,
        key: Key,
        transmit: Transmit<'_>,
    ) -> Result<Handed, Refused> {
        let turn = self.turn;
        let connection = self.connections.get_mut(key).ok_or(Refused::Stale)?;
        if !connection.may_send() {
            return Err(Refused::Stale);
        }
        let is_silent = connection.is_silent(turn);
        let is_first = connection.sends.is_empty() && !is_silent;
        if is_first
            && self.is_silence_right
            && !transmit.notify
            && let Some(lent) = self.outgoing.lend(&transmit.source)
            && let bytes = self.outgoing.lent(lent)
            && let Ok(length) = u32::try_from(bytes.len())
        {
            let start = bytes.as_ptr();
            connection.taken += u64::from(length);
            connection.silent = Some(Silent {
                lent,
                turn,
                more: transmit.more,
            });
            let more = if transmit.more { libc::MSG_MORE } else { 0 };
            let operation = opcode::Send::new(types::Fixed(place_of(key)), start, length)
                .flags(FLAGS | libc::MSG_DONTWAIT | more)
                .build()
                .flags(Flags::SKIP_SUCCESS)
                .user_data(Purpose::Silent.of(key).0);
            self.ask(&operation);
            return Ok(Handed::Now);
        }
        if connection.sends_under_way(turn) >= SENDS_MAX || !self.outgoing.may_append() {
            return Err(Refused::Queue);
        }
        let mut piece = self.outgoing.piece(transmit)?;
        if is_first {
            piece.tag = None;
            self.outgoing
                .append(&mut connection.sends, Some(key), piece);
            self.send_on(key);
            return Ok(Handed::Now);
        }
        self.outgoing
            .append(&mut connection.sends, Some(key), piece);
        if is_silent {
            self.await_turn(key);
        }
        Ok(Handed::Behind)
    }

    /// Bytes that the kernel has taken on the connection of `key`.
    pub(super) fn taken(&self, key: Key) -> u64 {
        let Some(connection) = self.connections.get(key) else {
            return 0;
        };
        match connection.silent {
            Some(silent) if silent.turn == self.turn => {
                connection.taken - self.outgoing.lent(silent.lent).len() as u64
            }
            _ => connection.taken,
        }
    }

    pub(super) fn begin_finish(&mut self, key: Key) {
        let turn = self.turn;
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.finishing = true;
        if connection.is_silent(turn) {
            self.await_turn(key);
        } else if connection.sends.is_empty() {
            shut_down(connection);
        }
    }

    /// The connection of `key` has something to do at the end of this turn.
    fn await_turn(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && !std::mem::replace(&mut connection.waiting, true)
        {
            self.awaiting_turn.push(key);
        }
    }

    /// Everything in line was handed in, and all completions were taken: silent sends have gone.
    #[inline]
    pub(super) fn end_turn(&mut self) {
        self.turn = self.turn.wrapping_add(1);
        self.outgoing.end_turn();
        if self.awaiting_turn.is_empty() {
            return;
        }
        let mut awaiting = std::mem::take(&mut self.awaiting_turn);
        for key in awaiting.drain(..) {
            if let Some(connection) = self.connections.get_mut(key) {
                connection.waiting = false;
                if connection.sending == Sending::No {
                    self.next_in_line(key);
                }
            }
        }
        self.awaiting_turn = awaiting;
    }

    /// A silent send has failed, or not all of it has gone.
    pub(super) fn not_silent(&mut self, token: Token, result: i32) {
        let Some(key) = self.key_of(token) else {
            return;
        };
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        let Some(silent) = connection.silent.take() else {
            return;
        };
        connection.taken -= self.outgoing.lent(silent.lent).len() as u64;
        let done = match u64::try_from(result) {
            Ok(count) => count,
            Err(_) if matches!(-result, libc::EAGAIN | libc::EINTR) => 0,
            Err(_) => return self.send_failed(key, Errno::new(-result)),
        };
        connection.taken += done;
        let remainder = self.outgoing.remainder(silent.lent, done, silent.more);
        if let Some(piece) = remainder {
            self.outgoing
                .prepend(&mut connection.sends, Some(key), piece);
            self.send_on(key);
        }
    }

    /// Gives the kernel what is first in line on the connection of `key`.
    #[inline]
    pub(super) fn send_on(&mut self, key: Key) {
        loop {
            let Some(connection) = self.connections.get_mut(key) else {
                return;
            };
            connection.sending = Sending::No;
            let Some(piece) = self.outgoing.front(&connection.sends) else {
                return;
            };
            match self.outgoing.rest(piece) {
                Rest::Bytes(bytes) => {
                    let more = if piece.more { libc::MSG_MORE } else { 0 };
                    let length = u32::try_from(bytes.len()).unwrap_or(u32::MAX);
                    let file = types::Fixed(place_of(key));
                    let operation = opcode::Send::new(file, bytes.as_ptr(), length)
                        .flags(FLAGS | more)
                        .build();
                    connection.sending = Sending::Bytes;
                    let token = Purpose::Send.at(connection.sends.front());
                    self.ask(&operation.user_data(token.0));
                    return;
                }
                Rest::File(file, offset, length) => {
                    let step = usize::try_from(length.min(FILE_STEP_BYTES)).unwrap_or(0);
                    let result = match socket::send_file(&connection.socket, file, offset, step) {
                        Ok(0) if step > 0 => Err(Errno::new(libc::EIO).into()),
                        other => other,
                    };
                    match result {
                        Ok(count) if (count as u64) < length => {
                            connection.taken += count as u64;
                            if let Some(piece) = self.outgoing.front_mut(&connection.sends) {
                                piece.done += count as u64;
                            }
                            return self.wait_for_room(key);
                        }
                        Ok(count) => {
                            if !self.took(key, count as u64) {
                                return;
                            }
                        }
                        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
                            return self.wait_for_room(key);
                        }
                        Err(error) => return self.send_failed(key, Errno::of(&error)),
                    }
                }
            }
        }
    }

    fn wait_for_room(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.sending = Sending::Room;
            let writable = u32::from(libc::POLLOUT.unsigned_abs());
            let operation = opcode::PollAdd::new(types::Fixed(place_of(key)), writable).build();
            self.ask(&operation.user_data(Purpose::Writable.of(key).0));
        }
    }

    /// The send of the piece at `place` of the pool is over.
    #[inline]
    pub(super) fn sent(&mut self, place: u32, result: i32) {
        let owner = self.outgoing.owner(place);
        let Some(key) = owner.filter(|key| self.connections.get(*key).is_some()) else {
            // Its connection was closed.
            self.outgoing.end_of_piece(place);
            return;
        };
        match u64::try_from(result) {
            Ok(count) => {
                if self.took(key, count) {
                    self.send_on(key);
                }
            }
            Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => self.send_on(key),
            Err(_) => self.send_failed(key, Errno::new(-result)),
        }
    }

    pub(super) fn writable(&mut self, token: Token) {
        if let Some(key) = self.key_of(token) {
            self.send_on(key);
        }
    }

    /// The kernel took `count` bytes of what is first in line. Whether something is first in line
    /// now that is to be given to the kernel.
    #[inline]
    fn took(&mut self, key: Key, count: u64) -> bool {
        let Some(connection) = self.connections.get_mut(key) else {
            return false;
        };
        connection.sending = Sending::No;
        connection.taken += count;
        let Some(piece) = self.outgoing.front_mut(&connection.sends) else {
            return false;
        };
        piece.done += count;
        if piece.done < piece.length {
            return true;
        }
        if self.outgoing.drop_front(&mut connection.sends) {
            self.tell(key, Purpose::Sent, 0);
        }
        self.is_next_ready(key)
    }

    /// What is first in line on the connection of `key` may go, or there is nothing more.
    fn next_in_line(&mut self, key: Key) {
        if self.is_next_ready(key) {
            self.send_on(key);
        }
    }

    /// Whether what has come to the front is to be given to the kernel. Not if the caller must hear
    /// of it first, and not if there is nothing: then the end of the stream may be due.
    fn is_next_ready(&mut self, key: Key) -> bool {
        let Some(connection) = self.connections.get_mut(key) else {
            return false;
        };
        let Some(piece) = self.outgoing.front_mut(&connection.sends) else {
            if connection.finishing {
                shut_down(connection);
            }
            return false;
        };
        let Some(tag) = piece.tag else {
            return true;
        };
        connection.sending = Sending::Untold;
        self.tell(key, Purpose::Begun, tag.cast_signed());
        false
    }

    /// The caller is about to be told that the send of this name has come to the front: it goes
    /// with the next submit. False if it was given up since.
    pub(super) fn begun(&mut self, key: Key, tag: u32) -> bool {
        let Some(connection) = self.connections.get(key) else {
            return false;
        };
        let is_untold = connection.sending == Sending::Untold;
        let piece = self.outgoing.front_mut(&connection.sends);
        let Some(piece) = piece.filter(|piece| is_untold && piece.tag == Some(tag)) else {
            return false;
        };
        piece.tag = None;
        self.send_on(key);
        true
    }

    pub(super) fn send_failed(&mut self, key: Key, error: Errno) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.sending = Sending::No;
            self.outgoing.clear(&mut connection.sends);
            self.tell(key, Purpose::SendFailed, error.number());
            if !error.is_out_of_memory() {
                // A multishot receive that takes many buffers in a row may miss the reset behind
                // them (seen on Linux 6.18). Armed anew, it looks.
                self.cancel_receive(key);
            }
        }
    }
}
