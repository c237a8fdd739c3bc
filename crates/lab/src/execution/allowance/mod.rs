//! How a budget is kept: by what starts and turns really took so far (ADR 0048).
//!
//! Nothing here reads a clock: whoever asks says how much time is over.

use model::Span;

use crate::sweep::{self, Block, Work};

/// How long work took, beside what was reckoned for it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Pace {
    reckoned: Work,
    took: Work,
}

impl Pace {
    /// Takes note of work for which `reckoned` was reckoned. What belongs to no work of its own,
    /// as the end of servers, counts as a part of starts.
    pub(super) fn learn(&mut self, reckoned: Work, took: Work) {
        self.reckoned += reckoned;
        self.took += took;
    }

    /// How long `work` takes at that pace.
    pub(super) fn of(&self, work: Work) -> Span {
        let starts = at(work.starts, self.took.starts, self.reckoned.starts);
        starts + at(work.turns, self.took.turns, self.reckoned.turns)
    }
}

/// As much of `work` as `took` is of `reckoned`; all of it where nothing is known yet.
fn at(work: Span, took: Span, reckoned: Span) -> Span {
    if reckoned.is_zero() {
        return work;
    }
    let ns = u128::from(work.as_ns()) * u128::from(took.as_ns()) / u128::from(reckoned.as_ns());
    Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
}

/// A budget, and what of it was spent on what nobody could plan.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Allowance {
    /// How long all of it may take.
    time: Span,
    /// The fewest rounds that answer the experiment: they are measured whatever they take.
    least: u32,
    /// What was spent on what was measured again.
    again: Span,
}

impl Allowance {
    pub(super) const fn new(time: Span, least: u32) -> Self {
        Self {
            time,
            least,
            again: Span::ZERO,
        }
    }

    /// The fewest rounds.
    pub(super) const fn least(&self) -> u32 {
        self.least
    }

    /// Counts what was measured again.
    pub(super) fn spend_again(&mut self, took: Span) {
        self.again += took;
    }

    /// Whether round `number` (from 1), which takes as long as `round`, is measured: rounds do not
    /// take equally long, so that one which is planned may be over a twentieth late.
    pub(super) fn has_round(&self, number: u32, elapsed: Span, round: Span) -> bool {
        number <= self.least || elapsed + round <= self.time + self.time / 20
    }

    /// How many rounds will follow of those behind round `number`, of which `planned` were planned
    /// in all and each takes as long as `round`. What was measured again is not taken from them;
    /// where they do not all fit, the time that was kept for it is not theirs either.
    pub(super) fn rounds_behind(
        &self,
        (number, planned): (u32, u32),
        elapsed: Span,
        round: Span,
    ) -> u32 {
        let fit = |time: Span| {
            let time = (time + self.again).saturating_sub(elapsed);
            let count = time.as_ns() / round.as_ns().max(1);
            u32::try_from(count).unwrap_or(u32::MAX)
        };
        let behind = planned.saturating_sub(number);
        let least = self.least.saturating_sub(number).min(behind);
        if fit(self.time) >= behind {
            return behind;
        }
        fit(sweep::plannable(self.time)).clamp(least, behind)
    }

    /// Whether there is time for what takes as long as `work`, if `to_come` has to follow.
    pub(super) fn has_time(&self, elapsed: Span, work: Span, to_come: Span) -> bool {
        elapsed + work + to_come <= self.time
    }

    /// How long the rest will take, of which `required` is measured in any case and all would take
    /// as long as `all`.
    pub(super) fn left(&self, elapsed: Span, required: Span, all: Span) -> Span {
        let time = self.time.saturating_sub(elapsed);
        all.min(required.max(time))
    }
}

/// As many cells of what is to be measured again as pass `fits`: the last ones are left out first.
/// A cell goes as a whole, so that pairs stay pairs.
pub(super) fn as_far_as(mut blocks: Vec<Block>, fits: &dyn Fn(&[Block]) -> bool) -> Vec<Block> {
    while !fits(&blocks) {
        let Some((group, cell)) = last_cell(&blocks) else {
            break;
        };
        for block in blocks.iter_mut().filter(|block| block.group() == group) {
            block.slots.retain(|slot| slot.cell != cell);
        }
        blocks.retain(|block| !block.slots.is_empty());
    }
    blocks
}

fn last_cell(blocks: &[Block]) -> Option<(usize, sweep::Cell)> {
    let block = blocks.last()?;
    Some((block.group(), block.slots.last()?.cell))
}

#[cfg(test)]
mod tests;
