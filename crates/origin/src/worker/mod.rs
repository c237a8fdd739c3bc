//! One core's loop: accept, receive, answer, send. Workers share nothing but the order to stop.
//!
//! Requests that arrive together are answered together: the sends of a batch go to the kernel with
//! the next wait. Nothing is done for all connections at once: each is looked at when its own time
//! has come, and a turn of the loop has room for so many looks and no more.

mod sending;

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use model::{Instant, Span};
use sys::clock;
use sys::reactor::{Event, Listen};
use sys::slots::Key;
use wire::Service as _;

use crate::Settings;
use crate::connection::{Accept, Connection, InClear, State};
use crate::site::Site;
use crate::timeouts::{TICK, Timeouts};

/// Log lines wait no longer than this.
const FLUSH: Span = Span::from_ms(500);
/// Connections that are looked at in one turn of the loop.
const LOOKS: usize = 256;
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
pub(crate) struct Worker<R, A: Accept = InClear> {
    reactor: R,
    accept: A,
    site: Site,
    settings: Arc<Settings>,
    control: Arc<Control>,
    connections: Vec<Option<Box<Connection<A::Service>>>>,
    open: usize,
    /// Whose time may be up.
    timeouts: Timeouts,
    /// Who waits for a delay that was ordered.
    pauses: BTreeSet<(Instant, Key)>,
    next_flush: Instant,
    next_second: Instant,
    second: u64,
    reopens: u64,
    drain_until: Option<Instant>,
    /// At the end, connections are told one after the other: the place of the next.
    next_told: usize,
    out: Vec<u8>,
    summary: Summary,
}

impl<R: Listen> Worker<R> {
    /// A worker that will accept from `listeners`, in clear.
    pub(crate) fn new(
        reactor: R,
        listeners: Vec<OwnedFd>,
        site: Site,
        settings: Arc<Settings>,
        control: Arc<Control>,
    ) -> std::io::Result<Self> {
        Self::accepting(InClear, reactor, listeners, site, settings, control)
    }
}

