//! One core's share of a plan. This loop is the product; read it first.
//!
//! It is generic over protocol and reactor, so the choice is made once, outside. After
//! [`Worker::new`] it allocates nothing, takes no lock, formats nothing and reads no clock but the
//! reactor's; every queue has a bound, and what a bound rejects is counted.

mod lifecycle;
mod nap;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::event::Phase;
use model::plan::Spin;
use model::record::Record;
use model::units::{Instant, Span};
use sys::Errno;
use sys::reactor::{Event, Key, Reactor, Refused, Stored, Transmit};
use wire::{Availability, Client};

use crate::connection::{self, Connection, Flight, State};
use crate::exchange::Cause;
use crate::expectation::Expectation;
use crate::gauge::Gauge;
use crate::recorder::{self, Recorder};
use crate::request::Requests;
use crate::schedule::Schedule;
use crate::timers::Timers;

use self::nap::Nap;

/// The first wait after a connect failed or a connection broke; each further one is twice as long.
const BACKOFF_FIRST: Span = Span::from_ms(10);
/// The longest such wait.
const BACKOFF_LONGEST: Span = Span::from_s(1);
/// Connects under way at once, so that a burst of them does not overflow the server's accept queue
/// (511 in nginx and Apache).
const CONNECTS_UNDER_WAY: u32 = 256;
/// Connections that wait for the server's close after we have asked for it.
pub(crate) const PARTING: usize = 1_024;
/// How long they wait before we close.
const PARTING_TIME: Span = Span::from_ms(500);
/// Content is drained unread if more than this is to come: below, it is here already.
const SKIP_ABOVE: u64 = 16 * 1024;
/// How long what is under way may go on after a signal.
const INTERRUPTED_TIME: Span = Span::from_ms(500);
/// No connection.
const NOBODY: u32 = u32::MAX;

/// What a worker needs to know of its plan.
#[derive(Clone, Debug)]
pub struct Share {
    /// Its position among the workers.
    pub index: u32,
    /// Its connections.
    pub connections: u32,
    /// Whether arrivals are independent of completions.
    pub open_loop: bool,
    /// How many exchanges it makes in the window; none: as many as come.
    pub count: Option<u64>,
    /// Exactly so many exchanges on a connection.
    pub requests_per_connection: Option<u32>,
    /// Exchanges in flight on one connection.
    pub pipeline: u32,
    /// From sent to the last byte, and for a connect.
    pub timeout: Span,
    /// Arrivals that may wait at once.
    pub backlog: usize,
    /// Whether it polls instead of sleeping: always, never, or (auto) from shortly before the next
    /// due time until nothing is under way.
    pub spin: Spin,
    /// When it begins.
    pub start: Instant,
    /// Where to connect, used in turn.
    pub targets: Vec<SocketAddr>,
    /// From where, used in turn; empty leaves it to the kernel.
    pub sources: Vec<IpAddr>,
}

/// One core's share of a plan.
#[derive(Debug)]
pub struct Worker<C: Client, R> {
    share: Share,
    reactor: R,
    shared: C::Shared,
    requests: Requests,
    /// The bytes of each request, by its id, where the reactor keeps them.
    stored: Vec<Stored>,
    expectation: Expectation,
    schedule: Schedule,
    recorder: Recorder,
    gauge: Gauge,
    nap: Nap,
    stop: Arc<AtomicBool>,

    connections: Vec<Connection<C>>,
    /// Which connection a key of the reactor belongs to, by the key's index.
    owners: Vec<u32>,
    idle: VecDeque<u32>,
    backlog: VecDeque<Instant>,
    backlog_max: usize,
    /// How many arrivals of the warm-up waited when the window began.
    backlog_at_start: usize,
    /// How long what was in flight at the edges of the window had been so, summed up.
    age_at_start: Option<Span>,
    age_at_end: Option<Span>,
    /// Sockets that wait for the server's close, with the instant when we lose patience.
    parting: VecDeque<(Instant, Key)>,
    /// When the oldest exchange or the connect of a connection times out.
    timeouts: Timers,
    /// When a connection that backs off connects again.
    retries: Timers,
    /// Connections that wait until fewer connects are under way.
    waiting: VecDeque<u32>,
    out: Vec<u8>,

