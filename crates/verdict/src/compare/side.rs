//! One of two results, boiled down to the values of its rounds.

use std::collections::{BTreeMap, BTreeSet};

use model::finding::{Status, Verdict};
use model::point::{Point, RATE, Value};
use model::probe::ProbeResult;
use model::record::page_times;
use model::{Claim, Distribution, Execution, Manifest, PointId, Trial};

use super::facts::{self, Facts};
use super::metric::{METRICS, passes};
use crate::analysis::{Floor, Measure, Standing, are_mostly_struck, most_are_invalid};
use crate::judge::{is_about_likeness, is_bound, is_disturbance};
use crate::set::TrialSet;
use crate::summary::{cpu_per_request, median, read};
use crate::words;

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
    /// Rounds that something spoilt and that were not measured again.
    pub(super) left_out: usize,
}

/// The rounds of a spot, by one way to say which of them count, which never looks at a result.
#[derive(Clone, Debug, Default)]
pub(super) struct Rounds {
    /// Their values.
    pub(super) counted: Vec<f64>,
    /// The same by round, where they are of an experiment.
    pub(super) by_round: BTreeMap<u32, f64>,
    /// Of each of them, whether the true value is at least that.
    bounds: Vec<bool>,
    /// How many trials were measured, and of those to which a rule objects, the rule.
    trials: usize,
    struck_by: Vec<String>,
    /// The rounds that have one of these.
    struck: BTreeSet<usize>,
    pub(super) unlike_by: Vec<String>,
    /// What several groups share is measured several times in a round, and is one round.
    measured: BTreeMap<usize, Vec<(f64, bool)>>,
}

impl Rounds {
    fn add(&mut self, round: usize, trial: &Kept, of: &Judged<'_>) {
        let value = (of.value, of.is_bound);
        self.measured.entry(round).or_default().push(value);
        self.trials += 1;
        if let Some(rule) = trial.struck_by(of) {
            self.struck_by.push(rule);
            self.struck.insert(round);
        }
        let unlike = trial.forbidding(of.verdict, Claim::Comparison, is_about_likeness);
        self.unlike_by.extend(unlike);
    }

    /// The rules that forbid what more than half of them say, or that more than half are held
    /// against those of another server, where so many are.
    pub(super) fn objection(&self, is_about_both: bool) -> Option<BTreeSet<&str>> {
        let rules = match is_about_both {
            true => &self.unlike_by,
            false => &self.struck_by,
        };
        are_mostly_struck(rules.len(), self.trials - rules.len())
            .then(|| rules.iter().map(String::as_str).collect())
    }

    /// Whether some of them is a bound: then so is every ratio with them.
    pub(super) fn has_bounds(&self) -> bool {
        self.bounds.contains(&true)
    }

    /// Their median, and whether it is a bound: one at or below it makes it one.
    pub(super) fn median(&self) -> Option<(f64, bool)> {
        let bounds = self.counted.iter().zip(&self.bounds);
        let level = |is_bound: bool| match is_bound {
            true => Standing::AtLeast,
            false => Standing::Sound,
        };
        let each = (0..).zip(bounds);
        let rounds = each.map(|(round, (value, is_bound))| (round, *value, level(*is_bound)));
        let measure = Measure::over(rounds.collect())?;
        Some((measure.median, measure.standing == Standing::AtLeast))
    }

    /// How many count although a rule objects to them.
    pub(super) fn objected(&self) -> usize {
        self.struck.len()
    }

    /// Whether that round is one of them.
    fn has(&self, round: usize) -> bool {
        let round = u32::try_from(round).unwrap_or(u32::MAX);
        self.by_round.contains_key(&round)
    }

    /// One value for each round.
    fn finish(&mut self) {
        for (round, mut of_round) in std::mem::take(&mut self.measured) {
            of_round.sort_by(|(one, _), (other, _)| one.total_cmp(other));
            let values: Vec<f64> = of_round.iter().map(|(value, _)| *value).collect();
            if let Some(middle) = median(&values) {
                self.counted.push(middle);
                self.bounds
                    .push(of_round.iter().any(|(_, is_bound)| *is_bound));
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
    /// What servers that are alike differ by, where two of one lab are compared.
    pub(super) floor: Option<Floor>,
    /// Passes of probes.
    passes: BTreeMap<(Spot, usize), Vec<f64>>,
}

/// One value, and what the rules say of its trial.
struct Judged<'a> {
    verdict: &'a Verdict,
    position: usize,
    value: f64,
    is_bound: bool,
}

/// What is kept of one trial.
#[derive(Clone, Debug)]
struct Kept {
    spot: Spot,
    /// Round, group and attempt, where it has any.
    place: Option<(u32, u32, u32)>,
    is_void: bool,
    /// Whether a schedule says how much is asked, of requests or of users.
    is_scheduled: bool,
    values: [Option<Measured>; METRICS.len()],
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
            floor: None,
            passes: BTreeMap::new(),
        }
    }

