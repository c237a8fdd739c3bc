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
//! Sends of bytes in memory are silent: a completion comes only if something is wrong.
//!
//! A connection's place is free as soon as it is closed. What the kernel still says of it carries
//! an old generation, and operations are carried out in the order in which they are handed in.
//!
//! A connection costs about 220 bytes of this process: its state, a place for a send that waits, a
//! name to connect to, a line in the batch. Beside that stand some 13 MiB of receive buffers for
//! all connections together, of which the system hands out the pages that are used.

mod buffers;
mod connection;
mod operations;
mod ring;
mod sends;
mod steps;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;

use model::Mark;
use model::units::{Instant, Span};

use self::buffers::Buffers;
use self::connection::{Connection, Phase, Receiving};
use self::ring::{Entered, Ring};
use super::meter::Meter;
use super::outgoing::Outgoing;
use super::{
    ACCEPT_RETRY, Activity, Completion, Event, Handed, Listen, Reactor, Refused, SENDS_MAX,
    Settings, Stored, Transmit, Waker,
};
use crate::slots::{Key, Slots};
use crate::socket::unix;
use crate::{Errno, clock, cpu, socket, timer};

/// So many receives after the last skip are still kept small.
const SMALL_RECEIVES: u8 = 8;
/// What may be told beyond the limit of a batch: sends that begin or end while it is taken.
const BATCH_SLACK: usize = 256;
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

/// One event loop on io_uring. It costs about 220 bytes per connection that it has room for, and
/// at most 14 MB for all together.
#[derive(Debug)]
pub struct Uring {
    // The ring stands first: it is gone before the memory that it was told of.
    ring: Ring,
    buffers: Buffers,
    outgoing: Outgoing,
    connections: Slots<Connection>,
    names: operations::Names,
    /// Where all connections lead, whatever their target, if that is a Unix socket. The kernel
    /// reads it when a connect is handed in.
    unix: Option<Box<unix::Place>>,
    /// What the kernel keeps of what connections receive, if that is limited.
    received_most: Option<u32>,
    /// Sockets of closed connections whose descriptors the kernel has yet to read.
    closed: Vec<OwnedFd>,
    /// Counts how often everything in line was handed in and all completions were taken.
    turn: u32,
    /// Connections that have something to do at the end of the turn.
    awaiting_turn: Vec<Key>,
    is_silence_right: bool,
    listeners: Vec<OwnedFd>,
    listening: bool,
    /// Listeners whose accept failed, usually for want of descriptors, and when to try again.
    stalled: Vec<u32>,
    retry_at: Instant,
    /// What the caller is told in this batch.
    batch: VecDeque<steps::Item>,
    /// No more completions are taken from the kernel while so many are in the batch.
    batch_limit: usize,
    batch_time: Instant,
    /// The buffer that is lent.
    loan: Option<u16>,
    /// The part of the latest buffer that was not told yet.
    rest: Option<steps::Bytes>,
    /// A connection whose receive must be armed again once the caller has seen what it brought.
    rearm: Option<Key>,
    wakeup: Arc<OwnedFd>,
    woken: bool,
    meter: Meter,
}

impl Uring {
    /// The most connections that one ring has room for: the kernel's `IORING_MAX_FIXED_FILES`.
    pub const FILES_MOST: u32 = 1 << 20;

    /// A reactor with room for what `settings` say, to be used by the calling thread alone.
    pub fn new(settings: &Settings) -> Result<Self, Unavailable> {
        let places = settings.connections;
        let mut ring = Ring::new(settings, places.max(1))?;
        let is_silence_right = sends::are_silent_sends_right(&mut ring);
        let error = |error: io::Error| Unavailable::because(error.to_string());
        let buffers = Buffers::new(ring.uring(), settings.connections)
            .map_err(|error| Unavailable::because(format!("provided buffers: {error}")))?;
        cpu::set_precise_timers().map_err(error)?;
        let batch_limit = (places as usize).max(BATCH_SLACK);
        let mut uring = Self {
            ring,
            buffers,
            outgoing: Outgoing::new(settings).map_err(error)?,
            connections: Slots::new(places),
            names: operations::Names::new(places),
            unix: None,
            received_most: None,
            closed: Vec::new(),
            turn: 0,
            awaiting_turn: Vec::with_capacity(places as usize),
            is_silence_right,
            listeners: Vec::new(),
            listening: false,
            stalled: Vec::new(),
            retry_at: Instant::ZERO,
            batch: VecDeque::with_capacity(batch_limit + BATCH_SLACK),
            batch_limit,
            batch_time: clock::monotonic(),
            loan: None,
            rest: None,
            rearm: None,
            wakeup: Arc::new(timer::event().map_err(error)?),
            woken: false,
            meter: Meter::default(),
        };
        uring.watch_wakeup();
        uring.submit();
        Ok(uring)
    }

    /// The same, whose connections all lead to the Unix socket at `path`, whatever their target;
    /// the same as it was where there is none.
    pub fn leading_to(mut self, path: Option<&Path>) -> io::Result<Self> {
        self.unix = path.map(unix::Place::new).transpose()?.map(Box::new);
        Ok(self)
    }

    /// Submits and collects without blocking; no call at all where there is no reason for one.
    #[inline]
    fn look(&mut self) -> Entered {
        if self.ring.is_queued() || self.ring.has_news() {
            return self.ring.look();
        }
        Entered::Done
    }

    /// When a wait until `deadline` ends to accept again where an accept failed.
    fn wait_end(&mut self, now: Instant, deadline: Instant) -> Instant {
        if self.stalled.is_empty() {
            return deadline;
        }
        if now >= self.retry_at {
            self.serve_stalled();
            return deadline;
        }
        deadline.min(self.retry_at)
    }

