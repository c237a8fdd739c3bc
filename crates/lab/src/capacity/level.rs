//! What a search varies, and how it ends.

use std::fmt::Debug;

use model::capacity::Answer;
use model::units::Rate;

/// How much load there is.
pub trait Level: Copy + Debug + Ord {
    /// A server that does not meet the objective with this does not meet it.
    const LOWEST: Self;

    /// As a number, which grows with it.
    fn value(self) -> f64;

    /// The load nearest to that number, but no less than there can be.
    fn of(value: f64) -> Self;
}

impl Level for Rate {
    const LOWEST: Self = Self::per_second(1);

    fn value(self) -> f64 {
        self.as_per_second_f64()
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rate is positive, and far below 2^53"
    )]
    fn of(value: f64) -> Self {
        Self::per_1000_s(((value * 1e3).round() as u64).max(1))
    }
}

/// Connections of a closed loop, or users.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Connections(pub u32);

impl Level for Connections {
    const LOWEST: Self = Self(1);

    fn value(self) -> f64 {
        f64::from(self.0)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a number of connections is positive, and what is larger is cut off"
    )]
    fn of(value: f64) -> Self {
        Self((value.round() as u32).max(1))
    }
}

/// How a search ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Ending<L> {
    /// The capacity lies between these, and the lower one held in trials made afresh.
    Between {
        /// It met the objective.
        lower: L,
        /// It did not.
        upper: L,
        /// Fresh trials at the lower one that met it.
        fresh_met: u32,
        /// Of so many.
        fresh: u32,
    },
    /// The most that may be tried met the objective.
    Enough {
        /// That.
        lower: L,
    },
    /// The generator or the machine was the limit: the capacity is at least what met the
    /// objective, if anything did.
    GeneratorLimit {
        /// It met the objective, in one trial or more.
        lower: Option<L>,
        /// The load at which it was.
        failed: L,
    },
    /// Nothing meets the objective, not even this.
    Nothing {
        /// It did not meet the objective.
        lowest: L,
    },
    /// The trials were used up.
    Undecided {
        /// The highest that met the objective, as far as was seen.
        lower: Option<L>,
        /// The lowest that did not.
        upper: Option<L>,
    },
}

impl From<Ending<Rate>> for Answer {
    fn from(ending: Ending<Rate>) -> Self {
        match ending {
            Ending::Between {
                lower,
                upper,
                fresh_met,
                fresh,
            } => Self::Between {
                lower,
                upper,
                fresh_met,
                fresh,
            },
            Ending::Enough { lower } => Self::Undecided {
                lower: Some(lower),
                upper: None,
            },
            Ending::GeneratorLimit { lower, failed } => Self::GeneratorLimit { lower, failed },
            Ending::Nothing { lowest } => Self::Nothing { lowest },
            Ending::Undecided { lower, upper } => Self::Undecided { lower, upper },
        }
    }
}
