//! The worker's private counters and distributions; it is their only writer.
//!
//! **What belongs to the measured window.** In an open loop an exchange belongs to the window if it
//! became *due* in it, however long its answer took: those who wait longest must not fall out at
//! the end. What passed in the window, whenever it was due, is counted apart: rates are of that. In
//! a closed loop it belongs to it if it *ended* in it, so that the rate is that of the
//! window. Bytes and connections belong to the phase in which they were seen. Connect times are
//! kept from the whole run, because most connects happen before the window.
//!
//! Cost: about six histogram records and a dozen adds per exchange; no allocation after the start.

mod samples;

use std::sync::Arc;

use model::distribution::Distribution;
use model::event::Phase;
use model::outcome::Outcome;
use model::record::{ConnectionCounts, Example, INTERVALS_MAX, Interval, Passed, Record, Tally};
use model::units::{Bytes, Instant, Span};

use self::samples::{Place, Samples};
use crate::exchange::{Cause, Exchange};
use crate::in_flight::InFlight;
use crate::progress::Progress;

/// What a recorder is told at its start.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The worker's position among the workers.
    pub worker: u32,
    /// Whether exchanges belong to the window by when they were due.
    pub by_due: bool,
    /// When the window begins.
    pub window_start: Instant,
    /// When it ends; [`Instant::FAR_FUTURE`] if something else than time ends it.
    pub window_end: Instant,
    /// The length of one interval.
    pub interval: Span,
    /// Raw exchanges to keep.
    pub samples: usize,
    /// Where finished intervals are published for live display.
    pub progress: Arc<Progress>,
}

/// One worker's measurements.
#[derive(Debug)]
pub struct Recorder {
    settings: Settings,
    phase: Phase,
    /// When the current interval or phase ends, whichever comes first.
    boundary: Instant,
    warmup: Tally,
    drain: Tally,
    /// All there will ever be, of which `current + 1` are in use.
    intervals: Vec<Interval>,
    current: usize,
    interval: Span,
    response_time: Distribution,
    service_time: Distribution,
    blocked_time: Distribution,
    late_time: Distribution,
    connect_time: Distribution,
    first_byte_time: Distribution,
    batch_time: Distribution,
    /// The first exchange that ended in each way, and when.
    first: [Option<(Cause, Instant)>; Outcome::ALL.len()],
    samples: Samples,
    /// Due and not ended.
    outstanding: u64,
    in_flight: InFlight,
    /// Begun, but not handed to the kernel yet.
    unsubmitted: u32,
    position: u64,
    open_connections: u32,
}

impl Recorder {
    /// Everything it will ever need is allocated here.
    pub fn new(settings: Settings) -> Self {
        let window = settings.window_end.saturating_since(settings.window_start);
        let wanted = window.as_ns().div_ceil(settings.interval.as_ns());
        let count = usize::try_from(wanted).map_or(INTERVALS_MAX, |n| n.clamp(1, INTERVALS_MAX));
        let intervals = (0..count)
            .map(|_| Interval::new(Span::ZERO, Span::ZERO))
            .collect();
        let mut recorder = Self {
            phase: Phase::Warmup,
            boundary: settings.window_start,
            warmup: Tally::default(),
            drain: Tally::default(),
            intervals,
            current: 0,
            interval: settings.interval,
            response_time: Distribution::default(),
            service_time: Distribution::default(),
            blocked_time: Distribution::default(),
            late_time: Distribution::default(),
            connect_time: Distribution::default(),
            first_byte_time: Distribution::default(),
            batch_time: Distribution::default(),
            first: [None; Outcome::ALL.len()],
            samples: Samples::new(settings.samples),
            outstanding: 0,
            in_flight: InFlight::new(settings.window_start, settings.window_end),
            unsubmitted: 0,
            position: 0,
            open_connections: 0,
            settings,
        };
        recorder.open_interval(Span::ZERO);
        recorder
    }

    /// The phase at the last instant that was recorded.
    pub const fn phase(&self) -> Phase {
        self.phase
    }

    /// When the current interval or phase ends: the worker wakes then at the latest.
    pub const fn boundary(&self) -> Instant {
        self.boundary
    }

    /// Where the window begins and ends, as far as that is known.
    pub const fn window(&self) -> (Instant, Instant) {
        (self.settings.window_start, self.settings.window_end)
    }

