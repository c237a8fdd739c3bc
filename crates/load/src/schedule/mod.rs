//! When each exchange is due.
//!
//! Open loop: a sequence determined by plan, seed and worker alone, blind to responses. Fixed
//! arrivals are in closed form, the k-th of all at k / rate, and worker w of T takes each k with
//! k mod T = w, so that workers never fire in step. Poisson arrivals are the running sum of seeded
//! exponential gaps, independent in each worker; together they are Poisson at the full rate.
//! Closed loop: at the end of the previous one, which is no schedule at all.

use model::plan::{Arrivals, Plan, Stop};
use model::units::{Instant, Rate, Span};

use crate::random::Random;

/// The arrivals of one worker.
#[derive(Clone, Debug)]
pub struct Schedule {
    kind: Kind,
    start: Instant,
    /// No arrival at or after this.
    end: Instant,
    /// No arrival after so many, of those due at `counted_from` or later.
    left: u64,
    counted_from: Instant,
    next: Option<Instant>,
}

#[derive(Clone, Debug)]
enum Kind {
    Closed,
    Fixed {
        rate: Rate,
        /// The position of the next among those of all workers.
        position: u64,
        workers: u64,
    },
    Poisson {
        random: Random,
        mean_gap_ns: f64,
        since_start_ns: f64,
    },
}

impl Schedule {
    /// The arrivals of worker `index`, from `start` on: through the warm-up and the window.
    pub fn new(plan: &Plan, index: u32, start: Instant) -> Self {
        let file = plan.file();
        let workers = u64::from(file.workers);
        let kind = match file.arrivals {
            Arrivals::Closed => Kind::Closed,
            Arrivals::Fixed { rate_per_1000_s } => Kind::Fixed {
                rate: rate_per_1000_s,
                position: u64::from(index),
                workers,
            },
            Arrivals::Poisson { rate_per_1000_s } => Kind::Poisson {
                random: Random::new(file.seed, u64::from(index)),
                mean_gap_ns: mean_gap_ns(rate_per_1000_s, workers),
                since_start_ns: 0.0,
            },
        };
        let (end, left) = match file.stop {
            Stop::DurationNs(span) => (start + file.warmup + span, u64::MAX),
            Stop::Count(count) => (Instant::FAR_FUTURE, share(count, index, file.workers)),
        };
        let mut schedule = Self {
            kind,
            start,
            end,
            left,
            counted_from: start + file.warmup,
            next: None,
        };
        schedule.advance();
        schedule
    }

    /// When the next one is due; none if the schedule is over or there is none.
    #[inline]
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Takes the next one if it is due at `now`.
    #[inline]
    pub fn take_due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next.filter(|due| *due <= now)?;
        self.advance();
        Some(due)
    }

    /// No more arrivals at or after `end`.
    pub fn cut(&mut self, end: Instant) {
        self.end = self.end.min(end);
        self.next = self.next.filter(|due| *due < self.end);
    }

    fn advance(&mut self) {
        let since_start = match &mut self.kind {
            Kind::Closed => return,
            Kind::Fixed {
                rate,
                position,
                workers,
            } => {
                let at = instant_of(*position, *rate);
                *position += *workers;
                at
            }
            Kind::Poisson {
                random,
                mean_gap_ns,
                since_start_ns,
            } => {
                *since_start_ns += random.exponential() * *mean_gap_ns;
                whole_ns(*since_start_ns)
            }
        };
        let due = self.start + since_start;
        let exhausted = self.left == 0;
        if due >= self.counted_from {
            self.left = self.left.saturating_sub(1);
        }
        self.next = (!exhausted && due < self.end).then_some(due);
    }
}

/// How many of `count` fall to worker `index` of `workers`: the total is always exact.
pub fn share(count: u64, index: u32, workers: u32) -> u64 {
    let (index, workers) = (u64::from(index), u64::from(workers));
    count / workers + u64::from(index < count % workers)
}

/// When the arrival at `position` is due, in closed form: position / rate.
fn instant_of(position: u64, rate: Rate) -> Span {
    let ns = u128::from(position) * 1_000_000_000_000 / u128::from(rate.as_per_1000_s().max(1));
    Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

#[expect(clippy::cast_precision_loss, reason = "a handful of workers")]
fn mean_gap_ns(rate: Rate, workers: u64) -> f64 {
    1e9 * workers as f64 / rate.as_per_second_f64()
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and below 2^53 for a hundred days"
)]
const fn whole_ns(ns: f64) -> Span {
    Span::from_ns(ns as u64)
}

#[cfg(test)]
mod tests;
