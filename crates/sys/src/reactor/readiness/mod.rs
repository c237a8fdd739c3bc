//! The reactor on readiness (epoll through `mio`, edge-triggered): works wherever Linux does.
//!
//! An exchange costs one receive and one send, and a share of one epoll_wait: each socket is
//! registered once, a receive that was not filled is known to have drained the socket, and sends
//! go out at once. Received bytes land in one buffer for all connections, because only one
//! completion is lent at a time.
//!
//! `mio` waits in whole milliseconds. A wait is cut to the last whole millisecond before its
//! deadline, and a registered timer in nanoseconds ends what remains.

mod connection;
mod datagrams;
mod listeners;
mod unix;

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use model::Mark;
use model::units::{Instant, Span};

use self::connection::{Connection, Step};
use self::datagrams::Cut;
use self::listeners::enqueue_listener;
use super::meter::Meter;
use super::outgoing::Outgoing;
use super::{
    Activity, Completion, Event, Handed, KernelTimes, Reactor, Refused, Settings, Stored, Transmit,
    Waker,
};
use crate::slots::{Key, Slots};
use crate::{clock, cpu, socket, timer};

/// One receive takes at most this: half of a usual L2 cache, and a 100 KB body in two.
const RECEIVE_BYTES: usize = 64 * 1024;
/// Events taken from the kernel at once.
const EVENTS_MAX: usize = 1_024;

const TIMER: Token = Token(usize::MAX - 1);
const WAKER: Token = Token(usize::MAX - 2);
/// Listeners stand above all connections.
const LISTENERS: usize = 1 << 40;

/// One event loop on readiness. It costs about 180 bytes per connection that it has room for, and
/// less than 400 KB for all together.
#[derive(Debug)]
pub struct Readiness {
    poll: Poll,
    events: Events,
    connections: Slots<Connection>,
    listeners: Vec<OwnedFd>,
    outgoing: Outgoing,
    /// Places of connections, and of listeners above [`LISTENERS`], that have something to do.
    ready: VecDeque<usize>,
    /// Whether a connection's place is in `ready`.
    queued: Vec<bool>,
    /// How many of `ready` belong to this batch.
    batch: usize,
    accepts_left: u32,
    /// Listeners whose accept failed, usually for want of descriptors, and when to try again.
    stalled: Vec<usize>,
    retry_at: Instant,
    buffer: Box<[u8]>,
    timer: OwnedFd,
    wakeup: Arc<OwnedFd>,
    woken: bool,
    meter: Meter,
    /// Where all connections lead, whatever their target, if that is a Unix socket.
    unix: Option<socket::unix::Place>,
    /// Whether connections are made over UDP.
    datagrams: bool,
    /// What the kernel keeps of what connections receive, if that is limited.
    received_most: Option<u32>,
    /// Datagrams that were received with one that was told already.
    cut: Option<Cut>,
}

