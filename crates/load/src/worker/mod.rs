//! One core's share of a plan. This loop is the product; read it first.
//!
//! An exchange becomes due by the schedule, or in a closed loop when the one before it has ended.
//! It begins on a connection that has room, or waits for one. Its first byte is handed to the
//! kernel with the next submit, and that is when it is *sent*. The protocol tells of its answer,
//! and with the last byte it ends and is recorded. What happens to connections is in `edges`;
//! which connection to use, and how to get one, is the `pool`'s business.
//!
//! It is generic over protocol and reactor, so the choice is made once, outside. After
//! `Worker::new` it allocates nothing, takes no lock, formats nothing and reads no clock but the
//! reactor's; every queue and every turn of the loop has a bound, and what a bound rejects is
//! counted.

mod arrival;
mod backlog;
mod dictated;
mod edges;
mod endings;
mod gathering;
mod handshake;
mod nap;
mod phases;
mod renewal;
mod sending;
mod slowly;
mod split;
mod streams;
mod thinking;
mod tunnel;
mod waiting;

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::event::Phase;
use model::plan::Spin;
use model::record::Record;
use model::units::{Instant, Span};
use sys::reactor::{Event, Key, Reactor, Refused, Stored};
use wire::{Client, StreamId};

use crate::exchange::Cause;
use crate::flight::{Flight, Watch};
use crate::hooks::Hooks;
use crate::pool::{Connection, Owner, Pool};
use crate::preamble::Preamble;
use crate::recorder::Recorder;
use crate::request::Requests;
use crate::schedule::Schedule;
use crate::thread_usage::ThreadUsage;
use crate::users::Users;

use self::arrival::{Again, Arrival};
use self::backlog::Backlog;
use self::gathering::Gathered;
pub(crate) use self::handshake::{handshake_ended, written};
use self::handshake::{hear, hear_late, secured_late};
use self::nap::Nap;
pub(crate) use self::phases::Parts;
pub(crate) use self::renewal::Renewal;
pub(crate) use self::slowly::Slowness;
use self::split::Begun;
pub(crate) use self::split::Split;
use self::tunnel::hear_proxy;

/// Content is drained unread if more than this is to come: below, it is here already.
const SKIP_ABOVE: u64 = 16 * 1024;
/// How soon a connection whose bytes found no room is looked at again.
const STALLED: Span = Span::from_ms(1);
/// Of what may come in any number, so much is dealt with in one turn of the loop.
const TURN: usize = 1_024;

/// What a worker needs to know of its plan.
#[derive(Clone, Debug)]
pub(crate) struct Share {
    /// Whether arrivals are independent of completions.
    pub(crate) open_loop: bool,
    /// Whether a connection asks again at once when its answer has come: a closed loop whose users
    /// neither think nor follow a script.
    pub(crate) chains: bool,
    /// What an open loop has not sent so long after it was due is given up; none: nothing is.
    pub(crate) deadline: Option<Span>,
    /// How many exchanges it makes in the window; none: as many as come.
    pub(crate) count: Option<u64>,
    /// How long the same load runs before anything counts.
    pub(crate) warmup: Span,
    /// Exactly so many exchanges on a connection; 0: its handshake is the exchange.
    pub(crate) requests_per_connection: Option<u32>,
    /// From sent to the last byte.
    pub(crate) timeout: Span,
    /// For a connect, and then for a handshake.
    pub(crate) connect_limit: Span,
    /// Arrivals that may wait at once.
    pub(crate) backlog: usize,
    /// Whether it polls instead of sleeping: always, never, or (auto) from shortly before the next
    /// due time until nothing is under way.
    pub(crate) spin: Spin,
}

/// What the next submit hands in, to be stamped with the clock right before it.
#[derive(Clone, Copy, Debug)]
struct Unstamped {
    place: u32,
    key: Key,
    /// The exchange whose first byte it is; none for a connect.
    stream: Option<StreamId>,
}

