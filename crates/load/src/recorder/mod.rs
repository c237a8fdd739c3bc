//! The worker's private counters and distributions; it is their only writer.
//!
//! **What belongs to the measured window.** In an open loop an exchange belongs to the window if it
//! became *due* in it, however long its answer took: those who wait longest must not fall out at
//! the end. What passed in the window, whenever it was due, is counted apart: rates are of that. In
//! a closed loop it belongs to it if it *ended* in it, so that the rate is that of the
//! window. Bytes and connections belong to the phase in which they were seen. Connect times
//! and handshakes are kept from the whole run, because most happen before the window.
//!
//! **Classes.** Each request of the plan has distributions of its own; the totals are those of all
//! classes, added up at the end.
//!
//! Cost: about six histogram records and a dozen adds per exchange; no allocation after the start,
//! and nothing at an edge of the window or of an interval that grows with what is under way.

mod answers;
mod classes;
mod intervals;
mod outages;
mod outside;
mod samples;
mod statuses;
mod telling;

use std::sync::Arc;

use model::distribution::Distribution;
use model::event::Phase;
use model::outcome::Outcome;
use model::record::{ConnectionCounts, Passed, Tally};
use model::tls::HandshakeKind;
use model::units::{Bytes, Instant, Span};

use self::answers::Ended;
use self::classes::Classes;
use self::intervals::Intervals;
use self::outages::Outages;
use self::samples::{Place, Samples};
use self::statuses::Statuses;
use crate::exchange::{Cause, Exchange};
use crate::in_flight::InFlight;
use crate::progress::Progress;
use crate::schedule::Arrivals;

/// A run of arrivals that were given up together is told in so many equal parts.
const PARTS: u64 = 16;

/// What a recorder is told at its start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The worker's position among the workers.
    pub worker: u32,
    /// Whether exchanges belong to the window by when they were due.
    pub by_due: bool,
    /// How long the window is; none if something else than time ends it.
    pub window: Option<Span>,
    /// The length of one interval.
    pub interval: Span,
    /// How many requests the plan has.
    pub classes: usize,
    /// Raw exchanges to keep; none where nobody asked for any, so that nobody counts the others.
    pub samples: Option<usize>,
    /// Where finished intervals are published for live display.
    pub progress: Arc<Progress>,
}

/// One worker's measurements.
#[derive(Debug)]
pub struct Recorder {
    settings: Settings,
    window_start: Instant,
    /// [`Instant::FAR_FUTURE`] while something else than time may end it.
    window_end: Instant,
    phase: Phase,
    /// When the current interval or phase ends, whichever comes first.
    boundary: Instant,
    warmup: Tally,
    drain: Tally,
    intervals: Intervals,
    classes: Classes,
    /// Exchanges of the window that never began.
    never_begun: u64,
    blocked_time: Distribution,
    late_time: Distribution,
    /// From the first byte to the last, of right answers that came in more than one piece.
    transfer_time: Distribution,
    /// How long connects took.
    pub connect_time: Distribution,
    /// How long handshakes took, by their kind.
    handshakes: [Distribution; 3],
    batch_time: Distribution,
    /// The first exchange that ended in each way, when, and which request it was.
    first: [Option<(Cause, Instant, Option<u16>)>; Outcome::ALL.len()],
    wrong_statuses: Statuses,
    samples: Samples,
    outages: Outages,
    /// How long connections backed off in the window, summed up.
    backed_off: Span,
    /// Due and not ended.
    outstanding: u64,
    in_flight: InFlight,
    /// How long what was in flight at the edges of the window had been so, summed up.
    age_at_start: Option<Span>,
    age_at_end: Option<Span>,
    position: u64,
    open_connections: u32,
}

