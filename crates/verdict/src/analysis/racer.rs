//! A server at the declared load: its rounds, and how it compares with the reference.

use std::collections::{BTreeMap, BTreeSet};

use model::PointId;

use super::{Measure, Standing};
use crate::number::times;
use crate::pairs::{Answer, Estimate, Sample, paired};
use crate::summary::median;
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
    /// The servers that it stood among: rivals are compared within one group.
    pub group: u32,
    /// What is compared: right answers per second; in an open loop, where that was asked for, the
    /// median response time.
    pub value: Option<f64>,
    /// Whether the true value is at least that: the generator set the rate, or the median is that
    /// of requests without an answer.
    pub at_least: bool,
    /// CPU time of the server per request in microseconds.
    pub cpu_us: Option<f64>,
    /// Whether some rule forbids to say what a request costs.
    pub is_cost_struck: bool,
    /// Whether something that is neither generator nor server had the CPUs, of its trial or of a
    /// rival's: it counts only where the others are too few for an answer.
    pub is_spoilt: bool,
    /// The rule that told so, where it told so of this trial.
    pub spoilt_by: Option<&'a str>,
    /// The rule that forbids to say what the value says, other than those that know what else had
    /// the CPUs.
    pub struck_by: Option<&'a str>,
    /// The rule that forbids to hold it against others.
    pub unlike_by: Option<&'a str>,
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
    /// The rounds that nothing spoilt.
    clean: Rounds,
    /// All rounds as they were first measured, spoilt or not.
    first: Rounds,
    costs: Costs,
    spoilt_costs: Costs,
    /// By round, the rule that knows what spoilt an attempt at it.
    spoilt_by: BTreeMap<u32, String>,
}

/// CPU time per request by round, and whether it is struck.
type Costs = Vec<(u32, f64, bool)>;

/// The rounds of a server, by one way to choose them, which never looks at a result.
#[derive(Clone, Debug, Default)]
struct Rounds {
    /// By round and group.
    places: BTreeMap<(u32, u32), Place>,
}

/// What was measured in one round and group.
#[derive(Clone, Debug)]
struct Place {
    attempt: u32,
    value: Option<f64>,
    at_least: bool,
    struck_by: Option<String>,
    unlike_by: Option<String>,
}

impl Rounds {
    fn add(&mut self, round: &Round<'_>) {
        let place = Place {
            attempt: round.attempt,
            value: round.value,
            at_least: round.at_least,
            struck_by: round.struck_by.map(str::to_owned),
            unlike_by: round.unlike_by.map(str::to_owned),
        };
        self.places.insert((round.round, round.group), place);
    }

    fn values(&self) -> Values {
        let value =
            |(place, found): (&(u32, u32), &Place)| Some((*place, (found.attempt, found.value?)));
        self.places.iter().filter_map(value).collect()
    }

    fn is_bound(&self) -> bool {
        self.places.values().any(|place| place.at_least)
    }

    /// The rules that object to more than half of them, where so many have an objection.
    fn objection(&self, of: fn(&Place) -> Option<&String>) -> Option<BTreeSet<&str>> {
        let rules: Vec<&str> = self
            .places
            .values()
            .filter_map(of)
            .map(String::as_str)
            .collect();
        let is_most = are_mostly_struck(rules.len(), self.places.len() - rules.len());
        is_most.then(|| rules.into_iter().collect())
    }

    /// Rounds whose value some rule forbids, with the rules.
    fn struck(&self) -> BTreeMap<u32, &str> {
        let places = self.places.iter();
        let struck = places.filter_map(|((round, _), place)| {
            let rule = place.struck_by.as_deref()?;
            Some((*round, rule))
        });
        struck.collect()
    }
}

/// A server and how it compares with the reference.
#[derive(Clone, Debug)]
pub struct Rival {
    /// The server.
    pub racer: Racer,
    /// What it has in terms of the reference; none where no round counts for both, or where rules
    /// forbid to compare them.
    pub estimate: Option<Estimate>,
    /// Rounds that have a value for both and that nothing spoilt.
    pub unspoilt: usize,
    /// Rounds that nothing spoilt, for both, whatever came out.
    pub(super) undisturbed: usize,
    /// The answer; none where a value is only a bound, in a way that forbids one.
    pub answer: Option<Answer>,
    /// Whether its value is a lower bound, and whether that of the reference is.
    pub(super) bounds: (bool, bool),
    /// Why the two cannot be compared, where some rule forbids it.
    pub forbidden: Option<String>,
}

