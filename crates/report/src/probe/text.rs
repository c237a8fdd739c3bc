//! What a terminal shows: a row for each operation, then the sentences of those that grow.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::probe::{AxisKind, Class, Growth, ProbeResult};

use super::{Operation, Side, answer, of_each_pass, operations};
use crate::number::Unit;

/// Columns of the sentence above the rows.
const ANSWER_WIDTH: usize = 80;

/// The answer in a sentence, then a row for each operation: the class first, then what one call
/// costs.
pub fn table(side: &Side<'_>) -> String {
    let operations = operations(std::slice::from_ref(side));
    let width = operations
        .iter()
        .map(|operation| operation.name().len())
        .chain(side.results.iter().map(|result| result.label().len()))
        .max()
        .unwrap_or(0)
        .max("operation".len());
    let mut text = String::new();
    if let Some(said) = answer(&operations) {
        for line in crate::text::wrap(&said, ANSWER_WIDTH) {
            let _ = writeln!(text, "{line}");
        }
        text.push('\n');
    }
    if operations.iter().any(|one| !one.growth().is_empty()) {
        let _ = writeln!(
            text,
            "{:<width$}  {:<36} {:>10} {:>10}  end over beginning",
            "operation", "growth", "beginning", "end"
        );
    }
    for operation in &operations {
        for (_, growth) in operation.growth() {
            row(&mut text, &operation.name(), growth, width);
            if growth.classes.is_empty() {
                numbers(&mut text, operation, width);
            }
        }
    }
    for result in side.results {
        if result.kind == AxisKind::Progress {
            progress(&mut text, result, width);
        }
    }
    let told: Vec<(String, &Growth)> = operations
        .iter()
        .flat_map(|operation| {
            let growth = operation.growth();
            growth
                .into_iter()
                // The row of an operation without a class holds its sentence already.
                .filter(|(_, growth)| !matches!(growth.classes[..], [] | [Class::Flat]))
                .map(|(_, growth)| (operation.name(), growth))
        })
        .collect();
    if !told.is_empty() {
        text.push('\n');
    }
    for (name, growth) in told {
        let _ = writeln!(text, "{name}: {}.", growth.sentence);
    }
    let shared = shared(side.results);
    for (name, value) in &shared {
        let _ = writeln!(text, "all: {name} {value}.");
    }
    for result in side.results {
        if let Some(note) = &result.note {
            let _ = writeln!(text, "{}: {note}.", result.label());
        }
        let facts: Vec<String> = result
            .facts
            .iter()
            .filter(|fact| !shared.contains(fact))
            .map(|(name, value)| format!("{name} {}", of_each_pass(result, name, value)))
            .collect();
        if !facts.is_empty() && !result.passes.is_empty() {
            let _ = writeln!(text, "{}: {}.", result.label(), facts.join(", "));
        }
    }
    text
}

/// Facts that are the same of all results: what is true of the machine or of the user is said once.
pub(crate) fn shared(results: &[ProbeResult]) -> Vec<(&String, &String)> {
    let measured = || results.iter().filter(|result| !result.passes.is_empty());
    let first = measured().next().filter(|_| measured().count() > 1);
    first.map_or_else(Vec::new, |first| {
        let facts = first.facts.iter();
        let in_all = |fact: &(&String, &String)| {
            measured().all(|result| result.facts.get(fact.0) == Some(fact.1))
        };
        facts.filter(in_all).collect()
    })
}

fn row(text: &mut String, name: &str, growth: &Growth, width: usize) {
    let confidence = match growth.classes.as_slice() {
        [_] => format!("{} ({:.0} %)", growth.word(), growth.confidence * 100.0),
        _ => growth.word(),
    };
    if growth.classes.is_empty() {
        let _ = writeln!(text, "{name:<width$}  {confidence:<36} {}", growth.sentence);
        return;
    }
    let (ratio, low, high) = growth.ratio;
    let bounds = if low > 0.0 {
        format!("{ratio:.2} ({low:.2} to {high:.2})")
    } else {
        format!("{ratio:.2}")
    };
    let _ = writeln!(
        text,
        "{name:<width$}  {confidence:<36} {:>10} {:>10}  {bounds}",
        Unit::Nanoseconds.show(growth.typical_ns.0),
        Unit::Nanoseconds.show(growth.typical_ns.1),
    );
}