/// One core's share of a plan.
#[derive(Debug)]
pub struct Worker<C: Client, R> {
    share: Share,
    reactor: R,
    /// What the connections to each of the servers have in common.
    shared: Box<[C::Shared]>,
    /// What each connection begins with, if anything.
    preamble: Option<Preamble>,
    requests: Requests,
    /// The bytes of each request, by its id, where the reactor keeps them.
    stored: Box<[Stored]>,
    names: Box<[String]>,
    schedule: Schedule,
    /// Those of a closed loop, if they think or follow a script.
    users: Option<Users>,
    /// How connections come and go, if the plan says so.
    renewal: Option<Box<Renewal>>,
    /// Connections that read and send slowly, if the plan has some.
    slow: Option<Box<Slowness>>,
    /// Connections whose exchanges are cut by the kernel's times, if the plan has some.
    split: Option<Box<Split>>,
    /// Who else takes part in exchanges, if anybody does.
    hooks: Option<Box<Hooks>>,
    recorder: Recorder,
    usage: ThreadUsage,
    nap: Nap,
    stop: Arc<AtomicBool>,
    pool: Pool<C>,

    /// Exchanges that were taken back: they begin again before all that wait.
    again: VecDeque<Again>,
    /// Arrivals that wait for a connection.
    backlog: Backlog,
    backlog_max: usize,
    /// How many arrivals of the warm-up waited when the window began.
    backlog_at_start: usize,
    /// Sends and connects that the next submit hands in.
    unstamped: Vec<Unstamped>,
    /// Connections with something to send that goes out at the end of the turn.
    gathering: Vec<u32>,
    /// What begins on one connection and goes out together, with HTTP/1.1.
    gathered: Option<Box<Gathered>>,
    /// Connections with something to send that found no room, in turn.
    stalled: VecDeque<u32>,
    /// Places of users who began to ask several things together.
    to_share: Vec<u32>,
    /// Users who have been through their script.
    to_leave: Vec<u32>,
    out: Vec<u8>,
    start: Instant,
    /// When to look at them again, if nothing happens before.
    stalled_until: Instant,
    /// Places that were never dialled: an open loop makes all connections, a closed one as many as
    /// have something to ask from the start.
    fresh: u32,
    fresh_end: u32,
    /// Exchanges that a closed loop may still begin.
    remaining: u64,
    /// The phase whose beginning has been seen to.
    phase: Phase,
    /// Nothing begins any more; places from here on may still have something that waits.
    stopping: bool,
    swept: u32,
    /// When what is under way is given up, after a signal.
    give_up: Instant,
    interrupted: bool,
    last_end: Instant,
    /// When the last wait or poll returned, if it brought something.
    batch_start: Option<Instant>,
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Runs from `start` on until the schedule is over and what is in flight has ended or expired.
    pub fn run(mut self, start: Instant) -> Record {
        self.begin_run(start);
        while let Some(wakeup) = self.next_wakeup() {
            let now = self.wait(wakeup);
            self.enter_phases(now);
            while self.advance() {
                self.batch_start = Some(now);
            }
            self.expire(now);
            self.share_out(now);
            self.release_due(now);
            self.dial(now);
            self.send_gathered(now);
        }
        self.finish()
    }

    /// What was begun or asked since the last submit is handed in at `now`.
    fn stamp(&mut self, now: Instant) {
        for index in 0..self.unstamped.len() {
            let Unstamped { place, key, stream } = self.unstamped[index];
            if let Some(stream) = stream {
                self.sent(place, key, stream, now);
            } else if let Connection::Connecting {
                key: current,
                asked,
                ..
            } = self.pool.connection(place)
                && *current == key
            {
                *asked = Some(now);
            }
        }
        self.unstamped.clear();
    }

    /// The first byte of an exchange is handed in at `at`, if the exchange is still there.
    #[inline]
    fn sent(&mut self, place: u32, key: Key, stream: StreamId, at: Instant) {
        if let Some((open, flights)) = self.pool.open_and_flights(place)
            && open.key == key
            && let Some(flight) = &mut flights[stream.0 as usize]
            && flight.sent.is_none()
        {
            flight.sent = Some(at);
            self.recorder.send(at);
            if let Some(split) = &mut self.split {
                // What was begun late is late, whether or not there was a connection by then.
                let ready = flight.ready - flight.begun_late;
                let (due, sent) = (flight.due, at);
                split.sent(place, key, Begun { due, ready, sent });
            }
        }
    }