impl Readiness {
    /// A reactor with room for what `settings` say.
    pub fn new(settings: &Settings) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = timer::timer()?;
        let wakeup = Arc::new(timer::event()?);
        cpu::set_precise_timers()?;
        for (socket, token) in [(&timer, TIMER), (&*wakeup, WAKER)] {
            let fd = socket.as_raw_fd();
            poll.registry()
                .register(&mut SourceFd(&fd), token, Interest::READABLE)?;
        }
        let places = settings.connections as usize;
        Ok(Self {
            poll,
            events: Events::with_capacity(EVENTS_MAX),
            connections: Slots::new(settings.connections),
            listeners: Vec::new(),
            outgoing: Outgoing::new(settings)?,
            ready: VecDeque::with_capacity(places + 64),
            queued: vec![false; places],
            batch: 0,
            accepts_left: 0,
            stalled: Vec::new(),
            retry_at: Instant::ZERO,
            buffer: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            timer,
            wakeup,
            woken: false,
            meter: Meter::default(),
            unix: None,
            datagrams: false,
            received_most: None,
            cut: None,
        })
    }

    fn enqueue(&mut self, place: usize) {
        if !std::mem::replace(&mut self.queued[place], true) {
            self.ready.push_back(place);
        }
    }

    fn register(&self, socket: &OwnedFd, token: Token, interest: Interest) -> io::Result<()> {
        let fd = socket.as_raw_fd();
        self.poll
            .registry()
            .register(&mut SourceFd(&fd), token, interest)
    }

    /// Asks the kernel, for at most `timeout`, and puts those with something to do in line.
    fn collect(&mut self, timeout: Option<Duration>) {
        // An interrupted wait is one that brought nothing; other errors cannot occur on a valid
        // descriptor and buffer.
        if self.poll.poll(&mut self.events, timeout).is_err() {
            return;
        }
        let mut events = std::mem::replace(&mut self.events, Events::with_capacity(0));
        for event in &events {
            match event.token() {
                TIMER => {}
                WAKER => self.woken = true,
                Token(place) if place >= LISTENERS => enqueue_listener(&mut self.ready, place),
                Token(place) => {
                    if let Some(connection) = self.connections.at_mut(place) {
                        connection.note(event);
                        self.enqueue(place);
                    }
                }
            }
        }
        events.clear();
        self.events = events;
    }

    /// Blocks until something is there, `deadline` has passed, or something interrupts.
    fn block(&mut self, now: Instant, deadline: Instant) {
        const MILLISECOND: u64 = 1_000_000;
        if deadline == Instant::FAR_FUTURE {
            return self.collect(None);
        }
        let milliseconds = deadline.saturating_since(now).as_ns() / MILLISECOND;
        if milliseconds > 0 {
            return self.collect(Some(Duration::from_millis(milliseconds)));
        }
        timer::set(&self.timer, deadline);
        self.collect(None);
    }

    fn begin_batch(&mut self, now: Instant) {
        self.batch = self.ready.len();
        self.accepts_left = listeners::ACCEPTS_PER_BATCH;
        self.meter.returned(now, self.batch > 0);
    }

    fn admit(&mut self, connection: Connection) -> Result<Key, Refused> {
        let key = self
            .connections
            .insert(connection)
            .map_err(|_| Refused::Slots)?;
        let Some(connection) = self.connections.get(key) else {
            return Err(Refused::Slots);
        };
        let interest = Interest::READABLE | Interest::WRITABLE;
        let registered = self.register(connection.socket(), Token(key.index()), interest);
        if let Err(error) = registered {
            self.connections.remove(key);
            return Err(Refused::Kernel(crate::Errno::of(&error)));
        }
        Ok(key)
    }

    fn remove(&mut self, key: Key) -> Option<Connection> {
        let mut connection = self.connections.remove(key)?;
        connection.release(&mut self.outgoing);
        self.serve_stalled();
        Some(connection)
    }
}

