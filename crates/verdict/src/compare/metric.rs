//! What results are compared by.

use model::finding::Claim;
use model::probe::AxisKind;
use serde::Serialize;

use crate::summary::median;

/// One number that a result has for each round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Metric {
    /// As `--fail-on` names it.
    pub name: &'static str,
    /// As a table names it.
    pub label: &'static str,
    /// What it counts.
    pub quantity: Quantity,
    /// What the second result is called where it has more of it.
    pub more: &'static str,
    /// And where it has less.
    pub less: &'static str,
    /// The claim that it rests on in a closed loop, and in an open one.
    pub(super) claims: [Claim; 2],
}

/// What a metric counts, in the unit of its values.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Bytes.
    Bytes,
    /// Microseconds.
    Microseconds,
    /// Nanoseconds.
    Nanoseconds,
    /// Per second.
    PerSecond,
}

const RATE: [Claim; 2] = [Claim::Capacity, Claim::Latency];
const COST: [Claim; 2] = [Claim::Resources; 2];

/// All of them: those of trials first, then those of probes.
pub const METRICS: [Metric; 10] = [
    metric(
        "rate",
        "rate",
        Quantity::PerSecond,
        ["faster", "slower"],
        RATE,
    ),
    metric(
        "cpu",
        "CPU per request",
        Quantity::Microseconds,
        ["dearer", "cheaper"],
        COST,
    ),
    metric(
        "p50",
        "median response time",
        Quantity::Microseconds,
        ["slower", "faster"],
        RATE,
    ),
    metric(
        "p99",
        "p99 response time",
        Quantity::Microseconds,
        ["slower", "faster"],
        RATE,
    ),
    metric(
        "page_p50",
        "median time of a page",
        Quantity::Microseconds,
        ["slower", "faster"],
        RATE,
    ),
    metric(
        "page_p99",
        "p99 time of a page",
        Quantity::Microseconds,
        ["slower", "faster"],
        RATE,
    ),
    metric(
        "memory",
        "memory",
        Quantity::Bytes,
        ["larger", "smaller"],
        COST,
    ),
    metric(
        "beginning",
        "cost at the beginning",
        Quantity::Nanoseconds,
        ["dearer", "cheaper"],
        COST,
    ),
    metric(
        "end",
        "cost at the end",
        Quantity::Nanoseconds,
        ["dearer", "cheaper"],
        COST,
    ),
    metric(
        "course",
        "time per step",
        Quantity::Nanoseconds,
        ["slower", "faster"],
        COST,
    ),
];

const fn metric(
    name: &'static str,
    label: &'static str,
    quantity: Quantity,
    [more, less]: [&'static str; 2],
    claims: [Claim; 2],
) -> Metric {
    Metric {
        name,
        label,
        quantity,
        more,
        less,
        claims,
    }
}

/// The metric of that name.
pub fn metric_named(name: &str) -> Option<&'static Metric> {
    METRICS.iter().find(|metric| metric.name == name)
}

impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name)
    }
}

/// What one pass says: the median cost over the first and over the last sixth of its points, or
/// over a whole course in time.
pub(super) fn passes(kind: AxisKind, points: &[(u32, f64)]) -> Vec<(usize, f64)> {
    let middle = |points: &[(u32, f64)]| {
        let mut costs: Vec<f64> = points.iter().map(|(_, ns)| *ns).collect();
        costs.sort_by(f64::total_cmp);
        median(&costs)
    };
    let position = |name: &str| METRICS.iter().position(|metric| metric.name == name);
    let sixth = points.len().div_ceil(6);
    let parts = match kind {
        AxisKind::Progress => vec![("course", points)],
        AxisKind::Population => vec![
            ("beginning", &points[..sixth]),
            ("end", &points[points.len() - sixth..]),
        ],
    };
    parts
        .into_iter()
        .filter_map(|(name, part)| Some((position(name)?, middle(part)?)))
        .collect()
}