impl Recorder {
    /// Everything it will ever need is allocated here. Nothing is recorded before
    /// [`Recorder::begin`].
    pub fn new(settings: Settings) -> Self {
        let window = settings.window.unwrap_or(Span::from_ns(u64::MAX));
        let far = Instant::FAR_FUTURE;
        Self {
            window_start: far,
            window_end: far,
            phase: Phase::Warmup,
            boundary: far,
            warmup: Tally::default(),
            drain: Tally::default(),
            intervals: Intervals::new(window, settings.interval),
            classes: Classes::new(settings.classes),
            never_begun: 0,
            blocked_time: Distribution::default(),
            late_time: Distribution::default(),
            transfer_time: Distribution::default(),
            connect_time: Distribution::default(),
            handshakes: Default::default(),
            batch_time: Distribution::default(),
            first: [None; Outcome::ALL.len()],
            wrong_statuses: Statuses::new(),
            samples: Samples::new(settings.samples),
            outages: Outages::new(),
            backed_off: Span::ZERO,
            outstanding: 0,
            in_flight: InFlight::new(far, far),
            age_at_start: None,
            age_at_end: None,
            position: 0,
            open_connections: 0,
            settings,
        }
    }

    /// The window will begin at `window_start`; what is recorded before is its warm-up.
    pub fn begin(&mut self, window_start: Instant) {
        let window = self.settings.window;
        self.window_start = window_start;
        self.window_end = window.map_or(Instant::FAR_FUTURE, |length| window_start + length);
        self.boundary = window_start;
        self.in_flight = InFlight::new(window_start, self.window_end);
        self.intervals.open(Span::ZERO);
    }

    /// The phase at the last instant that was recorded.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// When the current interval or phase ends: the worker wakes then at the latest.
    pub const fn boundary(&self) -> Instant {
        self.boundary
    }

    /// When the window begins.
    pub const fn window_start(&self) -> Instant {
        self.window_start
    }

    /// Exchanges due and not ended.
    pub const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// The window ends at `at`, earlier than planned or where nothing was planned.
    pub fn end_window(&mut self, at: Instant) {
        let at = at.max(self.window_start);
        self.window_end = self.window_end.min(at);
        self.in_flight.end_window(self.window_end);
        self.boundary = self.boundary.min(self.window_end);
        self.roll(at);
    }

    /// Time has come to `now`: ends intervals and phases that are over.
    #[inline]
    pub fn roll(&mut self, now: Instant) {
        while now >= self.boundary {
            self.cross_boundary();
        }
    }

    /// An exchange became due.
    #[inline]
    pub fn arrive(&mut self, due: Instant) {
        self.outstanding += 1;
        if self.settings.by_due {
            self.tally_of_due(due).due += 1;
        }
    }

    /// The first byte of an exchange is handed to the kernel at `at`.
    #[inline]
    pub fn send(&mut self, at: Instant) {
        self.roll(at);
        self.in_flight.send(at);
        if self.settings.by_due {
            self.passed_at(at).sent += 1;
        }
    }

    /// An exchange that was sent at `sent` is taken back at `at`, to be sent again: how long it was
    /// in flight in vain is nobody's service time, so it was not in flight.
    #[cold]
    pub fn take_back(&mut self, sent: Instant, at: Instant) {
        self.roll(at);
        if at >= self.window_end {
            // Up to the window's end it was in flight, and counted as that.
            return self.in_flight.end(sent, at);
        }
        self.in_flight.take_back(sent);
        if let Some(age) = &mut self.age_at_start {
            *age = age.saturating_sub(self.window_start.saturating_since(sent));
        }
    }

    /// Bytes went out at `at`.
    #[inline]
    pub fn add_bytes_sent(&mut self, count: u64, at: Instant) {
        self.tally_at(at).bytes_sent += Bytes::new(count);
    }

    /// Bytes came in at `at`.
    #[inline]
    pub fn add_bytes_received(&mut self, count: u64, at: Instant) {
        self.tally_at(at).bytes_received += Bytes::new(count);
    }

    /// Something happened to a connection at `at`.
    pub fn connections_at(&mut self, at: Instant) -> &mut ConnectionCounts {
        &mut self.tally_at(at).connections
    }

    /// A redirect came at `at`, and is followed or not.
    pub fn redirected(&mut self, at: Instant, is_followed: bool) {
        let tally = self.tally_at(at);
        tally.redirects += 1;
        tally.followed += u64::from(is_followed);
    }

