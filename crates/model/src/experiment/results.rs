//! What a results directory holds beside trials: the question as it was run, and every gap.

use serde::{Deserialize, Serialize};

use super::{ExperimentFile, LeftOut};
use crate::environment::Tool;
use crate::point::{Execution, PointId, Values, ValuesFile};

/// `manifest.json`: what was run, written before the first trial. What a budget had no time for is
/// added when all else is measured.
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
    /// Cells with spoilt trials for which the budget had no time to measure them again.
    #[serde(default, skip_serializing_if = "is_none_of_them")]
    pub not_repeated: u32,
    /// What was left out to fit the budget or the machine; none where a version stored this that
    /// told so in sentences alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_out: Option<Vec<LeftOut>>,
    /// What a reader must know besides, a sentence each: what was fitted to the machine, and
    /// whether this is still the study that its name says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// CPUs that servers may use; each takes as many of the first as it has cores.
    #[serde(default)]
    pub server_cpus: Vec<u32>,
    /// CPUs of the generator.
    #[serde(default)]
    pub generator_cpus: Vec<u32>,
    /// How the CPUs were divided, in words.
    #[serde(default)]
    pub cpu_choice: String,
    /// The most servers that are started together; 0 where a version stored this that measured
    /// server by server.
    #[serde(default)]
    pub at_once: u32,
}

impl Manifest {
    /// The run that this is about.
    pub fn execution(&self) -> Execution {
        Execution {
            experiment: self.experiment.experiment.name.clone(),
            begun: self.time.clone(),
            order_seed: self.order_seed,
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands a reference")]
const fn is_none_of_them(count: &u32) -> bool {
    *count == 0
}

/// What an experiment could not measure, and why: a row of the report, never silence.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[serde(try_from = "GapFile", into = "GapFile")]
pub struct Gap {
    /// The server's label.
    pub server: String,
    /// The product.
    pub product: String,
    /// The workload, where only that is missing.
    pub workload: Option<String>,
    /// The load, where only that is missing; empty otherwise.
    pub load: Values,
    /// The round, where only that is missing.
    pub round: Option<u32>,
    /// What went wrong, a sentence.
    pub error: String,
    /// What to do about it: a command, where one is known.
    pub remedy: Option<String>,
    /// Whether it was known before the start, and nothing on this machine can fill it: the product
    /// does not offer what is asked, or there are too few CPUs.
    pub out_of_reach: bool,
}

impl Gap {
    /// Whether the server was missing before anything was measured.
    pub fn is_of_all(&self) -> bool {
        self.workload.is_none() && self.load.is_empty() && self.round.is_none()
    }

    /// Whether `point` is among what is missing, its round apart.
    pub fn is_of(&self, point: &PointId) -> bool {
        self.server == point.server
            && self
                .workload
                .as_ref()
                .is_none_or(|name| *name == point.workload)
            && self.load.are_among(&point.load)
    }
}

/// A gap as files have it.
#[derive(Deserialize, Serialize)]
struct GapFile {
    server: String,
    product: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    workload: Option<String>,
    #[serde(flatten)]
    load: ValuesFile,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    round: Option<u32>,
    error: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    out_of_reach: bool,
}

impl TryFrom<GapFile> for Gap {
    type Error = String;

    fn try_from(file: GapFile) -> Result<Self, String> {
        let mut load = Values::default();
        for (name, value) in file.load.read()? {
            load.set(name, value);
        }
        Ok(Self {
            server: file.server,
            product: file.product,
            workload: file.workload,
            load,
            round: file.round,
            error: file.error,
            remedy: file.remedy,
            out_of_reach: file.out_of_reach,
        })
    }
}

impl From<Gap> for GapFile {
    fn from(gap: Gap) -> Self {
        Self {
            load: ValuesFile::of(gap.load.iter()),
            server: gap.server,
            product: gap.product,
            workload: gap.workload,
            round: gap.round,
            error: gap.error,
            remedy: gap.remedy,
            out_of_reach: gap.out_of_reach,
        }
    }
}
