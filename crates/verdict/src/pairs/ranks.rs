//! The exact distributions behind rank intervals: Wilcoxon's signed rank for pairs, Mann and
//! Whitney's U for two groups.
//!
//! Both ask only how many of the sums or differences of a sample lie below a value, so they need no
//! shape of distribution: signed ranks take the differences as symmetric about their middle, U
//! takes the two groups as equal but for a shift. Sources: Wilcoxon, "Individual comparisons by
//! ranking methods", Biometrics 1 (1945); Mann and Whitney, Annals of Mathematical Statistics 18
//! (1947); Hollander and Wolfe, "Nonparametric Statistical Methods", tables A.4 and A.6.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use statrs::distribution::{ContinuousCDF as _, Normal};

use crate::check::number;

/// Up to so many pairs are counted out; more are taken as normal, which is right to four digits
/// there.
const PAIRS_EXACT_MAX: usize = 200;
/// The same for the product of the sizes of two groups.
const PRODUCT_EXACT_MAX: usize = 20_000;

/// What was counted out, by its sizes: a report asks for the same few again and again.
static KNOWN: Mutex<BTreeMap<Sizes, Arc<Null>>> = Mutex::new(BTreeMap::new());

/// What a distribution is that of.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum Sizes {
    /// Of the number of Walsh averages below the middle, out of `pairs * (pairs + 1) / 2`.
    Pairs(usize),
    /// Of the number of differences below the shift, out of the product of two groups.
    Groups(usize, usize),
}

/// How a count is distributed where there is no difference.
#[derive(Debug)]
pub(crate) struct Null {
    /// `at_most[w]`: the probability that the count is at most `w`.
    at_most: Vec<f64>,
}

impl Null {
    /// The distribution for samples of these sizes.
    pub(crate) fn of(sizes: Sizes) -> Arc<Self> {
        // What lies there is whole: it is put there in one step.
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let null = known.entry(sizes).or_insert_with(|| {
            Arc::new(match sizes {
                Sizes::Pairs(pairs) => Self::signed_rank(pairs),
                Sizes::Groups(one, other) => Self::rank_sum(one, other),
            })
        });
        Arc::clone(null)
    }

    fn signed_rank(pairs: usize) -> Self {
        let most = pairs * (pairs + 1) / 2;
        if pairs > PAIRS_EXACT_MAX {
            let n = number(pairs as u64);
            let variance = n * (n + 1.0) * (2.0 * n + 1.0) / 24.0;
            return Self::normal(most, variance);
        }
        // shares[w]: of the 2^n choices of signs, the share whose ranks add up to w.
        let mut shares = vec![0.0; most + 1];
        shares[0] = 1.0;
        for rank in 1..=pairs {
            for sum in (0..shares.len()).rev() {
                let with = if sum >= rank { shares[sum - rank] } else { 0.0 };
                shares[sum] = f64::midpoint(shares[sum], with);
            }
        }
        Self::of_shares(shares)
    }

    fn rank_sum(one: usize, other: usize) -> Self {
        let most = one * other;
        if most > PRODUCT_EXACT_MAX {
            let (n, m) = (number(one as u64), number(other as u64));
            return Self::normal(most, n * m * (n + m + 1.0) / 12.0);
        }
        // ways[u]: choices of ranks with that U, by the Gaussian binomial coefficient: each step
        // multiplies by (1 - q^(other + i)) and divides by (1 - q^i).
        let mut ways = vec![0.0; most + 1];
        ways[0] = 1.0;
        for i in 1..=one {
            for u in (other + i..=most).rev() {
                ways[u] -= ways[u - other - i];
            }
            for u in i..=most {
                ways[u] += ways[u - i];
            }
        }
        // Rounding gathers from the low end up; the high end is its mirror.
        for u in 0..ways.len() / 2 {
            ways[most - u] = ways[u];
        }
        let all: f64 = ways.iter().sum();
        Self::of_shares(ways.into_iter().map(|way| way / all).collect())
    }

    fn of_shares(mut shares: Vec<f64>) -> Self {
        let mut sum = 0.0;
        for share in &mut shares {
            sum += *share;
            *share = sum;
        }
        Self { at_most: shares }
    }

    fn normal(most: usize, variance: f64) -> Self {
        let middle = number(most as u64) / 2.0;
        let normal = Normal::new(middle, variance.sqrt()).expect("a positive variance");
        Self {
            at_most: (0..=most)
                .map(|w| normal.cdf(number(w as u64) + 0.5))
                .collect(),
        }
    }

    /// The probability that the count is at most `count`.
    pub(crate) fn at_most(&self, count: usize) -> f64 {
        self.at_most.get(count).map_or(1.0, |p| p.min(1.0))
    }

    /// How many values an interval leaves out on each side so that it misses with probability
    /// `alpha` at most, and the probability with which it covers. None where even the whole range
    /// misses more often.
    pub(crate) fn depth(&self, alpha: f64) -> Option<(usize, f64)> {
        let within = self
            .at_most
            .iter()
            .take_while(|p| **p <= alpha / 2.0)
            .count();
        let depth = within.checked_sub(1)?;
        Some((depth, 1.0 - 2.0 * self.at_most[depth]))
    }
}
