//! What the answers are worth: experiments whose truth is known, with the noise of a real run.
//!
//! The noise is that of one run on a bad day: neighbours in time resemble each other, the spread is
//! large, and some stretches are far off. An experiment begins somewhere in it, at random, and lays
//! its trials over it in the order in which a lab would run them: round by round, the servers of a
//! round in random order. 300 experiments run with every test, 10,000 where
//! `TRIATHLON_SLOW_TESTS=1`; `cargo test -p verdict simulated -- --nocapture` prints the figures.

#![expect(clippy::print_stdout, reason = "figures for whoever asks")]

use std::collections::BTreeMap;

use model::Random;
use statrs::distribution::{ContinuousCDF as _, Normal};

use crate::pairs::{Answer, Family, paired, rounds_needed, unpaired};

/// All experiments follow from it.
const SEED: u64 = 2026;

/// How many experiments.
fn experiments() -> u32 {
    let is_slow = std::env::var_os("TRIATHLON_SLOW_TESTS").is_some_and(|value| value == "1");
    if is_slow { 10_000 } else { 300 }
}

/// The log of each trial's rate less that of its point, scaled to a spread of `spread`.
fn noise(spread: f64) -> Vec<f64> {
    let values: Vec<f64> = include_str!("residuals.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .flat_map(str::split_whitespace)
        .map(|value| value.parse().expect("a number"))
        .collect();
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let variance = values
        .iter()
        .map(|value| (value - mean).powi(2))
        .sum::<f64>()
        / count;
    let scale = spread / variance.sqrt();
    values.iter().map(|value| (value - mean) * scale).collect()
}

/// The order in which a round measures its servers and workloads.
#[derive(Clone, Copy, Debug)]
enum Order {
    /// The servers of one workload next to each other.
    Cell,
    /// Server by server, each with all its workloads.
    Server,
}

/// The rates of `servers` that differ by nothing but `factors`, by workload, server and round.
fn experiment(
    noise: &[f64],
    random: &mut Random,
    factors: &[f64],
    workloads: usize,
    rounds: usize,
    order: Order,
) -> Vec<Vec<BTreeMap<u32, f64>>> {
    let mut at = random.below(noise.len());
    let mut rates = vec![vec![BTreeMap::new(); factors.len()]; workloads];
    for round in 1..=u32::try_from(rounds).expect("a few rounds") {
        let mut servers: Vec<usize> = (0..factors.len()).collect();
        let mut cells: Vec<usize> = (0..workloads).collect();
        random.shuffle(&mut cells);
        let mut trials = Vec::new();
        match order {
            Order::Cell => {
                for cell in &cells {
                    random.shuffle(&mut servers);
                    trials.extend(servers.iter().map(|server| (*cell, *server)));
                }
            }
            Order::Server => {
                random.shuffle(&mut servers);
                for server in &servers {
                    random.shuffle(&mut cells);
                    trials.extend(cells.iter().map(|cell| (*cell, *server)));
                }
            }
        }
        for (workload, server) in trials {
            at = (at + 1) % noise.len();
            let rate = 50_000.0 * factors[server] * noise[at].exp();
            rates[workload][server].insert(round, rate);
        }
    }
    rates
}

/// All answers of a family against the first server.
fn answers(rates: &[Vec<BTreeMap<u32, f64>>]) -> Vec<Answer> {
    let ratios: Vec<_> = rates
        .iter()
        .flat_map(|servers| servers[1..].iter().map(|one| paired(one, &servers[0])))
        .collect();
    let ratios: Vec<_> = ratios.iter().map(Option::as_ref).collect();
    Family::of(ratios.len()).answers(&ratios)
}

/// The lower 95 % limit of a share (Wilson).
fn lower(hits: u32, all: u32) -> f64 {
    let z = Normal::standard().inverse_cdf(0.95);
    let (n, p) = (f64::from(all), f64::from(hits) / f64::from(all));
    let middle = p + z * z / (2.0 * n);
    let reach = z * (p * (1.0 - p) / n + z * z / (4.0 * n * n)).sqrt();
    (middle - reach) / (1.0 + z * z / n)
}

/// Four servers that are the same, two workloads: the family of the first race.
#[test]
fn the_same_server_four_times_is_seldom_called_different() {
    for (order, spread) in [
        (Order::Cell, 0.20),
        (Order::Server, 0.20),
        (Order::Cell, 0.008),
        (Order::Server, 0.03),
    ] {
        let noise = noise(spread);
        let rounds = rounds_needed(6, 0.05);
        let mut false_ones = 0;
        for number in 0..experiments() {
            let mut random = Random::stream(SEED, u64::from(number));
            let rates = experiment(&noise, &mut random, &[1.0; 4], 2, rounds, order);
            false_ones += u32::from(answers(&rates).iter().any(Answer::differs));
        }
        let share = f64::from(false_ones) / f64::from(experiments());
        let (all, limit) = (experiments(), lower(false_ones, experiments()));
        println!(
            "A/A, spread {spread}, {order:?}: {false_ones} of {all} experiments with any \
             false difference ({:.2} %, lower limit {:.2} %)",
            share * 100.0,
            limit * 100.0
        );
        assert!(
            limit <= 0.05,
            "{order:?}, spread {spread}, seed {SEED}: {share}"
        );
    }
}

/// Without a margin, so that the level itself is tested and not the margin's reserve.
#[test]
fn without_a_margin_the_level_of_a_family_holds() {
    let noise = noise(0.20);
    let family = Family {
        margin: 0.0,
        ..Family::of(6)
    };
    let mut false_ones = 0;
    for number in 0..experiments() {
        let mut random = Random::stream(SEED + 1, u64::from(number));
        let rates = experiment(&noise, &mut random, &[1.0; 4], 2, 8, Order::Cell);
        let ratios: Vec<_> = rates
            .iter()
            .flat_map(|servers| servers[1..].iter().map(|one| paired(one, &servers[0])))
            .collect();
        let ratios: Vec<_> = ratios.iter().map(Option::as_ref).collect();
        false_ones += u32::from(family.answers(&ratios).iter().any(Answer::differs));
    }
    let (all, limit) = (experiments(), lower(false_ones, experiments()));
    println!("A/A without a margin: {false_ones} of {all}, lower limit {limit:.4}");
    assert!(limit <= 0.05, "seed {}: {false_ones}", SEED + 1);
}

/// A round is spoilt at random, which makes its trials slower by much and by unlike much. Rounds
/// that are spoilt count only where the others are too few.
#[test]
fn rounds_chosen_by_what_spoilt_them_hold_the_level() {
    let noise = noise(0.05);
    let family = Family {
        margin: 0.0,
        ..Family::of(1)
    };
    let needed = rounds_needed(1, family.alpha);
    for part in [0.2, 0.5, 0.9] {
        let (mut false_ones, mut of_all) = (0, 0);
        for number in 0..experiments() {
            let mut random = Random::stream(SEED + 5, u64::from(number));
            let rates = experiment(&noise, &mut random, &[1.0; 2], 1, 10, Order::Cell);
            let mut sides = rates[0].clone();
            let mut spoilt = Vec::new();
            for round in 1..=10 {
                if random.unit() < part {
                    spoilt.push(round);
                    for side in &mut sides {
                        *side.get_mut(&round).expect("measured") *= 0.4 + 0.5 * random.unit();
                    }
                }
            }
            let mut chosen = sides.clone();
            for side in &mut chosen {
                side.retain(|round, _| !spoilt.contains(round));
            }
            if chosen[0].len() < needed {
                chosen = sides;
                of_all += 1;
            }
            let estimate = paired(&chosen[1], &chosen[0]);
            let answers = family.answers(&[estimate.as_ref()]);
            false_ones += u32::from(answers[0].differs());
        }
        let (all, limit) = (experiments(), lower(false_ones, experiments()));
        println!(
            "A/A, {part} of rounds spoilt: {false_ones} of {all} with a false difference, \
             {of_all} from all rounds, lower limit {limit:.4}"
        );
        assert!(of_all > 0, "seed {}", SEED + 5);
        assert!(limit <= 0.05, "seed {}: {false_ones}", SEED + 5);
    }
}

/// Where the truth lies in the interval as often as it says: neither less, nor, where rounds are
/// all different, more.
#[test]
fn intervals_cover_as_often_as_they_say() {
    let noise = noise(0.20);
    let truth = 1.1;
    for rounds in 5..=12 {
        let mut covered = 0;
        let mut level = None;
        for number in 0..experiments() {
            let stream = u64::from(number) + ((rounds as u64) << 32);
            let mut random = Random::stream(SEED + 2, stream);
            let rates = experiment(&noise, &mut random, &[1.0, truth], 1, rounds, Order::Cell);
            let ratio = paired(&rates[0][1], &rates[0][0]).expect("all rounds have both");
            if let Some(interval) = ratio.interval {
                level = Some(interval.coverage);
                covered += u32::from(interval.contains(truth));
            }
        }
        let Some(level) = level else {
            println!("{rounds} rounds: no interval");
            assert_eq!(rounds, 5, "an interval begins with 6 rounds");
            continue;
        };
        let share = f64::from(covered) / f64::from(experiments());
        // Four standard errors: the test has eight such comparisons, and its seed is fixed.
        let error = 4.0 * (level * (1.0 - level) / f64::from(experiments())).sqrt();
        println!("{rounds} pairs: {share:.4} covered, nominal {level:.4} +- {error:.4}");
        assert!(
            (share - level).abs() <= error,
            "{rounds} rounds, seed {}: {share} instead of {level}",
            SEED + 2
        );
    }
}

/// Two sessions have no drift in common, and none between them here: each draws its own trials.
#[test]
fn intervals_of_two_groups_cover_as_often_as_they_say() {
    let noise = noise(0.20);
    let truth = 0.9;
    for rounds in 5..=12_u64 {
        let mut covered = 0;
        let mut level = 0.0;
        for number in 0..experiments() {
            let stream = u64::from(number) + (rounds << 32);
            let mut random = Random::stream(SEED + 3, stream);
            let mut draw = |factor: f64| -> Vec<f64> {
                let mut rate = || {
                    let drawn = noise[random.below(noise.len())].exp();
                    // Equal draws would be ties, which real rates are not.
                    factor * drawn * (1.0 + 1e-9 * random.unit())
                };
                (0..rounds).map(|_| rate()).collect()
            };
            let (one, other) = (draw(truth), draw(1.0));
            let found = unpaired(&one, &other).expect("both have values");
            let interval = found.interval.expect("five rounds have an interval");
            level = interval.coverage;
            covered += u32::from(interval.contains(truth));
        }
        let share = f64::from(covered) / f64::from(experiments());
        let error = 4.0 * (level * (1.0 - level) / f64::from(experiments())).sqrt();
        println!("{rounds} and {rounds}: {share:.4} covered, nominal {level:.4} +- {error:.4}");
        assert!(
            (share - level).abs() <= error,
            "{rounds} rounds, seed {}: {share} instead of {level}",
            SEED + 3
        );
    }
}

/// How often a difference is found: printed, and never by the wrong name.
#[test]
fn real_differences_are_found_where_the_spread_allows_it() {
    // A share of them is printed, to a per cent or two, and none is held against a level.
    let few = experiments() / 20;
    for spread in [0.008, 0.03, 0.20] {
        let noise = noise(spread);
        for (effect, rounds) in [(1.03, 8), (1.10, 8), (1.10, 20), (1.5, 8)] {
            let mut found = [0_u32; 2];
            let mut wrong = 0;
            for number in 0..few {
                let mut random = Random::stream(SEED + 4, u64::from(number));
                for (order, found) in [Order::Cell, Order::Server].into_iter().zip(&mut found) {
                    let factors = [1.0, effect, effect, effect];
                    let rates = experiment(&noise, &mut random, &factors, 2, rounds, order);
                    let all = answers(&rates);
                    *found += u32::from(all[0] == Answer::More);
                    wrong += u32::from(all.contains(&Answer::Less));
                }
            }
            let all = f64::from(few) / 100.0;
            let [cell, server] = found.map(|found| f64::from(found) / all);
            println!(
                "spread {spread}, effect {effect}, {rounds} rounds: found in {cell:.1} % of \
                 experiments (server by server: {server:.1} %), the wrong way in {wrong}"
            );
            assert!(f64::from(wrong) <= 0.05 * all * 200.0);
            // A difference of ten deviations is found whatever the noise looks like.
            if (effect - 1.10).abs() < 1e-9 && spread < 0.01 {
                assert!(cell > 95.0, "seed {}: {cell}", SEED + 4);
            }
        }
    }
}
