//! The trials of an experiment, point by point.

use std::collections::BTreeMap;

use model::PointId;

use super::Entry;
use crate::summary::{Rounds, median};

/// One point over all its rounds.
#[derive(Clone, Debug)]
pub struct PointSummary {
    /// Which.
    pub id: PointId,
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
    let mut rounds: BTreeMap<&PointId, Vec<(u32, u32, u32, usize)>> = BTreeMap::new();
    for (position, entry) in entries.iter().enumerate() {
        if let Some(point) = &entry.point
            && !entry.is_void
        {
            let of_point = rounds.entry(&point.id).or_default();
            of_point.push((point.round, point.group, point.attempt, position));
        }
    }
    rounds
        .into_iter()
        .filter_map(|(id, mut positions)| {
            positions.sort_unstable();
            // Of a round that was measured several times the last attempt is the round.
            let last = positions.chunk_by(|one, other| (one.0, one.1) == (other.0, other.1));
            let attempts: Vec<(u32, u32, u32)> = last
                .filter_map(|round| round.last())
                .map(|(round, group, attempt, _)| (*round, *group, *attempt))
                .collect();
            positions.retain(|(round, group, attempt, _)| {
                attempts.contains(&(*round, *group, *attempt))
            });
            let positions = positions.into_iter().map(|(.., position)| position);
            summary(id.clone(), positions.collect(), entries)
        })
        .collect()
}

fn summary(id: PointId, positions: Vec<usize>, entries: &[Entry]) -> Option<PointSummary> {
    // What several groups share is measured several times in a round, and is one round.
    let of = |read: &dyn Fn(&Entry) -> Option<f64>| {
        let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for entry in positions.iter().map(|position| &entries[*position]) {
            let round = entry.point.as_ref().map_or(0, |point| point.round);
            rounds.entry(round).or_default().push(read(entry)?);
        }
        Rounds::of(rounds.into_values().filter_map(|mut values| {
            values.sort_by(f64::total_cmp);
            median(&values)
        }))
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
        id,
    })
}