/// Whether rules object to more than half of the rounds that nothing spoilt: to so many they do,
/// and to so many they do not. Then the point is no result. Where they object to fewer, all rounds
/// count: a rule that weighs one result against another, such as lateness against response times,
/// objects to some results sooner than to others, and what it leaves would be chosen by it.
pub const fn are_mostly_struck(struck: usize, counting: usize) -> bool {
    struck > counting
}

impl Racer {
    pub(super) fn add(&mut self, round: &Round<'_>) {
        self.server.clone_from(&round.id.server);
        self.rounds += 1;
        let cost = round
            .cpu_us
            .map(|us| (round.round, us, round.is_cost_struck));
        match round.is_spoilt {
            true if round.attempt > 0 => {}
            true => self.spoilt_costs.extend(cost),
            false => self.costs.extend(cost),
        }
        if round.is_spoilt {
            let rule = round.spoilt_by.map(str::to_owned);
            self.spoilt_by.extend(rule.map(|rule| (round.round, rule)));
        } else {
            self.clean.add(round);
        }
        if round.attempt == 0 {
            self.first.add(round);
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
        let has_met = self.has_met(reference);
        let within = |ours: &Rounds, theirs: &Rounds| match has_met {
            true => beside(&ours.values(), &theirs.values()),
            false => in_one_round(&ours.values(), &theirs.values()),
        };
        let mut taken = [&self.clean, &reference.clean];
        let mut estimate = within(taken[0], taken[1]);
        let unspoilt = rounds(&estimate);
        if unspoilt < needed {
            let of_all = within(&self.first, &reference.first);
            if rounds(&of_all) > unspoilt {
                estimate = of_all;
                taken = [&self.first, &reference.first];
            }
        }
        let servers = [&self.server, &reference.server];
        let forbidden = forbidden(servers, taken);
        Rival {
            estimate: estimate.filter(|_| forbidden.is_none()),
            unspoilt,
            undisturbed: together(&self.clean, &reference.clean, has_met),
            racer: self.clone().finished(),
            answer: None,
            bounds: (taken[0].is_bound(), taken[1].is_bound()),
            forbidden,
        }
    }

    /// The median of its values: of the rounds that nothing spoilt, where there are some.
    pub(super) fn middle(&self) -> Option<f64> {
        let values = |rounds: &Rounds| -> Option<f64> {
            let values = rounds.values().into_values();
            let mut values: Vec<f64> = values.map(|(_, value)| value).collect();
            values.sort_by(f64::total_cmp);
            median(&values)
        };
        values(&self.clean).or_else(|| values(&self.first))
    }

    /// Whether both stood in one group in some round, as rivals that may be alike in all but the
    /// product do. Those that differ in what a group has in common never do.
    fn has_met(&self, other: &Self) -> bool {
        self.places()
            .any(|place| other.places().any(|theirs| theirs == place))
    }

    fn places(&self) -> impl Iterator<Item = &(u32, u32)> {
        self.clean.places.keys().chain(self.first.places.keys())
    }

    pub(super) fn finished(mut self) -> Self {
        let costs = match self.costs.is_empty() {
            true => &self.spoilt_costs,
            false => &self.costs,
        };
        let struck = costs.iter().filter(|(.., is_struck)| *is_struck).count();
        let each = costs.iter();
        let each = each.map(|(round, us, _)| (*round, *us, Standing::Sound));
        self.cpu_us = match are_mostly_struck(struck, costs.len() - struck) {
            true => None,
            false => Measure::over(each.collect()).map(|cost| cost.median),
        };
        self
    }

    /// Rounds that nothing spoilt and that have a value.
    pub fn counting(&self) -> usize {
        let values = self.clean.values();
        let rounds: BTreeSet<u32> = values.keys().map(|(round, _)| *round).collect();
        rounds.len()
    }

    /// `2 of nginx (CPU-08)`: the rounds that do not count, and what spoilt them; none where all
    /// do. Where an answer rests on all rounds as they were first measured, those count.
    pub(super) fn lost(&self, rests_on_all: bool) -> Option<String> {
        self.rounds_spoilt(|round| !(rests_on_all && self.is_among_first(round)))
    }

    /// The rounds that count although something spoilt them, where an answer rests on all.
    pub(super) fn spoilt(&self) -> Option<String> {
        self.rounds_spoilt(|round| self.is_among_first(round))
    }

    /// `2 of nginx (STA-03)`: the rounds that count although a rule objects to them; none where
    /// there are none, or so many that nothing is compared with the server.
    pub(super) fn objected(&self, rests_on_all: bool) -> Option<String> {
        let taken = match rests_on_all {
            true => &self.first,
            false => &self.clean,
        };
        let none = taken.objection(|place| place.struck_by.as_ref()).is_none();
        none.then(|| self.counted(&taken.struck()))?
    }

    fn is_among_first(&self, round: u32) -> bool {
        let mut first = self.first.places.keys();
        first.any(|(other, _)| *other == round)
    }

    /// Of the rounds that something spoilt those that `is_meant` names.
    fn rounds_spoilt(&self, is_meant: impl Fn(u32) -> bool) -> Option<String> {
        let is_clean = |round: &u32| self.clean.places.keys().any(|(other, _)| other == round);
        let spoilt = self.spoilt_by.iter();
        let spoilt: BTreeMap<u32, &str> = spoilt
            .filter(|(round, _)| !is_clean(round) && is_meant(**round))
            .map(|(round, rule)| (*round, rule.as_str()))
            .collect();
        self.counted(&spoilt)
    }

    fn counted(&self, rounds: &BTreeMap<u32, &str>) -> Option<String> {
        let rules: BTreeSet<&str> = rounds.values().copied().collect();
        let rules: Vec<&str> = rules.into_iter().collect();
        let (count, server) = (rounds.len(), &self.server);
        (count > 0).then(|| format!("{count} of {server} ({})", words::list(&rules)))
    }
}

/// Why rules forbid to compare two servers by these rounds: one of them has no result, or they were
/// not asked the same.
fn forbidden(servers: [&String; 2], rounds: [&Rounds; 2]) -> Option<String> {
    let objections = |of: fn(&Place) -> Option<&String>| {
        let each = servers.into_iter().map(String::as_str).zip(rounds);
        each.filter_map(move |(server, rounds)| Some((server, rounds.objection(of)?)))
    };
    most_are_invalid(objections(|place| place.struck_by.as_ref())).or_else(|| {
        let (_, rules) = objections(|place| place.unlike_by.as_ref()).next()?;
        let rules: Vec<&str> = rules.into_iter().collect();
        Some(format!(
            "they were not measured alike ({})",
            words::list(&rules)
        ))
    })
}

/// `most rounds of nginx (GEN-01) and of caddy (GEN-03) are invalid`, by name and rules; none where
/// nobody is named.
pub fn most_are_invalid<'a>(
    each: impl Iterator<Item = (&'a str, BTreeSet<&'a str>)>,
) -> Option<String> {
    let each: Vec<(&str, String)> = each
        .map(|(name, rules)| {
            let rules: Vec<&str> = rules.into_iter().collect();
            (name, words::list(&rules))
        })
        .collect();
    match each.as_slice() {
        [] => None,
        [(name, rules)] => Some(format!("most rounds of {name} are invalid ({rules})")),
        several => {
            let named = several.iter();
            let named = named.map(|(name, rules)| format!("of {name} ({rules})"));
            let named: Vec<String> = named.collect();
            Some(format!("most rounds {} are invalid", words::list(&named)))
        }
    }
}

