//! The reactor on io_uring (Linux 6.1 and later).
//!
//! Sends of a whole batch enter the kernel in one call, and the same call brings what has arrived:
//! receives are armed once (multishot) and take buffers from a ring when bytes come. Sockets stand
//! in the ring's own table. Work is deferred until this thread asks for it, so that nothing
//! interrupts it.
//!
//! Large bodies: a connection that fills a small buffer changes to large ones; one whose bodies
//! are skipped changes to receives one by one, the body dropped inside the kernel.
//!
//! A connection's place is free again only when the kernel has let go of everything of it.

mod buffers;
mod connection;
mod operations;
mod ring;
mod steps;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use model::units::{Instant, Span};

use self::buffers::Buffers;
use self::connection::{Connection, Phase, Receiving};
use self::ring::{Entered, Ring};
use super::meter::Meter;
use super::outgoing::Outgoing;
use super::{
    Activity, Completion, Event, Handed, Listen, Reactor, Refused, Settings, Stored, Transmit,
    Waker,
};
use crate::slots::{Key, Slots};
use crate::{Errno, clock, cpu, socket, timer};

/// So many receives after the last skip are still kept small.
const SMALL_RECEIVES: u8 = 8;
/// Less than this is not worth a change from multishot receives.
const SKIP_WORTH_BYTES: u64 = 16 * 1024;

/// Why io_uring cannot be used here. The caller falls back to readiness and says so.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("io_uring is not available: {reason}")]
pub struct Unavailable {
    reason: String,
}

impl Unavailable {
    fn because(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
        }
    }

    fn setup(error: &io::Error) -> Self {
        let disabled = std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled");
        let disabled = disabled.as_deref().unwrap_or("0").trim();
        Self::because(match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) if disabled != "0" => {
                format!("the setting kernel.io_uring_disabled is {disabled}")
            }
            Some(libc::EPERM | libc::EACCES) => {
                "it is not permitted here (a seccomp filter, as containers have)".to_owned()
            }
            Some(libc::ENOSYS) => "this kernel has none".to_owned(),
            Some(libc::EINVAL) => "this kernel is older than Linux 6.0".to_owned(),
            _ => error.to_string(),
        })
    }

    fn files(error: &io::Error, files: u32) -> Self {
        Self::because(match error.raw_os_error() {
            Some(libc::EMFILE) => format!("{files} descriptors are needed: raise `ulimit -n`"),
            _ => format!("a table of {files} files: {error}"),
        })
    }
}

/// See the module's text.
#[derive(Debug)]
pub struct Uring {
    // The ring stands first: it is gone before the memory that it was told of.
    ring: Ring,
    buffers: Buffers,
    outgoing: Outgoing,
    connections: Slots<Connection>,
    /// What each place of the ring's table is to hold, where the kernel reads it from.
    descriptors: Box<[i32]>,
    addresses: operations::Addresses,
    listeners: Vec<OwnedFd>,
    listening: bool,
    /// An accept failed, usually for want of descriptors: try again when one is free.
    accepts_stalled: bool,
    /// What the caller is told in this batch.
    batch: VecDeque<steps::Item>,
    batch_time: Instant,
    /// The buffer that is lent.
    loan: Option<u16>,
    /// What of the latest buffer was not told yet.
    rest: Option<steps::Bytes>,
    /// A connection whose receive must be armed again once the caller has seen what it brought.
    rearm: Option<u32>,
    /// Connections whose send or connect is in line: they get the instant of the submit.
    stamps: Vec<u32>,
    wakeup: Arc<OwnedFd>,
    woken: bool,
    meter: Meter,
}

impl Uring {
    /// A reactor with room for what `settings` say, to be used by the calling thread alone.
    pub fn new(settings: &Settings) -> Result<Self, Unavailable> {
        let slack = settings.connections.clamp(16, 1_024);
        let places = settings.connections + slack;
        let ring = Ring::new(settings, places)?;
        let error = |error: io::Error| Unavailable::because(error.to_string());
        let buffers = Buffers::new(ring.uring(), settings.connections)
            .map_err(|error| Unavailable::because(format!("provided buffers: {error}")))?;
        cpu::set_precise_timers().map_err(error)?;
        let mut uring = Self {
            ring,
            buffers,
            outgoing: Outgoing::new(settings),
            connections: Slots::new(places),
            descriptors: vec![-1; places as usize].into_boxed_slice(),
            addresses: operations::Addresses::default(),
            listeners: Vec::new(),
            listening: false,
            accepts_stalled: false,
            batch: VecDeque::with_capacity(places as usize * 4),
            batch_time: clock::monotonic(),
            loan: None,
            rest: None,
            rearm: None,
            stamps: Vec::with_capacity(places as usize),
            wakeup: Arc::new(timer::event().map_err(error)?),
            woken: false,
            meter: Meter::default(),
        };
        uring.watch_wakeup();
        uring.submit();
        Ok(uring)
    }

