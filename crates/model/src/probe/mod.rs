//! What a probe measured: one kernel operation, timed against how many of its kind there are.
//!
//! Every point of every pass is kept, as it was read; the cost of reading the clock stands beside
//! it and is subtracted where the points are used, never in the file.

mod experiment;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::environment::Environment;

pub use experiment::{ProbeDemand, ProbeFigure, ProbeFile, ProbeShown, ProbesFile, QuestionFile};

/// The version of the probe files that this program writes.
pub const FORMAT: u32 = 1;

/// One probe, all its passes, and what its curves look like.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct ProbeResult {
    /// [`FORMAT`].
    pub probe_format: u32,
    /// The probe's name: `socket`.
    pub probe: String,
    /// Which way it was run, where there are several: `2003-11`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// The name of the server that was asked, where it was not the program's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// What is timed, in a sentence.
    pub question: String,
    /// What is counted along the axis: `open sockets`.
    pub axis: String,
    /// What the axis means.
    #[serde(default)]
    pub kind: AxisKind,
    /// How many were asked for.
    pub population_asked: u32,
    /// How many were measured; less where a limit said so.
    pub population: u32,
    /// Why there is no measurement, or why it is smaller than asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The limits that were read before the start.
    pub limits: Vec<Limit>,
    /// Where it ran.
    pub environment: Environment,
    /// Further facts by name: the size of the program that forked, extents of the file.
    #[serde(default)]
    pub facts: BTreeMap<String, String>,
    /// The share of the probe's CPUs that other programs used meanwhile, where it could be read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busy_elsewhere: Option<f64>,
    /// The passes in the order in which they ran.
    pub passes: Vec<Pass>,
    /// What the curves look like, by the rules of the program that stored them.
    #[serde(default)]
    pub growth: Vec<Growth>,
}

impl ProbeResult {
    /// The probe's name with its variant and its server: unique in a result folder.
    pub fn label(&self) -> String {
        let parts = [&self.variant, &self.server].into_iter().flatten();
        let words: Vec<&str> = [&self.probe]
            .into_iter()
            .chain(parts)
            .map(String::as_str)
            .collect();
        words.join("-")
    }

    /// The names of the measured operations, in the order of the first pass.
    pub fn series_names(&self) -> Vec<&str> {
        self.passes.first().map_or_else(Vec::new, |pass| {
            pass.series.iter().map(|one| one.name.as_str()).collect()
        })
    }

    /// The points of one operation, a list per pass, with the cost of the clock subtracted.
    pub fn points(&self, series: &str) -> Vec<Vec<(u32, f64)>> {
        self.passes
            .iter()
            .filter_map(|pass| {
                let found = pass.series.iter().find(|one| one.name == series)?;
                Some(found.points(pass.timer_cost_ns))
            })
            .collect()
    }
}

/// What the axis of a probe means.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AxisKind {
    /// How many exist already: the curve has a growth class.
    #[default]
    Population,
    /// How far something has come, as in a download: a course in time, no growth class.
    Progress,
}

/// One walk from nothing to the whole population, in a process of its own.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Pass {
    /// From 1.
    pub number: u32,
    /// What two readings of the clock cost, in nanoseconds: contained in every point.
    pub timer_cost_ns: f64,
    /// How long the pass took, in nanoseconds.
    pub took_ns: u64,
    /// What was timed.
    pub series: Vec<Series>,
    /// Facts of this pass alone.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub facts: BTreeMap<String, String>,
}

/// One timed operation of one pass.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Series {
    /// The operation: `bind`.
    pub name: String,
    /// The population at each point; none: 1, 2, 3 and so on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Vec<u32>>,
    /// What each operation took, in nanoseconds, the clock's cost included.
    pub ns: Vec<u64>,
}

impl Series {
    /// A series whose points follow one by one, from a population of 1.
    pub fn counted(name: &str, ns: Vec<u64>) -> Self {
        Self {
            name: name.to_owned(),
            at: None,
            ns,
        }
    }

    /// Population and nanoseconds of each point, less the cost of the clock, at least a nanosecond.
    pub fn points(&self, timer_cost_ns: f64) -> Vec<(u32, f64)> {
        let at = |index: usize| match &self.at {
            Some(at) => at.get(index).copied().unwrap_or(u32::MAX),
            None => u32::try_from(index + 1).unwrap_or(u32::MAX),
        };
        self.ns
            .iter()
            .enumerate()
            .map(|(index, ns)| (at(index), (as_f64(*ns) - timer_cost_ns).max(1.0)))
            .collect()
    }
}

#[expect(clippy::cast_precision_loss, reason = "exact up to 104 days")]
fn as_f64(ns: u64) -> f64 {
    ns as f64
}

/// A bound of the machine, and how much of it the probe takes.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Limit {
    /// What is bounded: `open files`.
    pub name: String,
    /// Where it was read: `RLIMIT_NOFILE (hard)`.
    pub source: String,
    /// How many are free; none: no bound, or unreadable.
    pub free: Option<u64>,
    /// How many the probe takes for each one of its population, in thousandths.
    pub per_1000: u64,
    /// How many it takes beside.
    pub fixed: u64,
}

