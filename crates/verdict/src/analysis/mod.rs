//! The answer of an experiment, computed once: which rounds count, how the servers compare, what a
//! point is worth, and the sentence that says so. Whoever shows results renders this.

mod floor;
mod measure;
mod racer;
mod ranks;

use std::collections::{BTreeMap, BTreeSet};

use model::experiment::reference_rank;
use model::finding::Status;
use model::point::Values;
use model::{PointId, Rate};

pub use floor::{Differ, Floor};
pub use measure::{Measure, Standing};
pub use racer::{Racer, Rival, Round, are_mostly_struck, most_are_invalid};
pub use ranks::{Ranked, Ranks};

use crate::number::time_us;
use crate::pairs::{Estimate, Family, declared_connections, rounds_needed};
use crate::words;

/// What a time that is at least or at most so long rests on.
pub const UNANSWERED: &str = "Here, at least and at most rest on a convention: a request that \
    failed, or had no answer when the window ended, counts as one that waits longer than any \
    answer took, and longer than the timeout. Nobody saw how long it would have waited.";

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
    /// The most that servers which are alike differ by in the experiment, where there are some.
    pub floor: Option<Floor>,
    /// Who is shown to be better than whom, of all pairs; none where there are none.
    pub ranks: Option<Ranks>,
}

/// What was asked, as far as comparisons depend on it and stored trials do not tell it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// The labels of all servers that took part, in their order: those that could not be measured
    /// count as comparisons too. Whoever was missing before the start is none of them.
    pub servers: &'a [String],
    /// The labels of whom the others are compared with; empty where nobody said.
    pub references: &'a [String],
    /// Pairs of servers and workloads that never meet: the workload is asked in another protocol.
    pub apart: &'a [(String, String)],
    /// The labels of servers that are alike, two and two.
    pub twins: &'a [(String, String)],
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
    let preferred = preferred(&servers, asked.references);
    let fields: Vec<Field<'_>> = workloads
        .iter()
        .filter_map(|workload| Field::of(workload, &racers, &preferred))
        .collect();
    // A server whose trials are not all alike may stand in a field more than once.
    let rivals = fields.iter().map(|field| field.rivals.len()).sum();
    let asked_for = workloads.iter().map(|workload| {
        let is_apart = |server: &&String| {
            let mut pairs = asked.apart.iter();
            pairs.any(|(one, other)| one == *server && other == workload)
        };
        let there = servers.len() - servers.iter().filter(is_apart).count();
        there.saturating_sub(1)
    });
    let mut family = Family::of(asked_for.sum::<usize>().max(rivals));
    let floor = Floor::among(&fields, &racers, asked.twins, family);
    if let Some(differ) = floor.as_ref().and_then(Floor::differ) {
        family.margin = family.margin.max(differ);
    }
    let mut comparisons: Vec<Comparison> = fields
        .into_iter()
        .map(|field| field.compared(family, floor.as_ref()))
        .collect();
    answer(&mut comparisons, family);
    comparisons
}

/// Who runs in one workload at the declared load.
struct Field<'a> {
    workload: &'a str,
    load: Values,
    reference: &'a Racer,
    rivals: Vec<&'a Racer>,
    /// The reference and its rivals.
    all: Vec<(&'a PointId, &'a Racer)>,
}

impl<'a> Field<'a> {
    /// None where nobody has a rival.
    fn of(
        workload: &'a str,
        racers: &'a BTreeMap<&PointId, Racer>,
        preferred: &[&String],
    ) -> Option<Self> {
        let points = || racers.iter().filter(|(id, _)| id.workload == workload);
        let load = declared_load(points().map(|(id, _)| &id.load))?;
        let here: Vec<_> = points().filter(|(id, _)| id.load == load).collect();
        let find = |server: &&String| here.iter().find(|(id, _)| id.server == **server);
        let (first, reference) = preferred.iter().find_map(find)?;
        let rivals = here.iter().filter(|(id, _)| id.is_rival_of(first));
        let rivals: Vec<(&PointId, &Racer)> = rivals.map(|(id, racer)| (**id, *racer)).collect();
        (!rivals.is_empty()).then(|| Self {
            workload,
            load,
            reference,
            rivals: rivals.iter().map(|(_, racer)| *racer).collect(),
            all: std::iter::once((**first, *reference))
                .chain(rivals)
                .collect(),
        })
    }

