//! The highest load that still meets an objective, by MLRsearch (RFC 9971): no network, no clock.
//! The load is a rate, or a number of connections.
//!
//! [`Search`] says which trial to make next and is told what came of it. Short trials double the
//! load until one misses the objective; longer ones, several at each load, halve what is between a
//! load that meets it and one that does not, until both are near each other. Then the lower one is
//! tried afresh, so that no luck of the search is published: a load that fails then is not met
//! either. The answer is an interval. A trial that something other than the server spoilt is made
//! again; where that happens three times in a row, the search ends and says so.

mod level;

use std::collections::BTreeMap;

use model::Trial;
use model::finding::Status;
use model::threshold::{Judged, Threshold};
use model::units::{Rate, Span};

pub use self::level::{Connections, Ending, Level};
pub use model::capacity::{Answer, Came, Found, Made};

/// How to search.
#[derive(Clone, Copy, Debug)]
pub struct Settings<L = Rate> {
    /// The load of the first trial.
    pub start: L,
    /// No trial is made with more; none: there is no such limit.
    pub most: Option<L>,
    /// How long a trial is that looks where to search.
    pub scout: Span,
    /// How long one is that counts in full.
    pub full: Span,
    /// Trials at one load are as long as this together, unless they are decided before.
    pub sum: Span,
    /// How far the bounds may be apart, in terms of the lower one.
    pub width: f64,
    /// How many trials of the answer are made afresh.
    pub fresh: u32,
    /// More trials are not made.
    pub trials_max: u32,
}

impl<L> Settings<L> {
    /// Those that we recommend, for a search from `start` with full trials of `full`: scouts a
    /// quarter as long, up to five full trials at each load, bounds 2 % apart, five fresh trials.
    pub fn new(start: L, full: Span) -> Self {
        Self {
            start,
            most: None,
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
/// So many trials in a row that something other than the server spoilt end the search.
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

/// What came of a trial, and by what.
#[derive(Clone, Debug)]
pub struct Weighed {
    /// What came of it.
    pub came: Came,
    /// Right answers per second.
    pub achieved_rate: f64,
    /// Each condition of the objective, with the value it met.
    pub thresholds: Vec<Judged>,
    /// What the trial is worth.
    pub status: Status,
}

/// What came of a trial. Where the objective was missed and something other than the server was the
/// limit, it says nothing of the server: where the verdict says so, or where in an open loop not
/// all was sent that was due, and not for want of a connection. Wrong answers that miss it alone
/// are the server's all the same.
#[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
pub fn weigh(trial: &Trial, objective: &[Threshold]) -> Weighed {
    let record = &trial.record;
    let thresholds: Vec<Judged> = objective.iter().map(|one| one.judge(record)).collect();
    let sent_all = record.total.sent as f64 >= SENT_SHARE * record.total.due as f64;
    let is_open = trial.plan.arrivals.rate().is_some();
    // In so short a window that nothing was due, nothing was missed.
    let is_empty = is_open && record.total.due == 0;
    let holds = |one: &Judged| one.met || (is_empty && one.value.is_none());
    let is_met = thresholds.iter().all(holds) && (sent_all || !is_open);
    let is_late = is_open && !sent_all && record.late_time.sum() > record.blocked_time.sum();
    let mut conditions = objective.iter();
    let is_wrong = conditions.any(|one| one.is_missed_by_wrong_answers(record));
    let is_spoilt = !is_wrong && (is_late || verdict::is_spoilt(&trial.verdict));
    Weighed {
        came: match (is_met, is_spoilt) {
            (true, _) => Came::Met,
            (false, true) => Came::Spoilt,
            (false, false) => Came::Missed,
        },
        achieved_rate: record.achieved_rate,
        thresholds,
        status: trial.verdict.status,
    }
}

/// A trial of a search for a rate, and what came of it.
pub fn judged(step: Step, trial: &Trial, objective: &[Threshold]) -> Made {
    let Weighed {
        came,
        achieved_rate,
        thresholds,
        status,
    } = weigh(trial, objective);
    Made {
        rate: step.load,
        duration: step.duration,
        fresh: step.fresh,
        came,
        achieved_rate,
        thresholds,
        status,
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
        search.tell(match step.load <= Rate::per_second(800) {
            true => Came::Met,
            false => Came::Missed,
        });
    }
    (search.trials() + 2, windows)
}

/// A trial to be made.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Step<L = Rate> {
    /// The intended load.
    pub load: L,
    /// How long it measures.
    pub duration: Span,
    /// Whether it is one of those that confirm the answer.
    pub fresh: bool,
}

/// How long trials at one load were, by what came of them.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    full_met: Span,
    full_missed: Span,
    short_met: Span,
    short_missed: Span,
    /// Fresh trials have shown that it does not hold.
    refuted: bool,
}

/// What a load is, by what was seen at it.
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
pub struct Search<L = Rate> {
    settings: Settings<L>,
    seen: BTreeMap<L, Seen>,
    /// The last scout that met the objective, and the first that did not.
    scout_met: Option<L>,
    scout_missed: Option<L>,
    /// The load that is confirmed, and what came of its fresh trials.
    confirming: Option<Confirming<L>>,
    asked: Option<Step<L>>,
    trials: u32,
    spoilt: u32,
}

#[derive(Clone, Copy, Debug)]
struct Confirming<L> {
    load: L,
    met: u32,
    missed: u32,
}

impl<L: Level> Search<L> {
    /// One that has seen nothing yet.
    pub fn new(settings: Settings<L>) -> Self {
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

    /// What is known before the answer: the highest load that met the objective, in one trial or
    /// more, and the lowest that did not.
    pub fn so_far(&self) -> Ending<L> {
        let (lower, upper) = self.bounds();
        Ending::Undecided {
            lower: lower.or(self.scout_met),
            upper: upper.or(self.scout_missed),
        }
    }

    /// The next trial, or the answer.
    pub fn step(&mut self) -> Result<Step<L>, Ending<L>> {
        if self.spoilt >= SPOILT_MAX
            && let Some(Step { load, .. }) = self.asked
        {
            let lower = self.bounds().0.or(self.scout_met);
            return Err(Ending::GeneratorLimit {
                lower,
                failed: load,
            });
        }
        if self.trials >= self.settings.trials_max {
            let (lower, upper) = self.bounds();
            return Err(Ending::Undecided { lower, upper });
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
            return self.confirm(step.load, met);
        }
        let seen = self.seen.entry(step.load).or_default();
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
            self.scout_met = self.scout_met.max(Some(step.load));
        } else {
            let lowest = self
                .scout_missed
                .map_or(step.load, |load| load.min(step.load));
            self.scout_missed = Some(lowest);
        }
    }

