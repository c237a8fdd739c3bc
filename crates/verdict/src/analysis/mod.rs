//! The answer of an experiment, computed once: which rounds count, how the servers compare, what a
//! point is worth, and the sentence that says so. Whoever shows results renders this.

mod measure;

use std::collections::{BTreeMap, BTreeSet};

use model::experiment::reference_rank;
use model::finding::Status;
use model::point::Values;
use model::{PointId, Rate};

pub use measure::{Measure, Standing};

use crate::number::{time_us, times};
use crate::pairs::{Answer, Estimate, Family, Sample, declared_connections, paired, rounds_needed};
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

/// How the servers of one workload compare at the declared load.
#[derive(Clone, Debug)]
pub struct Comparison {
    /// The workload.
    pub workload: String,
    /// The declared load.
    pub load: Values,
    /// The server that all are compared with.
    pub reference: Racer,
    /// The others, the one with the largest ratio first.
    pub rivals: Vec<Rival>,
    /// All declared comparisons of the experiment.
    pub family: Family,
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
    values: BTreeMap<(u32, u32), (u32, f64)>,
    /// By round and group, what was measured first there, spoilt or not.
    first: BTreeMap<(u32, u32), (u32, f64)>,
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

/// What was asked, as far as comparisons depend on it and stored trials do not tell it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The labels of all servers that were asked for, in their order: those that could not be
    /// measured count as comparisons too.
    pub servers: &'a [String],
    /// The labels of whom the others are compared with; empty where nobody said.
    pub references: &'a [String],
}

/// Compares the servers of one execution; none where there are no rounds of several, or of several
/// executions.
pub fn compare(rounds: &[Round<'_>], asked: Asked<'_>) -> Vec<Comparison> {
    let mut racers: BTreeMap<&PointId, Racer> = BTreeMap::new();
    for round in rounds.iter().filter(|round| round.round > 0) {
        racers.entry(round.id).or_default().add(round);
    }
    let executions: BTreeSet<_> = racers.keys().map(|id| &id.execution).collect();
    let mut servers = asked.servers.to_vec();
    for id in racers.keys() {
        if !servers.contains(&id.server) {
            servers.push(id.server.clone());
        }
    }
    if executions.len() != 1 || servers.len() < 2 {
        return Vec::new();
    }
    let workloads: BTreeSet<&str> = racers.keys().map(|id| id.workload.as_str()).collect();
    let family = Family::of((servers.len() - 1) * workloads.len());
    let mut comparisons: Vec<Comparison> = workloads
        .into_iter()
        .filter_map(|workload| {
            let preferred = preferred(&servers, asked.references);
            of_workload(workload, &racers, &preferred, family)
        })
        .collect();
    answer(&mut comparisons, family);
    comparisons
}

fn of_workload(
    workload: &str,
    racers: &BTreeMap<&PointId, Racer>,
    preferred: &[&String],
    family: Family,
) -> Option<Comparison> {
    let points = || racers.iter().filter(|(id, _)| id.workload == workload);
    let load = declared_load(points().map(|(id, _)| &id.load))?;
    let here: Vec<_> = points().filter(|(id, _)| id.load == load).collect();
    let find = |server: &&String| here.iter().find(|(id, _)| id.server == **server);
    let (reference, first) = preferred.iter().find_map(find)?;
    let needed = rounds_needed(family.comparisons, family.alpha);
    let mut rivals: Vec<Rival> = here
        .iter()
        .filter(|(id, _)| id.is_rival_of(reference))
        .map(|(_, racer)| racer.rival_of(first, needed))
        .collect();
    let ratio = |rival: &Rival| {
        rival
            .estimate
            .as_ref()
            .map_or(0.0, |estimate| estimate.ratio)
    };
    rivals.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
    (!rivals.is_empty()).then(|| Comparison {
        workload: workload.to_owned(),
        load: load.clone(),
        reference: (*first).clone().finished(),
        rivals,
        family,
    })
}

/// Servers in the order in which they are taken for the reference: those that were named for it;
/// where none was, as an experiment chooses that names none.
fn preferred<'a>(servers: &'a [String], references: &[String]) -> Vec<&'a String> {
    let mut servers: Vec<&String> = servers.iter().collect();
    servers.sort_by_key(|label| {
        let product = label.split(' ').next().unwrap_or_default();
        (!references.contains(label), reference_rank(product))
    });
    servers
}

