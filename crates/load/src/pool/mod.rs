//! The plan's connections: who has room, who is to be dialled, from where and to where, who backs
//! off, which sockets wait for the server's close.
//!
//! The loop asks it for a connection with room and tells it what became of one. Whatever happens to
//! one connection costs the same however many there are.

mod connection;
mod half_closed;
mod handshake;
mod hosts;
mod route;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};

use model::units::{Instant, Span};
use sys::reactor::{Key, Reactor, Refused};
use wire::Client;

pub(crate) use self::connection::{Connection, Making, Open, Securing};
use self::connection::{Overdue, Place};
use self::half_closed::Left;
pub(crate) use self::half_closed::{HALF_CLOSED, HalfClosed};
use self::hosts::Hosts;
pub(crate) use self::route::Source;
use self::route::Sources;
use crate::flight::Flight;
use crate::recorder::Recorder;
use crate::wheel::Wheel;

/// The first wait after a connect failed or a connection broke; each further one is twice as long.
const BACKOFF_FIRST: Span = Span::from_ms(10);
/// The longest such wait.
const BACKOFF_LONGEST: Span = Span::from_s(1);
/// Connects and handshakes under way at once, over all workers, so that a burst of them does not
/// overflow the server's accept queue (511 in nginx and Apache).
pub(crate) const CONNECTS_UNDER_WAY: u32 = 256;
/// On so many connections in a row a server may take leave without one answer. What it leaves
/// unprocessed after that has failed: else a run of so many exchanges would never end.
pub(crate) const REFUSALS_MOST: u32 = 8;
/// How soon a place that the reactor has not freed yet is asked for again.
const SOON: Span = Span::from_ms(1);

/// What the pool of one worker has to know.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The worker's position among the workers, and how many those are.
    pub(crate) worker: u32,
    pub(crate) workers: u32,
    /// How many connections it holds, and how many exchanges each carries at most.
    pub(crate) connections: u32,
    pub(crate) capacity: u32,
    /// How long a connect may take.
    pub(crate) connect_limit: Span,
    /// Where to connect to each of the servers, shared out among its connections.
    pub(crate) targets: Vec<Vec<SocketAddr>>,
    /// How often each of the servers is asked in relation to the others.
    pub(crate) weights: Vec<u64>,
    /// Connections of one user, which have the same target, source and identity.
    pub(crate) each: u32,
    /// From where, shared out among the connections; empty leaves it to the kernel.
    pub(crate) sources: Vec<IpAddr>,
    /// Whether each connection keeps its source also where there are more of them.
    pub(crate) keeps_source: bool,
}

/// Whom a key of the reactor belongs to.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Owner {
    /// The connection in this place.
    Connection(u32),
    /// The socket in this place of those that wait for the server's close.
    HalfClosed(u32),
    /// Nobody any more.
    Nobody,
}

/// The connections of one worker.
#[derive(Debug)]
pub(crate) struct Pool<C> {
    settings: Settings,
    places: Box<[Place<C>]>,
    /// Exchanges under way: those of the first connection by their stream, then the second's.
    flights: Box<[Option<Flight>]>,
    /// Whom each key belongs to, by its index.
    owners: Box<[Owner]>,
    /// Connections with room for another exchange, to each of the servers: the one that has had it
    /// for longest first.
    with_room: Box<[VecDeque<u32>]>,
    hosts: Hosts,
    /// When something on each connection is to be looked at: a timeout, the end of a wait.
    pub(crate) alarms: Wheel,
    /// Connections to be made, in turn.
    waiting: VecDeque<u32>,
    /// Sockets that wait for the server's close.
    pub(crate) half_closed: HalfClosed<C>,
    sources: Sources,
    connecting: u32,
    connects_most: u32,
    /// Connects begun so far.
    dials: usize,
    /// Connections so far whose identity was asked for.
    named: usize,
    open: u32,
    /// When to dial again, because the reactor had no place.
    pub(crate) dial_again: Instant,
}