/// The rounds that both have, whatever came out.
fn together(ours: &Rounds, theirs: &Rounds, has_met: bool) -> usize {
    let same = |(round, group): &(u32, u32), place: &Place| {
        let mut others = theirs.places.iter();
        others.any(|((their_round, their_group), other)| {
            let is_beside = (their_group, other.attempt) == (group, place.attempt);
            their_round == round && (is_beside || !has_met)
        })
    };
    let both = ours.places.iter().filter(|(at, place)| same(at, place));
    let rounds: BTreeSet<u32> = both.map(|((round, _), _)| *round).collect();
    rounds.len()
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

    /// Whether its value is a bound, or that of the reference: then so is the ratio.
    pub const fn is_bound(&self) -> bool {
        self.bounds.0 || self.bounds.1
    }

    /// `at least 1.80`; none where no round counts for both.
    pub fn ratio(&self) -> Option<String> {
        let bound = match self.bounds {
            (true, false) => "at least ",
            (false, true) => "at most ",
            _ => "",
        };
        let estimate = self.estimate.as_ref()?;
        Some(format!("{bound}{}", times(estimate.ratio)))
    }

    /// The ends of the interval that are known: none below six rounds, and none on the side of a
    /// bound.
    pub fn ends(&self) -> (Option<f64>, Option<f64>) {
        let interval = self.estimate.as_ref().and_then(|found| found.interval);
        let (ours, theirs) = self.bounds;
        (
            interval.filter(|_| !theirs).map(|interval| interval.low),
            interval.filter(|_| !ours).map(|interval| interval.high),
        )
    }

    /// `[1.72, 1.91]`, or `[1.72, …]` where there is no end above; none below six rounds.
    pub fn interval(&self) -> Option<String> {
        words::interval(self.ends(), times)
    }
}
