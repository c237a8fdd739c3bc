//! What a run leaves out of what its experiment names.

use serde::{Deserialize, Serialize};

use super::{Network, PointName, RateText};
use crate::units::Span;

/// A part of an experiment of which a run has no trial, because it had to fit.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct LeftOut {
    /// Which part.
    pub part: Part,
    /// What it had to fit.
    pub why: Why,
}

/// A part of an experiment: all points that have this.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// So many connections.
    Connections(u32),
    /// What lies between generator and servers.
    Network(Network),
    /// An intended load.
    Rate(RateText),
    /// A server, by its label.
    Server(String),
    /// A workload, by its name.
    Workload(String),
}

/// What a run had to fit.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// A time.
    Budget {
        /// What all of it was to take at most.
        #[serde(rename = "time_ns")]
        time: Span,
        /// That of what went as a whole; none of points that were thinned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        priority: Option<u32>,
    },
    /// What this machine has, or may do.
    Machine,
}

impl LeftOut {
    /// Whether `point` is one of those that were left out.
    pub fn has(&self, point: PointName<'_>) -> bool {
        match &self.part {
            Part::Connections(count) => point.connections == Some(*count),
            Part::Network(network) => point.network == Some(*network),
            Part::Rate(rate) => point.rate == Some(rate.0),
            Part::Server(label) => point.server == Some(label),
            Part::Workload(name) => point.workload == Some(name),
        }
    }
}