impl<C: Client> Pool<C> {
    /// Everything it will ever need is allocated here. `slots` is the bound of the indexes of keys.
    pub(crate) fn new(settings: Settings, slots: usize) -> Self {
        let count = settings.connections as usize;
        let hosts = Hosts::new(&settings.weights, settings.connections, settings.each);
        let with_room = (0..settings.targets.len())
            .map(|host| VecDeque::with_capacity(hosts.places_of(host, settings.connections)));
        Self {
            places: (0..count).map(|_| Place::EMPTY).collect(),
            flights: vec![None; count * settings.capacity as usize].into(),
            owners: vec![Owner::Nobody; slots].into(),
            with_room: with_room.collect(),
            hosts,
            alarms: Wheel::new(count),
            waiting: VecDeque::with_capacity(count),
            half_closed: HalfClosed::new(),
            sources: Sources::new(&settings.sources),
            connecting: 0,
            connects_most: (CONNECTS_UNDER_WAY / settings.workers).max(1),
            dials: 0,
            named: 0,
            open: 0,
            dial_again: Instant::FAR_FUTURE,
            settings,
        }
    }

    /// How many places there are.
    pub(crate) const fn len(&self) -> u32 {
        self.settings.connections
    }

    /// Whom `key` belongs to.
    #[inline]
    pub(crate) fn owner(&self, key: Key) -> Owner {
        self.owners[key.index()]
    }

    /// The connection in `place`, whatever has become of it.
    #[inline]
    pub(crate) fn connection(&mut self, place: u32) -> &mut Connection<C> {
        &mut self.places[place as usize].connection
    }

    /// The connection in `place`, if it is established.
    #[inline]
    pub(crate) fn open(&mut self, place: u32) -> Option<&mut Open<C>> {
        match &mut self.places[place as usize].connection {
            Connection::Open(open) => Some(open),
            _ => None,
        }
    }

    /// The same, with the exchanges under way on it.
    #[inline]
    pub(crate) fn open_and_flights(
        &mut self,
        place: u32,
    ) -> Option<(&mut Open<C>, &mut [Option<Flight>])> {
        let capacity = self.settings.capacity as usize;
        let start = place as usize * capacity;
        match &mut self.places[place as usize].connection {
            Connection::Open(open) => Some((open, &mut self.flights[start..start + capacity])),
            _ => None,
        }
    }

    /// Whether something is asked on the connection in `place`, or waits for it to be made.
    pub(crate) fn is_asking(&mut self, place: u32) -> bool {
        match self.connection(place) {
            Connection::Open(open) => open.in_flight > 0,
            Connection::Connecting { pending, .. }
            | Connection::Securing(Securing { pending, .. })
            | Connection::Waiting { pending } => pending.is_some(),
            Connection::Absent | Connection::BackingOff { .. } => false,
        }
    }

    /// A complete answer has come on the connection in `place`.
    #[inline]
    pub(crate) fn answered(&mut self, place: u32) {
        let here = &mut self.places[place as usize];
        (here.failures, here.refusals) = (0, 0);
    }

    /// The server has not processed what was asked on the connection in `place`; whether it has
    /// said so too often in a row, without an answer in between.
    #[cold]
    pub(crate) fn refuses(&mut self, place: u32) -> bool {
        let here = &mut self.places[place as usize];
        here.refusals += 1;
        here.refusals >= REFUSALS_MOST
    }

    /// The connection in `place` is to be made, with an exchange that waits for it or without.
    pub(crate) fn want(&mut self, place: u32, pending: Option<Instant>) {
        let here = &mut self.places[place as usize];
        let is_new = !matches!(here.connection, Connection::Waiting { .. });
        here.connection = Connection::Waiting { pending };
        here.overdue = None;
        if is_new {
            self.waiting.push_back(place);
        }
    }

    /// The connection in `place`, of which there is none, is to be made for an exchange that was
    /// due at `due`. We turn to that now, and could have done so at `since`.
    pub(crate) fn want_late(&mut self, place: u32, due: Instant, since: Instant, now: Instant) {
        self.want(place, Some(due));
        let here = &mut self.places[place as usize];
        here.overdue = Some(Overdue {
            since: since.max(here.absent_since),
            wanted: now,
        });
    }

    /// Whether one more connect may be under way.
    pub(crate) const fn may_connect(&self) -> bool {
        self.connecting < self.connects_most
    }

