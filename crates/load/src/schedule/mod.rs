//! When each exchange is due.
//!
//! Open loop: a sequence determined by plan, seed and worker alone, blind to responses. Fixed
//! arrivals are in closed form, the k-th of all at k / rate, and worker w of T takes each k with
//! k mod T = w, so that workers never fire in step. Poisson arrivals are the running sum of seeded
//! exponential gaps, independent in each worker; together they are Poisson at the full rate.
//! Where the rate changes, the same arrivals at rate 1 lie on the integral of the rate: when that
//! reaches k, the k-th is due. Uniform arrivals lie at random in their places, each by the seed and
//! its own position, so that however many workers there are, together they send the same.
//! Closed loop: at the end of the previous one, which is no schedule at all.

mod even;

use model::plan::pace::Curve;
use model::plan::{self, Plan, PlanFile, Stop};
use model::units::{Instant, Rate, Span};

use self::even::{Even, instant_of};
use crate::random::Random;

/// A run of arrivals, taken together.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Arrivals {
    /// How many.
    pub count: u64,
    /// When the first was due.
    pub first: Instant,
    /// When the last was due.
    pub last: Instant,
}

/// More arrivals of a Poisson process than this are counted by their distribution when they are
/// taken together: to draw each takes some 15 ns.
const DRAWN: f64 = 10_000.0;

/// The arrivals of one worker.
#[derive(Clone, Debug)]
pub struct Schedule {
    kind: Kind,
    start: Instant,
    /// No arrival at or after this.
    end: Instant,
    /// No arrival after so many, of those due at `counted_from` or later; none: until the end.
    left: Option<u64>,
    counted_from: Instant,
    next: Option<Instant>,
    /// Where a count ends it: when the arrival behind the last one would be due.
    over: Instant,
}

#[derive(Clone, Debug)]
enum Kind {
    Closed,
    Fixed(Even),
    Poisson {
        random: Random,
        mean_gap_ns: f64,
        since_start_ns: f64,
    },
    Curved {
        curve: Curve,
        spacing: Spacing,
    },
}

/// How arrivals lie on the integral of a rate that changes.
#[derive(Clone, Debug)]
enum Spacing {
    /// At each whole number, or at random behind it.
    Placed {
        /// The position of the next among those of all workers.
        position: u64,
        workers: u64,
        /// What the places within positions are drawn from; none: at their beginning.
        seed: Option<u64>,
    },
    /// With exponential gaps.
    Poisson {
        random: Random,
        workers: f64,
        /// Where the one lies that was drawn last.
        at: f64,
    },
}

impl Schedule {
    /// The arrivals of worker `index` through the warm-up and the window. There are none before
    /// [`Schedule::begin`].
    pub fn new(plan: &Plan, index: u32) -> Self {
        let PlanFile { arrivals, seed, .. } = *plan.file();
        let mut schedule = Self::of((arrivals, plan.curve(), seed), plan.file(), index);
        if let Some(count) = plan.file().count() {
            schedule.left = Some(share(count, index, plan.file().workers));
            schedule.over = match arrivals {
                // Where the last drawn gap of a worker ends.
                plan::Arrivals::Closed | plan::Arrivals::Poisson { .. } => Instant::ZERO,
                plan::Arrivals::Fixed { rate_per_1000_s }
                | plan::Arrivals::Uniform { rate_per_1000_s } => {
                    schedule.counted_from + instant_of(count, rate_per_1000_s)
                }
            };
        }
        schedule
    }

    /// When users come to worker `index`, who follow the script once and leave; none where users
    /// are there from the beginning to the end.
    pub fn of_users(plan: &Plan, index: u32) -> Option<Self> {
        let file = plan.file();
        let arrivals = file.script.as_ref()?.arrivals;
        arrivals.rate()?;
        let seed = file.seed ^ 0x0a11_1e5a_4d00_7000;
        Some(Self::of((arrivals, plan.curve(), seed), file, index))
    }

    fn of(
        (arrivals, curve, seed): (plan::Arrivals, Option<Curve>, u64),
        file: &PlanFile,
        index: u32,
    ) -> Self {
        let workers = u64::from(file.workers);
        let spacing = || Spacing::new(arrivals, seed, file.workers, index);
        let kind = match (arrivals, curve) {
            (plan::Arrivals::Closed, _) => Kind::Closed,
            (plan::Arrivals::Fixed { rate_per_1000_s }, None) => {
                Kind::Fixed(Even::new(rate_per_1000_s, index, workers))
            }
            (plan::Arrivals::Poisson { rate_per_1000_s }, None) => Kind::Poisson {
                random: Random::new(seed, u64::from(index)),
                mean_gap_ns: mean_gap_ns(rate_per_1000_s, workers),
                since_start_ns: 0.0,
            },
            (plan::Arrivals::Uniform { rate_per_1000_s }, None) => Kind::Curved {
                curve: Curve::constant(rate_per_1000_s),
                spacing: spacing(),
            },
            (_, Some(curve)) => Kind::Curved {
                curve,
                spacing: spacing(),
            },
        };
        let end = match file.stop {
            Stop::DurationNs(span) => Instant::ZERO + file.warmup + span,
            Stop::Count(_) => Instant::FAR_FUTURE,
        };
        Self {
            kind,
            start: Instant::ZERO,
            end,
            left: None,
            counted_from: Instant::ZERO + file.warmup,
            next: None,
            over: Instant::ZERO,
        }
    }

