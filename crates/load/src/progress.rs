//! Finished intervals, published by a worker for whoever shows progress.
//!
//! Two slots per worker, allocated before the run, written in turn. The writer never waits; a
//! reader that is overtaken while it copies notices and takes the next one.

use std::sync::atomic::{AtomicU64, Ordering, fence};

use model::distribution::{Distribution, Shape};
use model::record::Interval;
use model::units::{Bytes, Span};
use model::{Outcome, OutcomeCounts};

/// Buckets of one interval that are shown; more than this differ in an interval only when
/// response times spread over many decades, and then the last ones are left out.
const BUCKETS: usize = 1_024;

/// What one worker has published.
#[derive(Debug, Default)]
pub struct Progress {
    /// How many intervals were begun to be published, and how many are complete.
    begun: AtomicU64,
    complete: AtomicU64,
    slots: [Slot; 2],
}

#[derive(Debug)]
struct Slot {
    start_ns: AtomicU64,
    length_ns: AtomicU64,
    ok: AtomicU64,
    failures: AtomicU64,
    connections: AtomicU64,
    due: AtomicU64,
    sent: AtomicU64,
    bytes_received: AtomicU64,
    bytes_sent: AtomicU64,
    outcomes: [AtomicU64; Outcome::ALL.len()],
    /// Of the response times: the shortest, the longest, and how many were longer than all known.
    shortest_ns: AtomicU64,
    longest_ns: AtomicU64,
    censored: AtomicU64,
    buckets: AtomicU64,
    values: Box<[AtomicU64]>,
    counts: Box<[AtomicU64]>,
}

impl Default for Slot {
    fn default() -> Self {
        let zeroes = || (0..BUCKETS).map(|_| AtomicU64::new(0)).collect();
        Self {
            start_ns: AtomicU64::new(0),
            length_ns: AtomicU64::new(0),
            ok: AtomicU64::new(0),
            failures: AtomicU64::new(0),
            connections: AtomicU64::new(0),
            due: AtomicU64::new(0),
            sent: AtomicU64::new(0),
            bytes_received: AtomicU64::new(0),
            bytes_sent: AtomicU64::new(0),
            outcomes: Default::default(),
            shortest_ns: AtomicU64::new(0),
            longest_ns: AtomicU64::new(0),
            censored: AtomicU64::new(0),
            buckets: AtomicU64::new(0),
            values: zeroes(),
            counts: zeroes(),
        }
    }
}

/// A finished interval, as it is shown while the run goes on.
#[derive(Clone, Debug)]
pub struct Published {
    /// From the start of the window.
    pub start: Span,
    /// How long it was.
    pub length: Span,
    /// Right answers.
    pub ok: u64,
    /// Exchanges that failed.
    pub failures: u64,
    /// Connections open.
    pub connections: u64,
    /// Response times: those of what failed count as longer than all others.
    pub response_time: Distribution,
    /// What else happened in it; none where whoever told of it did not say.
    pub counts: Option<Box<Counts>>,
}

/// What else happened in a finished interval.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Exchanges that became due.
    pub due: u64,
    /// Those that were handed to the kernel.
    pub sent: u64,
    /// Bytes that came.
    pub bytes_received: Bytes,
    /// Bytes that went out.
    pub bytes_sent: Bytes,
    /// How exchanges ended.
    pub outcomes: OutcomeCounts,
}

impl Counts {
    fn merge(&mut self, other: &Self) {
        self.due += other.due;
        self.sent += other.sent;
        self.bytes_received += other.bytes_received;
        self.bytes_sent += other.bytes_sent;
        self.outcomes.merge(&other.outcomes);
    }
}

impl Published {
    /// Adds what another worker published of the same interval.
    pub fn merge(&mut self, other: &Self) {
        self.length = self.length.max(other.length);
        self.ok += other.ok;
        self.failures += other.failures;
        self.connections += other.connections;
        self.response_time.merge(&other.response_time);
        self.counts = match (self.counts.take(), &other.counts) {
            (Some(mut mine), Some(theirs)) => {
                mine.merge(theirs);
                Some(mine)
            }
            _ => None,
        };
    }
}

impl Slot {
    /// The response times of the interval: a bucket stands for all in it, and the two ends are what
    /// they are.
    fn response_time(&self) -> Distribution {
        let get = |place: &AtomicU64| place.load(Ordering::Relaxed);
        let (shortest, longest) = (get(&self.shortest_ns), get(&self.longest_ns));
        let mut times = Distribution::new(Shape::INTERVAL);
        let used = usize::try_from(get(&self.buckets)).unwrap_or(0);
        for (place, (value, count)) in self.values.iter().zip(&self.counts).take(used).enumerate() {
            // Whoever is overtaken reads what does not fit together, and throws it away.
            let value = get(value).min(longest).max(shortest);
            let mut count = get(count);
            if place + 1 == used && count > 0 {
                times.record(Span::from_ns(longest));
                count -= 1;
            }
            if place == 0 && count > 0 {
                times.record(Span::from_ns(shortest));
                count -= 1;
            }
            times.record_n(Span::from_ns(value), count);
        }
        times.record_censored_n(get(&self.censored));
        times
    }
}