    /// Exchanges that a closed loop may still begin.
    remaining: u64,
    begun: u64,
    connecting: u32,
    open: u32,
    /// Source addresses of IPv4 and of IPv6.
    sources: [Vec<SocketAddr>; 2],
    /// Connects begun, so that targets and sources are used in turn.
    connects: usize,
    /// The phase whose beginning has been seen to.
    phase: Phase,
    /// Nothing begins any more.
    stopping: bool,
    /// When what is under way is given up, after a signal.
    give_up: Instant,
    interrupted: bool,
    last_end: Instant,
    /// When the last wait or poll returned, if it brought something.
    batch_start: Option<Instant>,
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Everything that the loop needs is allocated here.
    #[expect(
        clippy::too_many_arguments,
        reason = "each part is made elsewhere and moved in"
    )]
    pub fn new(
        share: Share,
        mut reactor: R,
        shared: C::Shared,
        requests: Requests,
        expectation: Expectation,
        schedule: Schedule,
        recorder: recorder::Settings,
        stop: Arc<AtomicBool>,
    ) -> Self {
        let count = share.connections as usize;
        let stored = requests
            .all()
            .map(|request| reactor.store(request.h1_bytes().to_vec()))
            .into();
        let has_warmup = recorder.window_start > share.start;
        let remaining = share.count.filter(|_| !has_warmup).unwrap_or(u64::MAX);
        Self {
            stored,
            connections: (0..count)
                .map(|_| Connection::new(share.pipeline))
                .collect(),
            owners: vec![NOBODY; reactor.slots()],
            idle: VecDeque::with_capacity(count),
            // Those that were begun and not sent come back, whatever the bound.
            backlog: VecDeque::with_capacity(share.backlog + count),
            backlog_max: 0,
            backlog_at_start: 0,
            age_at_start: None,
            age_at_end: None,
            parting: VecDeque::with_capacity(PARTING),
            timeouts: Timers::new(count),
            retries: Timers::new(count),
            waiting: VecDeque::with_capacity(count),
            out: Vec::with_capacity(4_096),
            remaining,
            begun: 0,
            connecting: 0,
            open: 0,
            sources: [false, true].map(|six| {
                let fitting = share.sources.iter().filter(|ip| ip.is_ipv6() == six);
                fitting.map(|ip| SocketAddr::new(*ip, 0)).collect()
            }),
            connects: share.index as usize,
            phase: Phase::Warmup,
            stopping: false,
            give_up: Instant::FAR_FUTURE,
            interrupted: false,
            last_end: recorder.window_start,
            batch_start: None,
            recorder: Recorder::new(recorder),
            gauge: Gauge::new(),
            nap: Nap::new(),
            share,
            reactor,
            shared,
            requests,
            expectation,
            schedule,
            stop,
        }
    }

    /// Runs until the schedule is over and what is in flight has ended or expired.
    pub fn run(mut self) -> Record {
        let mut now = self.reactor.now();
        while now < self.share.start {
            now = self.reactor.wait(self.share.start);
        }
        self.enter_phases(now);
        self.connect_first(now);
        while let Some(wakeup) = self.next_wakeup() {
            let now = self.wait(wakeup);
            self.enter_phases(now);
            while self.advance() {
                self.batch_start = Some(now);
            }
            self.expire(now);
            self.release_due(now);
        }
        self.finish()
    }

    /// When something of our own has to be done; none when all is over.
    fn next_wakeup(&self) -> Option<Instant> {
        let nothing_comes = self.stopping || self.remaining == 0 || self.schedule_is_over();
        if nothing_comes && self.recorder.outstanding() == 0 && self.window_may_end() {
            return None;
        }
        let parting = self
            .parting
            .front()
            .map_or(Instant::FAR_FUTURE, |(at, _)| *at);
        let wakeup = self
            .recorder
            .boundary()
            .min(self.schedule.next().unwrap_or(Instant::FAR_FUTURE))
            .min(self.timeouts.next())
            .min(self.retries.next())
            .min(self.give_up)
            .min(parting);
        Some(wakeup)
    }

    /// Whether an open loop has nothing more to send.
    fn schedule_is_over(&self) -> bool {
        self.share.open_loop && self.schedule.next().is_none() && self.backlog.is_empty()
    }

    /// A window of fixed length lasts until its end, whatever happens in it.
    fn window_may_end(&self) -> bool {
        self.share.count.is_some() || self.phase == Phase::Drain
    }

    /// Hands in what is to be sent and lets time pass: asleep, or spinning where the plan wants it.
    fn wait(&mut self, wakeup: Instant) -> Instant {
        if self.batch_start.is_some() || self.recorder.has_unsubmitted() {
            let now = self.reactor.now();
            self.recorder.submit(now);
            if let Some(start) = self.batch_start.take() {
                self.recorder.batch(now.saturating_since(start));
            }
        }
        match self.share.spin {
            Spin::Never => return self.reactor.wait(wakeup),
            Spin::Auto if self.recorder.outstanding() == 0 => {
                let now = self.reactor.now();
                if let Some(until) = self.nap.until(wakeup, now) {
                    let now = self.reactor.wait(until);
                    self.nap.ended(until, now);
                    return now;
                }
            }
            Spin::Auto | Spin::Always => {}
        }
        self.reactor.poll()
    }

    /// Takes one thing that happened; false at the end of the batch.
    fn advance(&mut self) -> bool {
        let Some(completion) = self.reactor.next() else {
            return false;
        };
        let (key, at) = (completion.key, completion.at);
        let place = self.owners[key.index()];
        if place == NOBODY {
            if matches!(completion.event, Event::Ended { .. }) {
                self.parted(key);
            }
            return true;
        }
        let connection = &mut self.connections[place as usize];
        match completion.event {
            Event::Received { bytes } => {
                let count = bytes.len() as u64;
                let result = connection.receive(&mut self.shared, &self.expectation, at, bytes);
                self.recorder.add_bytes_received(count, at);
                if let Err(error) = result {
                    connection.fail_all(|_| Cause::Protocol(error));
                    self.break_off(place, at);
                } else {
                    self.settle(place, key, at);
                }
            }
            Event::Skipped { count } => {
                connection.skipped(&self.expectation, at, count);
                self.recorder.add_bytes_received(count, at);
                self.settle(place, key, at);
            }
            Event::Ended { error } => self.peer_ended(place, at, error),
            Event::Connected => self.established(place, key, at),
            Event::ConnectFailed { error } => {
                self.owners[key.index()] = NOBODY;
                self.connect_failed(place, at, Cause::Connect(Refused::Kernel(error)));
            }
            Event::SendFailed { error } => connection.send_failed(error),
            Event::Accepted { .. } | Event::Begun { .. } | Event::Sent => {}
        }
        true
    }

    /// Records what has ended on a connection, and lets it go on.
    #[inline]
    fn settle(&mut self, place: u32, key: Key, at: Instant) {
        let connection = &mut self.connections[place as usize];
        let mut ended = false;
        while let Some(flight) = connection.take_over() {
            let sent = self.reactor.sent_at(key);
            let sent = (sent >= flight.ready()).then_some(sent);
            self.recorder.end(&flight.end(sent, at));
            if flight.is_answered() {
                let bytes = self.requests.choose(false).h1_bytes().len() as u64;
                connection.bytes_counted += bytes;
                self.recorder.add_bytes_sent(bytes, at);
                connection.failures = 0;
            }
            ended = true;
        }
        if ended {
            connection.free_since = at;
            self.last_end = at;
            self.go_on(place, at);
        } else if let Some(count) = connection.start_skipping(SKIP_ABOVE) {
            self.reactor.skip(key, count);
        }
    }

    /// A connection is free at `at`: it closes, takes the next exchange, or becomes idle.
    #[inline]
    fn go_on(&mut self, place: u32, at: Instant) {
        let connection = &mut self.connections[place as usize];
        match connection.client().availability() {
            Availability::Ready => {}
            Availability::Closing if connection.in_flight() == 0 => return self.part(place, at),
            Availability::Busy | Availability::Closing => return,
        }
        if self.share.open_loop {
            match self.backlog.pop_front() {
                Some(due) => self.begin(place, due, due.max(at), at),
                None => self.stand_idle(place),
            }
        } else if let Some(due) = self.claim(at) {
            self.begin(place, due, at, at);
        }
    }

    /// A closed loop's next exchange, due now, if there is to be one.
    #[inline]
    fn claim(&mut self, at: Instant) -> Option<Instant> {
        if self.stopping || self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        self.recorder.arrive(at);
        Some(at)
    }

    fn stand_idle(&mut self, place: u32) {
        let connection = &mut self.connections[place as usize];
        if !connection.queued {
            connection.queued = true;
            self.idle.push_back(place);
        }
    }

    /// A connection that has been idle for longest.
    fn take_idle(&mut self) -> Option<u32> {
        while let Some(place) = self.idle.pop_front() {
            let connection = &mut self.connections[place as usize];
            connection.queued = false;
            if connection.state == State::Open && connection.in_flight() == 0 {
                return Some(place);
            }
        }
        None
    }

    /// Open loop: what is due goes to any idle connection, else it waits in the backlog.
    fn release_due(&mut self, now: Instant) {
        while let Some(due) = self.schedule.take_due(now) {
            self.recorder.arrive(due);
            if let Some(place) = self.take_idle() {
                let free_since = self.connections[place as usize].free_since;
                self.begin(place, due, due.max(free_since), now);
            } else if self.backlog.len() < self.share.backlog {
                self.backlog.push_back(due);
                self.backlog_max = self.backlog_max.max(self.backlog.len());
            } else {
                self.never_sent(due, now, Cause::ShedFull(self.share.backlog));
            }
        }
    }

    /// Begins an exchange on a free connection.
    #[inline]
    fn begin(&mut self, place: u32, due: Instant, ready: Instant, now: Instant) {
        let connection = &mut self.connections[place as usize];
        let key = connection.key.expect("an open connection has a key");
        let is_last = self.share.requests_per_connection == Some(connection.requests + 1);
        let request = self.requests.choose(is_last);
        let stream = connection.client().begin(request).expect("it was free");
        let compares = self.expectation.compares(self.begun);
        connection.launch(stream, Flight::new(due, ready, compares));
        self.begun += 1;
        self.timeouts.arm(place, ready + self.share.timeout);
        match self.transmit(place, key, now) {
            Ok(()) => self.recorder.begin(ready, self.reactor.sent_at(key)),
            Err(refused) => {
                let connection = &mut self.connections[place as usize];
                connection.fail_all(|_| Cause::Write(refused));
                self.break_off(place, now);
            }
        }
    }

    /// Hands to the reactor what the protocol wants to send.
    #[inline]
    fn transmit(&mut self, place: u32, key: Key, now: Instant) -> Result<(), Refused> {
        let client = self.connections[place as usize].client();
        loop {
            self.out.clear();
            match client.poll_transmit(now, &mut self.out) {
                wire::Transmit::Fixed { request, .. } => {
                    let stored = self.stored[usize::from(request.0)];
                    self.reactor.send(key, Transmit::stored(stored))?;
                }
                wire::Transmit::Written { .. } => {
                    self.reactor.send(key, Transmit::copied(&self.out))?;
                }
                wire::Transmit::Nothing => return Ok(()),
            }
        }
    }
}
