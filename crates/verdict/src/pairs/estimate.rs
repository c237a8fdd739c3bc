//! One ratio from two samples: the Hodges-Lehmann estimate, its exact interval, exact p values.
//!
//! The estimate is the middle of all *steps*: of paired rounds the Walsh averages of their log
//! ratios, of two groups all differences of their logs. Interval and p value count the same steps,
//! so they never contradict each other. A step that lies exactly on the tested value counts against
//! the claim: ties, zeros and equal rounds make the answer more careful, never bolder. Sources:
//! Hodges and Lehmann, "Estimates of location based on rank tests", Annals of Mathematical
//! Statistics 34 (1963); Bauer, "Constructing confidence sets using rank statistics", JASA 67
//! (1972).

use std::collections::BTreeMap;
use std::sync::Arc;

use serde::Serialize;

use super::ranks::{Null, Sizes};
use crate::check::number;
use crate::summary::{Interval, median};

/// Intervals miss in one of twenty cases at most.
pub const ALPHA: f64 = 0.05;

/// The log ratio of something to nothing: beyond any that is measured, and its exponential is
/// still a number.
const LOG_MAX: f64 = 700.0;

/// What one sample has in terms of another.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The one in terms of the other.
    pub ratio: f64,
    /// Its exact interval, with the probability at which it really covers; none where there are too
    /// few rounds for any.
    pub interval: Option<Interval>,
    /// The exact probability of a difference at least so clear where there is none, either way;
    /// none for single values.
    pub p: Option<f64>,
    /// What it rests on.
    pub sample: Sample,
    /// The standard deviation of the log ratio of one round.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spread: Option<f64>,
    /// Logs of ratios in ascending order; the estimate is their median.
    #[serde(skip)]
    steps: Vec<f64>,
    /// Logs of the ratios within rounds, where it is paired.
    #[serde(skip)]
    logs: Vec<f64>,
}

/// What a ratio rests on.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "design", rename_all = "snake_case")]
pub enum Sample {
    /// Rounds in which both were measured.
    Paired {
        /// How many.
        pairs: usize,
        /// Rounds that only one of them has, or in which both had nothing: they tell nothing.
        left_out: usize,
    },
    /// One value each.
    Single,
    /// Rounds of the one and rounds of the other, not measured together.
    Unpaired {
        /// Of the one.
        one: usize,
        /// Of the other.
        other: usize,
    },
}

impl Sample {
    /// Pairs, or the smaller of the two groups.
    pub fn rounds(self) -> usize {
        match self {
            Self::Paired { pairs, .. } => pairs,
            Self::Single => 1,
            Self::Unpaired { one, other } => one.min(other),
        }
    }
}

/// Compares the `one` with the `other` within rounds, by the number of the round. Give only the
/// rounds that count: a round that only one of them has left drops out as a pair. None without a
/// pair.
pub fn paired(one: &BTreeMap<u32, f64>, other: &BTreeMap<u32, f64>) -> Option<Estimate> {
    let logs: Vec<f64> = one
        .iter()
        .filter_map(|(round, one)| log_ratio(*one, *other.get(round)?))
        .collect();
    let all = one.len() + other.keys().filter(|r| !one.contains_key(r)).count();
    let mut steps = Vec::with_capacity(logs.len() * (logs.len() + 1) / 2);
    for (position, a) in logs.iter().enumerate() {
        steps.extend(logs[position..].iter().map(|b| f64::midpoint(*a, *b)));
    }
    let sample = Sample::Paired {
        pairs: logs.len(),
        left_out: all - logs.len(),
    };
    let spread = deviation(&logs);
    let mut estimate = Estimate::of(steps, sample, spread)?;
    estimate.logs = logs;
    Some(estimate)
}

