//! What the machine of a lab and the one of its servers say to each other: a line of JSON each,
//! with plans, trials and files of results as they are stored.

use model::{Manifest, PlanFile, Span, Trial};
use serde::{Deserialize, Serialize};

/// What the servers' machine is told.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// A file of the results that the lab goes on with.
    File(File),
    /// That is all: begin.
    Begin(Box<Begin>),
    /// The plan that was asked for begins; the edges of its window by this machine's clock, in
    /// nanoseconds since 1970, where they are known.
    Window(Option<[u64; 2]>),
    /// What came of it.
    #[serde(with = "model::json::inside")]
    Made(Box<Trial>),
    /// Nothing came of it: why.
    Failed(String),
    /// Come to an end.
    Stop,
}

/// A file of results.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
pub(crate) struct File {
    /// Its name below their folder.
    pub(super) name: String,
    /// What is in it.
    pub(super) text: String,
}

/// What is to be measured, and how.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct Begin {
    /// The experiment as it is written; none where results are gone on with.
    pub(super) text: Option<String>,
    /// Where it was read.
    pub(super) source: String,
    /// The command line.
    pub(super) command: Vec<String>,
    /// What replaces values of the text.
    pub(super) overrides: Vec<String>,
    /// The longest that it may take.
    pub(super) budget: Option<Span>,
    /// How long CPUs are watched for pauses.
    pub(super) hiccups: Span,
    /// Whether another lab may measure there.
    pub(super) no_lock: bool,
    /// Whether servers are only to be started and asked.
    pub(super) verify: bool,
    /// The CPUs of the machine that makes the load.
    pub(super) threads: u32,
}

/// What the servers' machine says.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Word {
    /// A line for people.
    Note(String),
    /// What is about to be measured.
    #[serde(with = "model::json::inside")]
    Manifest(Box<Manifest>),
    /// A file of results.
    File(File),
    /// A file of results is one no more.
    Gone(String),
    /// A load is to be made.
    #[serde(with = "model::json::inside")]
    Run(Box<PlanFile>),
    /// How all of it ended. Nothing follows.
    Ended(Ending),
}

/// How a lab ended.
#[derive(Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Ending {
    /// All was measured.
    Done,
    /// Servers were started and asked: whether all are right.
    Verified(bool),
    /// It was told to end.
    Interrupted,
    /// It failed: why, and whether somebody used it wrongly.
    Failed {
        /// A sentence.
        why: String,
        /// Whether the experiment or the command line is wrong.
        is_usage: bool,
    },
}

impl Word {
    /// As a line.
    pub(crate) fn text(&self) -> String {
        serde_json::to_string(self).expect("words have no maps with other keys than text")
    }
}

impl Order {
    /// As a line.
    pub(super) fn text(&self) -> String {
        serde_json::to_string(self).expect("orders have no maps with other keys than text")
    }
}