impl Reactor for Readiness {
    fn name(&self) -> &'static str {
        "readiness"
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
        if self.datagrams {
            return self.connect_datagrams(target, source);
        }
        if self.unix.is_some() {
            return self.connect_unix();
        }
        let refused = |error: io::Error| Refused::Kernel(crate::Errno::of(&error));
        let socket = socket::outgoing(target, source).map_err(refused)?;
        if let Some(bytes) = self.received_most {
            socket::set_receive_buffer(&socket, bytes).map_err(refused)?;
        }
        // A refusal at once (loopback) is told like any other: as a completion.
        let failed = socket::connect(&socket, target).err();
        let failed = failed.map(|error| crate::Errno::of(&error));
        let key = self.admit(Connection::connecting(socket, failed))?;
        if failed.is_some() {
            self.enqueue(key.index());
        }
        Ok(key)
    }

    fn limit_received(&mut self, bytes: Option<u32>) {
        self.received_most = bytes;
    }

    fn local(&self, key: Key) -> Option<SocketAddr> {
        socket::local_address(self.connections.get(key)?.socket()).ok()
    }

    fn peer(&self, key: Key) -> Option<SocketAddr> {
        socket::peer_address(self.connections.get(key)?.socket()).ok()
    }

    fn sends_at_once(&self) -> bool {
        true
    }

    fn may_send(&self, key: Key) -> bool {
        let connection = self.connections.get(key);
        connection.is_some_and(Connection::has_room) && self.outgoing.has_room()
    }

    #[inline]
    fn send(&mut self, key: Key, transmit: Transmit<'_>) -> Result<Handed, Refused> {
        self.meter.work();
        let connection = self.connections.get_mut(key).ok_or(Refused::Stale)?;
        let handed = connection.send(&mut self.outgoing, transmit)?;
        if connection.has_news() {
            self.enqueue(key.index());
        }
        Ok(handed)
    }

    fn bytes_taken(&self, key: Key) -> u64 {
        let connection = self.connections.get(key);
        connection.map_or(0, Connection::bytes_taken)
    }

    fn note_times(&mut self, key: Key) -> bool {
        let connection = self.connections.get_mut(key);
        connection.is_some_and(Connection::note_times)
    }

    fn kernel_times(&mut self, key: Key) -> KernelTimes {
        let connection = self.connections.get_mut(key);
        connection.map_or_else(KernelTimes::default, Connection::kernel_times)
    }

    fn skip(&mut self, key: Key, count: u64) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.skip(count);
        }
    }

    fn pause(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key) {
            connection.pause();
        }
    }

    fn resume(&mut self, key: Key) {
        if let Some(connection) = self.connections.get_mut(key)
            && connection.resume()
        {
            self.enqueue(key.index());
        }
    }

    fn finish(&mut self, key: Key) {
        self.meter.work();
        if let Some(connection) = self.connections.get_mut(key) {
            connection.finish();
        }
    }

    fn close(&mut self, key: Key) {
        self.meter.work();
        // Dropping the socket closes it, and with that the kernel forgets its registration.
        drop(self.remove(key));
    }

    fn reset(&mut self, key: Key) {
        self.meter.work();
        if let Some(connection) = self.remove(key) {
            // On a socket that is broken already the option may fail; closing is all that is left.
            drop(socket::set_reset_on_close(connection.socket()));
        }
    }

    fn submit(&mut self) {}

    fn wait(&mut self, deadline: Instant) -> Instant {
        self.collect(Some(Duration::ZERO));
        let mut now = clock::monotonic();
        loop {
            let end = self.wait_end(now, deadline);
            if !self.ready.is_empty() || now >= deadline || std::mem::take(&mut self.woken) {
                break;
            }
            let start = now;
            self.block(start, end);
            now = clock::monotonic();
            self.meter.blocked(start, now);
            let to_go = end.saturating_since(now);
            // Up before the last whole millisecond had passed: a signal came.
            if to_go >= Span::from_ms(1) {
                break;
            }
        }
        self.begin_batch(now);
        now
    }

    fn poll(&mut self) -> Instant {
        self.collect(Some(Duration::ZERO));
        let now = clock::monotonic();
        self.wait_end(now, now);
        self.begin_batch(now);
        now
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        if self.cut.is_some()
            && let Some((key, at, range, mark)) = self.next_datagram()
        {
            self.meter.activity.events += 1;
            let event = Event::Received {
                bytes: &mut self.buffer[range],
                mark,
            };
            return Some(Completion { key, at, event });
        }
        let (key, mut at, step) = loop {
            self.batch = self.batch.checked_sub(1)?;
            let place = self.ready.pop_front()?;
            if place >= LISTENERS {
                if let Some((key, listener)) = self.accept(place) {
                    let at = clock::monotonic();
                    break (key, at, Step::Event(Event::Accepted { listener }));
                }
                continue;
            }
            self.queued[place] = false;
            let Some(key) = self.connections.key_at(place) else {
                continue;
            };
            let Some(connection) = self.connections.at_mut(place) else {
                continue;
            };
            let step = connection.advance(&mut self.outgoing, &mut self.buffer);
            let at = clock::monotonic();
            if connection.has_more() {
                self.enqueue(place);
            }
            if !matches!(step, Step::Nothing) {
                break (key, at, step);
            }
        };
        self.meter.activity.events += 1;
        let event = match step {
            Step::Received(count) => Event::Received {
                bytes: &mut self.buffer[..count],
                mark: Mark::NotCapable,
            },
            Step::Datagrams(batch) => {
                let (cut, first) = Cut::new(key, at, batch);
                self.cut = cut;
                Event::Received {
                    bytes: &mut self.buffer[..first],
                    mark: batch.mark,
                }
            }
            Step::Begun(tag, instant) => {
                at = instant;
                Event::Begun { tag }
            }
            Step::Event(event) => {
                if let Event::ConnectFailed { .. } = event {
                    drop(self.remove(key));
                }
                event
            }
            Step::Nothing => return None,
        };
        Some(Completion { key, at, event })
    }
}