    /// Whose turn it is to connect.
    pub(crate) fn take_waiting(&mut self) -> Option<u32> {
        self.waiting.pop_front()
    }

    /// The place that was wanted last.
    pub(crate) fn take_latest(&mut self) -> Option<u32> {
        self.waiting.pop_back()
    }

    /// Begins to connect for `place`. Where the reactor has no room yet, the place keeps its turn,
    /// and nothing is returned.
    pub(crate) fn connect(
        &mut self,
        place: u32,
        now: Instant,
        reactor: &mut impl Reactor,
        recorder: &mut Recorder,
    ) -> Option<Result<Key, Refused>> {
        let (target, source) = self.route(place);
        let address = source.map(|source| source.address);
        let asked = reactor.sends_at_once().then(|| reactor.now());
        let mut result = reactor.connect(target, address);
        if result == Err(Refused::Slots) {
            if let Some(oldest) = self.half_closed.take_oldest() {
                self.let_go(oldest, now, reactor, recorder);
                result = reactor.connect(target, address);
            }
            if result == Err(Refused::Slots) {
                self.waiting.push_front(place);
                self.dial_again = now + SOON;
                return None;
            }
        }
        self.dials += 1;
        recorder.connections_at(now).asked += 1;
        if let Some(overdue) = &mut self.places[place as usize].overdue {
            overdue.since += now.saturating_since(overdue.wanted);
        }
        if let Ok(key) = result {
            self.owners[key.index()] = Owner::Connection(place);
            self.connecting += 1;
            let pending = self.take_pending(place);
            *self.connection(place) = Connection::Connecting {
                key,
                source,
                asked,
                pending,
                opening: None,
            };
            self.alarms.arm(place, now + self.settings.connect_limit);
        }
        Some(result)
    }

    /// The exchange that waits for the connection in `place` no longer does.
    pub(crate) fn take_pending(&mut self, place: u32) -> Option<Instant> {
        match self.connection(place) {
            Connection::Connecting { pending, .. }
            | Connection::Securing(Securing { pending, .. })
            | Connection::Waiting { pending } => pending.take(),
            Connection::Absent | Connection::BackingOff { .. } | Connection::Open(_) => None,
        }
    }

    /// The connect of `place` succeeded at `at`. Returns the exchange that waited for it.
    pub(crate) fn established(
        &mut self,
        place: u32,
        client: C,
        at: Instant,
        recorder: &mut Recorder,
    ) -> Option<Instant> {
        let Connection::Connecting {
            key,
            source,
            pending,
            ..
        } = *self.connection(place)
        else {
            return None;
        };
        self.sources.count(source);
        let making = self.places[place as usize].made(at);
        self.connecting -= 1;
        self.open += 1;
        recorder.set_open_connections(self.open);
        recorder.connect_time.record(making.took);
        recorder.established(at);
        *self.connection(place) = Connection::Open(Open::new(key, client, at, making));
        pending
    }

    /// The connect of `place` failed, or was given up. Returns the exchange that waited for it, and
    /// how the connect went.
    pub(crate) fn connect_failed(
        &mut self,
        place: u32,
        at: Instant,
        recorder: &mut Recorder,
    ) -> Option<(Instant, Making)> {
        recorder.connect_failed(at);
        let making = self.places[place as usize].made(at);
        let pending = self.take_pending(place);
        if let Connection::Connecting { key, .. } = *self.connection(place) {
            self.owners[key.index()] = Owner::Nobody;
            self.connecting -= 1;
        }
        *self.connection(place) = Connection::Absent;
        Some((pending?, making))
    }

    /// The connection in `place` lets go of its socket, which stays open.
    fn leave(
        &mut self,
        place: u32,
        at: Instant,
        reactor: &impl Reactor,
        recorder: &mut Recorder,
    ) -> Option<(Left<C>, Open<C>)> {
        let open = self.open(place)?;
        debug_assert_eq!(open.in_flight, 0, "exchanges end before their socket goes");
        let key = open.key;
        let counted = reactor.bytes_taken(key);
        let uncounted = counted.saturating_sub(open.bytes_counted);
        recorder.add_bytes_sent(uncounted, at);
        self.owners[key.index()] = Owner::Nobody;
        self.open -= 1;
        recorder.set_open_connections(self.open);
        let before = std::mem::replace(self.connection(place), Connection::Absent);
        self.places[place as usize].absent_since = at;
        let Connection::Open(open) = before else {
            return None;
        };
        let left = Left {
            key,
            client: None,
            counted,
            host: self.host(place),
        };
        Some((left, open))
    }

