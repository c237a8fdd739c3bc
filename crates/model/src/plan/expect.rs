//! What a right answer is, as a plan says it, and how closely each is looked at.

use serde::{Deserialize, Serialize};

/// How closely answers are checked.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Framing only: a complete answer is right.
    None,
    /// The status too.
    Status,
    /// And the length.
    Length,
    /// And the body.
    #[default]
    Body,
}

/// What a right answer is. What is not given here is taken from reference fetches before the run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Expectation {
    /// How closely answers are checked.
    #[serde(default)]
    pub level: Level,
    /// The status; none takes that of the reference.
    #[serde(default)]
    pub status: Option<u16>,
    /// The length of the content in bytes; none takes that of the reference.
    #[serde(default)]
    pub length: Option<u64>,
    /// The SHA-256 of the content, hexadecimal: the reference itself must match it.
    #[serde(default)]
    pub sha256: Option<String>,
    /// Of encoded answers, one in so many is decoded and its content held against the decoded
    /// content of the reference; length and digest are then those of decoded content. None: answers
    /// are held against the reference as they came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decode_one_in: Option<u32>,
}
