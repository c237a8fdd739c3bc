//! Two results laid over each other: what differs around them, and by how much they differ.
//!
//! Where the two were measured apart, no round of the one belongs to a round of the other: ratios
//! are over all differences, with the interval of Mann and Whitney, which does not cover what
//! changed in between. Two servers of one experiment are compared within its rounds. One comparison
//! for each server and workload is declared beforehand; only these have an answer, and all others
//! stand with their own intervals.

mod facts;
mod limit;
mod metric;
mod side;

use std::collections::BTreeMap;

use serde::Serialize;

pub use facts::Difference;
pub(crate) use facts::steady;
pub use limit::{Crossed, Limit, LimitError};
pub use metric::{METRICS, Metric, Quantity, metric_named};
pub use side::{Kind, Side};

use crate::analysis::{Floor, rests_on_all};
use crate::pairs::{
    Answer, Estimate, Family, Precision, Sample, declared_connections, paired, rounds_needed,
    rounds_needed_unpaired, unpaired,
};
use crate::words;
use side::{Rounds, Spot, Values, forbidden};

/// The version of the JSON form.
pub const FORMAT: u32 = 1;

/// What an interval over the rounds of two sessions leaves out.
pub const DRIFT: &str = "The two were measured at different times. The intervals cover how much \
                         the rounds of each differ among themselves. They do not cover what \
                         changed between the two sessions: other programs, neighbours on the same \
                         hardware, temperature. To see how much that is, measure A a second time \
                         and compare the two; to avoid it, measure both in one lab.";

/// What an interval over rounds of one lab covers.
pub const TOGETHER: &str = "Both were measured in one lab, in the same rounds: each ratio is taken \
within a round, so what changes between rounds distorts none of them.";

/// What a result that is compared with itself lacks.
pub const SAME: &str = "A and B hold the same trials: one measurement was compared with itself, \
                        or with what went on from it, and what they share cannot differ.";

/// What single values lack.
pub const SINGLE: &str = "A single trial has no rounds and so no interval: there is a ratio, \
                          and no answer. For an answer, run each several times, or both in a \
                          lab.";

/// Two results, compared. The ratio is the second in terms of the first.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// [`FORMAT`].
    pub format: u32,
    /// What wrote them.
    pub kind: Kind,
    /// The first result.
    pub a: String,
    /// The second.
    pub b: String,
    /// What is not the same of the machine and its settings.
    pub environment: Vec<Difference>,
    /// What is not the same of what was asked, and of the servers.
    pub configuration: Vec<Difference>,
    /// The declared comparisons.
    pub family: Family,
    /// Which comparisons are declared, in a sentence.
    pub declared: String,
    /// What the reader must know of all intervals.
    pub caveat: &'static str,
    /// Each metric at each place that both have; declared comparisons first.
    pub rows: Vec<Row>,
    /// Places that only one of them has, a sentence each.
    pub only: Vec<String>,
}

/// One metric at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// Where: server, workload, load.
    pub place: String,
    /// What.
    pub metric: &'static Metric,
    /// The unit of both values.
    pub quantity: Quantity,
    /// The first result's value.
    pub a: Value,
    /// The second's.
    pub b: Value,
    /// The second in terms of the first; none where a side has no round that counts.
    pub estimate: Option<Estimate>,
    /// Whether it is one of the declared comparisons.
    pub is_declared: bool,
    /// What may be said.
    pub answer: Answer,
    /// How sharp the ratio is.
    pub precision: Precision,
    /// How many rounds had the CPUs to themselves, where these were too few and all rounds count as
    /// they were first measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unspoilt: Option<usize>,
    /// Why the two cannot be compared, where rules forbid it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<String>,
    /// Whether the ratio rests on bounds of A, and of B: then one end of its interval is not known.
    pub bounds: [bool; 2],
    /// The answer in words.
    pub text: String,
}

/// One side of a row: the number that a report of this result alone has at that place.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Value {
    /// The median of the rounds that nothing spoilt; of all as they were first measured where there
    /// are none.
    pub median: f64,
    /// Rounds that count.
    pub rounds: usize,
    /// Rounds that are left out, because something else spoilt them.
    pub left_out: usize,
    /// Whether the true value is at least this: the generator set the rate, or too few requests got
    /// an answer.
    pub at_least: bool,
}

