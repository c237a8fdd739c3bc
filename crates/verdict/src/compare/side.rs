//! One of two results, boiled down to the values of its rounds.

use std::collections::{BTreeMap, BTreeSet};

use model::finding::{Status, Verdict};
use model::point::{Point, RATE, Value};
use model::probe::{AxisKind, ProbeResult};
use model::record::page_times;
use model::{Distribution, Execution, Manifest, PointId, Trial};

use super::facts::{self, Facts};
use super::metric::METRICS;
use crate::judge::is_bound;
use crate::set::TrialSet;
use crate::summary::{Reading, cpu_per_request, median, read};

/// What wrote a result.
#[derive(Clone, Copy, Debug, Eq, PartialEq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// `triathlon lab`.
    Lab,
    /// `triathlon load`.
    Load,
    /// `triathlon probe`.
    Probe,
}

impl Kind {
    /// The command.
    pub const fn command(self) -> &'static str {
        match self {
            Self::Lab => "triathlon lab",
            Self::Load => "triathlon load",
            Self::Probe => "triathlon probe",
        }
    }
}

/// Where on the grid values belong, whatever execution they are of: what is compared has the same
/// place on both sides.
pub(super) type Spot = PointId;

/// What the rounds of a spot have of one metric.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    /// Of each round what was measured last, but for what something else spoilt.
    pub(super) unspoilt: Rounds,
    /// Of each round what was measured first, spoilt or not.
    pub(super) first: Rounds,
    /// Of each round what was measured first, whatever it is worth.
    pub(super) all: Rounds,
}

/// The rounds of a spot, by one way to say which of them count.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// Those that count.
    pub(super) counted: Vec<f64>,
    /// The same by round, where they are of an experiment.
    pub(super) by_round: BTreeMap<u32, f64>,
    /// Those that do not.
    pub(super) struck: Vec<f64>,
    /// Whether the generator was the limit in one that counts.
    pub(super) is_bound: bool,
    /// What several groups share is measured several times in a round, and is one round.
    measured: BTreeMap<usize, Vec<f64>>,
}

impl Rounds {
    fn add(&mut self, round: usize, value: f64, counts: bool, is_bound: bool) {
        if !counts {
            self.struck.push(value);
            return;
        }
        self.measured.entry(round).or_default().push(value);
        self.is_bound |= is_bound;
    }

    /// One value for each round.
    fn finish(&mut self) {
        for (round, mut of_round) in std::mem::take(&mut self.measured) {
            of_round.sort_by(f64::total_cmp);
            if let Some(middle) = median(&of_round) {
                self.counted.push(middle);
                let round = u32::try_from(round).unwrap_or(u32::MAX);
                self.by_round.insert(round, middle);
            }
        }
    }
}

/// One result.
#[derive(Clone, Debug)]
pub struct Side {
    /// Its name for people.
    pub name: String,
    kind: Kind,
    pub(super) environment: Facts,
    pub(super) configuration: Facts,
    set: TrialSet,
    trials: Vec<Kept>,
    /// When each trial was made and what came out, in a form that no other trial has.
    made: BTreeSet<(String, u64)>,
    /// The one server that it is about, and the name of its place.
    pub(super) only: Option<(String, String)>,
    /// Passes of probes.
    passes: BTreeMap<(Spot, usize), Vec<f64>>,
}

/// A spot in one round and group, and the position of a metric.
type Measured<'a> = (&'a Spot, Option<(u32, u32)>, usize);

/// What is kept of one trial.
#[derive(Clone, Debug)]
struct Kept {
    spot: Spot,
    /// Round, group and attempt, where it has any.
    place: Option<(u32, u32, u32)>,
    is_void: bool,
    is_open_loop: bool,
    values: [Option<f64>; METRICS.len()],
}

impl Side {
    /// An empty one for what `label` did in an experiment with others: rounds of both belong
    /// together, and both have the same place, `place`.
    pub fn of_server(label: &str, place: &str) -> Self {
        Self {
            only: Some((label.to_owned(), place.to_owned())),
            ..Self::new(label, Kind::Lab)
        }
    }

    /// An empty one for trials of `kind`; give each of them to [`add`](Self::add).
    pub fn new(name: &str, kind: Kind) -> Self {
        Self {
            name: name.to_owned(),
            kind,
            environment: Facts::new(),
            configuration: Facts::new(),
            set: TrialSet::default(),
            trials: Vec::new(),
            made: BTreeSet::new(),
            only: None,
            passes: BTreeMap::new(),
        }
    }