    /// Counts a fresh trial. Where half of them or more miss the objective, the load does not hold.
    fn confirm(&mut self, load: L, met: bool) {
        let mut confirming = self
            .confirming
            .filter(|confirming| confirming.load == load)
            .unwrap_or(Confirming {
                load,
                met: 0,
                missed: 0,
            });
        if met {
            confirming.met += 1;
        } else {
            confirming.missed += 1;
        }
        if confirming.missed * 2 >= self.settings.fresh {
            self.seen.entry(load).or_default().refuted = true;
            self.confirming = None;
        } else {
            self.confirming = Some(confirming);
        }
    }

    /// The highest load below every upper bound that is a lower one, and the lowest upper bound.
    fn bounds(&self) -> (Option<L>, Option<L>) {
        let of = |bound: Bound| {
            let loads = self.seen.iter();
            loads.filter(move |(_, seen)| seen.bound(self.settings.sum) == bound)
        };
        let upper = of(Bound::Upper).map(|(load, _)| *load).min();
        let lower = of(Bound::Lower)
            .map(|(load, _)| *load)
            .filter(|load| upper.is_none_or(|upper| *load < upper))
            .max();
        (lower, upper)
    }

    fn plan(&self) -> Result<Step<L>, Ending<L>> {
        if let Some(load) = self.scout() {
            return Ok(Step {
                load,
                duration: self.settings.scout,
                fresh: false,
            });
        }
        let (lower, upper) = self.bounds();
        let load = match (lower, upper) {
            (None, None) => {
                let scouted = self.scout_met.or(self.scout_missed);
                scouted.unwrap_or(self.settings.start)
            }
            (Some(lower), None) if self.settings.most.is_some_and(|most| lower >= most) => {
                return Err(Ending::Enough { lower });
            }
            (Some(lower), None) => {
                let scouted = self.scout_missed.filter(|load| *load > lower);
                scouted.unwrap_or_else(|| self.scaled(lower, 2.0))
            }
            (None, Some(upper)) => {
                if upper <= L::LOWEST {
                    return Err(Ending::Nothing { lowest: upper });
                }
                let scouted = self.scout_met.filter(|load| *load < upper);
                let load = scouted.unwrap_or_else(|| self.scaled(upper, 0.5));
                load.max(L::LOWEST)
            }
            (Some(lower), Some(upper)) => {
                let apart = upper.value() / lower.value() - 1.0;
                let middle = middle(lower, upper);
                if apart <= self.settings.width || middle == lower || middle == upper {
                    return self.confirmation(lower, upper);
                }
                middle
            }
        };
        Ok(Step {
            load,
            duration: self.settings.full,
            fresh: false,
        })
    }

    /// The next load to look at with a short trial; none once it is known where to search.
    fn scout(&self) -> Option<L> {
        match (self.scout_met, self.scout_missed) {
            (None, None) => Some(self.settings.start),
            (Some(met), None) if self.settings.most.is_some_and(|most| met >= most) => None,
            (Some(met), None) => Some(self.scaled(met, 2.0)),
            (None, Some(missed)) if missed > L::LOWEST => {
                Some(self.scaled(missed, 0.5).max(L::LOWEST))
            }
            _ => None,
        }
    }

    fn confirmation(&self, lower: L, upper: L) -> Result<Step<L>, Ending<L>> {
        let confirming = self
            .confirming
            .filter(|confirming| confirming.load == lower);
        let (met, missed) = confirming.map_or((0, 0), |one| (one.met, one.missed));
        if met + missed >= self.settings.fresh {
            return Err(Ending::Between {
                lower,
                upper,
                fresh_met: met,
                fresh: met + missed,
            });
        }
        Ok(Step {
            load: lower,
            duration: self.settings.full,
            fresh: true,
        })
    }

    /// A multiple of `load`, as far as there may be more.
    fn scaled(&self, load: L, factor: f64) -> L {
        let more = L::of(load.value() * factor);
        self.settings.most.map_or(more, |most| more.min(most))
    }
}

/// As far from both, by ratio.
fn middle<L: Level>(lower: L, upper: L) -> L {
    L::of((lower.value() * upper.value()).sqrt())
}

#[cfg(test)]
mod tests;