/// Compares two groups that were not measured together. None where one of them is empty.
pub fn unpaired(one: &[f64], other: &[f64]) -> Option<Estimate> {
    let is_value = |value: &&f64| value.is_finite() && **value >= 0.0;
    let one: Vec<f64> = one.iter().filter(is_value).copied().collect();
    let other: Vec<f64> = other.iter().filter(is_value).copied().collect();
    let steps: Vec<f64> = one
        .iter()
        .flat_map(|a| {
            other
                .iter()
                // Two that have nothing do not differ.
                .map(|b| log_ratio(*a, *b).unwrap_or(0.0))
        })
        .collect();
    let sample = match (one.as_slice(), other.as_slice()) {
        ([_], [_]) => Sample::Single,
        _ => Sample::Unpaired {
            one: one.len(),
            other: other.len(),
        },
    };
    let logs = |values: &[f64]| -> Vec<f64> {
        let positive = values.iter().filter(|value| **value > 0.0);
        positive.map(|value| value.ln()).collect()
    };
    let spread = deviation(&logs(&one))
        .zip(deviation(&logs(&other)))
        .map(|(a, b)| a.hypot(b));
    Estimate::of(steps, sample, spread)
}

/// None where both have nothing, or one is no number of anything.
fn log_ratio(one: f64, other: f64) -> Option<f64> {
    let is_value = |value: f64| value.is_finite() && value >= 0.0;
    let has_any = one > 0.0 || other > 0.0;
    (is_value(one) && is_value(other) && has_any)
        .then(|| (one.ln() - other.ln()).clamp(-LOG_MAX, LOG_MAX))
}

fn deviation(logs: &[f64]) -> Option<f64> {
    let count = number(logs.len() as u64);
    if logs.len() < 2 {
        return None;
    }
    let mean = logs.iter().sum::<f64>() / count;
    let squares: f64 = logs.iter().map(|log| (log - mean).powi(2)).sum();
    Some((squares / (count - 1.0)).sqrt())
}

impl Estimate {
    fn of(mut steps: Vec<f64>, sample: Sample, spread: Option<f64>) -> Option<Self> {
        steps.sort_by(f64::total_cmp);
        let mut estimate = Self {
            ratio: median(&steps)?.exp(),
            interval: None,
            p: None,
            sample,
            spread,
            steps,
            logs: Vec::new(),
        };
        if sample != Sample::Single {
            estimate.interval = estimate.interval_missing(ALPHA);
            let either = estimate.p_above(1.0).min(estimate.p_below(1.0));
            estimate.p = Some((2.0 * either).min(1.0));
        }
        Some(estimate)
    }

    /// The ratio within each round, in their order; none of what is not paired.
    pub fn ratios(&self) -> Vec<f64> {
        self.logs.iter().map(|log| log.exp()).collect()
    }

    /// The exact interval that misses with probability `alpha` at most; none where there is none.
    pub fn interval_missing(&self, alpha: f64) -> Option<Interval> {
        let (depth, coverage) = self.null()?.depth(alpha)?;
        Some(Interval {
            low: self.steps[depth].exp(),
            high: self.steps[self.steps.len() - 1 - depth].exp(),
            coverage,
        })
    }

    /// The exact probability of rounds that speak so clearly for a ratio above `ratio` where the
    /// true one is at most that.
    pub fn p_above(&self, ratio: f64) -> f64 {
        let against = self.steps.partition_point(|step| *step <= ratio.ln());
        self.null().map_or(1.0, |null| null.at_most(against))
    }

    /// The same for a ratio below `ratio`.
    pub fn p_below(&self, ratio: f64) -> f64 {
        let for_it = self.steps.partition_point(|step| *step < ratio.ln());
        let against = self.steps.len() - for_it;
        self.null().map_or(1.0, |null| null.at_most(against))
    }

    fn null(&self) -> Option<Arc<Null>> {
        match self.sample {
            Sample::Paired { pairs, .. } => Some(Null::of(Sizes::Pairs(pairs))),
            Sample::Single => None,
            Sample::Unpaired { one, other } => Some(Null::of(Sizes::Groups(one, other))),
        }
    }
}
