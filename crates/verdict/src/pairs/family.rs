//! The answer to a declared family of comparisons: more, less, equivalent, or inconclusive.
//!
//! Each comparison asks whether the ratio lies beyond a margin that matters. Whoever asks several
//! such questions at once finds a false difference among them more often than in one; Holm's
//! procedure holds the chance of any false one at `alpha`, whichever of them are truly different.
//! The smaller p is read first against `alpha / m`, the next against `alpha / (m - 1)`, and so on
//! until one fails (Holm, "A simple sequentially rejective multiple test procedure", Scandinavian
//! Journal of Statistics 6, 1979). Differences are one such procedure. Equivalence is another, by
//! two one-sided tests (Schuirmann, Journal of Pharmacokinetics and Biopharmaceutics 15, 1987).
//!
//! A family is declared before anything is measured: one comparison for each server and workload,
//! against one reference, at one load. What is not in it stands with its own interval and is never
//! called faster.

use serde::Serialize;
use statrs::distribution::{ContinuousCDF as _, Normal};

use super::estimate::{ALPHA, Estimate, Sample};
use super::precision::{ROUNDS_MAX, whole_rounds};
use crate::check::number;
use crate::words;

/// The smallest difference that anyone cares about, unless told otherwise. Policy.
pub const MARGIN: f64 = 0.02;

/// How often rounds that are said to tell do tell. Policy.
const POWER: f64 = 0.8;
/// Rounds that ranks need for what a mean of normal values finds in 955 (Pitman; Hollander and
/// Wolfe, section 3.11).
const EFFICIENCY: f64 = 0.955;
/// The load of a family: the one nearest to the generator's default number of connections.
const CONNECTIONS: u32 = 64;

/// Comparisons that are asked at once, declared before anything is measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Family {
    /// How many; those that could not be measured count too.
    pub comparisons: usize,
    /// The chance of any false difference among them, at most.
    pub alpha: f64,
    /// The smallest ratio that matters is one more than this, or one over that.
    pub margin: f64,
}

/// What may be said of one comparison.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "answer", rename_all = "snake_case")]
pub enum Answer {
    /// They differ by less than the margin.
    Equivalent,
    /// The rounds do not tell.
    Inconclusive {
        /// Why not.
        #[serde(flatten)]
        why: Why,
        /// How many more rounds would probably tell.
        more_rounds: More,
    },
    /// The one has less by at least the margin.
    Less,
    /// The one has more by at least the margin.
    More,
    /// One value each: a ratio, and no answer.
    Single,
    /// Not one of the declared comparisons: its own interval, and no answer.
    Undeclared,
}

/// How many more rounds would probably tell. In JSON all but a number is null.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum More {
    /// More than anyone would run.
    Many,
    /// About so many.
    Rounds(u64),
    /// Nothing says how many: a side has too few rounds to tell how much they differ.
    Unknown,
}

impl Serialize for More {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Rounds(rounds) => serializer.serialize_some(rounds),
            Self::Many | Self::Unknown => serializer.serialize_none(),
        }
    }
}

/// Why rounds do not tell.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(tag = "why", rename_all = "snake_case")]
pub enum Why {
    /// It would be a difference if it were the only question, but several were asked at once.
    Family,
    /// The same of two that are alike.
    FamilyAlike,
    /// So few rounds could never tell, whatever they show.
    FewRounds {
        /// How many there are.
        rounds: usize,
        /// How many could.
        needed: usize,
    },
    /// No round has both.
    NoPairs,
    /// The rounds differ too much among each other.
    Spread,
}

impl Default for Family {
    /// A single comparison by the usual limits.
    fn default() -> Self {
        Self::of(1)
    }
}

impl Family {
    /// So many comparisons by the usual limits.
    pub const fn of(comparisons: usize) -> Self {
        Self {
            comparisons,
            alpha: ALPHA,
            margin: MARGIN,
        }
    }