    /// The exchange that has just ended, due at `due`, was cancelled alone.
    #[cold]
    pub fn cancelled(&mut self, due: Instant) {
        self.tally_of_end(self.is_in_window(due)).cancelled += 1;
    }

    /// An answer announced at `at` that its connection closes, though we had not asked.
    pub fn announce_close(&mut self, at: Instant) {
        self.tally_at(at).close_announced += 1;
    }

    /// How many connections are open now.
    pub const fn set_open_connections(&mut self, count: u32) {
        self.open_connections = count;
    }

    /// A connect succeeded at `at`.
    #[inline]
    pub fn established(&mut self, at: Instant) {
        self.connections_at(at).established += 1;
        self.outages.established(at);
    }

    /// A connect failed at `at`.
    #[cold]
    pub fn connect_failed(&mut self, at: Instant) {
        self.connections_at(at).failed += 1;
        self.outages.failed(at);
    }

    /// A connection backs off from `at` until `until`.
    #[cold]
    pub fn back_off(&mut self, at: Instant, until: Instant) {
        let (from, to) = (at.max(self.window_start), until.min(self.window_end));
        self.backed_off += to.saturating_since(from);
    }

    /// A handshake of that kind is over.
    pub fn secured(&mut self, took: Span, kind: HandshakeKind) {
        self.handshakes[kind as usize].record(took);
    }

    /// A batch of events has been handled.
    #[inline]
    pub fn batch(&mut self, took: Span) {
        if self.phase == Phase::Measurement {
            self.batch_time.record(took);
        }
    }

    /// An exchange has ended.
    #[inline]
    pub fn end(&mut self, exchange: &Exchange) {
        self.roll(exchange.ended);
        debug_assert!(self.outstanding > 0, "what ends was due");
        self.outstanding -= 1;
        let outcome = exchange.outcome();
        let mut has_passed = false;
        if let Some(sent) = exchange.sent {
            self.in_flight.end(sent, exchange.ended);
            if self.settings.by_due {
                let passed = self.passed_at(exchange.ended);
                passed.ended += 1;
                passed.service += exchange.ended.saturating_since(sent);
                if outcome == Outcome::Ok {
                    passed.right += 1;
                    passed.content += exchange.content;
                    has_passed = self.phase == Phase::Measurement;
                }
            }
        }
        if let Some(cause) = exchange.cause {
            self.keep_first(cause, exchange.ended, exchange.class);
        }
        self.position += 1;
        let by_due = self.settings.by_due;
        let in_window = self.is_in_window(exchange.due);
        let tally = self.tally_of_end(in_window);
        tally.outcomes[outcome] += 1;
        tally.due += u64::from(!by_due);
        tally.sent += u64::from(exchange.sent.is_some());
        if outcome == Outcome::Ok {
            tally.bytes_content += exchange.content;
        }
        match in_window {
            true => self.end_in_window(exchange, outcome, has_passed),
            false => self.end_outside(exchange, has_passed),
        }
    }

    #[inline]
    fn end_in_window(&mut self, exchange: &Exchange, outcome: Outcome, has_passed: bool) {
        let in_interval = &mut self.intervals.current().response_time;
        self.blocked_time.record(exchange.blocked_time());
        if let Some(late) = exchange.late_time() {
            self.late_time.record(late);
        }
        if outcome == Outcome::Ok {
            in_interval.record(exchange.response_time());
        } else {
            in_interval.record_censored();
        }
        if let Some(status) = exchange.cause.and_then(Cause::wrong_status) {
            self.wrong_statuses.count(status);
        }
        match exchange.class {
            None => self.never_begun += 1,
            Some(class) => {
                let ended = Ended::of(exchange, outcome, has_passed);
                if let Some(transfer) = ended.transfer_time() {
                    self.transfer_time.record(transfer);
                }
                self.classes.end(class, ended);
            }
        }
        self.keep_sample(exchange);
    }

    #[inline]
    fn keep_sample(&mut self, exchange: &Exchange) {
        if self.samples.wanted() {
            let place = Place {
                index: self.position - 1,
                worker: self.settings.worker,
                open_connections: self.open_connections,
                window_start: self.window_start,
            };
            self.samples.keep(exchange, place);
        }
    }

