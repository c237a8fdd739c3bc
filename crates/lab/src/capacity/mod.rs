//! The highest rate that still meets an objective, by MLRsearch (RFC 9971): no network, no clock.
//!
//! [`Search`] says which trial to make next and is told what came of it. Short trials double the
//! rate until one misses the objective; longer ones, several at each rate, halve what is between a
//! rate that meets it and one that does not, until both are near each other. Then the lower one is
//! tried afresh, so that no luck of the search is published: a rate that fails then is not met
//! either. The answer is an interval. Where the generator is the limit, it ends and says so.

use std::collections::BTreeMap;

use model::Trial;
use model::threshold::{Judged, Threshold};
use model::units::{Rate, Span};

pub use model::capacity::{Answer, Came, Found, Made};

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The rate of the first trial.
    pub start: Rate,
    /// How long a trial is that looks where to search.
    pub scout: Span,
    /// How long one is that counts in full.
    pub full: Span,
    /// Trials at one rate are as long as this together, unless they are decided before.
    pub sum: Span,
    /// How far the bounds may be apart, in terms of the lower one.
    pub width: f64,
    /// How many trials of the answer are made afresh.
    pub fresh: u32,
    /// More trials are not made.
    pub trials_max: u32,
}

impl Settings {
    /// Those that we recommend, for a search from `start` with full trials of `full`: scouts a
    /// quarter as long, up to five full trials at each rate, bounds 2 % apart, five fresh trials.
    pub fn new(start: Rate, full: Span) -> Self {
        Self {
            start,
            scout: full / 4,
            full,
            sum: full * 5,
            width: 0.02,
            fresh: 5,
            trials_max: 500,
        }
    }
}

/// The share of trials at one rate that may miss the objective (RFC 9971: the goal exceed ratio).
const EXCEED: f64 = 0.5;
/// So many trials in a row that the generator spoilt are its limit.
const SPOILT_MAX: u32 = 3;

/// Of what the plan asked, so much must have been sent; what is missing says who was the limit.
const SENT_SHARE: f64 = 0.99;

/// A tenth of what a closed loop reaches, where a search begins.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is positive, and far below 2^53"
)]
pub fn start_at(closed_loop_rate: f64) -> Rate {
    Rate::per_1000_s((closed_loop_rate * 100.0).max(1_000.0) as u64)
}

/// What came of a trial. Where not all was sent that was due, and not for want of a connection, it
/// says nothing of the server.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub fn judged(step: Step, trial: &Trial, objective: &[Threshold]) -> Made {
    let record = &trial.record;
    let thresholds: Vec<Judged> = objective.iter().map(|one| one.judge(record)).collect();
    let sent_all = record.total.sent as f64 >= SENT_SHARE * record.total.due as f64;
    let is_ours = record.late_time.sum() > record.blocked_time.sum();
    let came = if !sent_all && is_ours {
        Came::Spoilt
    } else if sent_all && thresholds.iter().all(|one| one.met) {
        Came::Met
    } else {
        Came::Missed
    };
    Made {
        rate: step.rate,
        duration: step.duration,
        fresh: step.fresh,
        came,
        achieved_rate: record.achieved_rate,
        thresholds,
        status: trial.verdict.status,
    }
}

/// What a search takes as a rule, with the trial of a closed loop before it and the one at the
/// answer after it: how many trials, and their windows together. It is that of a server which
/// meets the objective up to eight tenths of what it does in a closed loop.
pub fn usual(full: Span) -> (u32, Span) {
    let start = Rate::per_second(100);
    let mut search = Search::new(Settings::new(start, full));
    let mut windows = full / 4 + full;
    while let Ok(step) = search.step() {
        windows += step.duration;
        search.tell(match step.rate <= Rate::per_second(800) {
            true => Came::Met,
            false => Came::Missed,
        });
    }
    (search.trials() + 2, windows)
}

/// A trial to be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step {
    /// The intended rate.
    pub rate: Rate,
    /// How long it measures.
    pub duration: Span,
    /// Whether it is one of those that confirm the answer.
    pub fresh: bool,
}

