//! The words of a verdict: what a result is worth, claim by claim, and why.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::usage::Spender;

/// What a result may be used to say. A rule judges a claim, not a run.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Claim {
    /// This is as fast as the server goes.
    Capacity,
    /// This is better than that.
    Comparison,
    /// This is how long an answer takes.
    Latency,
    /// This is what a request costs.
    Resources,
}

impl Claim {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::Capacity,
        Self::Comparison,
        Self::Latency,
        Self::Resources,
    ];

    /// The name used in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Comparison => "comparison",
            Self::Latency => "latency",
            Self::Resources => "resources",
        }
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// How much a finding takes from a claim.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Recorded, no more.
    Note,
    /// Shown with the reason.
    Suspect,
    /// Not to be shown without being struck through.
    Invalid,
}

impl Severity {
    /// The name used in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

/// What a claim is worth.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Every rule that applies was evaluated and none objects.
    Valid,
    /// What would be needed to say could not be read.
    #[default]
    Unknown,
    /// Some rule doubts it.
    Suspect,
    /// Some rule forbids it.
    Invalid,
}

impl Status {
    /// The name used in files and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Valid => "valid",
            Self::Unknown => "unknown",
            Self::Suspect => "suspect",
            Self::Invalid => "invalid",
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// What a rule found.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule's id: `GEN-01`.
    pub rule: String,
    /// The rule's name: `gen-thread-saturated`.
    pub name: String,
    /// What it does to each claim that it touches.
    pub severity: BTreeMap<Claim, Severity>,
    /// The raw values that were read, by name.
    pub evidence: BTreeMap<String, Value>,
    /// The limits they were held against, by name.
    pub threshold: BTreeMap<String, Value>,
    /// One or two sentences for a person: what was seen and what it means.
    pub say: String,
    /// Commands or settings that mend it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fix: Vec<String>,
    /// Where the rule comes from.
    pub source: String,
}

impl Finding {
    /// The worst it does to any claim.
    pub fn worst(&self) -> Severity {
        self.severity
            .values()
            .copied()
            .max()
            .unwrap_or(Severity::Note)
    }
}

/// What one claim is worth, and by which rules.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ClaimVerdict {
    /// The worst of all rules that apply.
    pub status: Status,
    /// Ids of the rules that brought it there.
    pub because: Vec<String>,
    /// Whether a rule of the mandatory set could not be evaluated: at best `valid (partial)`.
    pub partial: bool,
}

/// How many rules had their say.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Coverage {
    /// Rules that exist.
    pub rules: u32,
    /// Rules that read what they need and judged.
    pub evaluated: u32,
    /// Rules that have nothing to say about this kind of trial.
    pub not_applicable: u32,
    /// Ids of rules that could not read what they need, each with what was missing.
    pub unknown: BTreeMap<String, String>,
    /// Ids of rules, of those that do not apply, that this trial gives too little to judge by, each
    /// with why: a window that is too short for what they read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cannot_apply: BTreeMap<String, String>,
    /// Ids of rules whose finding is not told because another rule found its cause, each with that
    /// rule.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub explained: BTreeMap<String, String>,
}

/// Why a trial is void: something that is neither generator nor server took their CPUs. It says
/// nothing of what was measured, and was not looked for there.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Cause {
    /// The rule that knows it: `CPU-08`.
    pub rule: String,
    /// How much was taken, as a share of what generator and server could have had.
    pub share: f64,
    /// What is allowed.
    pub limit: f64,
    /// One sentence for a person.
    pub say: String,
    /// Who took it, where it is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub who: Vec<Spender>,
}

/// What a trial is worth.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The version of the rules: results of one set may be compared.
    pub set: String,
    /// The worst over the claims that the trial makes.
    pub status: Status,
    /// Each claim that the trial makes.
    pub claims: BTreeMap<Claim, ClaimVerdict>,
    /// All findings, the worst first.
    pub findings: Vec<Finding>,
    /// How many rules had their say.
    pub coverage: Coverage,
    /// The larger of ceiling ÷ rate and 1 ÷ the generator's busy share.
    pub headroom: Option<f64>,
    /// Whether the generator set the rate: then it is a lower bound, "at least X".
    pub generator_limited: bool,
    /// Quantiles of response time that the sample supports (STA-01), by name: `p99`.
    pub quantiles: Vec<String>,
}

impl Verdict {
    /// Whether every claim that the trial makes is invalid.
    pub fn nothing_left(&self) -> bool {
        !self.claims.is_empty()
            && self
                .claims
                .values()
                .all(|claim| claim.status == Status::Invalid)
    }
}
