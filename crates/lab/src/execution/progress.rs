//! How far an experiment is, and how long the rest will take.

use std::collections::{BTreeMap, BTreeSet};

use model::{Experiment, Point, Span};

use super::Ground;
use crate::sweep::{self, Block, Cell, Round, Slot};

/// How far it is.
pub(super) struct Progress {
    /// Sequence numbers of stored trials.
    done: BTreeSet<u32>,
    /// Those of them that something spoilt which was neither server nor generator.
    void: BTreeSet<u32>,
    /// Of the slots of cells that an interruption cut in two, by sequence number, which cell each
    /// belongs to. What is compared is measured next to each other, so such a cell is measured
    /// again as a whole.
    cut: BTreeMap<u32, usize>,
    /// Slots of which nothing will come, as their cell was measured again.
    settled: BTreeSet<u32>,
    /// What was set aside in this start, as what is compared with it was measured.
    aside: BTreeSet<u32>,
    /// Trials in all, with the repeats that are known to be needed.
    pub(super) all: usize,
    cost_left: Span,
    cost_done: Span,
    /// How often a cell is measured again at most.
    repeats: u32,
    /// Of what is left, that which may have to be measured again.
    repeatable_left: Span,
    /// The same of what was done since the last count: its repeats are not among what is left.
    repeatable_done: Span,
    /// Cells that were measured, and whether something spoilt one of their trials.
    cells: BTreeMap<(u32, u32, u32, Cell), bool>,
    started: std::time::Instant,
    /// Numbers of exchanges and loads, each with source addresses of its own.
    number: u64,
}

impl Progress {
    pub(super) fn new(done: BTreeSet<u32>, void: BTreeSet<u32>, seed: u64) -> Self {
        Self {
            cut: BTreeMap::new(),
            settled: BTreeSet::new(),
            aside: BTreeSet::new(),
            all: 0,
            cost_left: Span::ZERO,
            cost_done: Span::ZERO,
            repeats: sweep::REPEATS_MAX,
            repeatable_left: Span::ZERO,
            repeatable_done: Span::ZERO,
            cells: BTreeMap::new(),
            started: std::time::Instant::now(),
            // Another lab a moment ago used other addresses, very likely; and so did this one
            // before it was interrupted.
            number: (seed % 1_000_003 + done.len() as u64) * 4_096,
            done,
            void,
        }
    }

