//! What came of a condition.

use serde::{Deserialize, Serialize};

/// A condition with the value it met, as a trial stores it.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Judged {
    /// As it was written.
    pub threshold: String,
    /// What was measured; none where there is no such value, as the median of no answers.
    pub value: Option<f64>,
    /// What the value is.
    pub unit: Unit,
    /// Whether the condition holds. Without a value it does not.
    pub met: bool,
    /// Where so few values were measured that the quantile rests on less than ten of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub few: Option<Few>,
}

/// Values that are too few for a quantile.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Few {
    /// How many there were.
    pub values: u64,
    /// How many it takes until ten lie beyond the quantile.
    pub needed: u64,
}

/// What a value is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// So many.
    Count,
    /// So many per second.
    PerSecond,
    /// A part of 1.
    Share,
    /// Microseconds.
    Us,
}
