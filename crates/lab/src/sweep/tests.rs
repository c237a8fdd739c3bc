use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::experiment;

fn first_heat(overrides: &[&str]) -> Experiment {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    experiment::read("first-heat", &overrides)
        .unwrap()
        .experiment
}

#[test]
fn the_same_seed_gives_the_same_order_and_another_another() {
    let experiment = first_heat(&[]);
    assert_eq!(schedule(&experiment, 7), schedule(&experiment, 7));
    assert_ne!(schedule(&experiment, 7), schedule(&experiment, 8));
}

#[test]
fn every_block_is_complete_and_every_round_starts_each_server_once() {
    let experiment = first_heat(&["server[1].cores=[1,2]"]);
    for seed in 0..20 {
        let blocks = schedule(&experiment, seed);
        let mut racers: BTreeMap<u32, Vec<Racer>> = BTreeMap::new();
        for block in &blocks {
            racers.entry(block.round).or_default().push(block.racer);
            let cells: BTreeSet<(usize, u32)> = block
                .cells
                .iter()
                .map(|cell| (cell.workload, cell.connections))
                .collect();
            assert_eq!(cells.len(), 8, "seed {seed}: {block:?}");
            assert_eq!(cells.len(), block.cells.len(), "seed {seed}");
        }
        assert_eq!(racers.len(), experiment.rounds() as usize, "seed {seed}");
        for mut racers in racers.into_values() {
            assert!(
                matches!(
                    racers[..2],
                    [Racer::Ceiling { cores: 1 }, Racer::Ceiling { cores: 2 }]
                ),
                "seed {seed}: {racers:?}"
            );
            racers.sort_unstable();
            racers.dedup();
            assert_eq!(racers.len(), 2 + 5, "seed {seed}: {racers:?}");
        }
        let sequence: Vec<u32> = blocks
            .iter()
            .flat_map(|block| block.cells.iter().map(|cell| cell.sequence))
            .collect();
        let expected: Vec<u32> = (1..=u32::try_from(sequence.len()).unwrap()).collect();
        assert_eq!(sequence, expected, "seed {seed}");
    }
}

#[test]
fn orders_differ_between_rounds() {
    let blocks = schedule(&first_heat(&[]), 1);
    let of_round = |round| -> Vec<Racer> {
        let of_it = blocks.iter().filter(|block| block.round == round);
        of_it.map(|block| block.racer).collect()
    };
    assert!((2..=6).any(|round| of_round(round) != of_round(1)));
}

#[test]
fn a_ceiling_is_measured_at_six_counts_at_most_ends_included() {
    let experiment = first_heat(&["connections={from=10,to=1000,step=10}"]);
    let blocks = schedule(&experiment, 3);
    let ceiling = blocks
        .iter()
        .find(|block| matches!(block.racer, Racer::Ceiling { .. }))
        .unwrap();
    let counts: BTreeSet<u32> = ceiling.cells.iter().map(|cell| cell.connections).collect();
    assert_eq!(counts.len(), 6);
    assert!(counts.contains(&10) && counts.contains(&1000));
}

#[test]
fn spreading_keeps_both_ends() {
    let values: Vec<u32> = (1..=100).collect();
    for count in 2..=100 {
        let kept = spread(&values, count);
        assert_eq!(kept.len(), count);
        assert_eq!((kept[0], kept[count - 1]), (1, 100));
        assert!(kept.windows(2).all(|pair| pair[0] < pair[1]), "{kept:?}");
    }
    assert_eq!(spread(&values, 1), [1]);
    assert!(spread::<u32>(&[], 3).is_empty());
}

#[test]
fn the_first_heat_takes_about_three_minutes() {
    let cost = Cost::of(&first_heat(&[]), &[0, 1, 2, 3]);
    assert_eq!((cost.trials, cost.ceilings, cost.starts), (320, 64, 40));
    assert!(
        (Span::from_s(140)..Span::from_s(187)).contains(&cost.time),
        "{}",
        cost.time
    );
}

#[test]
fn a_budget_thins_points_then_duration_then_rounds_to_those_needed() {
    let big = first_heat(&[
        "rounds=10",
        "duration=10s",
        "connections={from=10,to=1000,step=10}",
    ]);
    let present = [0, 1, 2, 3];
    let full = Cost::of(&big, &present).time;
    let scaled = |budget| scale(&big, &present, budget);

    let all = scaled(full);
    assert!(all.fits && all.said.is_empty());
    assert_eq!(all.experiment, big);

    let half = scaled(full / 2);
    assert!(half.fits, "{:?}", half.said);
    assert!(half.experiment.connections().len() < 100);
    assert_eq!(half.experiment.duration(), big.duration());
    assert_eq!(half.experiment.rounds(), 10);
    assert_eq!(half.experiment.connections().last(), Some(&1000));

    let tenth = scaled(Span::from_s(600));
    assert!(tenth.fits);
    assert_eq!(tenth.experiment.connections(), [10, 510, 1000]);
    assert!(tenth.experiment.duration() < big.duration());
    assert_eq!(tenth.experiment.rounds(), 10);
    assert_eq!(tenth.said.len(), 2, "{:?}", tenth.said);

    let tiny = scaled(Span::from_s(90));
    assert!(tiny.experiment.rounds() >= 8);
    assert_eq!(tiny.said.len(), 3, "{:?}", tiny.said);

    let none = scaled(Span::from_s(1));
    assert!(!none.fits);
    // 3 servers against the fourth, 2 workloads: 6 comparisons.
    assert_eq!(none.experiment.rounds(), 8);
    let two = scale(&big, &[0, 1], Span::from_s(1));
    assert_eq!(two.experiment.rounds(), 7);
    let one = scale(&big, &[0], Span::from_s(1));
    assert_eq!(one.experiment.rounds(), 6);
    assert_eq!(none.experiment.duration(), Span::from_ms(200));
}

#[test]
fn fewer_rounds_than_needed_are_left_alone_and_what_they_cannot_tell_is_said() {
    let small = first_heat(&["rounds=2"]);
    let scaled = scale(&small, &[0], Span::from_s(1));
    assert_eq!(scaled.experiment.rounds(), 2);
    let check = |rounds: &str, present: &[usize], expected: Option<&str>| {
        let found = untold(&first_heat(&[rounds]), present);
        assert_eq!(found.as_deref(), expected, "{rounds}");
    };
    check(
        "rounds=1",
        &[0, 1, 2, 3],
        Some(
            "1 round cannot tell which server is faster: there are no 95 % intervals below 6, and \
             6 comparisons of servers have answers from 8 on",
        ),
    );
    check(
        "rounds=7",
        &[0, 1, 2, 3],
        Some(
            "7 rounds cannot tell which server is faster: there are intervals, and 6 comparisons \
             of servers have answers from 8 on",
        ),
    );
    check(
        "rounds=5",
        &[0],
        Some("5 rounds cannot tell which server is faster: there are no 95 % intervals below 6"),
    );
    check("rounds=7", &[0, 1], None);
    check("rounds=8", &[0, 1, 2, 3], None);
}

#[test]
fn rounds_that_are_not_given_are_as_many_as_the_comparisons_need() {
    assert_eq!(first_heat(&[]).rounds(), 8);
    assert_eq!(first_heat(&["server=origin"]).rounds(), 6);
    assert_eq!(first_heat(&["server=origin,nginx"]).rounds(), 7);
    assert_eq!(first_heat(&["server=origin,nginx", "rounds=3"]).rounds(), 3);
}
