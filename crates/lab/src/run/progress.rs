//! How far an experiment is, and how long the rest will take.

use std::collections::BTreeSet;

use model::{Experiment, Span};

use super::Ground;
use crate::sweep::{self, Block, Round, Slot};

/// How far it is.
pub(super) struct Progress {
    /// Sequence numbers of stored trials.
    pub(super) done: BTreeSet<u32>,
    /// Those of them that something spoilt which was neither server nor generator.
    pub(super) void: BTreeSet<u32>,
    /// Trials in all, with the repeats that are known to be needed.
    pub(super) all: usize,
    cost_left: Span,
    cost_done: Span,
    started: std::time::Instant,
    /// Numbers of exchanges and loads, each with source addresses of its own.
    number: u64,
}

impl Progress {
    pub(super) fn new(done: BTreeSet<u32>, void: BTreeSet<u32>, seed: u64) -> Self {
        Self {
            all: 0,
            cost_left: Span::ZERO,
            cost_done: Span::ZERO,
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
        ground.installed(slot.racer).is_some() && !self.done.contains(&slot.sequence)
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
        self.all = self.done.len();
        self.cost_left = Span::ZERO;
        for index in 0..rounds.len() {
            for attempt in 0..=sweep::REPEATS_MAX {
                for block in self.attempt(rounds, index, attempt, ground) {
                    let is_open = |slot: &Slot| self.is_open(slot, ground);
                    let open = block.slots.iter().filter(|slot| is_open(slot)).count();
                    let cost = sweep::block_cost(experiment, &block, &is_open);
                    self.all += open;
                    self.cost_left += cost;
                }
            }
        }
    }

    pub(super) fn spend(&mut self, cost: Span) {
        self.cost_done += cost;
        self.cost_left = self.cost_left.saturating_sub(cost);
    }

    /// What is left, at the speed it went so far, once there is something to go by.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time left for people"
    )]
    pub(super) fn left(&self) -> Span {
        let predicted = self.cost_left.as_s_f64();
        let done = self.cost_done.as_s_f64();
        let slowness = if done > 5.0 {
            self.started.elapsed().as_secs_f64() / done
        } else {
            1.0
        };
        Span::from_ms((predicted * slowness * 1e3) as u64)
    }
}