    /// Arrivals of an open loop, all due before the window or all in it, were given up at `now`,
    /// unsent. However many they are, this takes the same time.
    pub fn shed(&mut self, arrivals: &Arrivals, now: Instant, cause: Cause) {
        debug_assert!(self.settings.by_due, "a closed loop sheds nothing");
        self.roll(now);
        let count = arrivals.count;
        self.position += count;
        self.keep_first(cause, now, None);
        let in_window = self.is_in_window(arrivals.first);
        let tally = self.tally_of_end(in_window);
        tally.due += count;
        tally.outcomes[cause.outcome()] += count;
        if !in_window {
            return;
        }
        self.never_begun += count;
        self.samples.skip(count);
        self.intervals
            .current()
            .response_time
            .record_censored_n(count);
        let length = arrivals.last.saturating_since(arrivals.first);
        for part in 0..PARTS {
            let here = count * (part + 1) / PARTS - count * part / PARTS;
            let due = arrivals.first + length * (2 * part + 1) / (2 * PARTS);
            self.blocked_time.record_n(now.saturating_since(due), here);
        }
    }

    /// Whether an exchange that was due at `due` and ends now belongs to the window.
    #[inline]
    pub fn is_in_window(&self, due: Instant) -> bool {
        if self.settings.by_due {
            due >= self.window_start
        } else {
            self.phase == Phase::Measurement
        }
    }

    /// The tally of an exchange that ends now.
    #[inline]
    fn tally_of_end(&mut self, in_window: bool) -> &mut Tally {
        if in_window {
            &mut self.intervals.current().tally
        } else if self.settings.by_due || self.phase == Phase::Warmup {
            &mut self.warmup
        } else {
            &mut self.drain
        }
    }

    #[cold]
    fn keep_first(&mut self, cause: Cause, at: Instant, class: Option<u16>) {
        self.first[cause.outcome() as usize].get_or_insert((cause, at, class));
    }

    /// The tally of the phase that `at` is in.
    #[inline]
    fn tally_at(&mut self, at: Instant) -> &mut Tally {
        self.roll(at);
        match self.phase {
            Phase::Measurement => &mut self.intervals.current().tally,
            Phase::Warmup | Phase::Reference => &mut self.warmup,
            Phase::Drain | Phase::Done => &mut self.drain,
        }
    }

    /// What passes in the phase that `at` is in.
    #[inline]
    fn passed_at(&mut self, at: Instant) -> &mut Passed {
        self.tally_at(at).passed.get_or_insert_default()
    }

    /// The tally of an exchange that is due at `due`.
    #[inline]
    fn tally_of_due(&mut self, due: Instant) -> &mut Tally {
        if due < self.window_start {
            &mut self.warmup
        } else {
            self.roll(due);
            &mut self.intervals.current().tally
        }
    }

    fn cross_boundary(&mut self) {
        match self.phase {
            Phase::Warmup | Phase::Reference => {
                self.phase = Phase::Measurement;
                self.age_at_start = Some(self.in_flight.age(self.boundary));
                self.boundary = self.interval_end();
            }
            Phase::Measurement => {
                let end = self.boundary.saturating_since(self.window_start);
                let interval = self.intervals.current();
                interval.length = end.saturating_sub(interval.start);
                self.settings
                    .progress
                    .publish(interval, self.open_connections);
                if self.boundary >= self.window_end {
                    self.phase = Phase::Drain;
                    self.age_at_end = Some(self.in_flight.age(self.window_end));
                    self.boundary = Instant::FAR_FUTURE;
                } else {
                    self.intervals.open(end);
                    self.boundary = self.interval_end();
                }
            }
            Phase::Drain | Phase::Done => self.boundary = Instant::FAR_FUTURE,
        }
    }

    fn interval_end(&mut self) -> Instant {
        let start = self.intervals.current().start;
        (self.window_start + start + self.intervals.length()).min(self.window_end)
    }
}

#[cfg(test)]
mod tests;