impl Row {
    /// Which side's values are bounds, as far as the ratio rests on them.
    pub const fn bound(&self) -> Option<&'static str> {
        match self.bounds {
            [false, false] => None,
            [true, false] => Some("A"),
            [false, true] => Some("B"),
            [true, true] => Some("A and B"),
        }
    }

    /// `at least ` or `at most `, where that is all that is known of the ratio.
    pub const fn bound_of_ratio(&self) -> &'static str {
        match self.bounds {
            [false, true] => "at least ",
            [true, false] => "at most ",
            _ => "",
        }
    }

    /// The ends of the interval that are known: none on the side of a bound.
    pub fn ends(&self) -> (Option<f64>, Option<f64>) {
        let interval = self.estimate.as_ref().and_then(|found| found.interval);
        let [a, b] = self.bounds;
        (
            interval.filter(|_| !a).map(|interval| interval.low),
            interval.filter(|_| !b).map(|interval| interval.high),
        )
    }
}

/// Lays the `other` over the `one`.
pub fn compare(one: &Side, other: &Side) -> Compared {
    let (ours, theirs) = (one.values(), other.values());
    let both: Vec<&(Spot, usize)> = ours.keys().filter(|key| theirs.contains_key(key)).collect();
    let is_scheduled = |spot: &Spot| one.is_scheduled(spot) || other.is_scheduled(spot);
    let members = declared(&both, &is_scheduled);
    let mut family = Family::of(members.len());
    let floor = one.floor.as_ref();
    if let Some(differ) = floor.and_then(Floor::differ) {
        family.margin = family.margin.max(differ);
    }
    let declared = sentence(one.kind(), &family);
    let floor = floor.map_or_else(String::new, |floor| format!(" {}", floor.sentence(&family)));
    let is_paired = one.only.is_some() && other.only.is_some();
    let mut drafts: Vec<Draft<'_>> = both
        .iter()
        .map(|key| {
            let sides = [&ours[*key], &theirs[*key]];
            Draft::new(
                key,
                sides,
                is_paired,
                members.contains(key).then_some(&family),
            )
        })
        .collect();
    drafts.sort_by_key(|draft| !draft.is_declared);
    let asked: Vec<Option<&Estimate>> = drafts
        .iter()
        .filter(|draft| draft.is_declared)
        .map(|draft| draft.estimate.as_ref())
        .collect();
    let answers = family.answers(&asked);
    let rows: Vec<Row> = drafts
        .into_iter()
        .enumerate()
        .map(|(position, draft)| draft.finish(answers.get(position).copied(), &family))
        .collect();
    let is_same = one.shares_trials_with(other);
    let is_single = !rows.is_empty() && rows.iter().all(|row| row.answer == Answer::Single);
    Compared {
        format: FORMAT,
        kind: one.kind(),
        a: one.name.clone(),
        b: other.name.clone(),
        environment: facts::differences(&one.environment, &other.environment),
        configuration: facts::differences(&one.configuration, &other.configuration),
        declared: declared + &floor,
        family,
        caveat: match (is_single, is_paired) {
            (true, _) => SINGLE,
            (false, true) => TOGETHER,
            (false, false) if is_same => SAME,
            (false, false) => DRIFT,
        },
        only: only(&ours, &theirs, "A")
            .into_iter()
            .chain(only(&theirs, &ours, "B"))
            .collect(),
        rows,
    }
}

/// One comparison for each server and workload, chosen by what was asked and not by what came out.
fn declared<'a>(
    both: &[&'a (Spot, usize)],
    is_scheduled: &dyn Fn(&Spot) -> bool,
) -> Vec<&'a (Spot, usize)> {
    let mut places: BTreeMap<(&str, &str), Vec<&'a Spot>> = BTreeMap::new();
    for (spot, _) in both {
        let spots = places.entry((&spot.workload, &spot.server)).or_default();
        if spots.last() != Some(&spot) {
            spots.push(spot);
        }
    }
    places
        .into_values()
        .filter_map(|spots| {
            let asked: Vec<u32> = spots.iter().map(|spot| spot.load.connections()).collect();
            let connections = declared_connections(&asked)?;
            let at: Vec<&&Spot> = spots
                .iter()
                .filter(|s| s.load.connections() == connections)
                .collect();
            let spot = **at.get((at.len() - 1) / 2)?;
            let main: &[&str] = if is_scheduled(spot) {
                &["p50"]
            } else {
                &["rate", "end", "course"]
            };
            both.iter()
                .copied()
                .find(|(other, metric)| other == spot && main.contains(&METRICS[*metric].name))
        })
        .collect()
}

