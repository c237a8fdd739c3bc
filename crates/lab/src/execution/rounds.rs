//! Round by round: what is measured, what is measured again, and what a budget leaves of both.

use std::collections::BTreeSet;

use super::allowance::{Allowance, as_far_as};
use super::{Ground, Lab, Progress, Standby};
use crate::error::LabError;
use crate::sweep::{self, Block, Racer, Round, Work};

/// What is to be measured.
pub(super) struct Course {
    pub(super) rounds: Vec<Round>,
    /// The same with what cannot be measured.
    pub(super) whole: Vec<Round>,
    /// Rounds for comparisons that lack some, each with what cannot be measured of it, too.
    pub(super) spares: Vec<(Round, Round)>,
    /// Whether some of it was measured in an earlier start.
    pub(super) is_resumed: bool,
}

impl Lab<'_> {
    /// Measures all of it, or as much as the budget has time for.
    pub(super) fn run_rounds(
        &mut self,
        mut course: Course,
        ground: &mut Ground,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let least = sweep::rounds_least(self.experiment, &ground.present());
        progress.keep_to(self.budget.map(|time| Allowance::new(time, least)));
        let planned = course.rounds.len();
        for index in 0..planned {
            if !self.has_round(&course.rounds, index, ground, progress) {
                course.rounds.truncate(index);
                break;
            }
            let rounds = &course.rounds;
            self.run_round(rounds, index, ground, progress, course.is_resumed)?;
        }
        let measured = course.rounds.len();
        if measured == planned {
            self.run_spares(course, ground, progress)?;
        }
        self.note_budget(measured, planned, progress)
    }

    /// Measures spare rounds for comparisons that lack some.
    fn run_spares(
        &mut self,
        course: Course,
        ground: &mut Ground,
        progress: &mut Progress,
    ) -> Result<(), LabError> {
        let Course {
            mut rounds,
            mut whole,
            spares,
            is_resumed,
        } = course;
        let count = spares.len();
        for (index, (mut spare, mut whole_spare)) in spares.into_iter().enumerate() {
            // What is stored need not be read where there is time for nothing.
            if !progress.has_time((self.elapsed)(), Work::default()) {
                break;
            }
            let short = (self.short)(self.store, count - index)?;
            if short.is_empty() {
                break;
            }
            for spare in [&mut spare, &mut whole_spare] {
                spare.retain(&|slot| short.iter().any(|short| self.is_of(slot, short)));
            }
            let last = rounds.len();
            rounds.push(spare);
            whole.push(whole_spare);
            self.find_cut(&whole, last, ground, progress);
            let work = self.round_work(&rounds, last, ground, progress);
            if !progress.has_time((self.elapsed)(), work) {
                break;
            }
            self.run_round(&rounds, last, ground, progress, is_resumed)?;
        }
        Ok(())
    }

    /// Whether there is time for one of `rounds`.
    fn has_round(
        &self,
        rounds: &[Round],
        index: usize,
        ground: &Ground,
        progress: &Progress,
    ) -> bool {
        let work = self.round_work(rounds, index, ground, progress);
        progress.has_round(rounds[index].number, (self.elapsed)(), work)
    }

    /// What is reckoned for what is open in one of `rounds`, repeats apart.
    fn round_work(
        &self,
        rounds: &[Round],
        index: usize,
        ground: &Ground,
        progress: &Progress,
    ) -> Work {
        let blocks = progress.attempt(rounds, index, 0, ground);
        self.work_of(&blocks, BTreeSet::new(), ground, progress)
    }

    /// What is reckoned for what is open in `blocks`, if at first these racers stand there.
    fn work_of(
        &self,
        blocks: &[Block],
        mut standing: BTreeSet<Racer>,
        ground: &Ground,
        progress: &Progress,
    ) -> Work {
        let is_open = |slot: &sweep::Slot| progress.will_be_open(slot, ground);
        let mut all = Work::default();
        for block in blocks {
            all += ground.block_work(self.experiment, block, &is_open, &standing);
            standing = block.slots.iter().map(|slot| slot.racer).collect();
        }
        all
    }

    /// Measures what is open in one of `rounds`, and gives its trials their ceilings.
    fn run_round(
        &mut self,
        rounds: &[Round],
        index: usize,
        ground: &mut Ground,
        progress: &mut Progress,
        is_resumed: bool,
    ) -> Result<(), LabError> {
        let outcome = self.measure_round(rounds, index, ground, progress);
        let measured = (self.elapsed)();
        // What was interrupted has some ceilings, too.
        let completed = match &outcome {
            Ok(false) if !is_resumed => Ok(()),
            _ => self.complete(rounds[index].number),
        };
        progress.learn_around((self.elapsed)().saturating_sub(measured));
        outcome?;
        completed
    }

    /// Measures what is open in one of `rounds`, and again what was spoilt. Returns whether there
    /// was anything.
    fn measure_round(
        &mut self,
        rounds: &[Round],
        index: usize,
        ground: &mut Ground,
        progress: &mut Progress,
    ) -> Result<bool, LabError> {
        let mut standby: Option<Standby> = None;
        for attempt in 0..=sweep::REPEATS_MAX {
            let mut blocks = progress.attempt(rounds, index, attempt, ground);
            if attempt > 0 {
                let standing = standby.as_ref().map(Standby::racers).unwrap_or_default();
                blocks = self.with_time_for(blocks, standing, (rounds, index), ground, progress);
            }
            if blocks.is_empty() {
                continue;
            }
            progress.plan(self.experiment, rounds, ground);
            let begun = (self.elapsed)();
            let is_shared = blocks.iter().any(|block| block.racers.len() > 1);
            let standby = standby.get_or_insert_with(|| Standby::new(is_shared));
            for block in &blocks {
                self.run_block(block, &|_, _| true, ground, progress, standby)?;
            }
            // What others were measured for after its block had had its turn.
            for block in &blocks {
                self.run_block(block, &Progress::is_owed, ground, progress, standby)?;
            }
            if attempt > 0 {
                progress.spend_again((self.elapsed)().saturating_sub(begun));
            }
        }
        Ok(standby.is_some())
    }

    /// As much of what is to be measured again in one of `rounds` as there is time for beside the
    /// rounds that follow. The rest stays as it was measured.
    fn with_time_for(
        &self,
        blocks: Vec<Block>,
        standing: BTreeSet<Racer>,
        (rounds, index): (&[Round], usize),
        ground: &Ground,
        progress: &mut Progress,
    ) -> Vec<Block> {
        let number = rounds[index].number;
        let behind: Vec<Work> = (index + 1..rounds.len())
            .map(|later| self.round_work(rounds, later, ground, progress))
            .collect();
        let elapsed = (self.elapsed)();
        let fits = |blocks: &[Block]| {
            let work = self.work_of(blocks, standing.clone(), ground, progress);
            progress.has_time_again(number, elapsed, work, &behind)
        };
        let kept = as_far_as(blocks.clone(), &fits);
        progress.leave_as_it_is(&blocks, &kept);
        kept
    }

    /// Writes down what the budget left out, once all is measured for which there was time. A later
    /// start that makes up for it takes that back.
    fn note_budget(
        &self,
        measured: usize,
        planned: usize,
        progress: &Progress,
    ) -> Result<(), LabError> {
        let manifest = self.store.manifest()?;
        let mut noted = manifest.clone();
        if measured < planned {
            noted.experiment.experiment.rounds = u32::try_from(measured).unwrap_or(u32::MAX);
            noted.scaled.push(format!(
                "{measured} rounds instead of {planned}, as starts and trials took longer than \
                 reckoned"
            ));
        }
        noted.not_repeated = progress.not_repeated();
        if noted != manifest {
            self.store.put_manifest(&noted)?;
        }
        Ok(())
    }
}