    /// Exchanges due and not ended.
    pub const fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// How many exchanges have ended.
    pub const fn position(&self) -> u64 {
        self.position
    }

    /// The window ends at `at`, earlier than planned or where nothing was planned.
    pub fn end_window(&mut self, at: Instant) {
        let at = at.max(self.settings.window_start);
        self.settings.window_end = self.settings.window_end.min(at);
        self.in_flight.end_window(self.settings.window_end);
        self.boundary = self.boundary.min(self.settings.window_end);
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

    /// An exchange that was ready at `ready` has begun; it was handed to the kernel at `sent`, or
    /// will be with the next submit, if that is before it was ready.
    #[inline]
    pub fn begin(&mut self, ready: Instant, sent: Instant) {
        if sent >= ready {
            self.send(1, sent);
        } else {
            self.unsubmitted += 1;
        }
    }

    /// What has begun is handed to the kernel at `at`.
    #[inline]
    pub fn submit(&mut self, at: Instant) {
        let count = std::mem::take(&mut self.unsubmitted);
        self.send(count, at);
    }

    #[inline]
    fn send(&mut self, count: u32, at: Instant) {
        self.in_flight.send(count, at);
        if self.settings.by_due {
            self.passed_at(at).sent += u64::from(count);
        }
    }

    /// Whether something has begun that was not handed to the kernel.
    #[inline]
    pub const fn has_unsubmitted(&self) -> bool {
        self.unsubmitted > 0
    }

    /// An exchange that had begun was not handed to the kernel and waits again.
    pub const fn unbegin(&mut self) {
        self.unsubmitted = self.unsubmitted.saturating_sub(1);
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

    /// An answer announced at `at` that its connection closes, though we had not asked.
    pub fn announce_close(&mut self, at: Instant) {
        self.tally_at(at).close_announced += 1;
    }

    /// How many connections are open now.
    pub const fn set_open_connections(&mut self, count: u32) {
        self.open_connections = count;
    }

    /// A connection was established.
    pub fn connected(&mut self, took: Span) {
        self.connect_time.record(took);
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
        if let Some(sent) = exchange.sent {
            self.in_flight.end(exchange.ended);
            if self.settings.by_due {
                let passed = self.passed_at(exchange.ended);
                passed.ended += 1;
                passed.service += exchange.ended.saturating_since(sent);
                if outcome == Outcome::Ok {
                    passed.right += 1;
                    passed.content += exchange.content;
                }
            }
        }
        if let Some(cause) = exchange.cause {
            self.keep_first(outcome, cause, exchange.ended);
        }
        self.position += 1;
        let by_due = self.settings.by_due;
        let in_window = if by_due {
            exchange.due >= self.settings.window_start
        } else {
            self.phase == Phase::Measurement
        };
        let tally = if in_window {
            &mut self.intervals[self.current].tally
        } else if by_due || self.phase == Phase::Warmup {
            &mut self.warmup
        } else {
            &mut self.drain
        };
        tally.outcomes[outcome] += 1;
        tally.due += u64::from(!by_due);
        tally.sent += u64::from(exchange.sent.is_some());
        if outcome == Outcome::Ok {
            tally.bytes_content += exchange.content;
        }
        if in_window {
            self.end_in_window(exchange, outcome);
        }
    }

    #[inline]
    fn end_in_window(&mut self, exchange: &Exchange, outcome: Outcome) {
        let in_interval = &mut self.intervals[self.current].response_time;
        self.blocked_time.record(exchange.blocked_time());
        if let Some(late) = exchange.late_time() {
            self.late_time.record(late);
        }
        if outcome == Outcome::Ok {
            let response_time = exchange.response_time();
            self.response_time.record(response_time);
            in_interval.record(response_time);
            if let Some(service_time) = exchange.service_time() {
                self.service_time.record(service_time);
            }
            if let Some(first_byte_time) = exchange.first_byte_time() {
                self.first_byte_time.record(first_byte_time);
            }
        } else {
            self.response_time.record_censored();
            in_interval.record_censored();
            if exchange.sent.is_some() {
                self.service_time.record_censored();
                self.first_byte_time.record_censored();
            }
        }
        if self.samples.wanted() {
            let place = Place {
                index: self.position - 1,
                worker: self.settings.worker,
                open_connections: self.open_connections,
                window_start: self.settings.window_start,
            };
            self.samples.keep(exchange, place);
        }
    }

    #[cold]
    fn keep_first(&mut self, outcome: Outcome, cause: Cause, at: Instant) {
        self.first[outcome as usize].get_or_insert((cause, at));
    }

    /// The tally of the phase that `at` is in.
    #[inline]
    fn tally_at(&mut self, at: Instant) -> &mut Tally {
        self.roll(at);
        match self.phase {
            Phase::Measurement => &mut self.intervals[self.current].tally,
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
        if due < self.settings.window_start {
            &mut self.warmup
        } else {
            self.roll(due);
            &mut self.intervals[self.current].tally
        }
    }

    fn cross_boundary(&mut self) {
        match self.phase {
            Phase::Warmup | Phase::Reference => {
                self.phase = Phase::Measurement;
                self.boundary = self.interval_end();
            }
            Phase::Measurement => {
                let end = self.boundary.saturating_since(self.settings.window_start);
                let interval = &mut self.intervals[self.current];
                interval.length = end.saturating_sub(interval.start);
                self.settings
                    .progress
                    .publish(interval, self.open_connections);
                if self.boundary >= self.settings.window_end {
                    self.phase = Phase::Drain;
                    self.boundary = Instant::FAR_FUTURE;
                } else {
                    self.open_interval(end);
                    self.boundary = self.interval_end();
                }
            }
            Phase::Drain | Phase::Done => self.boundary = Instant::FAR_FUTURE,
        }
    }

    /// The next interval begins at `start`; where all are in use, neighbours merge first.
    fn open_interval(&mut self, start: Span) {
        if !start.is_zero() {
            self.current += 1;
        }
        if self.current == INTERVALS_MAX {
            self.current = halve(&mut self.intervals);
            self.interval = self.interval * 2;
        }
        self.intervals[self.current].start = start;
    }

    fn interval_end(&self) -> Instant {
        let start = self.intervals[self.current].start;
        (self.settings.window_start + start + self.interval).min(self.settings.window_end)
    }

    /// What was measured until `at`, when nothing is under way any more.
    pub fn finish(mut self, at: Instant) -> Record {
        self.roll(at);
        self.end_window(at);
        let start = self.settings.window_start;
        let (samples, samples_dropped) = self.samples.finish();
        let mut intervals = self.intervals;
        intervals.truncate(self.current + 1);
        if self.settings.by_due {
            let tallies = intervals.iter_mut().map(|interval| &mut interval.tally);
            for tally in tallies.chain([&mut self.warmup, &mut self.drain]) {
                // Where nothing passed, that is an answer too.
                tally.passed.get_or_insert_default();
            }
        }
        let mut total = Tally::default();
        for interval in &intervals {
            total.merge(&interval.tally);
        }
        let examples = self
            .first
            .iter()
            .flatten()
            .map(|(cause, at)| Example {
                outcome: cause.outcome(),
                text: cause.to_string(),
                at: (*at >= start).then(|| *at - start),
            })
            .collect();
        let mut record = Record {
            window: self.settings.window_end.saturating_since(start),
            total,
            warmup_phase: self.warmup,
            drain_phase: self.drain,
            response_time: self.response_time,
            service_time: self.service_time,
            blocked_time: self.blocked_time,
            late_time: self.late_time,
            connect_time: self.connect_time,
            first_byte_time: self.first_byte_time,
            intervals,
            workers: vec![model::record::Worker {
                index: self.settings.worker,
                ok: total.outcomes[Outcome::Ok],
                window: self.settings.window_end.saturating_since(start),
                batch_time: Some(self.batch_time),
                outstanding_integral_ns: self.in_flight.integral_ns(),
                ..model::record::Worker::default()
            }],
            examples,
            samples,
            samples_dropped,
            ..Record::default()
        };
        record.rate_it();
        record
    }
}

/// Merges neighbours in place: half as many, each twice as long. Returns how many are in use.
fn halve(intervals: &mut [Interval]) -> usize {
    let half = intervals.len() / 2;
    for position in 0..half {
        let (left, right) = intervals.split_at_mut(2 * position + 1);
        let (first, second) = (&mut left[2 * position], &mut right[0]);
        first.length += second.length;
        first.tally.merge(&second.tally);
        first.response_time.merge(&second.response_time);
        intervals.swap(position, 2 * position);
    }
    for interval in &mut intervals[half..] {
        interval.tally = Tally::default();
        interval.response_time.clear();
    }
    half
}

#[cfg(test)]
mod tests;
