//! What the kernel's completions mean: the inner ones are dealt with when a batch is collected,
//! the others when the caller takes them.

use io_uring::cqueue;

use super::super::Event;
use super::buffers::Buffers;
use super::connection::{Connection, Phase, Receiving};
use super::operations::Purpose;
use super::{Uring, socket};
use crate::Errno;
use crate::slots::Key;

/// A completion in line to be told.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) purpose: Purpose,
    pub(super) place: u32,
    pub(super) result: i32,
    pub(super) flags: u32,
}

/// Received bytes in a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes {
    pub(super) place: u32,
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
    if let Some(socket) = &connection.socket {
        // It fails only on a connection that is broken already, which receiving will tell.
        drop(socket::shutdown_write(socket));
    }
}

impl Uring {
    /// Ends the loan of the latest completion: its buffer goes back, its receive is armed again.
    #[inline]
    pub(super) fn settle(&mut self) {
        if let Some(buffer) = self.loan.take() {
            self.buffers.give_back(buffer);
        }
        if self.rest.is_none()
            && let Some(place) = self.rearm.take()
        {
            self.arm(place as usize);
        }
    }

    /// Takes all completions from the kernel: what is of inner interest is done at once.
    #[inline]
    pub(super) fn drain(&mut self) {
        while let Some(completion) = self.ring.pop() {
            let (purpose, place) = Purpose::of(completion.user_data());
            let result = completion.result();
            match purpose {
                Purpose::Send => self.sent(place as usize, result),
                Purpose::Accept | Purpose::Connect | Purpose::Receive => {
                    self.batch.push_back(Item {
                        purpose,
                        place,
                        result,
                        flags: completion.flags(),
                    });
                }
                Purpose::Close => self.ended_operation(place as usize),
                Purpose::Writable => self.writable(place as usize),
                Purpose::Wakeup => {
                    self.woken = true;
                    if !cqueue::more(completion.flags()) {
                        self.watch_wakeup();
                    }
                }
                Purpose::Begun | Purpose::Nothing | Purpose::SendFailed | Purpose::Sent => {}
            }
        }
    }

    /// One operation of the connection at `place` is over; if it was the last of a closed one, the
    /// place is free.
    #[inline]
    fn ended_operation(&mut self, place: usize) {
        let Some(connection) = self.connections.at_mut(place) else {
            return;
        };
        debug_assert!(connection.operations > 0, "ended more than were begun");
        connection.operations -= 1;
        if connection.operations == 0 && connection.phase == Phase::Closing {
            connection.sends.clear(&mut self.outgoing);
            if let Some(key) = self.connections.key_at(place) {
                self.connections.remove(key);
            }
            if std::mem::take(&mut self.accepts_stalled) && self.listening {
                for listener in 0..self.listeners.len() {
                    self.accept_on(listener);
                }
            }
        }
    }

    #[inline]
    fn sent(&mut self, place: usize, result: i32) {
        let Some(connection) = self.connections.at_mut(place) else {
            return;
        };
        connection.sending = false;
        let live = connection.is_live();
        if live {
            match u64::try_from(result) {
                Ok(count) => {
                    self.took(place, count);
                    self.send_on(place);
                }
                Err(_) if matches!(-result, libc::EINTR | libc::EAGAIN) => self.send_on(place),
                Err(_) => self.send_failed(place, Errno::new(-result)),
            }
        }
        self.ended_operation(place);
    }

    fn writable(&mut self, place: usize) {
        if let Some(connection) = self.connections.at_mut(place) {
            connection.sending = false;
            if connection.is_live() {
                self.send_on(place);
            }
        }
        self.ended_operation(place);
    }

    /// The kernel took `count` bytes of what is first in line.
    #[inline]
    pub(super) fn took(&mut self, place: usize, count: u64) {
        let Some(connection) = self.connections.at_mut(place) else {
            return;
        };
        connection.taken += count;
        let Some(piece) = connection.sends.front_mut() else {
            return;
        };
        piece.done += count;
        if piece.done < piece.length {
            return;
        }
        let Some(piece) = connection.sends.pop() else {
            return;
        };
        self.outgoing.release(&piece);
        if connection.finishing && connection.sends.is_empty() {
            shut_down(connection);
        }
        let begun = connection.sends.front_mut().and_then(|next| next.tag);
        if piece.notify {
            self.tell(place, Purpose::Sent, 0);
        }
        if let Some(tag) = begun {
            self.tell(place, Purpose::Begun, tag.cast_signed());
        }
    }