    /// The first of them is due at `start` or later. To be called once.
    pub fn begin(&mut self, start: Instant) {
        let offset = start.saturating_since(Instant::ZERO);
        self.start = start;
        self.counted_from += offset;
        self.over += offset;
        if self.end < Instant::FAR_FUTURE {
            self.end += offset;
        }
        self.advance();
    }

    /// When the next one is due; none if the schedule is over or there is none.
    #[inline]
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// The window of a count lasts until then: `n` arrivals at a rate take `n` gaps, the last of
    /// which ends when one more would be due.
    pub const fn over(&self) -> Instant {
        self.over
    }

    /// Takes the next one if it is due at `now`.
    #[inline]
    pub fn take_due(&mut self, now: Instant) -> Option<Instant> {
        let due = self.next.filter(|due| *due <= now)?;
        self.advance();
        Some(due)
    }

    /// Takes all that are due before `end`, whenever that is, in a time that does not grow with
    /// their number; none if there is none. Of very many arrivals of a Poisson process the count is
    /// drawn at once, which is as good a sample of it.
    pub fn take_all_before(&mut self, end: Instant) -> Option<Arrivals> {
        let end = end.min(self.end);
        let first = self.next.filter(|due| *due < end)?;
        let mut taken = Arrivals {
            count: 0,
            first,
            last: first,
        };
        self.jump(end, &mut taken);
        while let Some(due) = self.next.filter(|due| *due < end) {
            taken.count += 1;
            taken.last = due;
            self.advance();
        }
        Some(taken)
    }

    /// Takes most of those before `end` at once, where they are many.
    fn jump(&mut self, end: Instant, taken: &mut Arrivals) {
        let before_next = self
            .next
            .map_or(Span::ZERO, |due| due.saturating_since(self.start));
        let to_go = end.saturating_since(self.start).saturating_sub(before_next);
        match &mut self.kind {
            Kind::Closed => {}
            Kind::Fixed(even) => {
                // The next one has been taken of these already.
                let is_counted = taken.first >= self.counted_from;
                let turns = skippable(even.turns_in(to_go), self.left, is_counted);
                if turns > 0 {
                    even.skip(turns);
                    taken.count += turns;
                    if let Some(left) = &mut self.left {
                        *left -= turns;
                    }
                    taken.last = self.start + even.before(2);
                    self.next = Some(self.start + even.before(1));
                }
            }
            Kind::Curved { curve, spacing } => {
                let before_end = curve.count_until(end.saturating_since(self.start));
                let is_counted = taken.first >= self.counted_from;
                let turns = spacing.skip(before_end, self.left, is_counted);
                if turns > 0 {
                    taken.count += turns;
                    if let Some(left) = &mut self.left {
                        *left -= turns;
                    }
                    let at = |number| curve.instant_of(number).unwrap_or_default();
                    taken.last = (self.start + at(spacing.last(before_end))).max(taken.first);
                    self.next = spacing.next().map(|next| self.start + at(next));
                    if self.next.is_none() {
                        self.advance();
                    }
                }
            }
            Kind::Poisson {
                random,
                mean_gap_ns,
                since_start_ns,
            } => {
                let expected = as_f64(to_go) / *mean_gap_ns;
                if expected > DRAWN && self.left.is_none() {
                    // Behind the first one, the normal limit of the Poisson distribution (its error
                    // at 10,000 is 0.3 % of a standard deviation).
                    let after_first = expected + random.normal() * expected.sqrt();
                    let after_first = whole_ns((after_first + 0.5).max(1.0)).as_ns();
                    taken.count += 1 + after_first;
                    // Backwards from any instant, too, a gap is exponential.
                    let gap = whole_ns(random.exponential() * *mean_gap_ns) + Span::from_ns(1);
                    taken.last = (end - gap).max(taken.first);
                    *since_start_ns = as_f64(end.saturating_since(self.start));
                    self.advance();
                }
            }
        }
    }

    /// No more arrivals at or after `end`.
    pub fn cut(&mut self, end: Instant) {
        self.end = self.end.min(end);
        self.over = self.over.min(end);
        self.next = self.next.filter(|due| *due < self.end);
    }