    /// Takes one thing that happened; false at the end of the batch.
    fn advance(&mut self) -> bool {
        let Some(completion) = self.reactor.next() else {
            return false;
        };
        let (key, at) = (completion.key, completion.at);
        let place = match self.pool.owner(key) {
            Owner::Connection(place) => place,
            Owner::HalfClosed(number) => {
                let (pool, recorder) = (&mut self.pool, &mut self.recorder);
                match completion.event {
                    Event::Ended { .. } => {
                        pool.peer_closed(number, at, &mut self.reactor, recorder);
                    }
                    Event::Received { bytes, .. } if C::HANDSHAKES => {
                        hear_late(pool, &mut self.shared, recorder, number, at, bytes);
                    }
                    _ => {}
                }
                return true;
            }
            Owner::Nobody => return true,
        };
        match completion.event {
            Event::Received { bytes, mark } => {
                let host = self.pool.host(place);
                let Some((open, flights)) = self.pool.open_and_flights(place) else {
                    let (pool, recorder) = (&mut self.pool, &mut self.recorder);
                    if let Some(heard) = hear_proxy(pool, recorder, place, at, bytes) {
                        self.hear_of_tunnel(place, at, heard);
                    } else if C::HANDSHAKES {
                        let told = (mark, bytes);
                        let shared = &mut self.shared[host];
                        let error = hear(pool, shared, recorder, place, at, told);
                        self.shake_hands(place, at, error);
                    }
                    return true;
                };
                let count = bytes.len();
                self.recorder.add_bytes_received(count as u64, at);
                let was_full = open.client.free() == 0;
                let watch = Watch::new(flights, &self.requests, &mut self.recorder, (place, at));
                let mut watch = watch.telling(self.hooks.as_deref_mut());
                let client = open.hear(at, mark);
                let result = client.handle_bytes(&mut self.shared[host], at, bytes, &mut watch);
                let seen = watch.seen;
                secured_late(open, &mut self.recorder, at);
                self.read_slowly(place, key, at, count);
                if result.is_err() || seen.early {
                    self.take_offence(place, at, result.err(), seen);
                } else {
                    if C::MULTIPLEXES {
                        self.follow_streams(place, at, was_full, seen);
                    }
                    self.follow(place, at, was_full, seen);
                    self.hear_goodbye(place, at);
                }
            }
            Event::Skipped { count } => self.skipped(place, at, count),
            Event::Begun { tag } => self.begun(place, key, at, StreamId(tag)),
            Event::Ended { error } => self.peer_ended(place, at, error),
            Event::Connected => self.established(place, key, at),
            Event::ConnectFailed { error } => {
                self.connect_failed(place, at, Cause::Connect(Refused::Kernel(error)));
            }
            Event::SendFailed { error } => self.send_failed(place, at, error),
            Event::Sent | Event::Accepted { .. } => {}
        }
        true
    }

    /// A connection has told its news: it goes on.
    #[inline]
    fn follow(&mut self, place: u32, at: Instant, was_full: bool, seen: crate::flight::Seen) {
        let Some((open, flights)) = self.pool.open_and_flights(place) else {
            return;
        };
        open.close_announced |= seen.close_announced;
        if seen.answered > 0 {
            open.in_flight -= seen.answered;
            open.skipping = false;
            if was_full {
                open.free_since = at;
            }
            let taken = self.reactor.bytes_taken(open.key);
            let since = taken.saturating_sub(std::mem::replace(&mut open.bytes_counted, taken));
            self.recorder.add_bytes_sent(since, at);
            self.last_end = at;
            if let Some(split) = &mut self.split {
                split.answered(place, open.key, at, &mut self.reactor, &self.recorder);
            }
            self.pool.answered(place);
            self.feed(place, at);
        } else if !open.skipping {
            let skippable = open.client.skippable();
            let compares = |flight: &Flight| flight.compares();
            if skippable > SKIP_ABOVE
                && skippable != u64::MAX
                && self.slow.is_none()
                && !flights.iter().flatten().any(compares)
            {
                open.skipping = true;
                let key = open.key;
                self.reactor.skip(key, skippable);
            }
        }
        self.poll_protocol(place, at);
    }

    /// What the protocol itself wants after an input: to send, to be woken, to close.
    #[inline]
    fn poll_protocol(&mut self, place: u32, at: Instant) {
        self.arm_protocol(place);
        let Some(open) = self.pool.open(place) else {
            return;
        };
        if open.client.is_closing() {
            self.wind_up(place, at);
        } else if open.client.wants_transmit() {
            self.send(place, at);
        }
    }

