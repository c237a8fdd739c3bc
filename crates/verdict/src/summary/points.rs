//! The trials of an experiment, point by point.

use std::collections::BTreeMap;

use model::finding::{Status, Verdict};
use model::{Outcome, Trial};

use super::{Rounds, cpu_per_request};

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
    /// The point of `trial`; none for a single run.
    pub fn of(trial: &Trial) -> Option<Self> {
        let point = trial.point.as_ref()?;
        Some(Self {
            experiment: point.experiment.clone(),
            workload: point.workload.clone(),
            server: point.server.clone(),
            axes: point.axes.clone(),
            connections: point.connections,
        })
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

/// All points of `trials`, in the order of workload, server, axes, connections. Trials without a
/// point are left out.
pub fn points(trials: &[Trial]) -> Vec<PointSummary> {
    let mut rounds: BTreeMap<PointKey, Vec<usize>> = BTreeMap::new();
    for (position, trial) in trials.iter().enumerate() {
        if let Some(key) = PointKey::of(trial) {
            rounds.entry(key).or_default().push(position);
        }
    }
    rounds
        .into_iter()
        .filter_map(|(key, mut positions)| {
            positions.sort_by_key(|position| trials[*position].point.as_ref().map(|p| p.round));
            summary(key, positions, trials)
        })
        .collect()
}

fn summary(key: PointKey, positions: Vec<usize>, trials: &[Trial]) -> Option<PointSummary> {
    let of = |read: &dyn Fn(&Trial) -> Option<f64>| {
        let values: Option<Vec<f64>> = positions.iter().map(|p| read(&trials[*p])).collect();
        Rounds::of(values?)
    };
    let quantile = |q: f64| {
        of(&|trial| match super::read(&trial.record.response_time, q) {
            super::Reading::Value(span) => Some(span.as_us_f64()),
            super::Reading::Censored | super::Reading::TooFew => None,
        })
    };
    #[expect(clippy::cast_precision_loss, reason = "bytes of memory, below 2^53")]
    let memory = of(&|trial| {
        let server = trial.usage.server.as_ref()?;
        server.memory_pss.map(|bytes| bytes.count() as f64)
    });
    Some(PointSummary {
        ceiling: positions
            .iter()
            .any(|p| trials[*p].point.as_ref().is_some_and(|point| point.ceiling)),
        rate: of(&|trial| Some(trial.record.achieved_rate))?,
        response_mean_us: of(&|trial| trial.record.response_time.mean().map(|s| s.as_us_f64())),
        response_p50_us: quantile(0.5),
        response_p99_us: quantile(0.99),
        cpu_us: of(&|trial| cpu_per_request(trial).map(|cpu| cpu.total_us)),
        memory,
        failures: positions.iter().map(|p| failures(&trials[*p])).sum(),
        trials: positions,
        key,
    })
}

fn failures(trial: &Trial) -> u64 {
    let outcomes = &trial.record.total.outcomes;
    outcomes.failures() + outcomes[Outcome::Shed]
}

/// What a point is worth over its rounds.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct PointVerdict {
    /// The worst of its rounds.
    pub status: Status,
    /// Rules that brought it there, each once.
    pub because: Vec<String>,
    /// How many rounds have that status.
    pub rounds: usize,
    /// Whether a mandatory rule could not be evaluated in some round.
    pub partial: bool,
    /// Whether the generator set the rate of some round: then it is a lower bound.
    pub generator_limited: bool,
}

/// Puts the verdicts of a point's rounds together.
pub fn point_verdict<'a>(rounds: impl Iterator<Item = &'a Verdict> + Clone) -> PointVerdict {
    let status = rounds.clone().map(|v| v.status).max().unwrap_or_default();
    let mut because: Vec<String> = rounds
        .clone()
        .filter(|verdict| verdict.status == status)
        .flat_map(|verdict| verdict.claims.values())
        .filter(|claim| claim.status == status)
        .flat_map(|claim| claim.because.iter().cloned())
        .collect();
    because.sort();
    because.dedup();
    PointVerdict {
        status,
        because,
        rounds: rounds.clone().filter(|v| v.status == status).count(),
        partial: rounds
            .clone()
            .any(|verdict| verdict.claims.values().any(|claim| claim.partial)),
        generator_limited: rounds.clone().any(|verdict| verdict.generator_limited),
    }
}
