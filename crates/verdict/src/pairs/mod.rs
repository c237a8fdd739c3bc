//! Is one different from another, and by how much: ratios within rounds, exact intervals, one of
//! four answers.
//!
//! Servers are compared within rounds ([`paired`]): what disturbed a round disturbed both, and
//! leaves their ratio alone. Two results that were measured apart have no rounds in common
//! ([`unpaired`]), and their interval does not cover what changed in between. A [`Family`] of
//! comparisons is declared before anything is measured, and only its answers may say that one is
//! faster. [`Precision`] says how sharp a number is, which has nothing to do with whether it is
//! valid.
//!
//! ```
//! use std::collections::BTreeMap;
//! use verdict::pairs::{Answer, Family, paired, rounds_needed};
//!
//! let rounds = [1, 2, 3, 4, 5, 6];
//! let nginx = BTreeMap::from(rounds.map(|round| (round, 50_000.0 + f64::from(round))));
//! let origin = nginx.iter().map(|(round, rate)| (*round, rate * 1.8)).collect();
//! let ratio = paired(&origin, &nginx).expect("six rounds have both");
//! let family = Family::of(1);
//! assert_eq!(rounds_needed(family.comparisons, family.alpha), 6);
//! assert_eq!(family.answers(&[Some(&ratio)]), [Answer::More]);
//! ```

mod again;
mod estimate;
mod family;
mod precision;
mod ranks;

pub use again::{Held, differing_at_most, held};
pub use estimate::{ALPHA, Estimate, Sample, paired, unpaired};
pub use family::{
    Answer, Family, MARGIN, More, Why, declared_connections, ranked_pairs, rounds_needed,
    rounds_needed_unpaired,
};
pub use precision::{FAIR, Precision, SHARP, Sharpness};

#[cfg(test)]
mod tests;