fn sentence(kind: Kind, family: &Family) -> String {
    if family.comparisons == 0 {
        return "Declared: no comparison, because A and B have nothing in common of which one is \
                declared. All rows have an interval of their own and no answer."
            .to_owned();
    }
    let count = words::plural(family.comparisons as u64, "comparison");
    let what = match kind {
        Kind::Lab => {
            "one for each server and workload, at the number of connections nearest to 64: the \
             rate of a closed loop, the median response time of an open one"
        }
        Kind::Load => "the rate of a closed loop, the median response time of an open one",
        Kind::Probe => "one for each operation: its cost at the end",
    };
    format!(
        "Declared: {count} ({what}). The chance that any of their answers is a false difference \
         is at most {}. All other rows have an interval of their own and no answer.",
        words::share(family.alpha)
    )
}

fn only(
    ours: &BTreeMap<(Spot, usize), Values>,
    theirs: &BTreeMap<(Spot, usize), Values>,
    name: &str,
) -> Vec<String> {
    let mut places: Vec<&Spot> = ours.keys().map(|(spot, _)| spot).collect();
    places.dedup();
    places.retain(|spot| !theirs.keys().any(|(other, _)| other == *spot));
    places
        .into_iter()
        .map(|spot| format!("only {name} has {}", place(spot)))
        .collect()
}

/// A row that has no answer yet.
struct Draft<'a> {
    spot: &'a Spot,
    metric: &'static Metric,
    sides: [Value; 2],
    estimate: Option<Estimate>,
    forbidden: Option<String>,
    unspoilt: Option<usize>,
    /// Whether the estimate rests on bounds, of each side.
    bounds: [bool; 2],
    /// Of each side the rounds that the estimate leaves out, and those that it rests on although a
    /// rule objects to them.
    left_out: [usize; 2],
    objected: [usize; 2],
    is_declared: bool,
}

impl<'a> Draft<'a> {
    /// Where the rounds that nothing spoilt are too few, all rounds count as they were first
    /// measured: which rounds count depends on what else ran on the machine, and never on a result.
    fn new(
        (spot, metric): &'a (Spot, usize),
        [a, b]: [&Values; 2],
        is_paired: bool,
        declared: Option<&Family>,
    ) -> Self {
        let family = declared.copied().unwrap_or_default();
        let (comparisons, alpha) = (family.comparisons, family.alpha);
        let needed = match is_paired {
            true => rounds_needed(comparisons, alpha),
            false => rounds_needed_unpaired(comparisons, alpha),
        };
        let compare = |a: &Rounds, b: &Rounds| match is_paired {
            true => paired(&b.by_round, &a.by_round),
            false => unpaired(&b.counted, &a.counted),
        };
        let rounds = |estimate: &Option<Estimate>| {
            let sample = estimate.as_ref().map(|estimate| estimate.sample);
            sample.map_or(0, Sample::rounds)
        };
        let mut draft = Self {
            spot,
            metric: &METRICS[*metric],
            sides: [value(a), value(b)],
            estimate: compare(&a.unspoilt, &b.unspoilt),
            forbidden: None,
            unspoilt: None,
            bounds: [false; 2],
            left_out: [a, b].map(|side| side.left_out),
            objected: [0; 2],
            is_declared: declared.is_some(),
        };
        let mut taken = [a, b].map(|side| &side.unspoilt);
        let unspoilt = rounds(&draft.estimate);
        if unspoilt < needed {
            let of_all = compare(&a.first, &b.first);
            if rounds(&of_all) > unspoilt.max(1) {
                draft.estimate = of_all;
                draft.unspoilt = Some(unspoilt);
                draft.left_out = [0; 2];
                taken = [a, b].map(|side| &side.first);
            }
        }
        draft.objected = taken.map(Rounds::objected);
        draft.bounds = taken.map(Rounds::has_bounds);
        draft.forbidden = forbidden(taken, is_paired);
        draft.estimate.take_if(|_| draft.forbidden.is_some());
        draft
    }