    /// What was asked of the lab.
    pub fn describe(&mut self, manifest: &Manifest) {
        self.configuration.extend(facts::of_manifest(manifest));
    }

    /// What wrote it.
    pub const fn kind(&self) -> Kind {
        self.kind
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty() && self.passes.is_empty()
    }

    /// Whether some trial is in both.
    pub(super) fn shares_trials_with(&self, other: &Self) -> bool {
        self.made.intersection(&other.made).next().is_some()
    }

    /// Takes what is compared of `trial`. The ceiling's own trials are not compared.
    pub fn add(&mut self, trial: &Trial) {
        let mut point = trial.point.clone();
        if let (Some((label, place)), Some(point)) = (&self.only, &mut point)
            && !point.ceiling
        {
            if point.id.server != *label {
                return;
            }
            place.clone_into(&mut point.id.server);
        }
        let point = point.as_ref();
        let begun = trial.environment.time.clone();
        let rate = trial.record.achieved_rate.to_bits();
        self.made
            .extend(begun.filter(|_| rate > 0).map(|begun| (begun, rate)));
        self.set.add(trial);
        if self.environment.is_empty() {
            self.environment = facts::of_environment(&trial.environment);
        }
        for share in &trial.agents {
            for (name, value) in facts::of_end(&share.agent, &share.environment) {
                self.environment.entry(name).or_insert(value);
            }
        }
        let is_ceiling = point.is_some_and(|point| point.ceiling);
        let label = point.map_or("", |point| point.id.server.as_str());
        if !is_ceiling {
            if point.is_none() {
                self.configuration.extend(facts::of_plan(&trial.plan));
            }
            if let Some(server) = &trial.context.server {
                let known =
                    facts::of_server(if point.is_none() { "server" } else { label }, server);
                for (name, value) in known {
                    self.configuration.entry(name).or_insert(value);
                }
            }
        }
        self.trials.push(Kept {
            // Of the ceiling, too, so that verdicts and trials stay side by side.
            spot: point.map_or_else(Spot::default, |point| spot(point, trial)),
            place: point.map(|point| (point.round, point.group, point.attempt)),
            is_void: trial.void.is_some(),
            is_open_loop: trial.plan.arrivals.rate().is_some(),
            values: if is_ceiling {
                [None; METRICS.len()]
            } else {
                values(trial)
            },
        });
    }

    /// Results of probes: a pass is a round.
    pub fn of_probes(name: &str, results: &[ProbeResult]) -> Self {
        let mut side = Self::new(name, Kind::Probe);
        for result in results {
            if side.environment.is_empty() {
                side.environment = facts::of_environment(&result.environment);
            }
            let label = result.label();
            let asked = format!("{label} population");
            side.configuration
                .insert(asked, result.population.to_string());
            for series in result.series_names() {
                let spot = Spot {
                    server: if label == series {
                        label.clone()
                    } else {
                        format!("{label} {series}")
                    },
                    ..Spot::default()
                };
                for points in result.points(series) {
                    for (metric, value) in passes(result.kind, &points) {
                        let key = (spot.clone(), metric);
                        side.passes.entry(key).or_default().push(value);
                    }
                }
            }
        }
        side
    }

    /// All values by place and by the position of their metric.
    pub(super) fn values(&self) -> BTreeMap<(Spot, usize), Values> {
        let mut all: BTreeMap<(Spot, usize), Values> = BTreeMap::new();
        for (key, passes) in &self.passes {
            let values = all.entry(key.clone()).or_default();
            values.unspoilt.counted.clone_from(passes);
        }
        let verdicts = self.set.verdicts();
        let struck = self.struck(&verdicts);
        for (number, (trial, verdict)) in self.trials.iter().zip(&verdicts).enumerate() {
            let is_last = !self.is_repeated(trial);
            let is_first = trial.place.is_none_or(|(_, _, attempt)| attempt == 0);
            let round = trial.place.map_or(number, |(round, ..)| round as usize);
            for (position, value) in trial.values.iter().enumerate() {
                let Some(value) = value.filter(|value| value.is_finite()) else {
                    continue;
                };
                let values = all.entry((trial.spot.clone(), position)).or_default();
                let is_bound = bounds(verdict, position);
                let is_sound = trial.is_sound(verdict, position);
                if is_last {
                    let counts = is_sound && !trial.is_void;
                    values.unspoilt.add(round, value, counts, is_bound);
                }
                if is_first {
                    let counts = (is_sound || trial.is_void)
                        && !struck.contains(&(&trial.spot, trial.place_in_round(), position));
                    values.first.add(round, value, counts, is_bound);
                    values.all.add(round, value, true, is_bound);
                }
            }
        }
        for values in all.values_mut() {
            values.unspoilt.finish();
            values.first.finish();
            values.all.finish();
        }
        all
    }

