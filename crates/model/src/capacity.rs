//! What a search for the capacity found, and the trials that it rests on.

use serde::{Deserialize, Serialize};

use crate::finding::Status;
use crate::threshold::Judged;
use crate::units::{Rate, Span};

/// What came of a trial of a search.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// The objective was met.
    Met,
    /// It was not.
    Missed,
    /// It was not, and the generator or the machine was the limit: it says nothing of the server.
    Spoilt,
}

impl Came {
    /// For whoever watches.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Met => "met",
            Self::Missed => "missed",
            Self::Spoilt => "void, the generator or the machine was the limit",
        }
    }
}

/// What a search found.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Answer {
    /// The capacity lies between these, and the lower one held in trials made afresh.
    Between {
        /// It met the objective.
        #[serde(rename = "lower_per_1000_s")]
        lower: Rate,
        /// It did not.
        #[serde(rename = "upper_per_1000_s")]
        upper: Rate,
        /// Fresh trials at the lower rate that met it.
        fresh_met: u32,
        /// Of so many.
        fresh: u32,
    },
    /// The generator or the machine was the limit: the capacity is at least the rate that met the
    /// objective, if there is one.
    GeneratorLimit {
        /// It met the objective, in one trial or more.
        #[serde(rename = "lower_per_1000_s")]
        lower: Option<Rate>,
        /// The rate at which it was.
        #[serde(rename = "failed_per_1000_s")]
        failed: Rate,
    },
    /// No rate meets the objective, not even this one.
    Nothing {
        /// It did not meet the objective.
        #[serde(rename = "lowest_per_1000_s")]
        lowest: Rate,
    },
    /// The trials were used up.
    Undecided {
        /// The highest rate that met the objective, as far as was seen.
        #[serde(rename = "lower_per_1000_s")]
        lower: Option<Rate>,
        /// The lowest that did not.
        #[serde(rename = "upper_per_1000_s")]
        upper: Option<Rate>,
    },
}

impl Answer {
    /// The highest rate that met the objective, if one did.
    pub const fn lower(&self) -> Option<Rate> {
        match *self {
            Self::Between { lower, .. } => Some(lower),
            Self::GeneratorLimit { lower, .. } | Self::Undecided { lower, .. } => lower,
            Self::Nothing { .. } => None,
        }
    }

    /// The lowest rate that is known not to meet it, if one is.
    pub const fn upper(&self) -> Option<Rate> {
        match *self {
            Self::Between { upper, .. } => Some(upper),
            Self::Undecided { upper, .. } => upper,
            Self::Nothing { lowest } => Some(lowest),
            Self::GeneratorLimit { .. } => None,
        }
    }

    /// The word in tables.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Between { .. } => "between",
            Self::GeneratorLimit { .. } => "generator_limit",
            Self::Nothing { .. } => "nothing",
            Self::Undecided { .. } => "undecided",
        }
    }
}

/// One trial of a search.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Made {
    /// The intended rate.
    #[serde(rename = "rate_per_1000_s")]
    pub rate: Rate,
    /// How long it measured.
    #[serde(rename = "duration_ns")]
    pub duration: Span,
    /// Whether it was one of those that confirm the answer.
    pub fresh: bool,
    /// What came of it.
    pub came: Came,
    /// Right answers per second.
    pub achieved_rate: f64,
    /// Each condition of the objective, with the value it met.
    pub thresholds: Vec<Judged>,
    /// What the trial is worth.
    pub status: Status,
}

/// A search and its answer.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Found {
    /// The conditions of the objective, as they were written.
    pub objective: Vec<String>,
    /// Right answers per second of a closed loop: the search began at a tenth of that.
    pub closed_loop_rate: f64,
    /// What it found.
    pub answer: Answer,
    /// Its trials, in their order.
    pub trials: Vec<Made>,
}
