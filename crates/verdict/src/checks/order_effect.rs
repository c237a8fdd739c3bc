//! STA-06: rounds that rise or fall with their order measure the time of day.
//!
//! The unit is the round, not the trial: what disturbs a machine for a minute touches neighbours,
//! and tests that take those for independent take noise for a drift. Each round of a server becomes
//! one number, and Kendall's test asks whether these are in order. Its distribution is exact for
//! any noise, however it is shaped, as long as rounds could have come in any order. Trials in which
//! something else took the CPUs are left out: what that did has its cause.
//!
//! Servers are compared within rounds, so a machine that gets slower for all of them bends no
//! comparison. Where other servers ran in the same rounds, a server's number is divided by theirs.

use std::collections::BTreeMap;

use model::finding::Claim::Comparison;
use model::finding::Severity::Suspect;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::{Entry, Peers, PointSummary};
use crate::summary::median;
use crate::thresholds::{ORDER_BY_CHANCE, ORDER_DRIFT};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-06",
    name: "order-effect",
    claims: &[Comparison],
    mandatory: false,
    source: "Mann 1945, Kendall 1948: ranks against time; Theil and Sen for the slope",
    judge: Judge::Across(judge),
};

/// Of five rounds in perfect order one in sixty is so by chance: no test.
const ROUNDS_MIN: usize = 6;

fn judge(peers: &Peers<'_>) -> Judgement {
    if peers.entry.point.is_none() || peers.entry.is_ceiling() {
        return Judgement::NotApplicable;
    }
    if peers.point().is_none() {
        return peers.without_point("the other rounds of this server");
    }
    let (rounds, beside_rivals) = rounds(peers);
    if rounds.len() < ROUNDS_MIN {
        let all = peers.point().map_or(0, |point| point.trials.len());
        if all >= ROUNDS_MIN {
            return Judgement::too_disturbed(rounds.len(), all);
        }
        return Judgement::NotApplicable;
    }
    let drift = drift(&rounds);
    if ORDER_DRIFT.severity(drift.abs()).is_none() {
        return Judgement::Silent;
    }
    let chance = chance(&rounds);
    // As sure as one minus the chance.
    if ORDER_BY_CHANCE.severity(1.0 - chance).is_none() {
        return Judgement::Silent;
    }
    let what = if peers.entry.is_scheduled {
        "Response times"
    } else {
        "Rates"
    };
    let way = if drift > 0.0 { "rise" } else { "fall" };
    let (rivals, changed) = if beside_rivals {
        (
            ", relative to those of the others in the same round,",
            "one of them",
        )
    } else {
        ("", "it")
    };
    Found::all(
        CHECK.claims,
        Suspect,
        format!(
            "{what} of this server{rivals} {way} by {} from the first of {} rounds to the last. \
             Something changed for {changed} while the experiment ran, so the rounds do not \
             repeat each other.",
            words::share(drift.abs()),
            rounds.len()
        ),
    )
    .evidence("rounds", rounds)
    .evidence("drift", drift)
    .evidence("sureness", 1.0 - chance)
    .limit(&ORDER_DRIFT)
    .limit(&ORDER_BY_CHANCE)
    .fix("Look for what grows or heats up: logs, caches, temperature, clocks, neighbours")
    .into()
}

/// One number for each round of this trial's server, in their order, and whether each is next to
/// those of other servers in the same rounds.
fn rounds(peers: &Peers<'_>) -> (Vec<f64>, bool) {
    let ours = of_server(peers, peers.points_of_server());
    let mut servers: BTreeMap<&str, Vec<&PointSummary>> = BTreeMap::new();
    for point in peers.points_of_other_servers() {
        servers.entry(&point.id.server).or_default().push(point);
    }
    let others: Vec<_> = servers
        .into_values()
        .map(|points| of_server(peers, points.into_iter()))
        .collect();
    let beside = |round: &u32| {
        middle(
            others
                .iter()
                .filter_map(|of| of.get(round).copied())
                .collect(),
        )
    };
    let relative: Vec<f64> = ours
        .iter()
        .filter_map(|(round, value)| Some(value / beside(round)?))
        .collect();
    if relative.len() >= ROUNDS_MIN {
        (relative, true)
    } else {
        (ours.into_values().collect(), false)
    }
}