    fn compared(self, family: Family, floor: Option<&Floor>) -> Comparison {
        let needed = rounds_needed(family.comparisons, family.alpha);
        let compare = |racer: &&Racer| racer.rival_of(self.reference, needed);
        let mut rivals: Vec<Rival> = self.rivals.iter().map(compare).collect();
        let ratio = |rival: &Rival| {
            let estimate = rival.estimate.as_ref();
            estimate.map_or(0.0, |estimate| estimate.ratio)
        };
        rivals.sort_by(|one, other| ratio(other).total_cmp(&ratio(one)));
        let is_of_time = quantity_at(&self.load) != RATE_COMPARED;
        Comparison {
            workload: self.workload.to_owned(),
            ranks: Ranks::of(&self.all, family, is_of_time),
            load: self.load,
            reference: self.reference.clone().finished(),
            rivals,
            family,
            floor: floor.cloned(),
        }
    }
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

/// What is compared in a closed loop.
const RATE_COMPARED: &str = "rate";

/// What is compared at that load.
fn quantity_at(load: &Values) -> &'static str {
    match load.rate().map(Rate::is_zero) {
        Some(false) => "median response time",
        _ => RATE_COMPARED,
    }
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
    for rival in comparisons.iter_mut().flat_map(|one| &mut one.rivals) {
        let answer = answers.next();
        let ratio = rival.estimate.as_ref().map(|estimate| estimate.ratio);
        rival.answer = answer.filter(|answer| family.allows(answer, ratio, rival.bounds));
    }
}

