//! A reactor on a virtual clock and a virtual network, with a server of known behaviour behind it.
//!
//! Nothing here depends on the machine: time jumps to the next thing that happens, and the same
//! seed gives the same run. The caller's own slowness is part of the model: [`Sim::slowed`] lets
//! every call that does work cost virtual time. So is the kernel's: [`Sim::with_kernel`].

mod agenda;
mod connection;
mod handing;
mod kernel;
mod random;
mod server;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::io;
use std::net::SocketAddr;

use model::Mark;
use model::units::{Instant, Span};

use self::agenda::{Entry, Told, What};
use self::connection::Connection;
use self::kernel::Behaviour;
pub use self::kernel::Kernel;
pub use self::server::{Counts, Log, Reply, Service, SimServer, Then};
use super::meter::Meter;
use super::outgoing::Outgoing;
use super::{
    Activity, Completion, Event, Handed, KernelTimes, Reactor, Refused, SENDS_MAX, Settings,
    Source, Stored, Transmit, Waker,
};
use crate::Errno;
use crate::slots::{Key, Slots};

/// See the module's text.
#[derive(Debug)]
pub struct Sim {
    now: Instant,
    server: SimServer,
    connections: Slots<Connection>,
    outgoing: Outgoing,
    agenda: BinaryHeap<Reverse<Entry>>,
    entries: u64,
    /// Connects and sends that wait for the next submit.
    asked: VecDeque<(Key, Ask)>,
    /// What has happened and was not told.
    batch: VecDeque<(Key, Told)>,
    /// How many of these are told before the next wait or poll.
    batch_left: usize,
    kernel: Behaviour,
    /// What one receive of a connection made from now on brings at most.
    received_most: Option<u32>,
    buffer: Vec<u8>,
    call_cost: Span,
    poll_step: Span,
    meter: Meter,
}

#[derive(Debug)]
enum Ask {
    Connect,
    /// What is first in line on the connection.
    Send,
}

impl Sim {
    /// A network with `server` at every address. The clock starts at one second, so that no
    /// instant of a run is the clock's origin.
    pub fn new(server: SimServer, settings: &Settings) -> Self {
        Self {
            now: Instant::ZERO + Span::from_s(1),
            server,
            connections: Slots::new(settings.connections),
            outgoing: Outgoing::new(settings).expect("address space for a simulation"),
            agenda: BinaryHeap::new(),
            entries: 0,
            asked: VecDeque::new(),
            batch: VecDeque::new(),
            batch_left: usize::MAX,
            kernel: Behaviour::new(Kernel::default()),
            received_most: None,
            buffer: Vec::new(),
            call_cost: Span::ZERO,
            poll_step: Span::from_us(1),
            meter: Meter::default(),
        }
    }

    /// A slow caller: each send, connect and completion costs it so much time.
    #[must_use]
    pub const fn slowed(mut self, call_cost: Span) -> Self {
        self.call_cost = call_cost;
        self
    }

    /// The kernel that it runs on.
    #[must_use]
    pub fn with_kernel(mut self, kernel: Kernel) -> Self {
        self.kernel = Behaviour::new(kernel);
        self
    }

    fn schedule(&mut self, at: Instant, key: Key, what: What) {
        self.entries += 1;
        let number = self.entries;
        self.agenda.push(Reverse(Entry {
            at,
            number,
            key,
            what,
        }));
    }

    /// Lets everything happen that is due by now.
    fn happen(&mut self) {
        while let Some(Reverse(next)) = self.agenda.peek()
            && next.at <= self.now
        {
            let Some(Reverse(entry)) = self.agenda.pop() else {
                return;
            };
            let Some(connection) = self.connections.get_mut(entry.key) else {
                continue;
            };
            match entry.what {
                What::Arrive(bytes) => {
                    for (at, told) in self.server.receive(entry.key, entry.at, &bytes) {
                        self.schedule(at, entry.key, What::Tell(told));
                    }
                }
                What::Room => self.take(entry.key),
                What::Tell(told) => {
                    if matches!(told, Told::Received(_)) {
                        connection.times.received = Some(entry.at);
                    }
                    if connection.paused && matches!(told, Told::Received(_) | Told::Ended(_)) {
                        connection.held.push_back(told);
                    } else {
                        self.batch.push_back((entry.key, told));
                    }
                }
            }
        }
    }