    /// The answers to all comparisons of the family, in the order given; none stands for one that
    /// could not be measured.
    ///
    /// # Panics
    ///
    /// If more are given than were declared.
    pub fn answers(&self, estimates: &[Option<&Estimate>]) -> Vec<Answer> {
        assert!(
            estimates.len() <= self.comparisons,
            "a family is declared with all its members"
        );
        let (above, below) = (1.0 + self.margin, 1.0 / (1.0 + self.margin));
        let differ = |e: &Estimate| 2.0 * e.p_above(above).min(e.p_below(below));
        let agree = |e: &Estimate| 2.0 * e.p_below(above).max(e.p_above(below));
        let of = |p: &dyn Fn(&Estimate) -> f64| -> Vec<f64> {
            estimates.iter().map(|e| e.map_or(1.0, p)).collect()
        };
        let differs = self.holm(&of(&differ));
        let agrees = self.holm(&of(&agree));
        estimates
            .iter()
            .zip(differs.into_iter().zip(agrees))
            .map(|(estimate, (differs, agrees))| match estimate {
                None => inconclusive(Why::NoPairs, More::Unknown),
                Some(estimate) if estimate.sample == Sample::Single => Answer::Single,
                Some(estimate) if differs && estimate.ratio > 1.0 => Answer::More,
                Some(_) if differs => Answer::Less,
                Some(_) if agrees => Answer::Equivalent,
                Some(estimate) => self.open(estimate, differ(estimate), agree(estimate)),
            })
            .collect()
    }

    /// Whether `answer` may be said of a ratio that is at least this, at most this, or both. What
    /// is at least X may be more, and nothing below it is known. So more rounds tell only where X
    /// is beyond the margin already.
    pub fn allows(&self, answer: &Answer, ratio: Option<f64>, bounds: (bool, bool)) -> bool {
        let is_open = matches!(answer, Answer::Inconclusive { .. });
        let above = ratio.is_some_and(|ratio| ratio > 1.0 + self.margin);
        let below = ratio.is_some_and(|ratio| ratio < 1.0 / (1.0 + self.margin));
        match bounds {
            (false, false) => true,
            (true, false) => *answer == Answer::More || is_open && above,
            (false, true) => *answer == Answer::Less || is_open && below,
            (true, true) => false,
        }
    }

    /// Which of the p values pass, with the declared number as the number of all.
    fn holm(&self, p: &[f64]) -> Vec<bool> {
        let mut order: Vec<usize> = (0..p.len()).collect();
        order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
        let mut passed = vec![false; p.len()];
        for (before, position) in order.into_iter().enumerate() {
            if p[position] > self.alpha / number((self.comparisons - before) as u64) {
                break;
            }
            passed[position] = true;
        }
        passed
    }

    /// Why the rounds of `estimate` do not tell, and how many more would.
    fn open(&self, estimate: &Estimate, differ: f64, agree: f64) -> Answer {
        let rounds = estimate.sample.rounds();
        let (comparisons, alpha) = (self.comparisons, self.alpha);
        let needed = match estimate.sample {
            Sample::Unpaired { .. } => rounds_needed_unpaired(comparisons, alpha),
            _ => rounds_needed(comparisons, alpha),
        };
        let least = needed.max(rounds + 1);
        let more = match self.rounds_to_tell(estimate) {
            None => More::Unknown,
            Some(expected) => whole_rounds(expected).map_or(More::Many, |told| {
                More::Rounds(told.max(least as u64) - rounds as u64)
            }),
        };
        if estimate.p_smallest() > alpha / number(comparisons as u64) && rounds < needed {
            return inconclusive(Why::FewRounds { rounds, needed }, more);
        }
        if differ.min(agree) <= alpha {
            let is_alike = agree < differ;
            let why = if is_alike {
                Why::FamilyAlike
            } else {
                Why::Family
            };
            return inconclusive(why, more);
        }
        inconclusive(Why::Spread, more)
    }

    /// How many rounds would tell in all, four times in five, if the ratio is what it seems:
    /// `((z_alpha + z_power) sigma / distance)^2` for a mean, corrected for ranks and for how
    /// little few rounds know of their spread, where the distance is that from the margin. None
    /// where they do not tell how much they differ.
    fn rounds_to_tell(&self, estimate: &Estimate) -> Option<f64> {
        let normal = Normal::standard();
        let alpha = self.alpha / number(self.comparisons as u64);
        let z = normal.inverse_cdf(1.0 - alpha / 2.0) + normal.inverse_cdf(POWER);
        let distance = (estimate.ratio.ln().abs() - self.margin.ln_1p()).abs();
        let times = (z * estimate.spread? / distance).powi(2);
        Some(times / EFFICIENCY + 2.0)
    }
}

const fn inconclusive(why: Why, more_rounds: More) -> Answer {
    Answer::Inconclusive { why, more_rounds }
}

