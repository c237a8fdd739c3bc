//! An experiment that asks the kernel instead of servers: a list of probes, as it is written.

use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProbesFile {
    /// What is asked.
    pub experiment: QuestionFile,
    /// The probes, in the order in which they take turns.
    #[serde(rename = "probe")]
    pub probes: Vec<ProbeFile>,
}

/// The `[experiment]` table.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionFile {
    /// Also the name of its results directory.
    pub name: String,
    /// What a reader wants to know.
    #[serde(default)]
    pub question: String,
    /// How often each population is walked.
    #[serde(default = "five")]
    pub passes: u32,
}

const fn five() -> u32 {
    5
}

/// One `[[probe]]` table.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeFile {
    /// A line of `triathlon probe --list`.
    pub name: String,
    /// One way to run it; none: all of them.
    #[serde(default)]
    pub variant: Option<String>,
    /// How many; none: the usual number.
    #[serde(default)]
    pub population: Option<u32>,
}

impl ProbeFile {
    /// As the command line names it: `bind:2003-11`.
    pub fn selector(&self) -> String {
        match &self.variant {
            Some(variant) => format!("{}:{variant}", self.name),
            None => self.name.clone(),
        }
    }
}