/// The load at which servers compare: it depends on what was asked, never on what was measured.
fn declared_load<'a>(loads: impl Iterator<Item = &'a Values>) -> Option<Values> {
    let loads: BTreeSet<&Values> = loads.collect();
    let connections: Vec<u32> = loads.iter().map(|load| load.connections()).collect();
    let connections = declared_connections(&connections)?;
    let here: Vec<&&Values> = loads
        .iter()
        .filter(|load| load.connections() == connections)
        .collect();
    here.get((here.len() - 1) / 2).map(|load| (**load).clone())
}

/// The answers of all comparisons together: they are one family.
fn answer(comparisons: &mut [Comparison], family: Family) {
    let estimates: Vec<Option<&Estimate>> = comparisons
        .iter()
        .flat_map(|comparison| {
            comparison
                .rivals
                .iter()
                .map(|rival| rival.estimate.as_ref())
        })
        .collect();
    let mut answers = family.answers(&estimates).into_iter();
    for comparison in comparisons {
        let below = comparison.reference.at_least;
        for rival in &mut comparison.rivals {
            let answer = answers.next();
            // What is at least X may be more, and nothing below it is known.
            rival.answer = answer.filter(|answer| match (rival.racer.at_least, below) {
                (false, false) => true,
                (true, false) => *answer == Answer::More,
                (false, true) => *answer == Answer::Less,
                (true, true) => false,
            });
        }
    }
}

