//! What the kernel's completions mean: the inner ones are dealt with when a batch is collected,
//! the others when the caller takes them.

use io_uring::cqueue;

use super::super::Event;
use super::buffers::Buffers;
use super::connection::{Connection, Phase, Receiving};
use super::operations::{Purpose, Token};
use super::{ACCEPT_RETRY, Uring, socket};
use crate::Errno;
use crate::slots::Key;

/// A completion in line to be told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) token: Token,
    pub(super) result: i32,
    pub(super) flags: u32,
}

impl Item {
    pub(super) const NONE: Self = Self {
        token: Token(0),
        result: 0,
        flags: 0,
    };
}

/// Completions that are taken from the kernel's queue in one go.
const CHUNK: usize = 16;

/// Received bytes in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) key: Key,
    pub(super) buffer: u16,
    pub(super) offset: u32,
    pub(super) length: u32,
}

/// What is told.
#[derive(Debug)]
pub(super) enum Step {
    Received(Bytes),
    Event(Event<'static>),
}

/// Says to the peer that nothing more comes.
pub(super) fn shut_down(connection: &Connection) {
    // It fails only on a connection that is broken already, which receiving will tell.
    drop(socket::shutdown_write(&connection.socket));
}

impl Uring {
    /// Ends the loan of the latest completion: its buffer goes back, its receive is armed again.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some(buffer) = self.loan.take() {
            self.buffers.give_back(buffer);
        }
        if self.rest.is_none()
            && let Some(key) = self.rearm.take()
        {
            self.arm(key);
        }
    }

    /// Takes completions from the kernel, at most as many as the batch has room for: what is of
    /// inner interest is done at once.
    #[inline]
    pub(super) fn drain(&mut self) {
        let is_handed_in = !self.ring.is_queued();
        while self.batch.len() < self.batch_limit {
            let mut chunk = [Item::NONE; CHUNK];
            let count = self.ring.take(&mut chunk);
            for item in &chunk[..count] {
                self.drain_one(item);
            }
            if count < CHUNK {
                break;
            }
        }
        if is_handed_in {
            self.names.clear();
            self.closed.clear();
            if self.ring.is_drained() {
                self.end_turn();
            }
        }
    }

    #[inline]
    fn drain_one(&mut self, item: &Item) {
        match item.token.purpose() {
            Purpose::Accept | Purpose::Connect | Purpose::Receive => self.batch.push_back(*item),
            Purpose::Send => self.sent(item.token.number(), item.result),
            Purpose::Silent => self.not_silent(item.token, item.result),
            Purpose::Writable => self.writable(item.token),
            Purpose::Wakeup => {
                self.woken = true;
                if !cqueue::more(item.flags) {
                    self.watch_wakeup();
                }
            }
            Purpose::Begun | Purpose::Nothing | Purpose::SendFailed | Purpose::Sent => {}
        }
    }

    /// The key of the connection that `token` was made for, if it is not closed.
    #[inline]
    pub(super) fn key_of(&self, token: Token) -> Option<Key> {
        let key = self.connections.key_at(token.number() as usize)?;
        token.is_of(key).then_some(key)
    }

    /// The next thing to tell.
    #[inline]
    pub(super) fn step(&mut self) -> Option<(Key, Step)> {
        loop {
            if let Some(bytes) = self.rest.take() {
                if let Some(told) = self.deliver(bytes) {
                    return Some(told);
                }
                continue;
            }
            let item = self.batch.pop_front()?;
            if item.token.purpose() == Purpose::Accept {
                if let Some(told) = self.accepted(item) {
                    return Some(told);
                }
                continue;
            }
            let Some(key) = self.key_of(item.token) else {
                // The caller has closed it.
                self.forget(cqueue::buffer_select(item.flags));
                continue;
            };
            let told = match item.token.purpose() {
                Purpose::Receive => self.received(key, item),
                Purpose::Begun => {
                    let tag = item.result.cast_unsigned();
                    self.begun(key, tag)
                        .then_some(Step::Event(Event::Begun { tag }))
                }
                Purpose::Connect => Some(self.connected(key, item)),
                Purpose::Sent => Some(Step::Event(Event::Sent)),
                Purpose::SendFailed => {
                    let error = Errno::new(item.result);
                    Some(Step::Event(Event::SendFailed { error }))
                }
                _ => None,
            };
            if let Some(step) = told {
                return Some((key, step));
            }
        }
    }

    #[inline]
    fn received(&mut self, key: Key, item: Item) -> Option<Step> {
        let buffer = cqueue::buffer_select(item.flags);
        let connection = self.connections.get_mut(key)?;
        let is_skipped = connection.receiving == Some(Receiving::Skip);
        connection.drained = !cqueue::sock_nonempty(item.flags);
        if !cqueue::more(item.flags) {
            connection.receiving = None;
            if item.result > 0 {
                self.rearm = Some(key);
            }
        }
        match (u32::try_from(item.result), buffer) {
            (Ok(length @ 1..), Some(buffer)) => {
                let bytes = Bytes {
                    key,
                    buffer,
                    offset: 0,
                    length,
                };
                self.deliver(bytes).map(|(_, step)| step)
            }
            (Ok(length @ 1..), None) => {
                debug_assert!(is_skipped, "only a skip has no buffer");
                let count = u64::from(length);
                connection.skipping = connection.skipping.saturating_sub(count);
                Some(Step::Event(Event::Skipped { count }))
            }
            (Ok(0), buffer) => {
                self.forget(buffer);
                Some(self.stream_ended(key, None))
            }
            (Err(_), buffer) => {
                self.forget(buffer);
                match -item.result {
                    // Ended by us, or all buffers were in use and are back by now.
                    libc::ECANCELED | libc::ENOBUFS | libc::EINTR | libc::EAGAIN => {
                        self.arm(key);
                        None
                    }
                    number => Some(self.stream_ended(key, Some(Errno::new(number)))),
                }
            }
        }
    }

    fn forget(&mut self, buffer: Option<u16>) {
        if let Some(buffer) = buffer {
            self.buffers.give_back(buffer);
        }
    }

    fn stream_ended(&mut self, key: Key, error: Option<Errno>) -> Step {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.phase = Phase::Ended;
        }
        Step::Event(Event::Ended { error })
    }

    /// Tells received bytes, or that they were to be skipped.
    #[inline]
    fn deliver(&mut self, bytes: Bytes) -> Option<(Key, Step)> {
        let key = bytes.key;
        let Some(connection) = self.connections.get_mut(key) else {
            self.buffers.give_back(bytes.buffer);
            return None;
        };
        if connection.skipping == 0 {
            let full = bytes.offset + bytes.length;
            if full as usize == Buffers::capacity(bytes.buffer) && !connection.large {
                connection.large = true;
                if matches!(connection.receiving, Some(Receiving::Multishot(_))) {
                    self.cancel_receive(key);
                }
            }
            return Some((key, Step::Received(bytes)));
        }
        let length = u64::from(bytes.length);
        let count = connection.skipping.min(length);
        connection.skipping -= count;
        let taken = u32::try_from(count).unwrap_or(bytes.length);
        if taken < bytes.length {
            self.rest = Some(Bytes {
                offset: bytes.offset + taken,
                length: bytes.length - taken,
                ..bytes
            });
        } else {
            self.buffers.give_back(bytes.buffer);
        }
        Some((key, Step::Event(Event::Skipped { count })))
    }

    fn connected(&mut self, key: Key, item: Item) -> Step {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.phase = Phase::Established;
        }
        if item.result < 0 {
            self.begin_close(key);
            let error = Errno::new(-item.result);
            return Step::Event(Event::ConnectFailed { error });
        }
        self.arm(key);
        Step::Event(Event::Connected)
    }

    fn accepted(&mut self, item: Item) -> Option<(Key, Step)> {
        let listener = item.token.number();
        let again = !cqueue::more(item.flags) && self.listening;
        if item.result < 0 {
            match -item.result {
                libc::ECANCELED => {}
                libc::ECONNABORTED | libc::EINTR | libc::EAGAIN if again => {
                    self.accept_on(listener);
                }
                _ => {
                    self.meter.activity.accepts_failed += 1;
                    if again {
                        self.stalled.push(listener);
                        self.retry_at = self.batch_time + ACCEPT_RETRY;
                    }
                }
            }
            return None;
        }
        if again {
            self.accept_on(listener);
        }
        let socket = socket::own(item.result);
        let connection = Connection::new(socket, Phase::Established);
        let Ok(key) = self.connections.insert(connection) else {
            self.meter.activity.accepts_refused += 1;
            return None;
        };
        self.enter_table(key);
        self.arm(key);
        let listener = listener as usize;
        Some((key, Step::Event(Event::Accepted { listener })))
    }

    /// Accepts again where an accept failed.
    pub(super) fn serve_stalled(&mut self) {
        while let Some(listener) = self.stalled.pop() {
            self.accept_on(listener);
        }
    }

    /// Closes accepted sockets that nobody was told of.
    pub(super) fn close_unseen(&mut self) {
        for item in self.batch.drain(..) {
            if item.token.purpose() == Purpose::Accept && item.result >= 0 {
                drop(socket::own(item.result));
            }
        }
    }
}