impl Answer {
    /// The answer as a reader sees it, in the words for more and less: `faster (margin 2 %)`.
    /// `family` is the one that it is an answer of.
    pub fn text(&self, more: &str, less: &str, family: &Family) -> String {
        let margin = words::share(family.margin);
        let (why, rounds) = match *self {
            Self::Equivalent => return format!("equivalent within {margin}"),
            Self::Less => return format!("{less} (margin {margin})"),
            Self::More => return format!("{more} (margin {margin})"),
            Self::Single => return "one value each: a ratio and no answer".to_owned(),
            Self::Undeclared => {
                return "no answer: not one of the declared comparisons".to_owned();
            }
            Self::Inconclusive { why, more_rounds } => (why, more_rounds),
        };
        let comparisons = words::plural(family.comparisons as u64, "comparison");
        let would = match rounds {
            More::Many => format!(
                "more than {} rounds would be needed to tell",
                words::count(ROUNDS_MAX)
            ),
            More::Rounds(1) => "1 more round would tell".to_owned(),
            More::Rounds(rounds) => {
                format!("about {} more rounds would tell", words::count(rounds))
            }
            More::Unknown => "nothing says how many more rounds would tell".to_owned(),
        };
        match why {
            Why::Family => {
                format!(
                    "inconclusive: among {comparisons} one may differ this much by chance; {would}"
                )
            }
            Why::FamilyAlike => format!(
                "inconclusive: among {comparisons} one may agree this well by chance; {would}"
            ),
            Why::FewRounds { rounds, needed } => format!(
                "inconclusive: {} {} too few for {comparisons}; {} are needed",
                words::plural(rounds as u64, "round"),
                if rounds == 1 { "is" } else { "are" },
                words::plural(needed as u64, "round")
            ),
            Why::NoPairs => "inconclusive: no round counts for both".to_owned(),
            Why::Spread => format!("inconclusive: {would}"),
        }
    }

    /// Whether it says that the two differ.
    pub const fn differs(&self) -> bool {
        matches!(self, Self::Less | Self::More)
    }
}

impl Estimate {
    /// The smallest p that so many rounds can have, either way.
    pub fn p_smallest(&self) -> f64 {
        match self.sample {
            Sample::Paired { pairs, .. } => smallest_paired(pairs),
            Sample::Single => 1.0,
            Sample::Unpaired { one, other } => smallest_unpaired(one, other),
        }
    }
}

/// How many pairs so many servers are ranked by: all, and none of two or fewer, whose one answer
/// says as much.
pub const fn ranked_pairs(servers: usize) -> usize {
    match servers {
        0..=2 => 0,
        _ => servers * (servers - 1) / 2,
    }
}

/// The fewest rounds in which `comparisons` paired comparisons can be told apart from chance with
/// `alpha` for all of them: 6 for one, 8 for six, 11 for forty-five. With fewer not even rounds
/// that all say the same would do: the smallest p of `k` rounds is 2 / 2^k.
pub fn rounds_needed(comparisons: usize, alpha: f64) -> usize {
    fewest(comparisons, alpha, smallest_paired)
}

/// The same for rounds of either side that were not measured together: 4 for one, 5 for six.
pub fn rounds_needed_unpaired(comparisons: usize, alpha: f64) -> usize {
    fewest(comparisons, alpha, |rounds| {
        smallest_unpaired(rounds, rounds)
    })
}

fn fewest(comparisons: usize, alpha: f64, smallest: impl Fn(usize) -> f64) -> usize {
    assert!(alpha > 0.0, "nothing is certain");
    let limit = alpha / number(comparisons.max(1) as u64);
    // The smallest p falls at least by half with each round, so this ends.
    (1..)
        .find(|&rounds| smallest(rounds) <= limit)
        .expect("the smallest p falls without end")
}

fn smallest_paired(pairs: usize) -> f64 {
    (0..pairs).fold(2.0_f64, |p, _| p / 2.0).min(1.0)
}

/// 2 over the number of ways to choose the ranks of the one.
fn smallest_unpaired(one: usize, other: usize) -> f64 {
    let p = (1..=one).fold(2.0, |p, i| {
        p * number(i as u64) / number((other + i) as u64)
    });
    p.min(1.0)
}

/// The load at which a family compares: of the numbers of connections that were asked for, the one
/// nearest to 64 in proportion, the smaller of two as near. It depends on what was asked, never on
/// what was measured. None where there is none.
pub fn declared_connections(asked: &[u32]) -> Option<u32> {
    let apart = |connections: u32| {
        let logs = f64::from(connections.max(1)).ln() - f64::from(CONNECTIONS).ln();
        logs.abs()
    };
    let mut asked = asked.to_vec();
    asked.sort_unstable();
    asked
        .into_iter()
        .min_by(|a, b| apart(*a).total_cmp(&apart(*b)))
}