impl Limit {
    /// The largest population that it allows.
    pub fn allows(&self) -> u64 {
        match self.free {
            Some(free) if self.per_1000 > 0 => {
                free.saturating_sub(self.fixed).saturating_mul(1_000) / self.per_1000
            }
            _ => u64::MAX,
        }
    }
}

/// How a cost grows with the population.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// It becomes cheaper.
    Falling,
    /// It does not.
    Flat,
    /// With its logarithm.
    Logarithmic,
    /// In proportion.
    Linear,
    /// Faster than in proportion: n log n, n squared.
    Worse,
    /// From one level to another at one place.
    Step,
    /// Two curves at once: each point is on one of them.
    TwoBranches,
}

impl Class {
    /// Whether a call costs more where there are many.
    pub const fn grows(self) -> bool {
        match self {
            Self::Logarithmic | Self::Linear | Self::Worse | Self::Step => true,
            Self::Falling | Self::Flat | Self::TwoBranches => false,
        }
    }

    /// As a word in a sentence.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Falling => "falling",
            Self::Flat => "flat",
            Self::Logarithmic => "logarithmic",
            Self::Linear => "linear",
            Self::Worse => "worse than linear",
            Self::Step => "a step",
            Self::TwoBranches => "two branches",
        }
    }
}

/// A curve that was fitted.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "shape", rename_all = "kebab-case")]
pub enum Curve {
    /// a
    Constant {
        /// a, in nanoseconds.
        a: f64,
    },
    /// a + b ln n
    Logarithmic {
        /// a, in nanoseconds.
        a: f64,
        /// b, in nanoseconds.
        b: f64,
    },
    /// a + b n
    Linear {
        /// a, in nanoseconds.
        a: f64,
        /// b, in nanoseconds.
        b: f64,
    },
    /// a + b n ln n
    LogLinear {
        /// a, in nanoseconds.
        a: f64,
        /// b, in nanoseconds.
        b: f64,
    },
    /// a + b n squared
    Quadratic {
        /// a, in nanoseconds.
        a: f64,
        /// b, in nanoseconds.
        b: f64,
    },
    /// a below `at`, b from there on
    Step {
        /// The level before, in nanoseconds.
        a: f64,
        /// The level after, in nanoseconds.
        b: f64,
        /// Where.
        at: f64,
    },
}

impl Curve {
    /// Its value where the population is `n`, in nanoseconds.
    pub fn value(&self, n: f64) -> f64 {
        match *self {
            Self::Constant { a } => a,
            Self::Logarithmic { a, b } => a + b * n.ln(),
            Self::Linear { a, b } => a + b * n,
            Self::LogLinear { a, b } => a + b * n * n.ln(),
            Self::Quadratic { a, b } => a + b * n * n,
            Self::Step { a, b, at } => {
                if n < at {
                    a
                } else {
                    b
                }
            }
        }
    }

    /// The class that it stands for.
    pub const fn class(&self) -> Class {
        match self {
            Self::Constant { .. } => Class::Flat,
            Self::Logarithmic { .. } => Class::Logarithmic,
            Self::Linear { .. } => Class::Linear,
            Self::LogLinear { .. } | Self::Quadratic { .. } => Class::Worse,
            Self::Step { .. } => Class::Step,
        }
    }
}

/// What the curve of one operation looks like.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
pub struct Growth {
    /// The operation.
    pub series: String,
    /// One class: that is what it is. Several: between them. None: too little was measured.
    pub classes: Vec<Class>,
    /// How sure, from 0 to 1: see the sentence for what it is a probability of.
    pub confidence: f64,
    /// The whole answer in a sentence.
    pub sentence: String,
    /// The populations that the answer is about.
    pub from: f64,
    /// Up to here.
    pub to: f64,
    /// The typical cost of the first and of the last sixth of the bins, in nanoseconds.
    pub typical_ns: (f64, f64),
    /// How many times dearer the end is than the beginning: estimate and 95 % bounds.
    pub ratio: (f64, f64, f64),
    /// What was fitted: one curve, or one for each branch.
    pub curves: Vec<Curve>,
    /// Bins as population and typical cost in nanoseconds, over all passes.
    pub bins: Vec<(f64, f64)>,
}

impl Growth {
    /// Whether both could be true of one curve.
    pub fn agrees_with(&self, other: &Self) -> bool {
        self.classes.is_empty()
            || other.classes.is_empty()
            || self
                .classes
                .iter()
                .any(|class| other.classes.contains(class))
    }

    /// The class, or what it lies between, in a few words.
    pub fn word(&self) -> String {
        match self.classes.as_slice() {
            [] => "unclear".to_owned(),
            [class] => class.word().to_owned(),
            [first, .., last] => format!("between {} and {}", first.word(), last.word()),
        }
    }
}

#[cfg(test)]
mod tests;