/// One number for each round of a server: the median over its `points` of what they reached in
/// terms of their own median.
fn of_server<'a>(
    peers: &Peers<'a>,
    points: impl Iterator<Item = &'a PointSummary>,
) -> BTreeMap<u32, f64> {
    let mut of_round: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for point in points {
        let trials = peers.undisturbed(&point.trials);
        let read = |entry: &Entry| Some((entry.point.as_ref()?.round, value(entry)?));
        let Some(values) = trials.map(read).collect::<Option<Vec<_>>>() else {
            continue;
        };
        let Some(middle) = middle(values.iter().map(|(_, value)| *value).collect()) else {
            continue;
        };
        for (round, value) in values {
            of_round.entry(round).or_default().push(value / middle);
        }
    }
    let numbers = of_round.into_iter();
    numbers
        .filter_map(|(round, values)| Some((round, middle(values)?)))
        .collect()
}

/// What the plan did not set.
fn value(entry: &Entry) -> Option<f64> {
    if entry.is_scheduled {
        entry.response_mean_us
    } else {
        Some(entry.rate)
    }
    .filter(|value| *value > 0.0)
}

fn middle(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    median(&values)
}

/// The median slope between any two rounds, over all of them.
fn drift(rounds: &[f64]) -> f64 {
    let mut slopes = Vec::new();
    for (place, one) in rounds.iter().enumerate() {
        let mut apart = 0.0;
        for other in &rounds[place + 1..] {
            apart += 1.0;
            slopes.push((other - one) / apart);
        }
    }
    let steps = crate::check::number(rounds.len() as u64) - 1.0;
    middle(slopes).unwrap_or(0.0) * steps
}

/// How likely rounds that could have come in any order are at least as much in order, up or down.
fn chance(rounds: &[f64]) -> f64 {
    let (mut up, mut down) = (0_usize, 0_usize);
    for (place, one) in rounds.iter().enumerate() {
        for other in &rounds[place + 1..] {
            up += usize::from(other > one);
            down += usize::from(other < one);
        }
    }
    // Equal rounds count half for each way, which makes the test more cautious.
    let equal = rounds.len() * (rounds.len() - 1) / 2 - up - down;
    let fewer = up.min(down) + equal.div_ceil(2);
    (2.0 * orders(rounds.len()).iter().take(fewer + 1).sum::<f64>()).min(1.0)
}

/// The share of all orders of `count` things that has 0, 1, 2, ... pairs the wrong way round.
fn orders(count: usize) -> Vec<f64> {
    let mut shares = vec![1.0];
    for things in 2..=count {
        // The last thing has none to things - 1 of the others behind it.
        let mut next = vec![0.0; shares.len() + things - 1];
        for behind in 0..things {
            for (pairs, share) in shares.iter().enumerate() {
                next[pairs + behind] += share / crate::check::number(things as u64);
            }
        }
        shares = next;
    }
    shares
}

#[cfg(test)]
mod tests {
    use model::fixture::Dice;

    use super::*;

    /// The share of 20,000 experiments that are accused: noise of 5 % in each round, which rise by
    /// `drift` from the first to the last.
    fn accused(count: u32, drift: f64) -> f64 {
        let mut dice = Dice::new(u64::from(count));
        let mut accused = 0_u32;
        for _ in 0..20_000 {
            let at = |round: u32| drift * f64::from(round) / f64::from(count - 1);
            let rounds: Vec<f64> = (0..count)
                .map(|round| 1.0 + at(round) + 0.05 * dice.normal())
                .collect();
            let is_large = ORDER_DRIFT.severity(super::drift(&rounds).abs()).is_some();
            let is_sure = ORDER_BY_CHANCE.severity(1.0 - chance(&rounds)).is_some();
            accused += u32::from(is_large && is_sure);
        }
        f64::from(accused) / 20_000.0
    }

    #[test]
    fn noise_is_accused_of_an_order_once_in_a_hundred_at_most() {
        for rounds in [6, 7, 8, 10, 15, 20] {
            let share = accused(rounds, 0.0);
            // Of 20,000 experiments 1 % is 200, give or take 14.
            assert!(share < 0.0115, "{rounds} rounds: {share}");
        }
    }

    #[test]
    fn a_drift_well_above_noise_is_seen() {
        // Six rounds must stand in perfect order: it takes 18 times the noise. Ten take 6.
        for (rounds, drift) in [(6, 0.9), (10, 0.3), (20, 0.2)] {
            let share = accused(rounds, drift);
            assert!(share > 0.9, "{rounds} rounds: {share}");
        }
    }

    #[test]
    fn chances_are_those_of_all_orders() {
        let ordered: Vec<f64> = (1..=6).map(f64::from).collect();
        assert!((chance(&ordered) - 2.0 / 720.0).abs() < 1e-12);
        let one_swapped = [2.0, 1.0, 3.0, 4.0, 5.0, 6.0];
        assert!((chance(&one_swapped) - 12.0 / 720.0).abs() < 1e-12);
        assert!((chance(&[1.0; 6]) - 1.0).abs() < 1e-12);
        assert!((orders(9).iter().sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