    /// The rounds in which some attempt that nothing spoilt is no result, by spot and metric: what
    /// was measured first is none either, for the server is as it was.
    fn struck(&self, verdicts: &[Verdict]) -> BTreeSet<Measured<'_>> {
        let mut struck = BTreeSet::new();
        for (trial, verdict) in self.trials.iter().zip(verdicts) {
            if trial.is_void || trial.place.is_none() {
                continue;
            }
            for position in 0..METRICS.len() {
                if !trial.is_sound(verdict, position) {
                    struck.insert((&trial.spot, trial.place_in_round(), position));
                }
            }
        }
        struck
    }

    /// Whether its cell was measured again in the same round.
    fn is_repeated(&self, trial: &Kept) -> bool {
        let Some((round, group, attempt)) = trial.place else {
            return false;
        };
        self.trials.iter().any(|other| {
            let is_later = |(other_round, other_group, other_attempt)| {
                (other_round, other_group) == (round, group) && other_attempt > attempt
            };
            other.place.is_some_and(is_later) && other.spot == trial.spot
        })
    }
}

impl Kept {
    /// Round and group, where it has any.
    fn place_in_round(&self) -> Option<(u32, u32)> {
        self.place.map(|(round, group, _)| (round, group))
    }

    /// Whether the verdict lets the value of the metric at `position` stand.
    fn is_sound(&self, verdict: &Verdict, position: usize) -> bool {
        let claim = METRICS[position].claims[usize::from(self.is_open_loop)];
        !is_invalid(verdict, claim) || bounds(verdict, position)
    }
}

/// Whether the generator was the limit of the metric at `position`.
fn bounds(verdict: &Verdict, position: usize) -> bool {
    METRICS[position].name == "rate" && is_bound(verdict)
}

fn is_invalid(verdict: &Verdict, claim: model::Claim) -> bool {
    let worth = verdict.claims.iter().find(|(other, _)| **other == claim);
    worth.is_some_and(|(_, worth)| worth.status == Status::Invalid)
}

fn spot(point: &Point, trial: &Trial) -> Spot {
    let spot = Spot {
        execution: Execution::default(),
        ..point.id.clone()
    };
    match (spot.rate(), trial.plan.arrivals.rate()) {
        // Earlier versions did not count the intended load among the axes.
        (None, Some(rate)) => spot.with(RATE, Value::Rate(rate)),
        _ => spot,
    }
}

/// The values of one trial, in the order of the metrics.
#[expect(clippy::cast_precision_loss, reason = "bytes of memory, below 2^53")]
fn values(trial: &Trial) -> [Option<f64>; METRICS.len()] {
    let record = &trial.record;
    let of = |times: &Distribution, q: f64| match read(times, q) {
        Reading::Value(span) => Some(span.as_us_f64()),
        Reading::Censored | Reading::TooFew => None,
    };
    let quantile = |q: f64| of(&record.response_time, q);
    let pages = page_times(&record.pages);
    let server = trial.usage.server.as_ref();
    METRICS.map(|metric| match metric.name {
        "rate" => Some(record.achieved_rate),
        "cpu" => cpu_per_request(trial).map(|cpu| cpu.total_us),
        "p50" => quantile(0.5),
        "p99" => quantile(0.99),
        "page_p50" => of(pages.as_ref()?, 0.5),
        "page_p99" => of(pages.as_ref()?, 0.99),
        "memory" => server?.memory_pss.map(|bytes| bytes.count() as f64),
        _ => None,
    })
}

/// What one pass says: the median cost over the first and over the last sixth of its points, or
/// over a whole course in time.
fn passes(kind: AxisKind, points: &[(u32, f64)]) -> Vec<(usize, f64)> {
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