/// How long trials at one rate were, by what came of them.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    full_met: Span,
    full_missed: Span,
    short_met: Span,
    short_missed: Span,
    /// Fresh trials have shown that it does not hold.
    refuted: bool,
}

/// What a rate is, by what was seen at it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Bound {
    Lower,
    Undecided,
    Upper,
}

impl Seen {
    /// RFC 9971, the classification of a load, in its words.
    fn bound(&self, sum: Span) -> Bound {
        if self.refuted {
            return Bound::Upper;
        }
        let s = Span::as_s_f64;
        let coefficient = EXCEED / (1.0 - EXCEED);
        let balancing = s(self.short_met) * coefficient;
        let effective_high = s(self.full_missed) + (s(self.short_missed) - balancing).max(0.0);
        let effective_full = s(self.full_met) + effective_high;
        let whole = effective_full.max(s(sum));
        let quantile = whole * EXCEED;
        let pessimistic = whole - s(self.full_met) <= quantile;
        let optimistic = effective_high <= quantile;
        match (pessimistic, optimistic) {
            (true, true) => Bound::Lower,
            (false, false) => Bound::Upper,
            _ => Bound::Undecided,
        }
    }
}

/// A search under way.
#[derive(Clone, Debug)]
pub struct Search {
    settings: Settings,
    seen: BTreeMap<Rate, Seen>,
    /// The last scout that met the objective, and the first that did not.
    scout_met: Option<Rate>,
    scout_missed: Option<Rate>,
    /// The rate that is confirmed, and what came of its fresh trials.
    confirming: Option<Confirming>,
    asked: Option<Step>,
    trials: u32,
    spoilt: u32,
}

#[derive(Clone, Copy, Debug)]
struct Confirming {
    rate: Rate,
    met: u32,
    missed: u32,
}

