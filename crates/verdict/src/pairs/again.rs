//! A number held against a second run of the same experiment.
//!
//! The rounds of two runs have nothing in common, so the second is compared with the first over all
//! differences ([`unpaired`]). Where the interval of that ratio leaves out 1, the runs disagree. An
//! interval of 95 % leaves out the truth in one of twenty cases, so some disagree where nothing
//! has changed: [`differing_at_most`] says how many are no surprise.

use super::estimate::{ALPHA, Estimate, unpaired};

/// What a second run says of a number.
#[derive(Clone, Debug, PartialEq)]
pub enum Held {
    /// The runs agree: the interval of the second in terms of the first holds 1.
    Agrees(Estimate),
    /// They disagree.
    Differs(Estimate),
    /// There are too few rounds for an interval.
    Untold,
}

/// Holds the rounds of the `first` run against those of the `second`.
pub fn held(first: &[f64], second: &[f64]) -> Held {
    let Some(estimate) = unpaired(second, first) else {
        return Held::Untold;
    };
    match estimate.interval {
        None => Held::Untold,
        Some(interval) if interval.low <= 1.0 && 1.0 <= interval.high => Held::Agrees(estimate),
        Some(_) => Held::Differs(estimate),
    }
}

/// How many of `count` numbers disagree at most, in 95 of 100 cases, where nothing has changed and
/// none depends on another: the quantile of the binomial distribution at [`ALPHA`].
pub fn differing_at_most(count: u32) -> u32 {
    let one = f64::from(count);
    let mut term = (1.0 - ALPHA).powf(one);
    let mut sum = term;
    let mut differing = 0;
    while sum < 1.0 - ALPHA && differing < count {
        let left = f64::from(count - differing);
        differing += 1;
        term *= left / f64::from(differing) * ALPHA / (1.0 - ALPHA);
        sum += term;
    }
    differing
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_say_the_same_agree_and_others_do_not() {
        let first = [100.0, 102.0, 98.0, 101.0, 99.0, 100.5];
        let same = [101.0, 99.5, 100.2, 98.5, 102.5, 100.1];
        assert!(matches!(held(&first, &same), Held::Agrees(_)));
        let other = same.map(|value| value * 1.2);
        let Held::Differs(found) = held(&first, &other) else {
            panic!("a fifth more is no accident");
        };
        assert!(found.ratio > 1.17 && found.ratio < 1.23, "{found:?}");
        // What never happened did not change.
        assert!(matches!(held(&[0.0; 6], &[0.0; 6]), Held::Agrees(_)));
        assert_eq!(held(&[1.0, 1.0], &[2.0, 2.0]), Held::Untold);
        assert_eq!(held(&[], &first), Held::Untold);
    }

    /// By the tables of the binomial distribution for one in twenty.
    #[test]
    fn of_many_some_differ_by_chance() {
        for (count, expected) in [(0, 0), (1, 0), (2, 1), (10, 2), (20, 3), (50, 5), (100, 9)] {
            assert_eq!(differing_at_most(count), expected, "{count}");
        }
    }
}