    /// Lets the kernel carry out what was asked, as far as it does so at once: closes above all. It
    /// runs some twenty pieces of such work each time it is entered, and to end the receives of
    /// closed connections by [`Ring::cancel_all`] takes it a fifth of a millisecond each.
    fn carry_out(&mut self) {
        // Each of these does something, or is the last; should a kernel not think so, there is an
        // end all the same.
        for _ in 0..self.connections.capacity() + BATCH_SLACK {
            self.look();
            self.drain();
            self.close_unseen();
            if !self.ring.is_queued() && !self.ring.has_news() {
                return;
            }
        }
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
        self.outgoing.condemn(bytes);
    }

    fn connect(&mut self, target: SocketAddr, source: Option<SocketAddr>) -> Result<Key, Refused> {
        if self.connections.is_full() {
            return Err(Refused::Slots);
        }
        self.meter.work();
        let socket = match self.unix {
            None => socket::outgoing(target, source),
            Some(_) => unix::outgoing(),
        };
        let refused = |error: io::Error| Refused::Kernel(Errno::of(&error));
        let socket = socket.map_err(refused)?;
        if let Some(bytes) = self.received_most.filter(|_| self.unix.is_none()) {
            socket::set_receive_buffer(&socket, bytes).map_err(refused)?;
        }
        let mut connection = Connection::new(socket, Phase::Connecting);
        connection.is_unix = self.unix.is_some();
        let key = self
            .connections
            .insert(connection)
            .map_err(|_| Refused::Slots)?;
        self.begin_connect(key, target);
        Ok(key)
    }

    fn limit_received(&mut self, bytes: Option<u32>) {
        self.received_most = bytes;
    }

    fn local(&self, key: Key) -> Option<SocketAddr> {
        socket::local_address(&self.connections.get(key)?.socket).ok()
    }

    fn peer(&self, key: Key) -> Option<SocketAddr> {
        socket::peer_address(&self.connections.get(key)?.socket).ok()
    }

    fn sends_at_once(&self) -> bool {
        false
    }

    fn may_send(&self, key: Key) -> bool {
        let has_room = |c: &Connection| c.may_send() && c.sends_under_way(self.turn) < SENDS_MAX;
        self.connections.get(key).is_some_and(has_room) && self.outgoing.has_room()
    }

    #[inline]
    fn send(&mut self, key: Key, transmit: Transmit<'_>) -> Result<Handed, Refused> {
        self.meter.work();
        self.begin_send(key, transmit)
    }

    fn bytes_taken(&self, key: Key) -> u64 {
        self.taken(key)
    }

    fn skip(&mut self, key: Key, count: u64) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.skipping += count;
        if connection.skipping < SKIP_WORTH_BYTES || connection.is_unix {
            return;
        }
        connection.small_receives = SMALL_RECEIVES;
        if matches!(connection.receiving, Some(Receiving::Multishot(_))) {
            self.cancel_receive(key);
        }
    }

    fn pause(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.paused = true;
            self.cancel_receive(key);
        }
    }

    fn resume(&mut self, key: Key) {
        let Some(connection) = self.connections.get_mut(key) else {
            return;
        };
        connection.paused = false;
        if self.rest.is_some_and(|rest| rest.key == key) {
            self.rearm = Some(key);
        } else {
            self.arm(key);
        }
    }

    fn finish(&mut self, key: Key) {
        self.meter.work();
        self.begin_finish(key);
    }

    fn close(&mut self, key: Key) {
        self.meter.work();
        self.begin_close(key);
    }

    fn reset(&mut self, key: Key) {
        self.meter.work();
        let Some(connection) = self.connections.get(key) else {
            return;
        };
        // On a socket that is broken already the option may fail; closing is all that is left.
        drop(socket::set_reset_on_close(&connection.socket));
        self.begin_close(key);
    }

    fn submit(&mut self) {
        self.settle();
        if self.ring.is_queued() {
            // With a look, because a close is carried out by work that a look lets run.
            self.ring.look();
        }
    }

    fn wait(&mut self, deadline: Instant) -> Instant {
        self.settle();
        self.wait_end(self.batch_time, Instant::FAR_FUTURE);
        let mut entered = self.look();
        let mut now = clock::monotonic();
        self.drain();
        while self.batch.is_empty()
            && now < deadline
            && entered != Entered::Interrupted
            && !std::mem::take(&mut self.woken)
        {
            let end = self.wait_end(now, deadline);
            let start = now;
            let timeout = (end != Instant::FAR_FUTURE).then(|| end - start);
            entered = self.ring.block(timeout);
            now = clock::monotonic();
            self.meter.blocked(start, now);
            self.drain();
        }
        self.begin_batch(now)
    }

    fn poll(&mut self) -> Instant {
        self.settle();
        self.wait_end(self.batch_time, Instant::FAR_FUTURE);
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
                let mark = Mark::NotCapable;
                Event::Received { bytes, mark }
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
        self.accept_on(u32::try_from(self.listeners.len() - 1).unwrap_or(u32::MAX));
        Ok(())
    }

    fn stop_listening(&mut self) {
        self.listening = false;
        self.stalled.clear();
        for listener in (0..).take(self.listeners.len()) {
            self.cancel(operations::Purpose::Accept.at(listener));
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
        self.carry_out();
        if self.ring.cancel_all().is_err()
            && let Ok(memory) = Outgoing::new(&Settings::NOTHING)
        {
            std::mem::forget(std::mem::replace(&mut self.outgoing, memory));
        }
        loop {
            self.drain();
            self.close_unseen();
            if self.ring.is_drained() {
                return;
            }
        }
    }
}

/// The place of `key` in the tables that the kernel knows.
#[inline]
fn place_of(key: Key) -> u32 {
    u32::try_from(key.index()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