    fn advance(&mut self) {
        let since_start = match &mut self.kind {
            Kind::Closed => return,
            Kind::Fixed(even) => even.take(),
            Kind::Poisson {
                random,
                mean_gap_ns,
                since_start_ns,
            } => {
                *since_start_ns += random.exponential() * *mean_gap_ns;
                whole_ns(*since_start_ns)
            }
            Kind::Curved { curve, spacing } => match curve.instant_of(spacing.take()) {
                Some(at) => at,
                None => {
                    self.next = None;
                    return;
                }
            },
        };
        let due = self.start + since_start;
        let exhausted = self.left == Some(0);
        if exhausted && matches!(self.kind, Kind::Poisson { .. }) {
            self.over = due;
        }
        if due >= self.counted_from
            && let Some(left) = &mut self.left
        {
            *left = left.saturating_sub(1);
        }
        self.next = (!exhausted && due < self.end).then_some(due);
    }
}

impl Spacing {
    /// That of worker `index`.
    fn new(arrivals: plan::Arrivals, seed: u64, workers: u32, index: u32) -> Self {
        let is_uniform = matches!(arrivals, plan::Arrivals::Uniform { .. });
        match arrivals {
            plan::Arrivals::Poisson { .. } => Self::Poisson {
                random: Random::new(seed, u64::from(index)),
                workers: f64::from(workers),
                at: 0.0,
            },
            _ => Self::Placed {
                position: u64::from(index),
                workers: u64::from(workers),
                seed: is_uniform.then_some(seed),
            },
        }
    }

    /// Draws the next one: where it lies.
    fn take(&mut self) -> f64 {
        match self {
            Self::Placed {
                position,
                workers,
                seed,
            } => {
                let at = place(*position, *seed);
                *position += *workers;
                at
            }
            Self::Poisson {
                random,
                workers,
                at,
            } => {
                *at += random.exponential() * *workers;
                *at
            }
        }
    }

    /// Takes most of those before `end` at once, the one that was drawn last first; how many.
    fn skip(&mut self, end: f64, left: Option<u64>, is_counted: bool) -> u64 {
        match self {
            Self::Placed {
                position, workers, ..
            } => {
                let to_go = whole(end).saturating_sub(*position - *workers);
                let turns = skippable(to_go / *workers, left, is_counted);
                *position += turns * *workers;
                turns
            }
            Self::Poisson {
                random,
                workers,
                at,
            } => {
                let expected = (end - *at) / *workers;
                if expected <= DRAWN || left.is_some() {
                    return 0;
                }
                // As where the rate is constant.
                let after_first = expected + random.normal() * expected.sqrt();
                *at = end;
                1 + whole((after_first + 0.5).max(1.0))
            }
        }
    }

    /// Where the last of those lies that were taken at once.
    fn last(&mut self, end: f64) -> f64 {
        match self {
            Self::Placed {
                position,
                workers,
                seed,
            } => place(*position - 2 * *workers, *seed),
            // Backwards from any point, too, a gap is exponential.
            Self::Poisson {
                random, workers, ..
            } => end - random.exponential() * *workers,
        }
    }

    /// Where the one lies that follows them, if it is not to be drawn.
    fn next(&self) -> Option<f64> {
        match self {
            Self::Placed {
                position,
                workers,
                seed,
            } => Some(place(*position - *workers, *seed)),
            Self::Poisson { .. } => None,
        }
    }
}

/// Where the arrival at `position` lies: there, or by `seed` at random before the next position.
#[expect(clippy::cast_precision_loss, reason = "positions stay below 2^53")]
fn place(position: u64, seed: Option<u64>) -> f64 {
    let within = seed.map_or(0.0, |seed| Random::new(seed, position).below_one());
    position as f64 + within
}

/// How many of `turns` may be taken at once: the last few are taken one by one, so that rounding
/// cannot skip one, and where some count and others do not, all are.
fn skippable(turns: u64, left: Option<u64>, is_counted: bool) -> u64 {
    let most = match left {
        None => u64::MAX,
        Some(left) if is_counted => left,
        Some(_) => 0,
    };
    turns.min(most).saturating_sub(2)
}

/// How many of `count` fall to worker `index` of `workers`: the total is always exact.
pub fn share(count: u64, index: u32, workers: u32) -> u64 {
    let (index, workers) = (u64::from(index), u64::from(workers));
    count / workers + u64::from(index < count % workers)
}

#[expect(clippy::cast_precision_loss, reason = "below 2^53 for a hundred days")]
const fn as_f64(span: Span) -> f64 {
    span.as_ns() as f64
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

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and below 2^53"
)]
const fn whole(number: f64) -> u64 {
    number as u64
}

#[cfg(test)]
mod tests;