    fn live(&self, key: Key) -> Option<&Connection> {
        let connection = self.connections.get(key)?;
        connection.is_live().then_some(connection)
    }

    #[inline]
    fn live_mut(&mut self, key: Key) -> Option<&mut Connection> {
        let connection = self.connections.get_mut(key)?;
        connection.is_live().then_some(connection)
    }

    /// Hands in what is in line; sends among it are stamped with the instant right before.
    #[inline]
    fn stamp(&mut self) {
        if self.stamps.is_empty() {
            return;
        }
        let now = clock::monotonic();
        for place in self.stamps.drain(..) {
            if let Some(connection) = self.connections.at_mut(place as usize) {
                connection.sent_at = now;
            }
        }
    }

    /// Submits and collects without blocking; no call at all where there is no reason for one.
    #[inline]
    fn look(&mut self) -> Entered {
        self.stamp();
        let mut entered = Entered::Done;
        if self.ring.queued() > 0 || self.ring.has_news() {
            entered = self.ring.look();
            self.addresses.submitted();
        }
        entered
    }

    fn begin_batch(&mut self, now: Instant) -> Instant {
        self.batch_time = now;
        self.meter.returned(now, !self.batch.is_empty());
        now
    }
}

impl Reactor for Uring {
    fn name(&self) -> &'static str {
        "uring"
    }

    fn wait_resolution(&self) -> Span {
        Span::from_ns(1)
    }

    fn slots(&self) -> usize {
        self.connections.capacity()
    }

    fn now(&self) -> Instant {
        clock::monotonic()
    }

    fn activity(&self) -> Activity {
        self.meter.activity
    }

    fn waker(&self) -> io::Result<Waker> {
        Ok(Waker {
            event: Some(Arc::clone(&self.wakeup)),
        })
    }

    fn store(&mut self, bytes: Vec<u8>) -> Stored {
        self.outgoing.store(bytes)
    }

    fn discard(&mut self, bytes: Stored) {
        self.outgoing.discard(bytes);
    }

    fn connect(&mut self, target: SocketAddr, source: Option<SocketAddr>) -> Result<Key, Refused> {
        if self.connections.is_full() {
            return Err(Refused::Slots);
        }
        self.meter.work();
        let socket =
            socket::outgoing(target, source).map_err(|error| Refused::Kernel(Errno::of(&error)))?;
        let connection = Connection::new(socket, Phase::Connecting);
        let key = self
            .connections
            .insert(connection)
            .map_err(|_| Refused::Slots)?;
        self.begin_connect(key, target);
        Ok(key)
    }

    fn peer(&self, key: Key) -> Option<SocketAddr> {
        let socket = self.live(key)?.socket.as_ref()?;
        socket::peer_address(socket).ok()
    }

    fn sends_at_once(&self) -> bool {
        false
    }

    fn may_send(&self, key: Key) -> bool {
        let connection = self.connections.get(key);
        connection.is_some_and(|c| c.may_send() && !c.sends.is_full()) && self.outgoing.may_copy()
    }

    #[inline]
    fn send(&mut self, key: Key, transmit: Transmit<'_>) -> Result<Handed, Refused> {
        self.meter.work();
        let connection = self.connections.get_mut(key).ok_or(Refused::Stale)?;
        if !connection.may_send() {
            return Err(Refused::Stale);
        }
        if connection.sends.is_full() {
            return Err(Refused::Queue);
        }
        let at_once = connection.sends.is_empty();
        connection.sends.push(self.outgoing.piece(transmit)?);
        if !at_once {
            return Ok(Handed::Behind);
        }
        self.send_on(key.index());
        self.stamps.push(place_of(key));
        Ok(Handed::Now)
    }

    #[inline]
    fn sent_at(&self, key: Key) -> Instant {
        self.live(key)
            .map_or(Instant::ZERO, |connection| connection.sent_at)
    }

    fn bytes_taken(&self, key: Key) -> u64 {
        self.live(key).map_or(0, |connection| connection.taken)
    }

    fn skip(&mut self, key: Key, count: u64) {
        let Some(connection) = self.live_mut(key) else {
            return;
        };
        connection.skipping += count;
        if connection.skipping < SKIP_WORTH_BYTES {
            return;
        }
        connection.small_receives = SMALL_RECEIVES;
        if matches!(connection.receiving, Some(Receiving::Multishot(_))) {
            self.cancel_receive(key.index());
        }
    }

    fn pause(&mut self, key: Key) {
        if let Some(connection) = self.live_mut(key) {
            connection.paused = true;
            self.cancel_receive(key.index());
        }
    }

    fn resume(&mut self, key: Key) {
        let Some(connection) = self.live_mut(key) else {
            return;
        };
        connection.paused = false;
        let place = place_of(key);
        if self.rest.is_some_and(|rest| rest.place == place) {
            self.rearm = Some(place);
        } else {
            self.arm(key.index());
        }
    }

    fn finish(&mut self, key: Key) {
        self.meter.work();
        if let Some(connection) = self.live_mut(key) {
            connection.finishing = true;
            if connection.sends.is_empty() {
                steps::shut_down(connection);
            }
        }
    }

    fn close(&mut self, key: Key) {
        self.meter.work();
        if self.live(key).is_some() {
            self.begin_close(key.index());
        }
    }

    fn reset(&mut self, key: Key) {
        self.meter.work();
        let Some(connection) = self.live(key) else {
            return;
        };
        if let Some(socket) = &connection.socket {
            // On a socket that is broken already the option may fail; closing is all that is left.
            drop(socket::set_reset_on_close(socket));
        }
        self.begin_close(key.index());
    }

    fn submit(&mut self) {
        self.settle();
        self.stamp();
        if self.ring.queued() > 0 {
            // With a look, because a close is carried out by work that a look lets run.
            self.ring.look();
            self.addresses.submitted();
        }
    }

    fn wait(&mut self, deadline: Instant) -> Instant {
        self.settle();
        let mut entered = self.look();
        let mut now = clock::monotonic();
        self.drain();
        while self.batch.is_empty()
            && now < deadline
            && entered == Entered::Done
            && !std::mem::take(&mut self.woken)
        {
            self.stamp();
            let start = now;
            let timeout = (deadline != Instant::FAR_FUTURE).then(|| deadline - start);
            entered = self.ring.block(timeout);
            self.addresses.submitted();
            now = clock::monotonic();
            self.meter.blocked(start, now);
            self.drain();
        }
        self.begin_batch(now)
    }

    fn poll(&mut self) -> Instant {
        self.settle();
        self.look();
        let now = clock::monotonic();
        self.drain();
        self.begin_batch(now)
    }

    #[inline]
    fn next(&mut self) -> Option<Completion<'_>> {
        self.settle();
        let (key, step) = self.step()?;
        self.meter.activity.events += 1;
        let event = match step {
            steps::Step::Received(steps::Bytes {
                buffer,
                offset,
                length,
                ..
            }) => {
                self.loan = Some(buffer);
                let bytes = self.buffers.bytes(buffer, offset as usize, length as usize);
                Event::Received { bytes }
            }
            steps::Step::Event(event) => event,
        };
        let at = self.batch_time;
        Some(Completion { key, at, event })
    }
}

impl Listen for Uring {
    fn listen(&mut self, listener: OwnedFd) -> io::Result<()> {
        self.listeners.push(listener);
        self.listening = true;
        self.accept_on(self.listeners.len() - 1);
        Ok(())
    }

    fn stop_listening(&mut self) {
        self.listening = false;
        for place in 0..self.listeners.len() {
            self.cancel_accept(place);
        }
        self.submit();
        self.listeners.clear();
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // Nothing of ours may be written or read by the kernel when the memory goes. Should the
        // kernel not be able to say so, the memory stays where it is.
        self.loan = None;
        if self.ring.cancel_all().is_err() {
            let memory = Outgoing::new(&Settings::NOTHING);
            std::mem::forget(std::mem::replace(&mut self.outgoing, memory));
        }
        self.drain();
        self.close_unseen();
    }
}

/// The place of `key` in the tables that the kernel knows.
#[inline]
fn place_of(key: Key) -> u32 {
    u32::try_from(key.index()).unwrap_or(u32::MAX)
}