    fn begin_batch(&mut self) -> Instant {
        self.batch_left = self.kernel.batch(self.batch.len());
        self.meter.returned(self.now, !self.batch.is_empty());
        self.now
    }

    fn remove(&mut self, key: Key) {
        if let Some(connection) = self.connections.remove(key) {
            for piece in connection.sends {
                self.outgoing.release(&piece);
            }
            self.server.forget(key);
            self.kernel.closed(self.now);
        }
    }

    /// Takes what is told as far as it is told at once; what remains goes back in line.
    fn tell(&mut self, key: Key, told: Told) -> Option<Event<'_>> {
        let connection = self.connections.get_mut(key)?;
        Some(match told {
            Told::Begun(tag) => {
                self.asked.push_back((key, Ask::Send));
                Event::Begun { tag }
            }
            Told::Connected => {
                connection.established = true;
                Event::Connected
            }
            Told::ConnectFailed(error) => {
                self.remove(key);
                Event::ConnectFailed { error }
            }
            Told::Ended(error) => {
                connection.ended = true;
                Event::Ended { error }
            }
            Told::SendFailed(error) => Event::SendFailed { error },
            Told::Sent => Event::Sent,
            Told::Received(mut bytes) => {
                if connection.skipping == 0 {
                    let most = connection.received_most.unwrap_or(usize::MAX);
                    let rest = bytes.split_off(most.min(bytes.len()));
                    if !rest.is_empty() {
                        self.batch.push_front((key, Told::Received(rest)));
                        self.batch_left = self.batch_left.saturating_add(1);
                    }
                    self.buffer = bytes;
                    return Some(Event::Received {
                        bytes: &mut self.buffer,
                        mark: Mark::NotCapable,
                    });
                }
                let count = connection.skipping.min(bytes.len() as u64);
                connection.skipping -= count;
                let rest = bytes.split_off(usize::try_from(count).unwrap_or(bytes.len()));
                if !rest.is_empty() {
                    self.batch.push_front((key, Told::Received(rest)));
                    self.batch_left = self.batch_left.saturating_add(1);
                }
                Event::Skipped { count }
            }
        })
    }
}