impl Comparison {
    /// What is compared, as the subject of the sentence has it.
    pub fn quantity(&self) -> &'static str {
        quantity_at(&self.load)
    }

    /// What a rank is here, or why there are none.
    pub fn of_ranks(&self) -> Option<String> {
        let ranks = self.ranks.as_ref()?;
        Some(ranks.sentence("faster"))
    }

    /// Whether `spares` more rounds can save it: of the rounds that were asked for, which were
    /// enough to tell, some were lost, and no more than that. What disturbed a round is looked at,
    /// and neither what came out nor what rules say of it.
    pub fn is_short(&self, asked: usize, spares: usize) -> bool {
        let needed = rounds_needed(self.family.comparisons, self.family.alpha);
        let lacking = |rival: &Rival| needed.saturating_sub(rival.undisturbed);
        asked >= needed
            && self
                .rivals
                .iter()
                .map(lacking)
                .any(|n| (1..=spares).contains(&n))
    }

    /// The answer of a rival in words, and whether it is suspect.
    pub fn answer(&self, rival: &Rival) -> String {
        let mut text = self.bare_answer(rival);
        if rival.is_spoilt() && rival.answer.is_some() {
            let rests = rests_on_all(rival.unspoilt, rival.rounds());
            text.push_str(&format!("; suspect, because it {rests}"));
        }
        text
    }

    fn bare_answer(&self, rival: &Rival) -> String {
        if rival.estimate.is_none() {
            return format!("no answer: {}", Self::why_apart(rival));
        }
        let (more, less) = match self.quantity() {
            "rate" => ("faster", "slower"),
            _ => ("slower", "faster"),
        };
        let Some(answer) = &rival.answer else {
            return match self.quantity() {
                "rate" => "no answer: the generator was the limit".to_owned(),
                _ => "no answer: too few requests were answered for more than a bound".to_owned(),
            };
        };
        answer.text(more, less, &self.family)
    }

    /// The answer in a sentence: `small, at 64 connections: origin has 1.80 times the rate of nginx
    /// [1.72, 1.91]; lighttpd 1.10 times [1.08, 1.12].`
    pub fn sentence(&self) -> String {
        let mut each = Vec::new();
        for rival in &self.rivals {
            let server = &rival.racer.server;
            let Some(ratio) = rival.ratio() else {
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
        let apart = self.rivals.iter().filter(|rival| rival.estimate.is_none());
        for (why, servers) in by_text(apart, Self::why_apart) {
            let (servers, other) = (words::list(&servers), &self.reference.server);
            each.push(format!(
                "{servers} cannot be compared with {other}, because {why}"
            ));
        }
        let (workload, load) = (&self.workload, self.load.text());
        format!("{workload}, at {load}: {}.", each.join("; "))
    }

    /// Why a rival has no ratio.
    fn why_apart(rival: &Rival) -> String {
        let none = || "no round counts for both".to_owned();
        rival.forbidden.clone().unwrap_or_else(none)
    }

    /// How certain that is, in a sentence for each answer, with the servers that it is about; which
    /// of them are suspect; and which rounds do not count, or count although something spoilt them.
    pub fn certainty(&self) -> Vec<String> {
        let compared = |rival: &&Rival| rival.estimate.is_some();
        let answers = by_text(self.rivals.iter().filter(compared), |rival| {
            self.bare_answer(rival)
        });
        let mut said: Vec<String> = answers
            .into_iter()
            .map(|(said, servers)| format!("{}: {said}.", servers.join(", ")))
            .collect();
        let mut bounds = self.rivals.iter().filter(compared);
        let has_bound = bounds.any(Rival::is_bound) && self.quantity() != "rate";
        said.extend(has_bound.then(|| UNANSWERED.to_owned()));
        let floor = self.floor.as_ref();
        said.extend(floor.map(|floor| floor.sentence(&self.family)));
        let suspect = |rival: &&Rival| compared(rival) && rival.is_spoilt();
        let suspects = by_text(self.rivals.iter().filter(suspect), |rival| {
            rests_on_all(rival.unspoilt, rival.rounds())
        });
        said.extend(suspects.into_iter().map(|(rests, servers)| {
            format!(
                "What is said about {} is suspect: it {rests}.",
                words::list(&servers)
            )
        }));
        let sentence = |what: &str, of: fn(&Racer, bool) -> Option<String>| {
            let each = self.resting();
            let each: Vec<String> = each.filter_map(|(racer, all)| of(racer, all)).collect();
            (!each.is_empty()).then(|| format!("{what}: {}.", each.join(", ")))
        };
        said.extend(sentence("Rounds that do not count", Racer::lost));
        let objected = "Rounds that count although a rule objects to them";
        said.extend(sentence(objected, Racer::objected));
        said.extend(self.spoilt_rounds());
        said
    }

    /// The rounds that something spoilt and that an answer rests on all the same.
    fn spoilt_rounds(&self) -> Option<String> {
        let resting = self.resting().filter(|(_, on_all)| *on_all);
        let rounds: Vec<String> = resting.filter_map(|(racer, _)| racer.spoilt()).collect();
        let (all, rest): (Vec<&Rival>, Vec<&Rival>) =
            self.rivals.iter().partition(|rival| rival.is_spoilt());
        let servers: Vec<&str> = all
            .iter()
            .map(|rival| rival.racer.server.as_str())
            .collect();
        let whose = match rest.is_empty() {
            true => String::new(),
            false => format!(" (in the answer of {} alone)", words::list(&servers)),
        };
        let rounds = (!rounds.is_empty()).then(|| rounds.join(", "))?;
        Some(format!(
            "Rounds that count although something spoilt them{whose}: {rounds}."
        ))
    }

    fn racers(&self) -> impl Iterator<Item = &Racer> {
        let rivals = self.rivals.iter().map(|rival| &rival.racer);
        std::iter::once(&self.reference).chain(rivals)
    }

    /// Each server, and whether an answer about it rests on all rounds as they were first measured.
    fn resting(&self) -> impl Iterator<Item = (&Racer, bool)> {
        let of_reference = self.rivals.iter().any(Rival::is_spoilt);
        let rivals = self.rivals.iter();
        let rivals = rivals.map(|rival| (&rival.racer, rival.is_spoilt()));
        std::iter::once((&self.reference, of_reference)).chain(rivals)
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

/// The servers of `rivals`, those of whom the same is said together.
fn by_text<'a>(
    rivals: impl Iterator<Item = &'a Rival>,
    said: impl Fn(&Rival) -> String,
) -> Vec<(String, Vec<&'a str>)> {
    let mut groups: Vec<(String, Vec<&str>)> = Vec::new();
    for rival in rivals {
        let (text, server) = (said(rival), rival.racer.server.as_str());
        match groups.iter_mut().find(|(other, _)| *other == text) {
            Some((_, servers)) => servers.push(server),
            None => groups.push((text, vec![server])),
        }
    }
    groups
}

/// What a reader must know of an answer from `rounds` rounds of which only `unspoilt` are free of
/// whatever else had the CPUs; the answer is the subject.
pub fn rests_on_all(unspoilt: usize, rounds: usize) -> String {
    if rounds == 1 {
        return "rests on the only round, which did not have the CPUs to itself".to_owned();
    }
    let without = match unspoilt {
        0 => "none of them".to_owned(),
        some => format!("only {some} of them"),
    };
    let all = match rounds {
        2 => "both rounds".to_owned(),
        rounds => format!("all {rounds} rounds"),
    };
    format!("rests on {all} as they were first measured, and {without} had the CPUs to themselves")
}

/// What a point is worth by what its rounds are worth, each with the rules that brought it there.
///
/// All of them make its numbers, whatever rules say of one: the median of three or more stays among
/// those of the others where one is wrong, so one round with a doubt leaves a point what it is. A
/// point is suspect where two rounds share a cause, where two are invalid, or where there are only
/// two and one of them is in doubt; it is invalid where more than half of its rounds are.
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
    let invalid = count(Status::Invalid);
    let is_one_of_few = rounds.len() < 3 && invalid + count(Status::Suspect) > 0;
    if invalid * 2 > rounds.len() {
        Status::Invalid
    } else if invalid >= 2 || is_one_of_few || causes.values().any(|rounds| *rounds >= 2) {
        Status::Suspect
    } else if count(Status::Unknown) * 2 > rounds.len() {
        Status::Unknown
    } else {
        Status::Valid
    }
}

#[cfg(test)]
mod tests;
