//! A server at the declared load: its rounds, and how it compares with the reference.

use std::collections::{BTreeMap, BTreeSet};

use model::PointId;

use super::{Measure, Standing};
use crate::number::times;
use crate::pairs::{Answer, Estimate, Sample, paired};
use crate::words;

/// Whether a round counts.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Counting {
    /// It does.
    Counts,
    /// It would, but something that is neither generator nor server had the CPUs, of its trial or
    /// of a rival's: it counts only where the others are too few for an answer.
    Spoilt,
    /// Its number is struck.
    Struck,
}

/// One round of a point, as far as a comparison needs it.
#[derive(Clone, Copy, Debug)]
pub struct Round<'a> {
    /// The point.
    pub id: &'a PointId,
    /// The round, from 1.
    pub round: u32,
    /// How often its cell had been measured in this round before: rivals are compared within equal
    /// attempts.
    pub attempt: u32,
    /// The servers that it stood among: rivals are compared within one group.
    pub group: u32,
    /// What is compared: right answers per second; in an open loop, where that was asked for, the
    /// median response time.
    pub value: Option<f64>,
    /// CPU time of the server per request in microseconds, where that counts.
    pub cpu_us: Option<f64>,
    /// Whether the value counts.
    pub counting: Counting,
    /// Whether the generator set the rate: then it is a lower bound.
    pub at_least: bool,
    /// The rule for which it does not count, where there is one.
    pub lost_to: Option<&'a str>,
}

/// A server at the declared load.
#[derive(Clone, Debug, Default)]
pub struct Racer {
    /// Its label.
    pub server: String,
    /// CPU time per request in microseconds, the median over the rounds that count.
    pub cpu_us: Option<f64>,
    /// Rounds that were measured.
    pub rounds: usize,
    /// Whether the generator set the rate in some round that counts: then it is a lower bound.
    pub at_least: bool,
    /// By round and group, with the attempt that it is of.
    values: Values,
    /// By round and group, what was measured first there, spoilt or not.
    first: Values,
    /// The rounds and groups in which some attempt was struck: what was measured first there is no
    /// result either, for the server was the same.
    struck: BTreeSet<(u32, u32)>,
    costs: Vec<(u32, f64, Standing)>,
    spoilt_costs: Vec<(u32, f64, Standing)>,
    /// By round, the rule for which an attempt at it does not count.
    lost_to: BTreeMap<u32, String>,
}

/// A server and how it compares with the reference.
#[derive(Clone, Debug)]
pub struct Rival {
    /// The server.
    pub racer: Racer,
    /// What it has in terms of the reference; none where no round counts for both.
    pub estimate: Option<Estimate>,
    /// Rounds that count for both and that nothing spoilt.
    pub unspoilt: usize,
    /// The answer; none where the generator was the limit in a way that forbids one.
    pub answer: Option<Answer>,
}

/// Whether rules strike more than half of the rounds that nothing spoilt: so many that they struck,
/// and so many that count. What they leave is no sample: a rule that weighs one result against
/// another, such as lateness against response times, strikes some results sooner than others.
pub const fn are_mostly_struck(struck: usize, counting: usize) -> bool {
    struck > counting
}

impl Racer {
    pub(super) fn add(&mut self, round: &Round<'_>) {
        self.server.clone_from(&round.id.server);
        self.rounds += 1;
        let cost = round.cpu_us.map(|us| (round.round, us, Standing::Sound));
        match round.counting {
            Counting::Spoilt if round.attempt > 0 => {}
            Counting::Spoilt => self.spoilt_costs.extend(cost),
            Counting::Counts | Counting::Struck => self.costs.extend(cost),
        }
        let is_lost = round.counting != Counting::Counts;
        let lost = round.lost_to.filter(|_| is_lost);
        self.lost_to
            .extend(lost.map(|rule| (round.round, rule.to_owned())));
        let (place, value) = ((round.round, round.group), round.value);
        let measured = value.map(|value| (place, (round.attempt, value)));
        if round.counting == Counting::Counts {
            self.at_least |= round.at_least;
            self.values.extend(measured);
        }
        if round.counting == Counting::Struck {
            self.struck.insert(place);
        } else if round.attempt == 0 {
            self.first.extend(measured);
        }
    }

    /// How it compares with `reference`. Where the rounds that nothing spoilt are fewer than
    /// `needed`, all rounds are taken as they were first measured: which rounds are taken depends
    /// on what else ran on the machine, and never on a result.
    pub(super) fn rival_of(&self, reference: &Self, needed: usize) -> Rival {
        let rounds = |estimate: &Option<Estimate>| {
            let sample = estimate.as_ref().map(|estimate| estimate.sample);
            sample.map_or(0, Sample::rounds)
        };
        let within = match self.has_met(reference) {
            true => beside,
            false => in_one_round,
        };
        let mut estimate = within(&self.values, &reference.values);
        let unspoilt = rounds(&estimate);
        if self.is_mostly_struck() || reference.is_mostly_struck() {
            estimate = None;
        } else if unspoilt < needed {
            let of_all = within(&self.all_rounds(), &reference.all_rounds());
            if rounds(&of_all) > unspoilt {
                estimate = of_all;
            }
        }
        Rival {
            estimate,
            unspoilt,
            racer: self.clone().finished(),
            answer: None,
        }
    }