impl Progress {
    /// Publishes a finished interval. For the one worker that owns this.
    pub fn publish(&self, interval: &Interval, connections: u32) {
        let number = self.begun.load(Ordering::Relaxed);
        let slot = &self.slots[usize::from(number % 2 == 1)];
        self.begun.store(number + 1, Ordering::Relaxed);
        fence(Ordering::Release);
        let set = |place: &AtomicU64, value| place.store(value, Ordering::Relaxed);
        set(&slot.start_ns, interval.start.as_ns());
        set(&slot.length_ns, interval.length.as_ns());
        set(&slot.ok, interval.tally.right_in_it());
        set(&slot.failures, interval.tally.outcomes.lost());
        set(&slot.connections, u64::from(connections));
        let tally = &interval.tally;
        set(&slot.due, tally.due);
        set(&slot.sent, tally.sent_in_it());
        set(&slot.bytes_received, tally.bytes_received.count());
        set(&slot.bytes_sent, tally.bytes_sent.count());
        for ((_, count), place) in tally.outcomes.iter().zip(&slot.outcomes) {
            set(place, count);
        }
        let mut used = 0;
        for ((value, _, count), place) in interval.response_time.buckets().zip(0..BUCKETS) {
            set(&slot.values[place], value.as_ns());
            set(&slot.counts[place], count);
            used = place as u64 + 1;
        }
        set(&slot.buckets, used);
        let times = &interval.response_time;
        set(&slot.shortest_ns, times.min().unwrap_or_default().as_ns());
        set(&slot.longest_ns, times.max().unwrap_or_default().as_ns());
        set(&slot.censored, times.censored());
        self.complete.store(number + 1, Ordering::Release);
    }

    /// How many intervals are complete.
    pub fn complete(&self) -> u64 {
        self.complete.load(Ordering::Acquire)
    }

    /// Copies the interval at `number` (from 0), if it is complete and not yet overwritten.
    pub fn read(&self, number: u64) -> Option<Published> {
        if self.complete() <= number {
            return None;
        }
        let slot = &self.slots[usize::from(number % 2 == 1)];
        let get = |place: &AtomicU64| place.load(Ordering::Relaxed);
        let response_time = slot.response_time();
        let mut outcomes = OutcomeCounts::default();
        for (outcome, place) in Outcome::ALL.into_iter().zip(&slot.outcomes) {
            outcomes[outcome] = get(place);
        }
        let published = Published {
            start: Span::from_ns(get(&slot.start_ns)),
            length: Span::from_ns(get(&slot.length_ns)),
            ok: get(&slot.ok),
            failures: get(&slot.failures),
            connections: get(&slot.connections),
            response_time,
            counts: Some(Box::new(Counts {
                due: get(&slot.due),
                sent: get(&slot.sent),
                bytes_received: Bytes::new(get(&slot.bytes_received)),
                bytes_sent: Bytes::new(get(&slot.bytes_sent)),
                outcomes,
            })),
        };
        fence(Ordering::Acquire);
        (self.begun.load(Ordering::Relaxed) <= number + 2).then_some(published)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interval(second: u64, ok: u64) -> Interval {
        let mut interval = Interval::new(Span::from_s(second), Span::from_s(1));
        interval.tally.outcomes[Outcome::Ok] = ok;
        interval.response_time.record_n(Span::from_ms(2), ok);
        interval
    }

    /// What `--metrics`, `--series` and the view of a terminal call failed.
    #[test]
    fn what_was_given_up_unsent_is_published_as_failed() {
        let mut interval = interval(0, 5);
        interval.tally.outcomes[Outcome::Shed] = 3;
        interval.tally.outcomes[Outcome::Timeout] = 1;
        let progress = Progress::default();
        progress.publish(&interval, 1);
        let read = progress.read(0).unwrap();
        assert_eq!((read.ok, read.failures), (5, 4));
    }

    /// A line of `--series` says the same while the run goes on and when it is over.
    #[test]
    fn times_are_published_as_the_record_has_them() {
        let progress = Progress::default();
        let mut number = 0;
        let mut check = |spans: &[u64], censored: u64| {
            let mut interval = Interval::new(Span::ZERO, Span::from_s(1));
            for ns in spans {
                interval.response_time.record(Span::from_ns(*ns));
            }
            interval.response_time.record_censored_n(censored);
            progress.publish(&interval, 1);
            let read = progress.read(number).unwrap().response_time;
            number += 1;
            let of = |times: &Distribution| {
                let quantiles = [0.0, 0.5, 0.9, 0.99, 1.0].map(|q| times.quantile(q));
                (
                    times.count(),
                    times.censored(),
                    times.min(),
                    times.max(),
                    quantiles,
                )
            };
            assert_eq!(
                of(&read),
                of(&interval.response_time),
                "{spans:?}, {censored}"
            );
        };
        check(&[], 0);
        check(&[], 3);
        check(&[5_602_154], 0);
        check(&[1_234_567, 5_602_154], 0);
        check(&[305_123, 306_456, 1_950_789, 4_012_345], 4);
        check(&[777_777; 5], 1);
    }

    #[test]
    fn a_reader_sees_what_was_published_until_it_is_overwritten() {
        let progress = Progress::default();
        assert!(progress.read(0).is_none());
        for second in 0..3 {
            progress.publish(&interval(second, 10 + second), 4);
        }
        assert_eq!(progress.complete(), 3);
        assert!(progress.read(0).is_none(), "the third took its place");
        let last = progress.read(2).unwrap();
        assert_eq!(
            (last.start, last.ok, last.connections),
            (Span::from_s(2), 12, 4)
        );
        assert_eq!(last.response_time.count(), 12);
        let theirs = last.counts.unwrap();
        let mut counts = theirs.clone();
        assert_eq!(counts.outcomes[Outcome::Ok], 12);
        counts.merge(&theirs);
        assert_eq!(counts.outcomes[Outcome::Ok], 24);
        assert!(progress.read(3).is_none());
    }
}
