//! One core's loop: accept, receive, answer, send. Workers share nothing but the order to stop.
//!
//! Requests that arrive together are answered together: the sends of a batch go to the kernel with
//! the next wait.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::{Instant, Span};
use sys::clock;
use sys::reactor::{Event, Handed, Listen, Refused, Transmit as Send};
use sys::slots::Key;
use wire::Service as _;
use wire::service::Transmit;

use crate::Settings;
use crate::connection::{Connection, End, State};
use crate::site::Site;

/// Between two looks at all connections for those that take too long.
const SWEEP: Span = Span::from_ms(500);
/// How long, and for how much, a client may go on sending after the last answer.
const LINGER: Span = Span::from_s(2);
const LINGER_BYTES: u64 = 1024 * 1024;
/// Answers are collected up to this size before they are handed over.
const GATHER: usize = 8 * 1024;
/// The most that one connection hands over as copied bytes: what was gathered, and as much again
/// that waits in its protocol, and one more answer.
pub(crate) const COPY_BYTES: u32 = 40 * 1024;

/// What the workers are told from outside.
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Finish what is under way, accept nothing new.
    pub(crate) stop: AtomicBool,
    /// How often the logs were to be opened anew.
    pub(crate) reopens: AtomicU64,
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Summary {
    /// Connections accepted.
    pub connections: u64,
    /// Connections closed as they came, because there were too many.
    pub connections_refused: u64,
    /// Requests answered, refused ones included.
    pub requests: u64,
    /// Connections that were cut off at the end of the drain.
    pub connections_cut: u64,
    /// Writes of the access log that failed, or log files that could not be opened anew.
    pub log_failures: u64,
}

/// One core's share of the server.
pub(crate) struct Worker<R> {
    reactor: R,
    site: Site,
    settings: Arc<Settings>,
    control: Arc<Control>,
    connections: Vec<Option<Box<Connection>>>,
    open: usize,
    timers: BinaryHeap<Reverse<(Instant, Key)>>,
    next_sweep: Instant,
    next_second: Instant,
    second: u64,
    reopens: u64,
    drain_until: Option<Instant>,
    out: Vec<u8>,
    summary: Summary,
}

impl<R: Listen> Worker<R> {
    /// A worker that will accept from `listeners`.
    pub(crate) fn new(
        mut reactor: R,
        listeners: Vec<OwnedFd>,
        site: Site,
        settings: Arc<Settings>,
        control: Arc<Control>,
    ) -> std::io::Result<Self> {
        for listener in listeners {
            reactor.listen(listener)?;
        }
        let places = reactor.slots();
        let now = reactor.now();
        Ok(Self {
            reactor,
            site,
            settings,
            control,
            connections: std::iter::repeat_with(|| None).take(places).collect(),
            open: 0,
            timers: BinaryHeap::new(),
            next_sweep: now,
            next_second: now,
            second: 0,
            reopens: 0,
            drain_until: None,
            out: Vec::new(),
            summary: Summary::default(),
        })
    }

    /// Serves until told to stop and what is under way has ended.
    pub(crate) fn run(mut self) -> Summary {
        loop {
            let now = self.reactor.wait(self.wakeup());
            self.set_time(now);
            while let Some(completion) = self.reactor.next() {
                let key = completion.key;
                match completion.event {
                    Event::Accepted { .. } => self.accept(key, now),
                    Event::Received { bytes } => {
                        let Some(connection) = &mut self.connections[key.index()] else {
                            continue;
                        };
                        if let State::Lingering { patience, .. } = &mut connection.state {
                            *patience = patience.saturating_sub(bytes.len() as u64);
                            continue;
                        }
                        self.site.set_peer(connection.peer);
                        connection.service.handle_bytes(now, bytes, &mut self.site);
                        self.advance(key, now);
                    }
                    Event::Sent => self.sent(key, now),
                    Event::Ended { error: None } => self.peer_finished(key, now),
                    Event::Ended { error: Some(_) } | Event::SendFailed { .. } => self.drop(key),
                    Event::Begun { .. }
                    | Event::Connected
                    | Event::ConnectFailed { .. }
                    | Event::Skipped { .. } => {}
                }
            }
            self.fire_timers(now);
            if now >= self.next_sweep {
                self.sweep(now);
            }
            if self.obey(now) {
                break;
            }
        }
        self.finish()
    }

    fn wakeup(&self) -> Instant {
        let log_waits = self.site.is_log_pending();
        let housekeeping = if self.open > 0 || log_waits || self.drain_until.is_some() {
            self.next_sweep
        } else {
            Instant::FAR_FUTURE
        };
        let timer = self.timers.peek().map(|Reverse((at, _))| *at);
        timer.map_or(housekeeping, |at| at.min(housekeeping))
    }