    /// Gives a connection what it has room for: an arrival that waits, else in a closed loop the
    /// next one; without any it stands in line.
    #[inline]
    fn fill(&mut self, place: u32, at: Instant) {
        while let Some(open) = self.pool.open(place)
            && open.client.free() > 0
        {
            match self.next_arrival(place, at) {
                Some(arrival) => self.begin(place, arrival, arrival.due.max(at), at),
                None => {
                    self.think(place, at);
                    return self.pool.has_room(place);
                }
            }
        }
    }

    #[inline]
    fn next_arrival(&mut self, place: u32, at: Instant) -> Option<Arrival> {
        if self.stopping {
            return None;
        }
        let waiting = self.take_waiting(self.pool.host(place));
        waiting.or_else(|| self.claim(place, at).map(Arrival::new))
    }

    /// A closed loop's next exchange, due now, or when the user in `place` had thought, if there is
    /// to be one.
    #[inline]
    fn claim(&mut self, place: u32, at: Instant) -> Option<Instant> {
        if !self.share.chains {
            return match self.users {
                None => None,
                Some(_) => self.claim_for_user(place, at),
            };
        }
        if self.stopping || self.remaining == 0 {
            return None;
        }
        self.remaining -= 1;
        self.recorder.arrive(at);
        Some(at)
    }

    /// Open loop: what is due goes to a connection with room, else it waits in the backlog. Where
    /// that is full, all that is due is given up at once.
    fn release_due(&mut self, now: Instant) {
        if self.stopping {
            return self.give_up_waiting(now);
        }
        for _ in 0..TURN {
            if self.backlog.len() >= self.share.backlog {
                return self.shed_due(now);
            }
            let Some(due) = self.schedule.take_due(now) else {
                return;
            };
            self.recorder.arrive(due);
            let (host, arrival) = self.address(due);
            if let Some(place) = self.pool.take_with_room(host) {
                let free_since = self.pool.open(place).map_or(now, |open| open.free_since);
                self.hold(place);
                self.begin(place, arrival, due.max(free_since), now);
                self.feed(place, now);
            } else {
                self.backlog.push(host, arrival);
                self.backlog_max = self.backlog_max.max(self.backlog.len());
            }
        }
    }

    /// Begins an exchange on a connection with room.
    #[inline]
    fn begin(&mut self, place: u32, arrival: Arrival, ready: Instant, now: Instant) {
        if self.hooks.as_ref().is_some_and(|hooks| hooks.asks()) {
            return self.begin_dictated(place, arrival, ready, now);
        }
        let (due, class, goes_on) = (arrival.due, arrival.class, arrival.goes_on);
        let class = class.unwrap_or_else(|| {
            let users = self.users.as_ref();
            let of_script = users.and_then(|users| users.class(place));
            of_script.unwrap_or_else(|| self.requests.draw_for(self.pool.host(place)))
        });
        let Some((open, flights)) = self.pool.open_and_flights(place) else {
            return;
        };
        open.requests += 1;
        let is_last = self.share.requests_per_connection == Some(open.requests)
            || Renewal::is_over(self.renewal.as_deref_mut(), open, now);
        let request = self.requests.of(class, is_last);
        let id = request.id();
        let users = self.users.as_ref();
        let round = || users.map_or(0, |users| users.round(place));
        let hooks = self.hooks.as_mut();
        let message = hooks
            .and_then(|hooks| hooks.begin::<C>((place, request, goes_on), round, &mut self.out));
        let begun = match message {
            None => open.client.begin(request),
            Some(message) => open.client.begin_as(request, message),
        };
        let stream = begun.expect("it had room");
        let compares = self.requests.begin(class);
        let mut flight = Flight::new(due, ready, id, compares, open.making.take());
        if let Some(hooks) = &mut self.hooks {
            flight.hook(hooks, place);
        }
        let deadline = flight.deadline(self.share.timeout);
        let before = flights[stream.0 as usize].replace(flight);
        debug_assert!(before.is_none(), "a stream is free when its exchange ended");
        open.in_flight += 1;
        self.pool.alarms.arm(place, deadline);
        self.send(place, now);
    }
}