    pub(super) fn send_failed(&mut self, place: usize, error: Errno) {
        let Some(connection) = self.connections.at_mut(place) else {
            return;
        };
        connection.sends.clear(&mut self.outgoing);
        self.tell(place, Purpose::SendFailed, error.number());
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
            let told = match item.purpose {
                Purpose::Receive => self.received(item),
                Purpose::Connect => self.connected(item),
                Purpose::Accept => self.accepted(item),
                Purpose::Sent => self.told(item, Event::Sent),
                Purpose::Begun => {
                    let tag = item.result.cast_unsigned();
                    self.told(item, Event::Begun { tag })
                }
                Purpose::SendFailed => {
                    let error = Errno::new(item.result);
                    self.told(item, Event::SendFailed { error })
                }
                _ => None,
            };
            if told.is_some() {
                return told;
            }
        }
    }

    /// The key by which the caller knows the connection at `place`.
    #[inline]
    fn live_key(&mut self, place: u32) -> Option<Key> {
        let place = place as usize;
        self.connections.at_mut(place).filter(|c| c.is_live())?;
        self.connections.key_at(place)
    }

    fn told(&mut self, item: Item, event: Event<'static>) -> Option<(Key, Step)> {
        let key = self.live_key(item.place);
        self.ended_operation(item.place as usize);
        Some((key?, Step::Event(event)))
    }

    #[inline]
    fn received(&mut self, item: Item) -> Option<(Key, Step)> {
        let place = item.place as usize;
        let buffer = cqueue::buffer_select(item.flags);
        let last = !cqueue::more(item.flags);
        let connection = self.connections.at_mut(place)?;
        let skipped = connection.receiving == Some(Receiving::Skip);
        connection.drained = !cqueue::sock_nonempty(item.flags);
        if last {
            connection.receiving = None;
        }
        if !connection.is_live() {
            self.forget(buffer);
            if last {
                self.ended_operation(place);
            }
            return None;
        }
        if last {
            // Not the last operation of a closed connection: it is live.
            connection.operations -= 1;
            if item.result > 0 {
                self.rearm = Some(item.place);
            }
        }
        match (u32::try_from(item.result), buffer) {
            (Ok(length @ 1..), Some(buffer)) => self.deliver(Bytes {
                place: item.place,
                buffer,
                offset: 0,
                length,
            }),
            (Ok(length @ 1..), None) => {
                debug_assert!(skipped, "only a skip has no buffer");
                let count = u64::from(length);
                connection.skipping = connection.skipping.saturating_sub(count);
                let key = self.connections.key_at(place)?;
                Some((key, Step::Event(Event::Skipped { count })))
            }
            (Ok(0), buffer) => {
                self.forget(buffer);
                self.stream_ended(item.place, None)
            }
            (Err(_), buffer) => {
                self.forget(buffer);
                match -item.result {
                    // Ended by us, or all buffers were in use and are back by now.
                    libc::ECANCELED | libc::ENOBUFS | libc::EINTR | libc::EAGAIN => {
                        self.arm(place);
                        None
                    }
                    number => self.stream_ended(item.place, Some(Errno::new(number))),
                }
            }
        }
    }

    fn forget(&mut self, buffer: Option<u16>) {
        if let Some(buffer) = buffer {
            self.buffers.give_back(buffer);
        }
    }

    fn stream_ended(&mut self, place: u32, error: Option<Errno>) -> Option<(Key, Step)> {
        let key = self.live_key(place)?;
        if let Some(connection) = self.connections.at_mut(place as usize) {
            connection.phase = Phase::Ended;
        }
        Some((key, Step::Event(Event::Ended { error })))
    }

    /// Tells received bytes, or that they were to be skipped.
    #[inline]
    fn deliver(&mut self, bytes: Bytes) -> Option<(Key, Step)> {
        let Some(key) = self.live_key(bytes.place) else {
            self.buffers.give_back(bytes.buffer);
            return None;
        };
        let connection = self.connections.at_mut(bytes.place as usize)?;
        if connection.skipping == 0 {
            let full = bytes.offset + bytes.length;
            if full as usize == Buffers::capacity(bytes.buffer) && !connection.large {
                connection.large = true;
                if matches!(connection.receiving, Some(Receiving::Multishot(_))) {
                    self.cancel_receive(bytes.place as usize);
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

    fn connected(&mut self, item: Item) -> Option<(Key, Step)> {
        let place = item.place as usize;
        let Some(key) = self.live_key(item.place) else {
            self.ended_operation(place);
            return None;
        };
        self.ended_operation(place);
        if item.result < 0 {
            self.begin_close(place);
            let error = Errno::new(-item.result);
            return Some((key, Step::Event(Event::ConnectFailed { error })));
        }
        if let Some(connection) = self.connections.at_mut(place) {
            connection.phase = Phase::Established;
        }
        self.arm(place);
        Some((key, Step::Event(Event::Connected)))
    }

    fn accepted(&mut self, item: Item) -> Option<(Key, Step)> {
        let listener = item.place as usize;
        let again = !cqueue::more(item.flags) && self.listening;
        if item.result < 0 {
            match -item.result {
                libc::ECANCELED => {}
                libc::ECONNABORTED | libc::EINTR | libc::EAGAIN if again => {
                    self.accept_on(listener);
                }
                _ => {
                    self.meter.activity.accepts_failed += 1;
                    self.accepts_stalled |= again;
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
        self.arm(key.index());
        Some((key, Step::Event(Event::Accepted { listener })))
    }

    /// Closes accepted sockets that nobody was told of.
    pub(super) fn close_unseen(&mut self) {
        for item in self.batch.drain(..) {
            if item.purpose == Purpose::Accept && item.result >= 0 {
                drop(socket::own(item.result));
            }
        }
    }
}
