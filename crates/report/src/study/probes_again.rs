//! The numbers of a page about the kernel, each held against a second run of the same probes.

use std::fmt::Write as _;

use model::probe::{Class, Growth, ProbeDemand, ProbeResult, ProbeShown, ProbesFile};
use verdict::pairs::held;

use super::again::{HEADING, Kind, Outcome, Row, table, told_of};
use super::machine;
use super::probes::{AgainOfProbes, counted, doubts};
use crate::asked::Told;
use crate::number::{Unit, times};
use crate::probe::{Operation, Side, asked, operations};

/// What the whole table means.
const MEANS: &str = "\
A curve disagrees where no class of growth is possible in both runs, and a number where the interval
(95 %) of the second run in terms of the first leaves out 1. A time depends on the speed that the
machine had that day, too.
";

/// The names of the two sides.
const FIRST: &str = "first";
const SECOND: &str = "second";

/// The section.
pub(super) fn section(
    file: &ProbesFile,
    first: &[ProbeResult],
    second: AgainOfProbes<'_>,
) -> String {
    let mut out = HEADING.to_owned();
    if let Some(result) = second.results.first() {
        out.push_str(&machine(&result.environment));
    }
    out.push_str(&counted(second.results, second.record));
    let _ = write!(out, "\n{}", doubts(second.results));
    let sides = [(FIRST, first), (SECOND, second.results)];
    let sides = sides.map(|(name, results)| Side { name, results });
    let mut rows: Vec<Row> = operations(&sides).iter().flat_map(curve).collect();
    rows.extend(file.asked.iter().filter_map(|demand| {
        // What one operation costs stands with its curve.
        let is_told = demand.against.is_none() && demand.show != Some(ProbeShown::Speed);
        if is_told {
            return None;
        }
        row(first, second.results, demand)
    }));
    let _ = write!(out, "\n{MEANS}\n{}", told_of(&rows));
    out.push_str(&table(&rows));
    out
}

/// How the cost of an operation grows, by how much, and what it costs at the end.
fn curve(operation: &Operation<'_>) -> Vec<Row> {
    let growth = operation.growth();
    let of = |name: &str| growth.iter().find(|(side, _)| *side == name);
    let Some((_, first)) = of(FIRST) else {
        return Vec::new();
    };
    let second = of(SECOND).map(|(_, growth)| *growth);
    let row = |what: &str, kind, outcome, shown: &dyn Fn(&Growth) -> String| Row {
        place: format!("{what}, {}", operation.name()),
        first: shown(first),
        second: second.map_or_else(|| "–".to_owned(), shown),
        rounds: Vec::new(),
        kind,
        outcome,
    };
    let mut rows = vec![row(
        "class of growth",
        Kind::Curve,
        classes(first, second),
        &Growth::word,
    )];
    if first.classes.is_empty() {
        return rows;
    }
    let ends = |name: &str| {
        let (_, result) = operation.sides.iter().find(|(side, _)| *side == name)?;
        verdict::growth::ends(&result.points(&operation.series))
    };
    let compared = |of: fn((f64, f64)) -> f64| {
        let values = |name: &str| -> Vec<f64> {
            let ends = ends(name).unwrap_or_default();
            ends.into_iter().map(of).collect()
        };
        match second {
            None => Outcome::Not("not measured in the second".to_owned()),
            Some(_) => Outcome::Held(held(&values(FIRST), &values(SECOND))),
        }
    };
    let times_more = |growth: &Growth| format!("{} ×", times(growth.ratio.0));
    rows.push(row(
        "the end relative to the beginning",
        Kind::Ratio,
        compared(|(first, last)| last / first),
        &times_more,
    ));
    let at_end = |growth: &Growth| Unit::Nanoseconds.show(growth.typical_ns.1);
    rows.push(row(
        "cost of a call at the end",
        Kind::Number,
        compared(|(_, last)| last),
        &at_end,
    ));
    rows
}

/// Whether one class of growth is possible in both.
fn classes(first: &Growth, second: Option<&Growth>) -> Outcome {
    let not = |why: &str| Outcome::Not(why.to_owned());
    let Some(second) = second else {
        return not("not measured in the second");
    };
    let is_possible = |class: &Class| second.classes.contains(class);
    match (first.classes.is_empty(), second.classes.is_empty()) {
        (true, _) => not("unclear in the first"),
        (false, true) => not("unclear in the second"),
        _ if first.classes.iter().any(is_possible) => Outcome::Same,
        _ => Outcome::Other,
    }
}

/// A number that was asked for.
fn row(first: &[ProbeResult], second: &[ProbeResult], demand: &ProbeDemand) -> Option<Row> {
    let number = |results| match asked::told(results, demand) {
        Told::Number(number) => Some(number),
        Told::Not(_) => None,
    };
    let (rounds, is_ratio) = asked::passes(first, demand)?;
    let ours = number(first)?;
    let theirs = number(second).zip(asked::passes(second, demand));
    let outcome = match &theirs {
        None => Outcome::Not("not measured in the second".to_owned()),
        Some((_, (passes, _))) => Outcome::Held(held(&rounds, passes)),
    };
    Some(Row {
        place: ours.place,
        first: ours.value,
        second: theirs.map_or_else(|| "–".to_owned(), |(number, _)| number.value),
        rounds,
        kind: match is_ratio {
            true => Kind::Ratio,
            false => Kind::Number,
        },
        outcome,
    })
}
