use std::collections::BTreeSet;

use model::Random;

use super::super::Progress;
use super::*;
use crate::sweep::{Round, schedule};

const SECOND: Span = Span::from_s(1);

fn work(starts: u64, turns: u64) -> Work {
    Work::of_starts(Span::from_s(starts)) + Work::of_turns(Span::from_s(turns))
}

#[test]
fn what_starts_and_turns_took_tells_what_the_next_ones_take() {
    let mut pace = Pace::default();
    assert_eq!(pace.of(work(3, 10)), SECOND * 13, "nothing is known yet");
    pace.learn(work(1, 0), work(2, 0));
    assert_eq!(pace.of(work(3, 10)), SECOND * 16);
    pace.learn(work(0, 10), work(0, 15));
    assert_eq!(pace.of(work(3, 10)), SECOND * 21);
    // What is neither comes with starts.
    pace.learn(Work::default(), work(1, 0));
    assert_eq!(pace.of(work(3, 10)), SECOND * 24);
    assert_eq!(pace.of(Work::default()), Span::ZERO);
}

#[test]
fn rounds_beyond_the_least_are_measured_while_they_fit() {
    let allowance = Allowance::new(SECOND * 80, 6);
    let check = |number, elapsed, round, expected| {
        let has = allowance.has_round(number, SECOND * elapsed, SECOND * round);
        assert_eq!(has, expected, "{number}: {elapsed} and {round}");
    };
    check(6, 1_000, 1_000, true);
    check(7, 74, 10, true);
    check(7, 75, 10, false);
}

#[test]
fn what_is_measured_again_leaves_the_time_of_the_rounds_that_follow() {
    let mut allowance = Allowance::new(SECOND * 80, 6);
    let behind = |allowance: &Allowance, elapsed, round| {
        allowance.rounds_behind((3, 10), SECOND * elapsed, SECOND * round)
    };
    // Of 80 s 70 s are planned.
    assert_eq!(behind(&allowance, 21, 7), 7, "as many as were planned");
    assert_eq!(behind(&allowance, 30, 10), 4);
    assert_eq!(behind(&allowance, 60, 20), 3, "never fewer than the least");
    assert_eq!(behind(&allowance, 1_000, 0), 3);
    allowance.spend_again(SECOND * 10);
    assert_eq!(behind(&allowance, 40, 10), 4, "that is not taken from them");
    assert_eq!(allowance.rounds_behind((12, 10), SECOND, SECOND), 0);
    assert!(allowance.has_time(SECOND * 40, SECOND, SECOND * 39));
    assert!(!allowance.has_time(SECOND * 40, SECOND * 2, SECOND * 39));
}

#[test]
fn what_is_left_is_no_more_than_the_budget_unless_it_has_to_be() {
    let allowance = Allowance::new(SECOND * 80, 6);
    let left =
        |elapsed, required, all| allowance.left(SECOND * elapsed, SECOND * required, SECOND * all);
    assert_eq!(left(20, 30, 40), SECOND * 40);
    assert_eq!(left(20, 30, 90), SECOND * 60);
    assert_eq!(left(20, 70, 90), SECOND * 70);
    assert_eq!(left(100, 0, 10), Span::ZERO);
}

fn round() -> Round {
    let overrides = [
        "order=server".to_owned(),
        "connections=[1, 2, 4]".to_owned(),
    ];
    let source = crate::experiment::read("first-heat", &overrides).unwrap();
    schedule(&source.experiment, 1, 16).swap_remove(0)
}

#[test]
fn cells_that_do_not_fit_go_as_a_whole() {
    let round = round();
    let cells = |blocks: &[Block]| -> Vec<(usize, sweep::Cell)> {
        let of = |block: &Block| {
            let slots = block.slots.iter();
            let cells = slots.map(|slot| (block.group(), slot.cell));
            cells.collect::<Vec<_>>()
        };
        let mut cells: Vec<_> = blocks.iter().flat_map(of).collect();
        cells.sort_unstable();
        cells
    };
    let count = |blocks: &[Block]| cells(blocks).len();
    let all = count(&round.blocks);
    for most in [0, 1, 7, 12, all] {
        let kept = as_far_as(round.blocks.clone(), &|blocks| count(blocks) <= most);
        assert!(count(&kept) <= most, "{most}");
        let names: BTreeSet<_> = cells(&kept).into_iter().collect();
        let mut whole = cells(&round.blocks);
        whole.retain(|cell| names.contains(cell));
        assert_eq!(cells(&kept), whole, "{most}");
    }
    assert_eq!(as_far_as(round.blocks.clone(), &|_| true), round.blocks);
    assert_eq!(as_far_as(round.blocks, &|_| false), []);
}