    /// The socket of `place` goes now.
    pub(crate) fn close(
        &mut self,
        place: u32,
        at: Instant,
        reactor: &mut impl Reactor,
        recorder: &mut Recorder,
    ) {
        if let Some((left, _)) = self.leave(place, at, reactor, recorder) {
            reactor.close(left.key);
        }
    }

    /// The last answer on the connection in `place` has come: its socket waits for the server's
    /// close. Where it `listens`, the protocol still hears what comes on it.
    pub(crate) fn half_close(
        &mut self,
        place: u32,
        listens: bool,
        at: Instant,
        reactor: &mut impl Reactor,
        recorder: &mut Recorder,
    ) {
        let Some((mut left, open)) = self.leave(place, at, reactor, recorder) else {
            return;
        };
        if listens {
            left.client = Some(Box::new(open.client));
        }
        if self.half_closed.is_full()
            && let Some(oldest) = self.half_closed.take_oldest()
        {
            self.let_go(oldest, at, reactor, recorder);
        }
        let index = left.key.index();
        let number = self.half_closed.push(left, at);
        self.owners[index] = Owner::HalfClosed(number);
    }

    /// The server has closed the socket in `number` of those that waited for it.
    pub(crate) fn peer_closed(
        &mut self,
        number: u32,
        at: Instant,
        reactor: &mut impl Reactor,
        recorder: &mut Recorder,
    ) {
        if let Some(left) = self.half_closed.take(number) {
            self.let_go(left, at, reactor, recorder);
        }
    }

    /// Closes the sockets that have waited long enough for the server.
    pub(crate) fn expire_half_closed(
        &mut self,
        now: Instant,
        reactor: &mut impl Reactor,
        recorder: &mut Recorder,
    ) {
        while self.half_closed.next() <= now
            && let Some(oldest) = self.half_closed.take_oldest()
        {
            self.let_go(oldest, now, reactor, recorder);
        }
    }

    /// Closes a socket that waited for the server.
    fn let_go(
        &mut self,
        left: Left<C>,
        at: Instant,
        reactor: &mut impl Reactor,
        recorder: &mut Recorder,
    ) {
        let since = reactor.bytes_taken(left.key).saturating_sub(left.counted);
        recorder.add_bytes_sent(since, at);
        self.owners[left.key.index()] = Owner::Nobody;
        reactor.close(left.key);
    }

    /// The next connect of `place` waits.
    pub(crate) fn back_off(&mut self, place: u32, at: Instant, recorder: &mut Recorder) {
        let here = &mut self.places[place as usize];
        let doublings = here.failures.min(10);
        here.failures += 1;
        let until = at + (BACKOFF_FIRST * (1 << doublings)).min(BACKOFF_LONGEST);
        here.connection = Connection::BackingOff { until };
        recorder.back_off(at, until);
        self.alarms.arm(place, until);
    }

    /// Closes everything.
    pub(crate) fn close_all(
        &mut self,
        now: Instant,
        reactor: &mut impl Reactor,
        recorder: &mut Recorder,
    ) {
        for place in 0..self.settings.connections {
            match *self.connection(place) {
                Connection::Connecting { key, .. } => reactor.reset(key),
                Connection::Open(_) => {
                    recorder.connections_at(now).closed_by_client += 1;
                    self.close(place, now, reactor, recorder);
                }
                Connection::Securing(_) => {
                    self.handshake_failed(place, now, reactor, recorder);
                }
                Connection::Absent | Connection::BackingOff { .. } | Connection::Waiting { .. } => {
                }
            }
        }
        while let Some(oldest) = self.half_closed.take_oldest() {
            self.let_go(oldest, now, reactor, recorder);
        }
    }
}
