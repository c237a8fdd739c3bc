//! The trials of an experiment, point by point.

use std::collections::BTreeMap;

use model::trial::Point;

use super::Entry;
use crate::summary::Rounds;

/// What makes trials rounds of one point.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct PointKey {
    /// The experiment.
    pub experiment: String,
    /// The workload.
    pub workload: String,
    /// The server's label.
    pub server: String,
    /// Further axes.
    pub axes: BTreeMap<String, String>,
    /// Connections.
    pub connections: u32,
}

impl PointKey {
    /// What `point` has in common with its other rounds.
    pub fn of(point: &Point) -> Self {
        Self {
            experiment: point.experiment.clone(),
            workload: point.workload.clone(),
            server: point.server.clone(),
            axes: point.axes.clone(),
            connections: point.connections,
        }
    }

    /// Whether the two differ in nothing but the number of connections.
    pub fn same_line(&self, other: &Self) -> bool {
        (&self.experiment, &self.workload, &self.server, &self.axes)
            == (
                &other.experiment,
                &other.workload,
                &other.server,
                &other.axes,
            )
    }
}

/// One point over all its rounds.
#[derive(Clone, Debug)]
pub struct PointSummary {
    /// Which.
    pub key: PointKey,
    /// Whether this is the ceiling, not a server.
    pub ceiling: bool,
    /// Positions of its trials in the list, in the order of their rounds.
    pub trials: Vec<usize>,
    /// Right answers per second.
    pub rate: Rounds,
    /// Mean response time in microseconds.
    pub response_mean_us: Option<Rounds>,
    /// Median response time in microseconds.
    pub response_p50_us: Option<Rounds>,
    /// 99th percentile of response time in microseconds, where every round carries it.
    pub response_p99_us: Option<Rounds>,
    /// CPU time of the server per exchange in microseconds.
    pub cpu_us: Option<Rounds>,
    /// Memory (PSS) of the server at the end of the window, in bytes.
    pub memory: Option<Rounds>,
    /// Exchanges that failed, over all rounds.
    pub failures: u64,
}

pub(super) fn points(entries: &[Entry]) -> Vec<PointSummary> {
    let mut rounds: BTreeMap<PointKey, Vec<(u32, usize)>> = BTreeMap::new();
    for (position, entry) in entries.iter().enumerate() {
        if let Some(point) = &entry.point {
            let key = PointKey::of(point);
            rounds.entry(key).or_default().push((point.round, position));
        }
    }
    rounds
        .into_iter()
        .filter_map(|(key, mut positions)| {
            positions.sort_unstable();
            let positions = positions.into_iter().map(|(_, position)| position);
            summary(key, positions.collect(), entries)
        })
        .collect()
}

fn summary(key: PointKey, positions: Vec<usize>, entries: &[Entry]) -> Option<PointSummary> {
    let of = |read: &dyn Fn(&Entry) -> Option<f64>| {
        let values: Option<Vec<f64>> = positions.iter().map(|p| read(&entries[*p])).collect();
        Rounds::of(values?)
    };
    Some(PointSummary {
        ceiling: positions.iter().any(|p| entries[*p].is_ceiling()),
        rate: of(&|entry| Some(entry.rate))?,
        response_mean_us: of(&|entry| entry.response_mean_us),
        response_p50_us: of(&|entry| entry.response_p50_us),
        response_p99_us: of(&|entry| entry.response_p99_us),
        cpu_us: of(&|entry| entry.cpu_us),
        memory: of(&|entry| entry.memory),
        failures: positions.iter().map(|p| entries[*p].failures).sum(),
        trials: positions,
        key,
    })
}