/// A lab of which each round is reckoned as 10 s of starts and 30 s of turns.
struct Simulated {
    budget: Option<Span>,
    least: u32,
    planned: u32,
    /// How much longer starts and turns really take, in percent.
    percent: [u64; 2],
    /// How much of each attempt something spoils, in percent.
    spoilt: u64,
}

/// What came of it.
#[derive(Debug, Eq, PartialEq)]
struct Came {
    rounds: u32,
    repeats: u32,
    lacking: u32,
    took: Span,
}

impl Simulated {
    /// Each start and turn takes up to a twentieth more or less than the others.
    fn run(&self, seed: u64) -> Came {
        let mut random = Random::new(seed);
        let mut progress = Progress::new(BTreeSet::new(), BTreeSet::new(), 1);
        let least = self.least;
        progress.keep_to(self.budget.map(|time| Allowance::new(time, least)));
        let mut came = Came {
            rounds: 0,
            repeats: 0,
            lacking: 0,
            took: Span::ZERO,
        };
        let round = work(10, 30);
        let mut make = |work: Work, progress: &mut Progress| {
            let [starts, turns] = self
                .percent
                .map(|percent| percent * 95 + random.next_u64() % (percent * 10));
            let took = [work.starts * starts / 10_000, work.turns * turns / 10_000];
            progress.learn_start(work.starts, took[0]);
            progress.learn_turn(work.turns, took[1]);
            took[0] + took[1]
        };
        for number in 1..=self.planned {
            if !progress.has_round(number, came.took, round) {
                break;
            }
            came.took += make(round, &mut progress);
            came.rounds += 1;
            let behind = vec![round; (self.planned - number) as usize];
            let mut again = round.turns;
            for _ in 0..2 {
                again = again * self.spoilt / 100;
                let work = Work::of_turns(again);
                if again.is_zero() {
                    continue;
                }
                if !progress.has_time_again(number, came.took, work, &behind) {
                    came.lacking += 1;
                    break;
                }
                let took = make(work, &mut progress);
                progress.spend_again(took);
                came.took += took;
                came.repeats += 1;
            }
        }
        came
    }
}

/// Ten rounds of 40 s, as reckoned, are planned into a budget of 460 s.
fn simulated(percent: [u64; 2], spoilt: u64) -> Simulated {
    Simulated {
        budget: Some(Span::from_s(460)),
        least: 6,
        planned: 10,
        percent,
        spoilt,
    }
}

#[test]
fn slow_starts_and_turns_cost_rounds_but_never_those_that_are_needed() {
    for seed in 0..50 {
        let as_reckoned = simulated([100, 100], 0).run(seed);
        assert_eq!(as_reckoned.rounds, 10, "seed {seed}: {as_reckoned:?}");
        let slow_starts = simulated([300, 100], 0).run(seed);
        assert!(
            (7..=8).contains(&slow_starts.rounds),
            "seed {seed}: {slow_starts:?}"
        );
        let slow_turns = simulated([100, 220], 0).run(seed);
        assert_eq!(slow_turns.rounds, 6, "seed {seed}: {slow_turns:?}");
        let all_slow = simulated([1_000, 1_000], 30).run(seed);
        assert_eq!((all_slow.rounds, all_slow.repeats), (6, 0), "seed {seed}");
    }
}

#[test]
fn what_is_spoilt_is_measured_again_while_there_is_time() {
    for seed in 0..50 {
        let few = simulated([100, 100], 10).run(seed);
        assert_eq!((few.rounds, few.lacking), (10, 0), "seed {seed}: {few:?}");
        let many = simulated([100, 100], 50).run(seed);
        assert_eq!(many.rounds, 10, "seed {seed}: {many:?}");
        assert!(
            many.repeats > 0 && many.lacking > 0,
            "seed {seed}: {many:?}"
        );
    }
}

#[test]
fn the_budget_is_kept_where_the_rounds_that_are_needed_fit() {
    for seed in 0..50 {
        for starts in [50, 100, 200, 300] {
            for turns in [50, 100, 130] {
                for spoilt in [0, 10, 30, 50, 100] {
                    let lab = simulated([starts, turns], spoilt);
                    let came = lab.run(seed);
                    let what = format!("seed {seed}, {starts}, {turns}, {spoilt}: {came:?}");
                    let needed = (SECOND * 10 * starts + SECOND * 30 * turns) / 100 * 6;
                    let most = Span::from_s(460).max(needed);
                    assert!(came.took <= most + most / 12, "{what}");
                    assert!(came.rounds >= 6, "{what}");
                }
            }
        }
    }
}

#[test]
fn without_a_budget_all_is_measured() {
    for seed in 0..50 {
        let lab = Simulated {
            budget: None,
            ..simulated([1_000, 1_000], 50)
        };
        let came = lab.run(seed);
        assert_eq!(
            (came.rounds, came.repeats, came.lacking),
            (10, 20, 0),
            "seed {seed}"
        );
    }
}