impl Reactor for Sim {
    fn name(&self) -> &'static str {
        "sim"
    }

    fn wait_resolution(&self) -> Span {
        Span::from_ns(1)
    }

    fn slots(&self) -> usize {
        self.connections.capacity()
    }

    fn now(&self) -> Instant {
        self.now
    }

    fn activity(&self) -> Activity {
        self.meter.activity
    }

    fn waker(&self) -> io::Result<Waker> {
        Ok(Waker { event: None })
    }

    fn store(&mut self, bytes: Vec<u8>) -> Stored {
        self.outgoing.store(bytes)
    }

    fn discard(&mut self, bytes: Stored) {
        self.outgoing.discard(bytes);
    }

    fn connect(&mut self, target: SocketAddr, source: Option<SocketAddr>) -> Result<Key, Refused> {
        self.meter.work();
        self.now += self.call_cost;
        let closing = self.kernel.taken_places(self.now);
        if self.connections.len() + closing >= self.connections.capacity() {
            return Err(Refused::Slots);
        }
        if let Some(error) = self.kernel.connect_error() {
            return Err(Refused::Kernel(error));
        }
        let mut connection = Connection::new(target, source);
        connection.received_most = self.received_most.map(|bytes| bytes as usize);
        let key = self
            .connections
            .insert(connection)
            .map_err(|_| Refused::Slots)?;
        self.asked.push_back((key, Ask::Connect));
        Ok(key)
    }

    fn limit_received(&mut self, bytes: Option<u32>) {
        self.received_most = bytes;
    }

    fn local(&self, key: Key) -> Option<SocketAddr> {
        self.connections.get(key)?.source
    }

    fn peer(&self, key: Key) -> Option<SocketAddr> {
        Some(self.connections.get(key)?.target)
    }

    fn sends_at_once(&self) -> bool {
        false
    }

    fn may_send(&self, key: Key) -> bool {
        let connection = self.connections.get(key);
        let has_room = |c: &Connection| c.established && !c.finished && c.sends.len() < SENDS_MAX;
        connection.is_some_and(has_room) && self.outgoing.has_room()
    }

    fn send(&mut self, key: Key, transmit: Transmit<'_>) -> Result<Handed, Refused> {
        self.meter.work();
        self.now += self.call_cost;
        let connection = self.connections.get_mut(key).ok_or(Refused::Stale)?;
        if !connection.established || connection.finished {
            return Err(Refused::Stale);
        }
        if connection.sends.len() >= SENDS_MAX {
            return Err(Refused::Queue);
        }
        if matches!(transmit.source, Source::File { .. }) {
            return Err(Refused::Kernel(Errno::new(libc::ENOTSUP)));
        }
        connection.sends.push_back(self.outgoing.piece(transmit)?);
        if connection.sends.len() > 1 {
            return Ok(Handed::Behind);
        }
        self.asked.push_back((key, Ask::Send));
        Ok(Handed::Now)
    }

    fn bytes_taken(&self, key: Key) -> u64 {
        self.connections
            .get(key)
            .map_or(0, |connection| connection.taken)
    }

    fn note_times(&mut self, _key: Key) -> bool {
        true
    }

    fn kernel_times(&mut self, key: Key) -> KernelTimes {
        let connection = self.connections.get(key);
        connection.map_or_else(KernelTimes::default, |connection| connection.times)
    }

    fn skip(&mut self, key: Key, count: u64) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.skipping += count;
        }
    }

    fn pause(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.paused = true;
        // Where the kernel keeps little, no more than that was taken from it.
        if connection.received_most.is_some() {
            let batch = std::mem::take(&mut self.batch);
            for (of, told) in batch {
                if of == key && matches!(told, Told::Received(_) | Told::Ended(_)) {
                    connection.held.push_back(told);
                } else {
                    self.batch.push_back((of, told));
                }
            }
        }
    }

    fn resume(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.paused = false;
            for told in connection.held.drain(..) {
                self.batch.push_back((key, told));
            }
        }
    }

    fn finish(&mut self, key: Key) {
        self.meter.work();
        if let Some(connection) = self.connections.get_mut(key) {
            connection.finished = true;
        }
    }

    fn close(&mut self, key: Key) {
        self.meter.work();
        self.remove(key);
    }

    fn reset(&mut self, key: Key) {
        self.meter.work();
        self.remove(key);
    }

    fn submit(&mut self) {
        self.hand_in();
    }

    fn wait(&mut self, deadline: Instant) -> Instant {
        self.hand_in();
        self.happen();
        while self.batch.is_empty() && self.now < deadline {
            let next = self.agenda.peek().map(|Reverse(entry)| entry.at);
            let until = next.unwrap_or(deadline).min(deadline);
            assert!(
                until < Instant::FAR_FUTURE,
                "a wait for ever in a network where nothing will happen"
            );
            let until = until + self.kernel.lateness();
            self.meter.blocked(self.now, until);
            self.now = until;
            self.happen();
        }
        self.begin_batch()
    }

    fn poll(&mut self) -> Instant {
        self.hand_in();
        self.happen();
        if self.batch.is_empty() {
            // A poll takes time: without that, who polls for an instant would poll for ever.
            self.now += self.poll_step;
            self.happen();
        }
        self.begin_batch()
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        if self.batch_left == 0 {
            return None;
        }
        let key = loop {
            let (key, _) = self.batch.front()?;
            if self.connections.get(*key).is_some() {
                break *key;
            }
            self.batch.pop_front();
        };
        let (_, told) = self.batch.pop_front()?;
        let at = self.now;
        self.now += self.call_cost;
        self.batch_left -= 1;
        self.meter.activity.events += 1;
        let event = self.tell(key, told)?;
        Some(Completion { key, at, event })
    }
}

#[cfg(test)]
mod tests;