impl Search {
    /// One that has seen nothing yet.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            seen: BTreeMap::new(),
            scout_met: None,
            scout_missed: None,
            confirming: None,
            asked: None,
            trials: 0,
            spoilt: 0,
        }
    }

    /// How many trials were made.
    pub const fn trials(&self) -> u32 {
        self.trials
    }

    /// The next trial, or the answer.
    pub fn step(&mut self) -> Result<Step, Answer> {
        if self.spoilt >= SPOILT_MAX
            && let Some(Step { rate, .. }) = self.asked
        {
            let lower = self.bounds().0.or(self.scout_met);
            return Err(Answer::GeneratorLimit {
                lower,
                failed: rate,
            });
        }
        if self.trials >= self.settings.trials_max {
            let (lower, upper) = self.bounds();
            return Err(Answer::Undecided { lower, upper });
        }
        let step = self.plan()?;
        self.asked = Some(step);
        Ok(step)
    }

    /// What came of the trial that [`Search::step`] gave.
    pub fn tell(&mut self, came: Came) {
        let Some(step) = self.asked else { return };
        self.trials += 1;
        if came == Came::Spoilt {
            self.spoilt += 1;
            return;
        }
        self.spoilt = 0;
        let met = came == Came::Met;
        if step.fresh {
            return self.confirm(step.rate, met);
        }
        let seen = self.seen.entry(step.rate).or_default();
        let is_full = step.duration >= self.settings.full;
        let place = match (is_full, met) {
            (true, true) => &mut seen.full_met,
            (true, false) => &mut seen.full_missed,
            (false, true) => &mut seen.short_met,
            (false, false) => &mut seen.short_missed,
        };
        *place += step.duration;
        if is_full {
            return;
        }
        if met {
            self.scout_met = self.scout_met.max(Some(step.rate));
        } else {
            let lowest = self
                .scout_missed
                .map_or(step.rate, |rate| rate.min(step.rate));
            self.scout_missed = Some(lowest);
        }
    }

    /// Counts a fresh trial. Where half of them or more miss the objective, the rate does not hold.
    fn confirm(&mut self, rate: Rate, met: bool) {
        let mut confirming = self
            .confirming
            .filter(|confirming| confirming.rate == rate)
            .unwrap_or(Confirming {
                rate,
                met: 0,
                missed: 0,
            });
        if met {
            confirming.met += 1;
        } else {
            confirming.missed += 1;
        }
        if confirming.missed * 2 >= self.settings.fresh {
            self.seen.entry(rate).or_default().refuted = true;
            self.confirming = None;
        } else {
            self.confirming = Some(confirming);
        }
    }

    /// The highest rate below every upper bound that is a lower one, and the lowest upper bound.
    fn bounds(&self) -> (Option<Rate>, Option<Rate>) {
        let of = |bound: Bound| {
            let rates = self.seen.iter();
            rates.filter(move |(_, seen)| seen.bound(self.settings.sum) == bound)
        };
        let upper = of(Bound::Upper).map(|(rate, _)| *rate).min();
        let lower = of(Bound::Lower)
            .map(|(rate, _)| *rate)
            .filter(|rate| upper.is_none_or(|upper| *rate < upper))
            .max();
        (lower, upper)
    }

    fn plan(&self) -> Result<Step, Answer> {
        if let Some(rate) = self.scout() {
            return Ok(Step {
                rate,
                duration: self.settings.scout,
                fresh: false,
            });
        }
        let (lower, upper) = self.bounds();
        let rate = match (lower, upper) {
            (None, None) => {
                let scouted = self.scout_met.or(self.scout_missed);
                scouted.unwrap_or(self.settings.start)
            }
            (Some(lower), None) => {
                let scouted = self.scout_missed.filter(|rate| *rate > lower);
                scouted.unwrap_or_else(|| scaled(lower, 2.0))
            }
            (None, Some(upper)) => {
                if upper <= LOWEST {
                    return Err(Answer::Nothing { lowest: upper });
                }
                let scouted = self.scout_met.filter(|rate| *rate < upper);
                scouted.unwrap_or_else(|| scaled(upper, 0.5)).max(LOWEST)
            }
            (Some(lower), Some(upper)) => {
                let apart = upper.as_per_second_f64() / lower.as_per_second_f64() - 1.0;
                let middle = middle(lower, upper);
                if apart <= self.settings.width || middle == lower || middle == upper {
                    return self.confirmation(lower, upper);
                }
                middle
            }
        };
        Ok(Step {
            rate,
            duration: self.settings.full,
            fresh: false,
        })
    }

    /// The next rate to look at with a short trial; none once it is known where to search.
    fn scout(&self) -> Option<Rate> {
        match (self.scout_met, self.scout_missed) {
            (None, None) => Some(self.settings.start),
            (Some(met), None) => Some(scaled(met, 2.0)),
            (None, Some(missed)) if missed > LOWEST => Some(scaled(missed, 0.5).max(LOWEST)),
            _ => None,
        }
    }

    fn confirmation(&self, lower: Rate, upper: Rate) -> Result<Step, Answer> {
        let confirming = self
            .confirming
            .filter(|confirming| confirming.rate == lower);
        let (met, missed) = confirming.map_or((0, 0), |one| (one.met, one.missed));
        if met + missed >= self.settings.fresh {
            return Err(Answer::Between {
                lower,
                upper,
                fresh_met: met,
                fresh: met + missed,
            });
        }
        Ok(Step {
            rate: lower,
            duration: self.settings.full,
            fresh: true,
        })
    }
}

/// A server that does not meet the objective once a second does not meet it.
const LOWEST: Rate = Rate::per_second(1);

/// A multiple of `rate`, never 0.
fn scaled(rate: Rate, factor: f64) -> Rate {
    per_second(rate.as_per_second_f64() * factor)
}

/// As far from both, by ratio.
fn middle(lower: Rate, upper: Rate) -> Rate {
    per_second((lower.as_per_second_f64() * upper.as_per_second_f64()).sqrt())
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is positive, and far below 2^53"
)]
fn per_second(rate: f64) -> Rate {
    Rate::per_1000_s(((rate * 1e3).round() as u64).max(1))
}

#[cfg(test)]
mod tests;