    /// Reads the calendar once a second.
    #[inline]
    fn set_time(&mut self, now: Instant) {
        if now >= self.next_second {
            let today = clock::realtime().as_ns();
            self.second = today / 1_000_000_000;
            self.next_second = now + Span::from_ns(1_000_000_000 - today % 1_000_000_000);
        }
        self.site.set_time(now, self.second);
    }

    fn accept(&mut self, key: Key, now: Instant) {
        if self.open >= self.settings.connections as usize {
            // The reactor may have room for more: some of its places are still being closed.
            self.reactor.close(key);
            self.summary.connections_refused += 1;
            return;
        }
        let peer = if self.settings.access_log.is_some() {
            self.reactor.peer(key).map(|address| address.ip())
        } else {
            None
        };
        let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED));
        let connection = Connection::new(key, now, self.settings.limits, peer);
        debug_assert!(self.connections[key.index()].is_none(), "a free place");
        self.connections[key.index()] = Some(Box::new(connection));
        self.open += 1;
        self.summary.connections += 1;
    }

    /// Hands over whatever may be sent now.
    fn advance(&mut self, key: Key, now: Instant) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        if connection.state != State::Open {
            if connection.service.is_full() && !connection.is_paused {
                connection.is_paused = true;
                self.reactor.pause(key);
            }
            return;
        }
        debug_assert!(self.out.is_empty(), "left over from another connection");
        let next = loop {
            let next = connection
                .service
                .poll_transmit(now, &mut self.out, &mut self.site);
            if !matches!(next, Transmit::Bytes) || self.out.len() >= GATHER {
                break next;
            }
        };
        let was_all_taken = self.reactor.bytes_taken(key) == connection.handed;
        let has_bytes = !self.out.is_empty();
        let goes_on = !matches!(next, Transmit::Nothing | Transmit::Pause(_));
        // Usually all before is gone by now, and nobody needs to be told that this went too.
        let notify = goes_on || (has_bytes && !was_all_taken);
        if has_bytes {
            let is_file_next = matches!(next, Transmit::File { .. });
            let send = Send {
                more: is_file_next,
                notify: notify && !is_file_next,
                ..Send::copied(&self.out)
            };
            debug_assert!(self.out.len() <= COPY_BYTES as usize, "{}", self.out.len());
            connection.handed += self.out.len() as u64;
            let result = self.reactor.send(key, send);
            self.out.clear();
            if !self.was_sent(key, result) {
                return;
            }
        }
        self.follow(key, now, next, notify && has_bytes);
    }

    /// Does what comes after the bytes. `is_noticed`: we will be told when they have gone.
    fn follow(
        &mut self,
        key: Key,
        now: Instant,
        next: Transmit<Arc<std::fs::File>>,
        is_noticed: bool,
    ) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        let end = match next {
            Transmit::Nothing | Transmit::Bytes => {
                if is_noticed {
                    connection.state = State::Sending;
                    connection.progress_at = now;
                }
                self.regulate(key);
                return;
            }
            Transmit::File {
                file,
                offset,
                length,
            } => {
                connection.state = State::Sending;
                connection.progress_at = now;
                connection.handed += length;
                let send = Send::file(file, offset, length).with_notice();
                let result = self.reactor.send(key, send);
                self.was_sent(key, result);
                return;
            }
            Transmit::Pause(span) => {
                connection.state = State::Pausing;
                self.set_timer(now + span, key);
                return;
            }
            Transmit::Close { linger: false } => End::Close,
            Transmit::Close { linger: true } => End::Linger,
            Transmit::Reset => End::Reset,
        };
        if is_noticed {
            connection.state = State::Ending(end);
            connection.progress_at = now;
        } else if self.reactor.bytes_taken(key) == connection.handed {
            self.end(key, now, end);
        } else {
            // What went before asked for no notice: the client hears of the end in time, and the
            // sweep finds that all has gone.
            connection.state = State::Ending(end);
            connection.progress_at = now;
            if end != End::Reset {
                self.reactor.finish(key);
            }
        }
    }

    /// Receives no more from a client that asks faster than it reads, until it has read.
    fn regulate(&mut self, key: Key) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        let is_full = connection.service.is_full();
        if is_full != connection.is_paused {
            connection.is_paused = is_full;
            if is_full {
                self.reactor.pause(key);
            } else {
                self.reactor.resume(key);
            }
        }
    }

    /// Whether a send was taken; else the connection is given up.
    fn was_sent(&mut self, key: Key, result: Result<Handed, Refused>) -> bool {
        if result.is_err() {
            self.reactor.reset(key);
            self.forget(key);
        }
        result.is_ok()
    }

    fn sent(&mut self, key: Key, now: Instant) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        match connection.state {
            State::Sending => {
                connection.state = State::Open;
                self.site.set_peer(connection.peer);
                self.advance(key, now);
            }
            State::Ending(end) => self.end(key, now, end),
            State::Open | State::Lingering { .. } | State::Pausing => {}
        }
    }

    fn end(&mut self, key: Key, now: Instant, end: End) {
        match end {
            End::Close => self.drop(key),
            End::Linger => {
                self.reactor.finish(key);
                if let Some(connection) = &mut self.connections[key.index()] {
                    connection.state = State::Lingering {
                        until: now + LINGER,
                        patience: LINGER_BYTES,
                    };
                }
            }
            End::Reset => {
                self.reactor.reset(key);
                self.forget(key);
            }
        }
    }

    fn peer_finished(&mut self, key: Key, now: Instant) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        if matches!(connection.state, State::Lingering { .. }) {
            self.drop(key);
        } else {
            connection.service.handle_end();
            self.advance(key, now);
        }
    }

    fn drop(&mut self, key: Key) {
        self.reactor.close(key);
        self.forget(key);
    }

    fn forget(&mut self, key: Key) {
        if self.connections[key.index()].take().is_some() {
            self.open -= 1;
        }
    }

    fn set_timer(&mut self, at: Instant, key: Key) {
        if self.timers.len() >= 2 * self.connections.len() {
            // Those of connections that went away before their time.
            let connections = &self.connections;
            self.timers.retain(|Reverse((_, key))| {
                let there = connections[key.index()].as_ref();
                there.is_some_and(|c| c.key == *key && c.state == State::Pausing)
            });
        }
        self.timers.push(Reverse((at, key)));
    }

    fn fire_timers(&mut self, now: Instant) {
        while let Some(Reverse((at, key))) = self.timers.peek().copied()
            && at <= now
        {
            self.timers.pop();
            // A connection that is gone may have left its place to another.
            if let Some(connection) = &mut self.connections[key.index()]
                && connection.key == key
                && connection.state == State::Pausing
            {
                connection.state = State::Open;
                self.site.set_peer(connection.peer);
                self.advance(key, now);
            }
        }
    }

    /// Looks at every connection for one that takes too long.
    fn sweep(&mut self, now: Instant) {
        self.next_sweep = now + SWEEP;
        self.site.flush_log();
        for index in 0..self.connections.len() {
            let Some(connection) = &mut self.connections[index] else {
                continue;
            };
            let key = connection.key;
            let taken = self.reactor.bytes_taken(key);
            if taken != connection.taken {
                connection.taken = taken;
                connection.progress_at = now;
            }
            let is_sending = taken < connection.handed;
            match connection.state {
                State::Lingering { until, patience } => {
                    if now >= until || patience == 0 {
                        self.drop(key);
                    }
                }
                State::Pausing => {}
                _ if is_sending => {
                    if now >= connection.progress_at + self.settings.send_time {
                        self.reactor.reset(key);
                        self.forget(key);
                    }
                }
                State::Open if now >= connection.service.poll_timeout() => {
                    self.site.set_peer(connection.peer);
                    connection.service.handle_timeout(&mut self.site);
                    self.advance(key, now);
                }
                State::Ending(end) => self.end(key, now, end),
                State::Open | State::Sending => {}
            }
        }
    }

    /// Does what was ordered from outside; true when it is time to go.
    fn obey(&mut self, now: Instant) -> bool {
        let reopens = self.control.reopens.load(Ordering::Relaxed);
        if reopens != self.reopens {
            self.reopens = reopens;
            self.summary.log_failures += u64::from(!self.site.reopen_log());
        }
        if self.drain_until.is_none() && self.control.stop.load(Ordering::Relaxed) {
            self.drain_until = Some(now + self.settings.drain_time);
            self.next_sweep = self.next_sweep.min(now + SWEEP);
            self.reactor.stop_listening();
            for index in 0..self.connections.len() {
                if let Some(connection) = &mut self.connections[index] {
                    connection.service.finish();
                    let key = connection.key;
                    self.advance(key, now);
                }
            }
        }
        self.drain_until
            .is_some_and(|until| self.open == 0 || now >= until)
    }

    fn finish(mut self) -> Summary {
        for connection in self.connections.iter().flatten() {
            self.reactor.reset(connection.key);
            self.summary.connections_cut += 1;
        }
        self.reactor.submit();
        self.site.flush_log();
        self.summary.log_failures += self.site.log_failures();
        self.summary.requests = self.site.requests();
        self.summary.connections_refused += self.reactor.activity().accepts_refused;
        self.summary
    }
}
