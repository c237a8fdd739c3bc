//! An experiment that asks the kernel instead of servers: a list of probes, as it is written.

use serde::{Deserialize, Serialize};

use crate::experiment::ServerFile;

/// The whole file.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProbesFile {
    /// What is asked.
    pub experiment: QuestionFile,
    /// The probes, in the order in which they take turns.
    #[serde(rename = "probe")]
    pub probes: Vec<ProbeFile>,
    /// What an earlier study saw.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub published: Vec<ProbeFigure>,
    /// What its readers asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub asked: Vec<ProbeDemand>,
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
    /// Who is asked in the place of our own server, as an experiment writes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<Box<ServerFile>>,
}

/// One `[[published]]` table: how an operation grew in an earlier study.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeFigure {
    /// The probe of this experiment that stands beside it, with its variant and its server:
    /// `request:close@lighttpd`.
    pub probe: String,
    /// Which of its operations; none: the one that it is named after, or else the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// What was seen, and on which systems.
    pub then: String,
}

/// One `[[asked]]` table: a demand, and where its answer is.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct ProbeDemand {
    /// Who asked: the author of the study, or we.
    #[serde(default)]
    pub who: String,
    /// What is asked for.
    #[serde(default)]
    pub demand: String,
    /// What of the curve answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub show: Option<ProbeShown>,
    /// The probe, with its variant and its server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<String>,
    /// Which of its operations; none: the one that it is named after, or else the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation: Option<String>,
    /// The answer is the ratio to the number of this probe.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against: Option<String>,
    /// Which of the operations of that one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub against_operation: Option<String>,
    /// What the number says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub means: Option<String>,
    /// Why there is no answer here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not: Option<String>,
}

/// What of the curve of an operation answers a demand.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeShown {
    /// Its class of growth.
    Growth,
    /// What a call costs where there are few.
    Beginning,
    /// What a call costs where there are as many as were asked for.
    End,
    /// The end in terms of the beginning.
    Ratio,
    /// Of a course in time: megabytes per second.
    Speed,
    /// How many there were in the end, and what the limit was if there were fewer than asked for.
    Population,
    /// Which server was asked, and how it waits.
    Server,
}

impl ProbeShown {
    /// Whether it is a number that can be put in terms of another.
    pub const fn is_number(self) -> bool {
        !matches!(self, Self::Growth | Self::Population | Self::Server)
    }
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