    pub(super) const fn next_number(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// What of an attempt can be measured and is not.
    pub(super) fn is_open(&self, slot: &Slot, ground: &Ground) -> bool {
        let is_over = self.done.contains(&slot.sequence) || self.settled.contains(&slot.sequence);
        ground.can_run(slot) && !is_over
    }

    /// What is open, and what will be once something that is compared with it is measured.
    pub(super) fn will_be_open(&self, slot: &Slot, ground: &Ground) -> bool {
        let is_cut =
            self.cut.contains_key(&slot.sequence) && !self.settled.contains(&slot.sequence);
        self.is_open(slot, ground) || (is_cut && ground.can_run(slot))
    }

    /// Finds the cells of `rounds[index]`, of which nothing was measured since this start, that an
    /// earlier one left in two.
    pub(super) fn find_cut(
        &mut self,
        rounds: &[Round],
        index: usize,
        can_be: &dyn Fn(&Slot) -> bool,
    ) {
        let is_done = |sequence| self.done.contains(&sequence);
        let is_void = |sequence| self.void.contains(&sequence);
        let found = sweep::cut(rounds, index, &is_done, &is_void, can_be);
        for cell in found.cells {
            let number = self.cut.values().max().map_or(0, |last| last + 1);
            self.cut
                .extend(cell.into_iter().map(|sequence| (sequence, number)));
        }
        self.settled.extend(found.settled);
    }

    /// Before the trial of a slot is stored: the trials of its cell that no longer count, because
    /// they were made in an earlier start. From now on they are open.
    pub(super) fn renew(&mut self, slot: &Slot) -> BTreeSet<u32> {
        let Some(cell) = self.cut.get(&slot.sequence).copied() else {
            return BTreeSet::new();
        };
        let of_cell = self.cut.extract_if(.., |_, other| *other == cell);
        let mut all: BTreeSet<u32> = of_cell.map(|(sequence, _)| sequence).collect();
        all.retain(|sequence| self.done.contains(sequence));
        self.done.retain(|sequence| !all.contains(sequence));
        self.void.retain(|sequence| !all.contains(sequence));
        self.aside.extend(all.iter().copied());
        all
    }

    /// Whether that was set aside and has to be measured again.
    pub(super) fn is_owed(&self, slot: &Slot) -> bool {
        self.aside.contains(&slot.sequence) && !self.done.contains(&slot.sequence)
    }

    /// Trials that are stored and count.
    pub(super) fn done(&self) -> usize {
        let is_whole = |sequence: &&u32| !self.cut.contains_key(sequence);
        self.done.iter().filter(is_whole).count()
    }

    /// Trials that are stored and will be measured again with what is missing beside them.
    pub(super) fn to_be_renewed(&self) -> usize {
        self.done.len() - self.done()
    }

    /// The blocks of an attempt at one of the rounds, if anything in them is open.
    pub(super) fn attempt(
        &self,
        rounds: &[Round],
        index: usize,
        attempt: u32,
        ground: &Ground,
    ) -> Vec<Block> {
        let is_void = |sequence| self.void.contains(&sequence);
        let blocks = sweep::attempt(rounds, index, attempt, &is_void);
        let mut slots = blocks.iter().flat_map(|block| &block.slots);
        if slots.any(|slot| self.is_open(slot, ground)) {
            blocks
        } else {
            Vec::new()
        }
    }

    /// Whether nothing is left of any attempt that is known to be needed.
    pub(super) fn is_complete(&self, rounds: &[Round], ground: &Ground) -> bool {
        let is_over = |index: usize| {
            let mut attempts = 0..=sweep::REPEATS_MAX;
            attempts.all(|attempt| self.attempt(rounds, index, attempt, ground).is_empty())
        };
        (0..rounds.len()).all(is_over)
    }

    /// Counts what is left to do, in predicted time: repeats that are known to be needed, too.
    pub(super) fn plan(&mut self, experiment: &Experiment, rounds: &[Round], ground: &Ground) {
        self.all = self.done();
        self.cost_left = Span::ZERO;
        self.repeatable_left = Span::ZERO;
        self.repeatable_done = Span::ZERO;
        self.repeats = experiment.repeats();
        for index in 0..rounds.len() {
            for attempt in 0..=sweep::REPEATS_MAX {
                for block in self.attempt(rounds, index, attempt, ground) {
                    let is_open = |slot: &Slot| self.will_be_open(slot, ground);
                    let open = block.slots.iter().filter(|slot| is_open(slot)).count();
                    let cost = ground.block_cost(experiment, &block, &is_open);
                    self.all += open;
                    self.cost_left += cost;
                    if attempt < self.repeats {
                        self.repeatable_left += cost;
                    }
                }
            }
        }
    }

    pub(super) fn spend(&mut self, cost: Span, attempt: u32) {
        self.cost_done += cost;
        self.cost_left = self.cost_left.saturating_sub(cost);
        if attempt < self.repeats {
            self.repeatable_left = self.repeatable_left.saturating_sub(cost);
            self.repeatable_done += cost;
        }
    }

    /// Counts a trial that is stored, and whether something spoilt it.
    pub(super) fn count(&mut self, point: &Point, slot: &Slot, is_void: bool) {
        self.done.insert(slot.sequence);
        if is_void {
            self.void.insert(slot.sequence);
        }
        let place = (point.round, point.attempt, point.group, slot.cell);
        *self.cells.entry(place).or_default() |= is_void;
    }

    /// What repeats will take that nobody knows of yet, if as many cells are spoilt as so far.
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    fn repeats_s(&self) -> f64 {
        let spoilt = self.cells.values().filter(|is_void| **is_void).count();
        let share = spoilt as f64 / self.cells.len().max(1) as f64;
        // Where most are spoilt, repeats do not help, and are given up.
        if share > 0.5 {
            return 0.0;
        }
        (self.repeatable_left + self.repeatable_done).as_s_f64() * share
    }

    /// What is left, with the repeats to be expected, at the speed it went so far, once there is
    /// something to go by.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time left for people"
    )]
    pub(super) fn left(&self) -> Span {
        let predicted = self.cost_left.as_s_f64() + self.repeats_s();
        let done = self.cost_done.as_s_f64();
        let slowness = if done > 5.0 {
            self.started.elapsed().as_secs_f64() / done
        } else {
            1.0
        };
        Span::from_ms((predicted * slowness * 1e3) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A lab of 40 cells of one minute, of which so many of ten are spoilt, each time anew: how far
    /// what is said to be left after the first ten is from what it takes.
    fn error(spoilt_of_ten: u32) -> f64 {
        let minute = Span::from_s(60);
        let mut progress = Progress::new(BTreeSet::new(), BTreeSet::new(), 1);
        progress.cost_left = minute * 40;
        progress.repeatable_left = minute * 40;
        let mut took = 0.0;
        let mut said = 0.0;
        for cell in 0..40 {
            let is_void = cell * 7 % 10 < spoilt_of_ten;
            let slot = Slot {
                sequence: cell + 1,
                racer: sweep::Racer::Server(0),
                cell: Cell {
                    workload: 0,
                    connections: cell + 1,
                    rate: None,
                    sources: None,
                    placement: None,
                    network: None,
                },
            };
            progress.count(&Point::default(), &slot, is_void);
            progress.spend(minute, 0);
            if cell >= 10 {
                took += 60.0 * (1.0 + f64::from(u8::from(is_void)));
            } else {
                took += 60.0 * f64::from(u8::from(is_void));
            }
            if cell == 9 {
                said = progress.cost_left.as_s_f64() + progress.repeats_s();
            }
        }
        said / took - 1.0
    }

    #[test]
    fn what_is_left_counts_the_repeats_to_come() {
        assert!(error(0).abs() < 1e-9);
        for spoilt in [1, 3, 5] {
            let error = error(spoilt);
            assert!(error.abs() < 0.02, "{spoilt} of ten spoilt: {error}");
        }
    }
}