/// Of an operation without a class, what was measured: so many points at most, evenly spread.
const SHOWN: usize = 8;

/// The median over the passes at some of the points.
fn numbers(text: &mut String, operation: &Operation<'_>, width: usize) {
    let mut at: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (_, result) in &operation.sides {
        for (n, ns) in result.points(&operation.series).into_iter().flatten() {
            at.entry(n).or_default().push(ns);
        }
    }
    let medians = at.into_iter().map(|(n, mut ns)| {
        ns.sort_by(f64::total_cmp);
        (n, ns[ns.len() / 2])
    });
    let medians: Vec<(u32, f64)> = medians.collect();
    let last = medians.len().saturating_sub(1);
    let mut shown: Vec<usize> = (0..SHOWN).map(|i| i * last / (SHOWN - 1)).collect();
    shown.dedup();
    let shown = shown.into_iter().filter_map(|index| medians.get(index));
    let shown: Vec<String> = shown
        .map(|(n, ns)| format!("{} at {n}", Unit::Nanoseconds.show(*ns)))
        .collect();
    if !shown.is_empty() {
        let _ = writeln!(text, "{:<width$}  measured: {}", "", shown.join(", "));
    }
}

/// A course in time: megabytes per second, the slowest, the median and the fastest megabyte.
fn progress(text: &mut String, result: &ProbeResult, width: usize) {
    for series in result.series_names() {
        let mut rates: Vec<f64> = result
            .points(series)
            .into_iter()
            .flatten()
            .map(|(_, ns)| 1e9 / ns)
            .collect();
        if rates.is_empty() {
            continue;
        }
        rates.sort_by(f64::total_cmp);
        let _ = writeln!(
            text,
            "{:<width$}  MB/s: slowest {:.0}, median {:.0}, fastest {:.0}",
            result.label(),
            rates[0],
            rates[rates.len() / 2],
            rates[rates.len() - 1]
        );
    }
}

/// A row for each operation that both sides have: both classes, and how many times dearer the
/// second is at both ends.
pub fn comparison(sides: &[Side<'_>; 2]) -> String {
    let operations = operations(sides);
    let shared: Vec<&Operation<'_>> = operations
        .iter()
        .filter(|operation| operation.sides.len() == 2)
        .collect();
    let mut text = format!("A: {}\nB: {}\n\n", sides[0].name, sides[1].name);
    let width = operations
        .iter()
        .map(|one| one.name().len())
        .max()
        .unwrap_or(0)
        .max(9);
    let _ = writeln!(
        text,
        "{:<width$}  {:<36} {:<36} {:>12} {:>12}",
        "operation", "growth of A", "growth of B", "B/A at first", "B/A at last"
    );
    for operation in &shared {
        let [(_, a), (_, b)] = operation.growth()[..] else {
            continue;
        };
        let note = if a.agrees_with(b) {
            ""
        } else {
            "  another class"
        };
        let times = |a: f64, b: f64| {
            if a > 0.0 && b > 0.0 {
                format!("{:.2}", b / a)
            } else {
                "–".to_owned()
            }
        };
        let _ = writeln!(
            text,
            "{:<width$}  {:<36} {:<36} {:>12} {:>12}{note}",
            operation.name(),
            a.word(),
            b.word(),
            times(a.typical_ns.0, b.typical_ns.0),
            times(a.typical_ns.1, b.typical_ns.1),
        );
    }
    for operation in operations.iter().filter(|one| one.sides.len() < 2) {
        let only = operation.sides.first().map_or("", |(side, _)| side);
        let _ = writeln!(text, "{:<width$}  only in {only}", operation.name());
    }
    text
}
