//! What starts and turns of servers take, as it is reckoned before anything is measured.

use std::collections::BTreeSet;
use std::ops::{Add, AddAssign, Div};

use model::experiment::Restart;
use model::{Experiment, Span};

use super::super::{Block, Racer, Slot, settle};
use crate::capacity;

/// What one trial takes beside its window: new connections, meters, the generator's start and end,
/// storing. Measured on two cores of 2.5 GHz: 75 ms with few connections, 180 ms with a thousand.
const OVERHEAD: Span = Span::from_ms(100);
/// What a start takes that nobody has seen: the server's own, the checks, the end. On the same
/// machine it was 350 ms beside others, and alone 450 ms (lighttpd) to 5 s (Apache with MPM ITK).
pub(super) const START: Span = Span::from_ms(500);
/// What freezing and thawing take: connections drained, an exchange, the generator's start and end.
const THAW: Span = Span::from_ms(45);

/// Starts of servers and their turns, as times that they take: what is known of the ones says
/// nothing of the others.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Work {
    /// Starts, with their warm-up.
    pub(crate) starts: Span,
    /// Turns: trials, or searches.
    pub(crate) turns: Span,
}

impl Work {
    /// Starts that take so long.
    pub(crate) const fn of_starts(starts: Span) -> Self {
        Self {
            starts,
            turns: Span::ZERO,
        }
    }

    /// Turns that take so long.
    pub(crate) const fn of_turns(turns: Span) -> Self {
        Self {
            starts: Span::ZERO,
            turns,
        }
    }

    /// All of it together.
    pub(crate) fn time(self) -> Span {
        self.starts + self.turns
    }

    /// This less `other`, at least nothing.
    pub(crate) const fn saturating_sub(self, other: Self) -> Self {
        Self {
            starts: self.starts.saturating_sub(other.starts),
            turns: self.turns.saturating_sub(other.turns),
        }
    }
}

impl Add for Work {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            starts: self.starts + other.starts,
            turns: self.turns + other.turns,
        }
    }
}

impl AddAssign for Work {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Div<u64> for Work {
    type Output = Self;

    fn div(self, parts: u64) -> Self {
        Self {
            starts: self.starts / parts,
            turns: self.turns / parts,
        }
    }
}

impl std::iter::Sum for Work {
    fn sum<I: Iterator<Item = Self>>(works: I) -> Self {
        works.fold(Self::default(), Add::add)
    }
}

/// What the trials of `block` take that `is_open` lets pass, with the starts that they need of
/// racers that are not `standing` yet, each of which takes as long as `start` says.
pub(crate) fn block_work(
    experiment: &Experiment,
    block: &Block,
    is_open: &dyn Fn(&Slot) -> bool,
    start: &dyn Fn(Racer) -> Span,
    standing: &BTreeSet<Racer>,
) -> Work {
    let open: Vec<&Slot> = block.slots.iter().filter(|slot| is_open(slot)).collect();
    let racers: BTreeSet<Racer> = open.iter().map(|slot| slot.racer).collect();
    let around = settle(experiment) + OVERHEAD;
    let thaw = match racers.len() > 1 {
        true => THAW,
        false => Span::ZERO,
    };
    let trial = around + experiment.duration() + thaw;
    let turn = match experiment.objective().is_empty() {
        true => trial,
        false => {
            let (trials, windows) = capacity::usual(experiment.duration());
            around * u64::from(trials) + windows + thaw
        }
    };
    let is_due =
        |racer: &Racer| restart(experiment, *racer) == Restart::Trial || !standing.contains(racer);
    let starts = starts(experiment, block, is_open).into_iter();
    let starts = starts.filter(is_due).map(start);
    // The generator's ceiling is that of users who begin together.
    let is_server = |slot: &&&Slot| matches!(slot.racer, Racer::Server(_));
    let turns = open.iter().filter(is_server).count() as u64;
    Work {
        starts: starts.sum(),
        turns: (experiment.users().ramp() + turn) * turns + trial * (open.len() as u64 - turns),
    }
}

/// What a start takes with its warm-up, if without it took as long as `seen`. Servers that are
/// warmed up until their rate is steady take as long as they may.
pub(crate) fn start_time(
    experiment: &Experiment,
    seen: Option<Span>,
    steady_within: Option<Span>,
) -> Span {
    let start = seen.unwrap_or(START);
    let warmup = experiment.warmup();
    match steady_within {
        Some(limit) if !warmup.is_zero() => start + warmup.max(limit),
        _ => start + warmup,
    }
}

/// Who starts: once each racer that is left where it is, the others for each trial.
pub(super) fn starts(
    experiment: &Experiment,
    block: &Block,
    is_open: &dyn Fn(&Slot) -> bool,
) -> Vec<Racer> {
    let mut stays = BTreeSet::new();
    let open = block.slots.iter().filter(|slot| is_open(slot));
    let racers = open.map(|slot| slot.racer);
    racers
        .filter(|&racer| restart(experiment, racer) == Restart::Trial || stays.insert(racer))
        .collect()
}

/// When that racer is started afresh.
pub(crate) fn restart(experiment: &Experiment, racer: Racer) -> Restart {
    match racer {
        Racer::Ceiling { .. } => experiment.restart(),
        Racer::Server(index) => experiment.servers()[index].restart,
    }
}