impl Racer {
    fn add(&mut self, round: &Round<'_>) {
        self.server.clone_from(&round.id.server);
        self.rounds += 1;
        let cost = round.cpu_us.map(|us| (round.round, us, Standing::Sound));
        match round.counting {
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
        if round.counting != Counting::Struck && round.attempt == 0 {
            self.first.extend(measured);
        }
    }

    /// How it compares with `reference`. Where the rounds that nothing spoilt are fewer than
    /// `needed`, all rounds are taken as they were first measured: which rounds are taken depends
    /// on what else ran on the machine, and never on a result.
    fn rival_of(&self, reference: &Self, needed: usize) -> Rival {
        let rounds = |estimate: &Option<Estimate>| {
            let sample = estimate.as_ref().map(|estimate| estimate.sample);
            sample.map_or(0, Sample::rounds)
        };
        let mut estimate = within(&self.values, &reference.values);
        let unspoilt = rounds(&estimate);
        if unspoilt < needed {
            let of_all = within(&self.first, &reference.first);
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

    fn finished(mut self) -> Self {
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
    fn lost(&self) -> Option<String> {
        let counts = |round: &u32| self.values.keys().any(|(other, _)| other == round);
        let lost: BTreeMap<&u32, &str> = self
            .lost_to
            .iter()
            .filter(|(round, _)| !counts(round))
            .map(|(round, rule)| (round, rule.as_str()))
            .collect();
        let rules: BTreeSet<&str> = lost.values().copied().collect();
        let rules: Vec<&str> = rules.into_iter().collect();
        let (count, server) = (lost.len(), &self.server);
        (count > 0).then(|| format!("{count} of {server} ({})", words::list(&rules)))
    }
}

/// Compares `ours` with `theirs` within the rounds in which both were measured next to each other,
/// in the same attempt.
fn within(
    ours: &BTreeMap<(u32, u32), (u32, f64)>,
    theirs: &BTreeMap<(u32, u32), (u32, f64)>,
) -> Option<Estimate> {
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

impl Comparison {
    /// What is compared, as the subject of the sentence has it.
    pub fn quantity(&self) -> &'static str {
        match self.load.rate().map(Rate::is_zero) {
            Some(false) => "median response time",
            _ => "rate",
        }
    }

    /// Whether `spares` more rounds can save it: of the rounds that were asked for, which were
    /// enough to tell, some were lost, and no more than that. Which rounds count is looked at, and
    /// not what they say.
    pub fn is_short(&self, asked: usize, spares: usize) -> bool {
        let needed = rounds_needed(self.family.comparisons, self.family.alpha);
        let lacking = |rival: &Rival| needed.saturating_sub(rival.unspoilt);
        asked >= needed
            && self
                .rivals
                .iter()
                .map(lacking)
                .any(|n| (1..=spares).contains(&n))
    }

    /// The answer of a rival in words.
    pub fn answer(&self, rival: &Rival) -> String {
        let (more, less) = match self.quantity() {
            "rate" => ("faster", "slower"),
            _ => ("slower", "faster"),
        };
        let Some(answer) = &rival.answer else {
            return "no answer: the generator was the limit".to_owned();
        };
        let mut text = answer.text(more, less, &self.family);
        if rival.is_spoilt() {
            text.push_str(&spoilt_words(rival.unspoilt, rival.rounds()));
        }
        text
    }

    /// The answer in a sentence: `small, at 64 connections: origin has 1.80 times the rate of nginx
    /// [1.72, 1.91]; lighttpd 1.10 times [1.08, 1.12].`
    pub fn sentence(&self) -> String {
        let mut each = Vec::new();
        let mut apart = Vec::new();
        for rival in &self.rivals {
            let server = &rival.racer.server;
            let Some(ratio) = rival.ratio(&self.reference) else {
                apart.push(server.as_str());
                continue;
            };
            let mut text = if each.is_empty() {
                let (what, other) = (self.quantity(), &self.reference.server);
                format!("{server} has {ratio} times the {what} of {other}")
            } else {
                format!("{server} {ratio} times")
            };
            text.extend(rival.interval().map(|interval| format!(" {interval}")));
            each.push(text);
        }
        if !apart.is_empty() {
            each.push(format!(
                "{} cannot be compared with {}, because no round counts for both",
                words::list(&apart),
                self.reference.server
            ));
        }
        let (workload, load) = (&self.workload, self.load.text());
        format!("{workload}, at {load}: {}.", each.join("; "))
    }

    /// How certain that is, in a sentence for each answer, with the servers that it is about; and
    /// which rounds do not count.
    pub fn certainty(&self) -> Vec<String> {
        let mut answers: Vec<(String, Vec<&str>)> = Vec::new();
        let compared = |rival: &&Rival| rival.estimate.is_some();
        for rival in self.rivals.iter().filter(compared) {
            let (said, server) = (self.answer(rival), rival.racer.server.as_str());
            match answers.iter_mut().find(|(other, _)| *other == said) {
                Some((_, servers)) => servers.push(server),
                None => answers.push((said, vec![server])),
            }
        }
        let mut said: Vec<String> = answers
            .into_iter()
            .map(|(said, servers)| format!("{}: {said}.", servers.join(", ")))
            .collect();
        let lost: Vec<String> = self.racers().filter_map(Racer::lost).collect();
        if !lost.is_empty() {
            said.push(format!("Rounds that do not count: {}.", lost.join(", ")));
        }
        said
    }

    fn racers(&self) -> impl Iterator<Item = &Racer> {
        let rivals = self.rivals.iter().map(|rival| &rival.racer);
        std::iter::once(&self.reference).chain(rivals)
    }

    /// What a request costs each server, in a sentence; none where that could not be read.
    pub fn cost(&self) -> Option<String> {
        let each: Vec<String> = self
            .racers()
            .filter_map(|racer| Some(format!("{} {}", racer.server, time_us(racer.cpu_us?))))
            .collect();
        (!each.is_empty()).then(|| format!("CPU time per request: {}.", each.join(", ")))
    }
}

/// What a reader must know of an answer from `rounds` rounds of which only `unspoilt` are free of
/// whatever else had the CPUs.
pub(crate) fn spoilt_words(unspoilt: usize, rounds: usize) -> String {
    let without = match unspoilt {
        0 => "none of them".to_owned(),
        some => format!("only {some} of them"),
    };
    format!(
        "; suspect, for it rests on all {rounds} rounds as they were first measured: {without} had \
         the CPUs to themselves"
    )
}

/// What a point is worth by what its rounds are worth, each with the rules that brought it there.
///
/// One round of six with a doubt leaves five. A point is suspect where two or more rounds share a
/// cause, and invalid where fewer than half of its rounds are left.
pub fn worth<'a>(rounds: impl Iterator<Item = (Status, Vec<&'a str>)>) -> Status {
    let rounds: Vec<(Status, Vec<&str>)> = rounds.collect();
    let count = |status: Status| rounds.iter().filter(|(other, _)| *other == status).count();
    if let [(only, _)] = rounds.as_slice() {
        return *only;
    }
    let mut causes: BTreeMap<&str, usize> = BTreeMap::new();
    for cause in rounds.iter().flat_map(|(_, causes)| causes) {
        *causes.entry(cause).or_default() += 1;
    }
    if count(Status::Invalid) * 2 > rounds.len() {
        Status::Invalid
    } else if causes.values().any(|rounds| *rounds >= 2) {
        Status::Suspect
    } else if count(Status::Unknown) * 2 > rounds.len() {
        Status::Unknown
    } else {
        Status::Valid
    }
}

#[cfg(test)]
mod tests;
