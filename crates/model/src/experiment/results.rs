//! What a results directory holds: the question as it was run, every trial, and every gap.

use serde::{Deserialize, Serialize};

use super::ExperimentFile;
use crate::environment::Tool;
use crate::trial::Trial;

/// `manifest.json`: what was run, written before the first trial and never changed.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
pub struct Manifest {
    /// [`crate::plan::FORMAT`].
    pub format: u32,
    /// The experiment as it is run: overrides applied, scaled to the budget.
    pub experiment: ExperimentFile,
    /// Where it was read: a path, or `built-in`.
    pub source: String,
    /// The command line that repeats it.
    pub command: Vec<String>,
    /// This program.
    pub tool: Tool,
    /// When it began, RFC 3339 in UTC.
    pub time: String,
    /// What the order of points was drawn from.
    pub order_seed: u64,
    /// What was scaled down to fit the budget, a sentence each.
    #[serde(default)]
    pub scaled: Vec<String>,
    /// CPUs that servers may use; each takes as many of the first as it has cores.
    #[serde(default)]
    pub server_cpus: Vec<u32>,
    /// CPUs of the generator.
    #[serde(default)]
    pub generator_cpus: Vec<u32>,
    /// How the CPUs were divided, in words.
    #[serde(default)]
    pub cpu_choice: String,
}

/// What an experiment could not measure, and why: a row of the report, never silence.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Gap {
    /// The server's label.
    pub server: String,
    /// The product.
    pub product: String,
    /// The workload, where only that is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Connections, where only that point is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connections: Option<u32>,
    /// The round, where only that is missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub round: Option<u32>,
    /// What went wrong, a sentence.
    pub error: String,
    /// What to do about it: a command, where one is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

/// All of it.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What was run.
    pub manifest: Manifest,
    /// Every trial, in the order of execution.
    pub trials: Vec<Trial>,
    /// Every gap.
    pub gaps: Vec<Gap>,
}
