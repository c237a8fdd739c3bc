//! Is A different from B, and by how much: paired rounds, an interval, a word.
//!
//! The answer is the size of the difference with its interval; "faster" may be said only where the
//! whole interval says so.

use crate::check::number;
use crate::summary::{Interval, paired_ratio};

/// The smallest difference that anyone cares about, unless told otherwise. Policy.
pub const SMALLEST: f64 = 0.02;

/// How two servers relate.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// What one has in terms of the other (Hodges-Lehmann over paired rounds).
    pub ratio: f64,
    /// Its 95 % interval; none below six pairs.
    pub interval: Option<Interval>,
    /// How many pairs of rounds there were.
    pub pairs: usize,
    /// What may be said.
    pub decision: Decision,
}

/// What may be said of two servers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Decision {
    /// They differ by less than anyone cares about.
    Equivalent,
    /// The rounds do not tell; about so many would.
    Inconclusive {
        /// Rounds for the smallest difference that matters, four times in five.
        rounds: u64,
    },
    /// The one has less, if perhaps by little.
    Less,
    /// The one has less by at least what matters.
    LessClearly,
    /// The one has more, if perhaps by little.
    More,
    /// The one has more by at least what matters.
    MoreClearly,
}

/// Compares the one's values with the other's, round by round, against the `smallest` difference
/// that matters. None without a pair.
pub fn compare(pairs: &[(f64, f64)], smallest: f64) -> Option<Comparison> {
    let (ratio, interval) = paired_ratio(pairs)?;
    Some(Comparison {
        ratio,
        interval,
        pairs: pairs.len(),
        decision: match interval {
            Some(interval) => decide(interval, smallest, pairs),
            None => Decision::Inconclusive {
                rounds: needed(pairs, smallest),
            },
        },
    })
}

fn decide(interval: Interval, smallest: f64, pairs: &[(f64, f64)]) -> Decision {
    let Interval { low, high, .. } = interval;
    if low > 1.0 + smallest {
        Decision::MoreClearly
    } else if high < 1.0 / (1.0 + smallest) {
        Decision::LessClearly
    } else if low >= 1.0 - smallest && high <= 1.0 + smallest {
        Decision::Equivalent
    } else if low > 1.0 {
        Decision::More
    } else if high < 1.0 {
        Decision::Less
    } else {
        Decision::Inconclusive {
            rounds: needed(pairs, smallest),
        }
    }
}

/// Rounds that find a difference of `smallest` four times in five: 7.85 (sigma / delta)^2 + 2 for a
/// paired test at 5 %, and never fewer than an interval takes.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded by what anyone would run"
)]
fn needed(pairs: &[(f64, f64)], smallest: f64) -> u64 {
    let logs: Vec<f64> = pairs
        .iter()
        .filter(|(one, other)| *one > 0.0 && *other > 0.0)
        .map(|(one, other)| (one / other).ln())
        .collect();
    let count = number(logs.len() as u64);
    let least = crate::thresholds::ROUNDS_SUSPECT;
    if logs.len() < 2 {
        return least;
    }
    let mean = logs.iter().sum::<f64>() / count;
    let variance = logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>() / (count - 1.0);
    let rounds = 7.85 * variance / smallest.powi(2) + 2.0;
    (rounds.ceil().min(10_000.0) as u64).max(least)
}

#[cfg(test)]
mod tests;