    fn finish(self, answer: Option<Answer>, family: &Family) -> Row {
        let is_single = self
            .estimate
            .as_ref()
            .is_some_and(|found| found.interval.is_none())
            && self.unspoilt.is_none()
            && self.sides.iter().all(|side| side.rounds == 1);
        let ratio = self.estimate.as_ref().map(|estimate| estimate.ratio);
        let [of_a, of_b] = self.bounds;
        let is_known = |answer: &Answer| family.allows(answer, ratio, (of_b, of_a));
        let answer = match answer {
            _ if is_single => Answer::Single,
            Some(answer) if self.is_declared && is_known(&answer) => answer,
            _ => Answer::Undeclared,
        };
        let [a, b] = self.sides;
        let sample = self.estimate.as_ref().map(|estimate| estimate.sample);
        let rounds = sample.map_or(0, Sample::rounds);
        let interval = self.estimate.as_ref().and_then(|found| found.interval);
        let spread = self.estimate.as_ref().and_then(|found| found.spread);
        let mut row = Row {
            place: place(self.spot),
            metric: self.metric,
            quantity: self.metric.quantity,
            a,
            b,
            precision: Precision::of_ratio(interval.as_ref(), spread, rounds),
            estimate: self.estimate,
            is_declared: self.is_declared,
            answer,
            unspoilt: self.unspoilt,
            forbidden: self.forbidden,
            bounds: self.bounds,
            text: String::new(),
        };
        row.text = text(&row, rounds, [self.left_out, self.objected], family);
        row
    }
}

/// What is shown of a side does not depend on what it is compared with.
fn value(of: &Values) -> Value {
    let counted = of.unspoilt.median();
    let (median, at_least) = counted
        .or_else(|| of.first.median())
        .unwrap_or((f64::NAN, false));
    Value {
        median,
        rounds: of.unspoilt.counted.len(),
        left_out: of.left_out,
        at_least,
    }
}

/// The answer from so many `rounds`, or why there is none.
fn text(
    row: &Row,
    rounds: usize,
    [left_out, objected]: [[usize; 2]; 2],
    family: &Family,
) -> String {
    if let Some(why) = &row.forbidden {
        return format!("no answer: {why}");
    }
    if row.estimate.is_none() {
        let who = match (row.a.rounds, row.b.rounds) {
            (0, 0) => "A and B",
            (0, _) => "A",
            (_, 0) => "B",
            _ => return "no answer: A and B have no round in common that counts".to_owned(),
        };
        return format!("no answer: every round of {who} is disturbed");
    }
    let is_answered = !matches!(row.answer, Answer::Single | Answer::Undeclared);
    if let Some(who) = row.bound().filter(|_| !is_answered) {
        return match row.quantity {
            Quantity::PerSecond => format!(
                "no answer: the generator was the limit of {who}, so its rate is only a bound"
            ),
            _ => format!(
                "no answer: too few requests of {who} were answered for more than a lower bound"
            ),
        };
    }
    let mut text = match row.answer {
        Answer::Undeclared => row.precision.text(),
        answer => answer.text(row.metric.more, row.metric.less, family),
    };
    if let Some(unspoilt) = row.unspoilt {
        text.push_str(&format!(
            "; suspect, because it {}",
            rests_on_all(unspoilt, rounds)
        ));
        if row.a.rounds > 0 && row.b.rounds > 0 {
            text.push_str(&format!(
                "; what stands for A and B is of the {} and {} rounds that count of each",
                row.a.rounds, row.b.rounds
            ));
        }
    }
    for ([a, b], what) in [
        (left_out, "left out as disturbed"),
        (objected, "counted although a rule objects"),
    ] {
        let sides = [("A", a), ("B", b)].into_iter();
        let sides: Vec<String> = sides
            .filter(|(_, rounds)| *rounds > 0)
            .map(|(side, rounds)| format!("{} of {side}", words::plural(rounds as u64, "round")))
            .collect();
        if !sides.is_empty() {
            text.push_str(&format!("; {} {what}", words::list(&sides)));
        }
    }
    text
}

/// As people read it: `nginx, 7-byte file, 64 connections`.
fn place(spot: &Spot) -> String {
    let mut parts: Vec<String> = [&spot.server, &spot.workload]
        .into_iter()
        .filter(|part| !part.is_empty())
        .cloned()
        .collect();
    if !spot.load.is_empty() {
        parts.push(spot.load.text());
    }
    if parts.is_empty() {
        "the run".to_owned()
    } else {
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests;