impl<R: Listen, A: Accept> Worker<R, A> {
    /// The same, whatever stands between HTTP and the transport.
    pub(crate) fn accepting(
        accept: A,
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
            accept,
            site,
            settings,
            control,
            connections: std::iter::repeat_with(|| None).take(places).collect(),
            open: 0,
            timeouts: Timeouts::new(places),
            pauses: BTreeSet::new(),
            next_flush: now,
            next_second: now,
            second: 0,
            reopens: 0,
            drain_until: None,
            next_told: 0,
            out: Vec::new(),
            summary: Summary::default(),
        })
    }

    /// Serves until told to stop and what is under way has ended.
    pub(crate) fn run(mut self) -> Summary {
        loop {
            let now = self.reactor.wait(self.wakeup());
            if self.turn(now) {
                return self.finish();
            }
        }
    }

    /// Deals with all that has happened; true when it is time to go.
    fn turn(&mut self, now: Instant) -> bool {
        self.set_time(now);
        self.timeouts.pass(now);
        while let Some(completion) = self.reactor.next() {
            let key = completion.key;
            match completion.event {
                Event::Accepted { .. } => self.accept(key, now),
                Event::Received { bytes, .. } => {
                    let Some(connection) = &mut self.connections[key.index()] else {
                        continue;
                    };
                    if let State::Lingering { patience, .. } = &mut connection.state {
                        *patience = patience.saturating_sub(bytes.len() as u64);
                        if *patience == 0 {
                            self.drop(key);
                        }
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
            self.arm(key, now);
        }
        self.site.discard(&mut self.reactor);
        self.end_pauses(now);
        self.look(now);
        if now >= self.next_flush {
            self.site.flush_log();
            self.next_flush = now + FLUSH;
        }
        self.obey(now)
    }

    /// When there is something to do, whatever happens until then.
    fn wakeup(&self) -> Instant {
        let mut at = self.timeouts.next();
        if let Some((until, _)) = self.pauses.first() {
            at = at.min(*until);
        }
        if self.site.is_log_pending() {
            at = at.min(self.next_flush);
        }
        if let Some(until) = self.drain_until {
            let is_told = self.next_told == self.connections.len();
            at = at.min(if is_told { until } else { Instant::ZERO });
        }
        at
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
        let mut connection = Connection::new(&self.accept, key, now, self.settings.limits, peer);
        let is_last = self.drain_until.is_some();
        if is_last {
            connection.service.finish();
        }
        debug_assert!(self.connections[key.index()].is_none(), "a free place");
        self.connections[key.index()] = Some(Box::new(connection));
        self.open += 1;
        self.summary.connections += 1;
        if is_last {
            self.advance(key, now);
        }
    }

    /// Gives up the place of a connection that is closed.
    fn forget(&mut self, key: Key) {
        if let Some(connection) = self.connections[key.index()].take() {
            self.open -= 1;
            self.timeouts.disarm(key.index());
            if let State::Pausing { until } = connection.state {
                self.pauses.remove(&(until, key));
            }
        }
    }

    fn drop(&mut self, key: Key) {
        self.reactor.close(key);
        self.forget(key);
    }

    /// Goes on with those whose delay is over.
    fn end_pauses(&mut self, now: Instant) {
        while let Some(&(until, key)) = self.pauses.first()
            && until <= now
        {
            self.pauses.pop_first();
            if let Some(connection) = &mut self.connections[key.index()] {
                debug_assert_eq!(connection.state, State::Pausing { until });
                connection.state = State::Open;
                self.site.set_peer(connection.peer);
                self.advance(key, now);
                self.arm(key, now);
            }
        }
    }

    /// Sees to it that the connection is looked at when its time may be up.
    #[inline]
    fn arm(&mut self, key: Key, now: Instant) {
        let Some(connection) = &self.connections[key.index()] else {
            return;
        };
        let is_sending = connection.taken < connection.handed;
        // Several looks within that time, because how far the kernel is shows only in a look.
        let next_sent = now + self.settings.send_time / 4;
        let at = match connection.state {
            State::Lingering { until, .. } => until,
            State::Pausing { .. } => return,
            State::Flushing(_) => now + TICK,
            State::Open if is_sending => connection.service.poll_timeout().min(next_sent),
            State::Open => connection.service.poll_timeout(),
            State::Ending(_) | State::Sending => next_sent,
        };
        self.timeouts.arm(key.index(), at);
    }

    /// Looks at those whose time may be up.
    fn look(&mut self, now: Instant) {
        for _ in 0..LOOKS {
            let Some(place) = self.timeouts.pop(now) else {
                return;
            };
            if let Some(connection) = &self.connections[place] {
                let key = connection.key;
                self.look_at(key, now);
                self.arm(key, now);
            }
        }
    }

    fn look_at(&mut self, key: Key, now: Instant) {
        let Some(connection) = &mut self.connections[key.index()] else {
            return;
        };
        let taken = self.reactor.bytes_taken(key);
        if taken != connection.taken {
            connection.taken = taken;
            connection.progress_at = now;
        }
        let is_sending = taken < connection.handed;
        match connection.state {
            State::Lingering { until, .. } => {
                if now >= until {
                    self.drop(key);
                }
            }
            State::Pausing { .. } => {}
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
            State::Ending(end) | State::Flushing(end) => self.end(key, now, end),
            State::Open | State::Sending => {}
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
            self.reactor.stop_listening();
        }
        let Some(until) = self.drain_until else {
            return false;
        };
        let end = self.connections.len().min(self.next_told + LOOKS);
        for place in std::mem::replace(&mut self.next_told, end)..end {
            if let Some(connection) = &mut self.connections[place] {
                connection.service.finish();
                let key = connection.key;
                self.advance(key, now);
                self.arm(key, now);
            }
        }
        self.open == 0 || now >= until
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

#[cfg(test)]
mod tests;