    /// Servers of its lab that are alike differ by so much: no smaller difference is told.
    pub fn stand_on(&mut self, floor: Option<Floor>) {
        self.floor = floor;
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

    /// Whether what was asked at that place was a rate.
    pub(super) fn is_scheduled(&self, spot: &Spot) -> bool {
        let mut trials = self.trials.iter();
        trials.any(|trial| trial.is_scheduled && trial.spot == *spot)
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
            // Whoever names two servers knows in what they differ.
            point.id.axes = model::point::Values::default();
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
                let label = if point.is_none() { "server" } else { label };
                let known = facts::of_server(label, server, &trial.plan);
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
            is_scheduled: trial.plan.is_scheduled(),
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
            values.unspoilt.bounds = vec![false; passes.len()];
        }
        let verdicts = self.set.verdicts();
        let mut left_out = BTreeSet::new();
        for (number, (trial, verdict)) in self.trials.iter().zip(&verdicts).enumerate() {
            let is_last = !self.is_repeated(trial);
            let is_first = trial.place.is_none_or(|(_, _, attempt)| attempt == 0);
            let round = trial.place.map_or(number, |(round, ..)| round as usize);
            for (position, measured) in trial.values.iter().enumerate() {
                let Some(found) = measured.filter(|found| found.value.is_finite()) else {
                    continue;
                };
                let of = Judged {
                    verdict,
                    position,
                    value: found.value,
                    is_bound: found.is_bound || bounds(verdict, position),
                };
                let key = (trial.spot.clone(), position);
                if is_last && trial.is_void {
                    left_out.insert((key.clone(), round));
                } else if is_last {
                    let values = all.entry(key.clone()).or_default();
                    values.unspoilt.add(round, trial, &of);
                }
                if is_first {
                    all.entry(key).or_default().first.add(round, trial, &of);
                }
            }
        }
        for values in all.values_mut() {
            values.unspoilt.finish();
            values.first.finish();
        }
        for (key, round) in left_out {
            // Of what several groups share, another group may have the round.
            if let Some(values) = all.get_mut(&key)
                && !values.unspoilt.has(round)
            {
                values.left_out += 1;
            }
        }
        all
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
    /// The rule that forbids the value of a metric, if one does.
    fn struck_by(&self, of: &Judged<'_>) -> Option<String> {
        let claim = METRICS[of.position].claims[usize::from(self.is_scheduled)];
        self.forbidding(of.verdict, claim, |_| true)
            .filter(|_| !bounds(of.verdict, of.position))
    }

    /// The rule, one of those that are meant, that forbids what rests on `claim`; of a trial that
    /// something spoilt one that does not tell who did.
    fn forbidding(
        &self,
        verdict: &Verdict,
        claim: Claim,
        is_meant: fn(&str) -> bool,
    ) -> Option<String> {
        let (_, worth) = verdict.claims.iter().find(|(other, _)| **other == claim)?;
        let rules = worth
            .because
            .iter()
            .filter(|_| worth.status == Status::Invalid);
        let mut rules = rules.filter(|rule| !(self.is_void && is_disturbance(rule)));
        rules.find(|rule| is_meant(rule)).cloned()
    }
}

/// Why rules forbid to compare these rounds of A and of B: one of them has no result, or they are
/// of one lab and were not measured alike.
pub(super) fn forbidden(sides: [&Rounds; 2], is_paired: bool) -> Option<String> {
    let objections = |is_about_both: bool| {
        let each = ["A", "B"].into_iter().zip(sides);
        each.filter_map(move |(side, rounds)| Some((side, rounds.objection(is_about_both)?)))
    };
    most_are_invalid(objections(false)).or_else(|| {
        let (_, rules) = objections(true).next().filter(|_| is_paired)?;
        let rules: Vec<&str> = rules.into_iter().collect();
        Some(format!(
            "A and B were not measured alike ({})",
            words::list(&rules)
        ))
    })
}

/// Whether the generator was the limit of the metric at `position`.
fn bounds(verdict: &Verdict, position: usize) -> bool {
    METRICS[position].name == "rate" && is_bound(verdict)
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

/// A value of a trial.
#[derive(Clone, Copy, Debug)]
struct Measured {
    value: f64,
    /// Whether the true one is at least that.
    is_bound: bool,
}

/// The values of one trial, in the order of the metrics.
#[expect(clippy::cast_precision_loss, reason = "bytes of memory, below 2^53")]
fn values(trial: &Trial) -> [Option<Measured>; METRICS.len()] {
    let record = &trial.record;
    let of = |times: &Distribution, q: f64| {
        let (span, is_bound) = read(times, q).at_least(times, trial.plan.timeout)?;
        let value = span.as_us_f64();
        Some(Measured { value, is_bound })
    };
    let times = trial.response_time();
    let quantile = |q: f64| of(&times, q);
    let exact = |value: f64| {
        let is_bound = false;
        Some(Measured { value, is_bound })
    };
    let pages = page_times(&record.pages);
    let server = trial.usage.server.as_ref();
    METRICS.map(|metric| match metric.name {
        "rate" => exact(record.achieved_rate),
        "cpu" => exact(cpu_per_request(trial)?.total_us),
        "p50" => quantile(0.5),
        "p99" => quantile(0.99),
        "page_p50" => of(pages.as_ref()?, 0.5),
        "page_p99" => of(pages.as_ref()?, 0.99),
        "memory" => exact(server?.memory_pss?.count() as f64),
        _ => None,
    })
}
