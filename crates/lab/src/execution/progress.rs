//! How far an experiment is, and how long the rest will take.

use std::collections::{BTreeMap, BTreeSet};

use model::{Experiment, Point, Span};

use super::Ground;
use super::allowance::{Allowance, Pace};
use crate::sweep::{self, Block, Cell, Round, Slot, Work};

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
    work_left: Work,
    /// Of that the rounds that no budget leaves out, without repeats.
    required_left: Work,
    /// How often a cell is measured again at most.
    repeats: u32,
    /// Of what is left, that which may have to be measured again.
    repeatable_left: Work,
    /// The same of what was done since the last count: its repeats are not among what is left.
    repeatable_done: Work,
    /// Cells that were measured, and whether something spoilt one of their trials.
    cells: BTreeMap<(u32, u32, u32, Cell), bool>,
    /// How fast it went so far.
    pace: Pace,
    /// The budget, if there is one.
    allowance: Option<Allowance>,
    /// Cells with spoilt trials for which the budget has no time.
    not_repeated: u32,
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
            work_left: Work::default(),
            required_left: Work::default(),
            repeats: sweep::REPEATS_MAX,
            repeatable_left: Work::default(),
            repeatable_done: Work::default(),
            cells: BTreeMap::new(),
            pace: Pace::default(),
            allowance: None,
            not_repeated: 0,
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

    /// Counts what is left to do, as reckoned: repeats that are known to be needed, too.
    pub(super) fn plan(&mut self, experiment: &Experiment, rounds: &[Round], ground: &Ground) {
        self.all = self.done();
        self.work_left = Work::default();
        self.required_left = Work::default();
        self.repeatable_left = Work::default();
        self.repeatable_done = Work::default();
        self.repeats = experiment.repeats();
        for (index, round) in rounds.iter().enumerate() {
            for attempt in 0..=sweep::REPEATS_MAX {
                for block in self.attempt(rounds, index, attempt, ground) {
                    let is_open = |slot: &Slot| self.will_be_open(slot, ground);
                    let open = block.slots.iter().filter(|slot| is_open(slot)).count();
                    let work = ground.block_work(experiment, &block, &is_open, &BTreeSet::new());
                    self.all += open;
                    self.work_left += work;
                    if attempt < self.repeats {
                        self.repeatable_left += work;
                    }
                    if self.is_required(round.number, attempt) {
                        self.required_left += work;
                    }
                }
            }
        }
    }

    /// Whether no budget leaves that out.
    fn is_required(&self, round: u32, attempt: u32) -> bool {
        let least = self.allowance.as_ref().map(Allowance::least);
        attempt == 0 && least.is_some_and(|least| round <= least)
    }

    pub(super) fn spend(&mut self, work: Work, round: u32, attempt: u32) {
        self.work_left = self.work_left.saturating_sub(work);
        if attempt < self.repeats {
            self.repeatable_left = self.repeatable_left.saturating_sub(work);
            self.repeatable_done += work;
        }
        if self.is_required(round, attempt) {
            self.required_left = self.required_left.saturating_sub(work);
        }
    }

    /// Takes note of how long a start took for which `reckoned` was reckoned.
    pub(super) fn learn_start(&mut self, reckoned: Span, took: Span) {
        self.pace
            .learn(Work::of_starts(reckoned), Work::of_starts(took));
    }

    /// The same of a turn.
    pub(super) fn learn_turn(&mut self, reckoned: Span, took: Span) {
        self.pace
            .learn(Work::of_turns(reckoned), Work::of_turns(took));
    }

    /// The same of what is neither, but comes with starts: the end of servers, a look at the
    /// machine.
    pub(super) fn learn_around(&mut self, took: Span) {
        self.learn_start(Span::ZERO, took);
    }

    /// From now on this budget is kept.
    pub(super) const fn keep_to(&mut self, allowance: Option<Allowance>) {
        self.allowance = allowance;
    }

    /// Counts what was measured again.
    pub(super) fn spend_again(&mut self, took: Span) {
        if let Some(allowance) = &mut self.allowance {
            allowance.spend_again(took);
        }
    }

    /// Whether round `number` is measured, for which `work` was reckoned.
    pub(super) fn has_round(&self, number: u32, elapsed: Span, work: Work) -> bool {
        let round = self.pace.of(work);
        let allowance = self.allowance.as_ref();
        allowance.is_none_or(|allowance| allowance.has_round(number, elapsed, round))
    }

    /// Whether there is time for that, if nothing has to follow.
    pub(super) fn has_time(&self, elapsed: Span, work: Work) -> bool {
        let took = self.pace.of(work);
        let allowance = self.allowance.as_ref();
        allowance.is_none_or(|allowance| allowance.has_time(elapsed, took, Span::ZERO))
    }

    /// Whether there is time for what is to be measured again in round `number`, beside the rounds
    /// that follow, for each of which something was reckoned.
    pub(super) fn has_time_again(
        &self,
        number: u32,
        elapsed: Span,
        work: Work,
        behind: &[Work],
    ) -> bool {
        let Some(allowance) = &self.allowance else {
            return true;
        };
        let rounds: Vec<Span> = behind.iter().map(|work| self.pace.of(*work)).collect();
        let longest = rounds.iter().copied().max().unwrap_or_default();
        let planned = number + u32::try_from(rounds.len()).unwrap_or(u32::MAX);
        let count = allowance.rounds_behind((number, planned), elapsed, longest);
        let to_come = rounds.into_iter().take(count as usize).sum();
        allowance.has_time(elapsed, self.pace.of(work), to_come)
    }

    /// Of what was to be measured again, that which is not `kept` stays as it was measured.
    pub(super) fn leave_as_it_is(&mut self, blocks: &[Block], kept: &[Block]) {
        let slots = |blocks: &[Block]| -> BTreeMap<u32, (usize, Cell)> {
            let of_block = |block: &Block| {
                let group = block.group();
                let slots = block.slots.iter();
                let slots = slots.map(move |slot| (slot.sequence, (group, slot.cell)));
                slots.collect::<Vec<_>>()
            };
            blocks.iter().flat_map(of_block).collect()
        };
        let kept = slots(kept);
        let mut left = slots(blocks);
        left.retain(|sequence, _| !kept.contains_key(sequence));
        self.settled.extend(left.keys().copied());
        let cells: BTreeSet<(usize, Cell)> = left.into_values().collect();
        self.not_repeated += u32::try_from(cells.len()).unwrap_or(u32::MAX);
    }

    /// Cells with spoilt trials that the budget left as they were measured.
    pub(super) const fn not_repeated(&self) -> u32 {
        self.not_repeated
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
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "far below 2^53, and a time left for people"
    )]
    fn repeats(&self) -> Span {
        let spoilt = self.cells.values().filter(|is_void| **is_void).count();
        let share = spoilt as f64 / self.cells.len().max(1) as f64;
        // Where most are spoilt, repeats do not help, and are given up.
        if share > 0.5 {
            return Span::ZERO;
        }
        let repeatable = self.pace.of(self.repeatable_left + self.repeatable_done);
        Span::from_ms((repeatable.as_s_f64() * share * 1e3) as u64)
    }

    /// How long the rest will take, with the repeats to be expected, at the speed it went so far,
    /// and as far as the budget has time for it.
    pub(super) fn left(&self, elapsed: Span) -> Span {
        let all = self.pace.of(self.work_left) + self.repeats();
        match &self.allowance {
            None => all,
            Some(allowance) => allowance.left(elapsed, self.pace.of(self.required_left), all),
        }
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
        progress.work_left = Work::of_turns(minute * 40);
        progress.repeatable_left = Work::of_turns(minute * 40);
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
            progress.spend(Work::of_turns(minute), 1, 0);
            if cell >= 10 {
                took += 60.0 * (1.0 + f64::from(u8::from(is_void)));
            } else {
                took += 60.0 * f64::from(u8::from(is_void));
            }
            if cell == 9 {
                said = progress.left(Span::ZERO).as_s_f64();
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
