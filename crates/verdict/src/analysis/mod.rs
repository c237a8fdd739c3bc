//! The answer of an experiment, computed once: which rounds count, how the servers compare, what a
//! point is worth, and the sentence that says so. Whoever shows results renders this.

use std::collections::{BTreeMap, BTreeSet};

use model::finding::Status;
use model::point::Values;
use model::{PointId, Rate};

use crate::pairs::{Answer, Estimate, Family, declared_connections, paired};
use crate::summary::Rounds;
use crate::words;

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
    /// What is compared: right answers per second; in an open loop, where that was asked for, the
    /// median response time.
    pub value: Option<f64>,
    /// CPU time of the server per request in microseconds.
    pub cpu_us: Option<f64>,
    /// Whether it counts: its number is not struck.
    pub counts: bool,
    /// Whether the generator set the rate: then it is a lower bound.
    pub at_least: bool,
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
    /// By round, with the attempt that it is of.
    values: BTreeMap<u32, (u32, f64)>,
    costs: Vec<f64>,
}

/// A server and how it compares with the reference.
#[derive(Clone, Debug)]
pub struct Rival {
    /// The server.
    pub racer: Racer,
    /// What it has in terms of the reference; none where no round counts for both.
    pub estimate: Option<Estimate>,
    /// The answer; none where the generator was the limit in a way that forbids one.
    pub answer: Option<Answer>,
}

/// Compares the servers of one execution; none where there are no rounds of several, or of several
/// executions. `asked` are the labels of all servers that were asked for, in their order: those
/// that could not be measured count as comparisons too.
pub fn compare(rounds: &[Round<'_>], asked: &[String]) -> Vec<Comparison> {
    let mut racers: BTreeMap<&PointId, Racer> = BTreeMap::new();
    for round in rounds.iter().filter(|round| round.round > 0) {
        racers.entry(round.id).or_default().add(round);
    }
    let executions: BTreeSet<_> = racers.keys().map(|id| &id.execution).collect();
    let mut servers = asked.to_vec();
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
        .filter_map(|workload| of_workload(workload, &racers, &servers, family))
        .collect();
    answer(&mut comparisons, family);
    comparisons
}

fn of_workload(
    workload: &str,
    racers: &BTreeMap<&PointId, Racer>,
    servers: &[String],
    family: Family,
) -> Option<Comparison> {
    let points = || racers.iter().filter(|(id, _)| id.workload == workload);
    let load = declared_load(points().map(|(id, _)| &id.load))?;
    let here: Vec<_> = points().filter(|(id, _)| id.load == load).collect();
    let find = |server: &String| here.iter().find(|(id, _)| id.server == *server);
    let (reference, first) = preferred(servers).into_iter().find_map(find)?;
    let mut rivals: Vec<Rival> = here
        .iter()
        .filter(|(id, _)| id.is_rival_of(reference))
        .map(|(_, racer)| Rival {
            estimate: racer.paired_with(first),
            racer: (*racer).clone().finished(),
            answer: None,
        })
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

/// Servers in the order in which they are taken for the reference: nginx, which most readers know;
/// then any but our own.
fn preferred(servers: &[String]) -> Vec<&String> {
    let mut servers: Vec<&String> = servers.iter().collect();
    servers.sort_by_key(|label| match label.split(' ').next() {
        Some("nginx") => 0,
        Some("origin") => 2,
        _ => 1,
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
        if round.counts {
            self.at_least |= round.at_least;
            self.costs.extend(round.cpu_us);
            if let Some(value) = round.value {
                self.values.insert(round.round, (round.attempt, value));
            }
        }
    }

    /// Within the rounds in which both were measured in the same attempt.
    fn paired_with(&self, reference: &Self) -> Option<Estimate> {
        let of = |racer: &Self, other: &Self| -> BTreeMap<u32, f64> {
            let here = racer.values.iter();
            let both = here.filter(|(round, (attempt, _))| {
                let there = other.values.get(round);
                there.is_some_and(|(theirs, _)| theirs == attempt)
            });
            both.map(|(round, (_, value))| (*round, *value)).collect()
        };
        paired(&of(self, reference), &of(reference, self))
    }

    fn finished(mut self) -> Self {
        self.cpu_us = Rounds::of(self.costs.iter().copied()).map(|rounds| rounds.median);
        self
    }

    /// Rounds that count.
    pub fn counting(&self) -> usize {
        self.values.len()
    }
}

impl Rival {
    /// `at least 1.80`; none where no round counts for both.
    pub fn ratio(&self, reference: &Racer) -> Option<String> {
        let bound = match (self.racer.at_least, reference.at_least) {
            (true, false) => "at least ",
            (false, true) => "at most ",
            _ => "",
        };
        let estimate = self.estimate.as_ref()?;
        Some(format!("{bound}{}", ratio(estimate.ratio)))
    }

    /// `[1.72, 1.91]`; none below six rounds.
    pub fn interval(&self) -> Option<String> {
        let interval = self.estimate.as_ref()?.interval?;
        Some(format!(
            "[{}, {}]",
            ratio(interval.low),
            ratio(interval.high)
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

    /// The answer of a rival in words.
    pub fn answer(&self, rival: &Rival) -> String {
        let (more, less) = match self.quantity() {
            "rate" => ("faster", "slower"),
            _ => ("slower", "faster"),
        };
        match &rival.answer {
            Some(answer) => answer.text(more, less, &self.family),
            None => "no answer: the generator was the limit".to_owned(),
        }
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
                "{} cannot be compared with {}, for no round counts for both",
                words::list(&apart),
                self.reference.server
            ));
        }
        let (workload, load) = (&self.workload, self.load.text());
        format!("{workload}, at {load}: {}.", each.join("; "))
    }

    /// How certain that is, in a sentence for each answer, with the servers that it is about.
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
        answers
            .into_iter()
            .map(|(said, servers)| format!("{}: {said}.", servers.join(", ")))
            .collect()
    }

    /// What a request costs each server, in a sentence; none where that could not be read.
    pub fn cost(&self) -> Option<String> {
        let racers = || {
            [&self.reference]
                .into_iter()
                .chain(self.rivals.iter().map(|r| &r.racer))
        };
        let each: Vec<String> = racers()
            .filter_map(|racer| Some(format!("{} {:.1} us", racer.server, racer.cpu_us?)))
            .collect();
        (!each.is_empty()).then(|| format!("CPU time per request: {}.", each.join(", ")))
    }
}

/// Two digits after the point from 1 on, as many significant ones below.
fn ratio(value: f64) -> String {
    if value >= 9.95 {
        words::rate(value)
    } else if value >= 0.1 {
        format!("{value:.2}")
    } else {
        format!("{value:.2e}")
    }
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