    /// Whether rules leave no sample of the rounds that nothing spoilt.
    pub fn is_mostly_struck(&self) -> bool {
        let struck = self.struck.iter();
        let struck = struck.filter(|place| !self.values.contains_key(place));
        are_mostly_struck(struck.count(), self.values.len())
    }

    /// Whether both stood in one group in some round, as rivals that may be alike in all but the
    /// product do. Those that differ in what a group has in common never do.
    fn has_met(&self, other: &Self) -> bool {
        self.places()
            .any(|place| other.places().any(|theirs| theirs == place))
    }

    fn places(&self) -> impl Iterator<Item = &(u32, u32)> {
        let measured = self.values.keys().chain(self.first.keys());
        measured.chain(&self.struck)
    }

    /// All rounds as they were first measured, but those that hold no result.
    fn all_rounds(&self) -> Values {
        let mut first = self.first.clone();
        first.retain(|place, _| !self.struck.contains(place));
        first
    }

    pub(super) fn finished(mut self) -> Self {
        let costs = match self.costs.is_empty() {
            true => &self.spoilt_costs,
            false => &self.costs,
        };
        self.cpu_us = Measure::over(costs.clone()).map(|cost| cost.median);
        self
    }

    /// Rounds that count.
    pub fn counting(&self) -> usize {
        let rounds: BTreeSet<u32> = self.values.keys().map(|(round, _)| *round).collect();
        rounds.len()
    }

    /// `2 of nginx (STA-03)`: the rounds that do not count, and for which rules; none where all do.
    /// Where an answer rests on all rounds as they were first measured, those count.
    pub(super) fn lost(&self, rests_on_all: bool) -> Option<String> {
        self.rounds_lost(|round| !(rests_on_all && self.is_among_first(round)))
    }

    /// The rounds that count although something spoilt them, where an answer rests on all.
    pub(super) fn spoilt(&self) -> Option<String> {
        self.rounds_lost(|round| self.is_among_first(round))
    }

    fn is_among_first(&self, round: u32) -> bool {
        self.first.keys().any(|(other, _)| *other == round)
    }

    /// Of the rounds that something took those that `is_meant` names, with the rules.
    fn rounds_lost(&self, is_meant: impl Fn(u32) -> bool) -> Option<String> {
        let counts = |round: &u32| self.values.keys().any(|(other, _)| other == round);
        let lost: BTreeMap<&u32, &str> = self
            .lost_to
            .iter()
            .filter(|(round, _)| !counts(round) && is_meant(**round))
            .map(|(round, rule)| (round, rule.as_str()))
            .collect();
        let rules: BTreeSet<&str> = lost.values().copied().collect();
        let rules: Vec<&str> = rules.into_iter().collect();
        let (count, server) = (lost.len(), &self.server);
        (count > 0).then(|| format!("{count} of {server} ({})", words::list(&rules)))
    }
}

/// By round and group, the attempt and its value.
type Values = BTreeMap<(u32, u32), (u32, f64)>;

/// Compares `ours` with `theirs` within the rounds in which both were measured next to each other,
/// in the same attempt.
fn beside(ours: &Values, theirs: &Values) -> Option<Estimate> {
    let (mut one, mut other) = (BTreeMap::new(), BTreeMap::new());
    for (place, (attempt, value)) in ours {
        let beside = theirs.get(place);
        if let Some((_, their_value)) = beside.filter(|(their_attempt, _)| their_attempt == attempt)
        {
            one.insert(place.0, *value);
            other.insert(place.0, *their_value);
        }
    }
    paired(&one, &other)
}

/// Compares `ours` with `theirs` within rounds, wherever in them each was measured.
fn in_one_round(ours: &Values, theirs: &Values) -> Option<Estimate> {
    let by_round = |values: &Values| -> BTreeMap<u32, f64> {
        let values = values.iter();
        values
            .map(|((round, _), (_, value))| (*round, *value))
            .collect()
    };
    paired(&by_round(ours), &by_round(theirs))
}

impl Rival {
    /// Rounds that the comparison rests on.
    pub fn rounds(&self) -> usize {
        let sample = self.estimate.as_ref().map(|estimate| estimate.sample);
        sample.map_or(0, Sample::rounds)
    }

    /// Whether rounds count that something spoilt, because the others are too few.
    pub fn is_spoilt(&self) -> bool {
        self.rounds() > self.unspoilt
    }

    /// `at least 1.80`; none where no round counts for both.
    pub fn ratio(&self, reference: &Racer) -> Option<String> {
        let bound = match (self.racer.at_least, reference.at_least) {
            (true, false) => "at least ",
            (false, true) => "at most ",
            _ => "",
        };
        let estimate = self.estimate.as_ref()?;
        Some(format!("{bound}{}", times(estimate.ratio)))
    }

    /// `[1.72, 1.91]`; none below six rounds.
    pub fn interval(&self) -> Option<String> {
        let interval = self.estimate.as_ref()?.interval?;
        Some(format!(
            "[{}, {}]",
            times(interval.low),
            times(interval.high)
        ))
    }
}
