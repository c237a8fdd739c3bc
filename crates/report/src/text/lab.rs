//! A whole experiment: what it is worth, then a table for each workload.

use std::collections::BTreeMap;

use model::point::Values;
use model::{Claim, Severity, Status};
use verdict::analysis::{Measure, Standing};
use verdict::pairs::Sharpness;
use verdict::words;

use super::{LABEL, Style, WIDTH, labelled, worth, wrap};
use crate::number::{plain, time_us};
use crate::run::{Cell, Heard, Run, is_loud};

/// Columns of a server's name.
const NAME: usize = 14;

/// The whole of it. The verdict comes first.
pub fn lab(run: &Run, style: Style) -> String {
    let mut out = style.bold(&run.name) + "\n";
    for line in wrap(&run.question, WIDTH) {
        out.push_str(&line);
        out.push('\n');
    }
    out.push('\n');
    out.push_str(&answers(run));
    out.push_str(&points_worth(run, style));
    for note in &run.notes {
        out.push_str(&labelled("note", note));
    }
    out.push_str(&tables(run, style));
    out.push_str(&reasons(run, style));
    out.push('\n');
    out.push_str(&coverage(run));
    out
}

/// The analysis alone: the answers, and the numbers that they rest on; empty where nothing is a
/// round of a point.
pub fn analysis(run: &Run, style: Style) -> String {
    if run.rounds() == 0 {
        return String::new();
    }
    let mut out = answers(run);
    out.push_str(&points_worth(run, style));
    out.push_str(&tables(run, style));
    out
}

/// A table for each workload, and how to read it.
fn tables(run: &Run, style: Style) -> String {
    let mut out = String::new();
    for workload in run.workloads() {
        out.push('\n');
        out.push_str(&table(run, &workload, style));
    }
    out.push('\n');
    out.push_str(LEGEND);
    out
}

const LEGEND: &str = "\
rate/s    right answers per second: median over rounds and its 95 % interval;
          \">=\": the generator was the limit; in brackets: invalid, no result.
          The order is that of the medians; which differences are more than
          chance stands above
head      headroom: how far the generator was from its limit in the worst round
partial   valid, but some mandatory rule could not be evaluated
sharp     how precise the rate is, whatever it is worth: within 3 %; fair within
          10 %, rough beyond
";

/// How the servers compare, a sentence for each workload, and how certain that is.
fn answers(run: &Run) -> String {
    let mut out = String::new();
    for sentence in run.in_the_way() {
        for line in wrap(&sentence, WIDTH) {
            out.push_str(&format!("{line}\n"));
        }
    }
    if !out.is_empty() {
        out.push('\n');
    }
    let with_void = run.comparisons_with_void();
    for comparison in run.comparisons() {
        let said = [comparison.sentence()].into_iter();
        let said = said.chain(comparison.certainty()).chain(comparison.cost());
        let spoilt = with_void.iter().find(|o| o.workload == comparison.workload);
        let said = said
            .chain(spoilt.map(|o| format!("With the trials that do not count: {}", o.sentence())));
        for (place, sentence) in said.enumerate() {
            let indent = if place == 0 { "" } else { "  " };
            for line in wrap(&sentence.replace('µ', "u"), WIDTH - indent.len()) {
                out.push_str(&format!("{indent}{line}\n"));
            }
        }
        out.push('\n');
    }
    out
}

/// How many points are worth what.
fn points_worth(run: &Run, style: Style) -> String {
    let mut counts: BTreeMap<Status, usize> = BTreeMap::new();
    for workload in run.workloads() {
        for cell in run.cells(&workload) {
            *counts.entry(cell.status()).or_default() += 1;
        }
    }
    let all: usize = counts.values().sum();
    if all == 0 {
        return "No trial was measured.\n".to_owned();
    }
    let parts: Vec<String> = counts
        .iter()
        .map(|(status, count)| style.status(*status, &format!("{count} {status}")))
        .collect();
    format!(
        "Of {} over {}: {}.\n",
        words::plural(all as u64, "point"),
        words::plural(u64::from(run.rounds()), "round"),
        parts.join(", ")
    )
}

/// One workload: for each place on the grid, the servers by rate; then what it would take to know
/// all of them sharply.
fn table(run: &Run, workload: &str, style: Style) -> String {
    let heads = format!(
        "  {:<width$}{:>10} {:<19} {:>7} {:>7} {:>4} {}",
        "",
        "rate/s",
        "[95 %]",
        "CPU us",
        "p50",
        "head",
        "verdict",
        width = NAME - 1
    );
    let mut out = format!("{}\n{}\n", style.bold(workload), style.faint(&heads));
    let mut groups: BTreeMap<Values, Vec<Cell<'_>>> = BTreeMap::new();
    for cell in run.cells(workload) {
        groups.entry(cell.place().clone()).or_default().push(cell);
    }
    let ceilings = run.ceilings(workload);
    let mut blurred = Vec::new();
    for (place, mut cells) in groups {
        let ceiling = ceilings.get(&place).map_or_else(String::new, |ceiling| {
            format!(" (ceiling {}/s)", rate(ceiling))
        });
        out.push_str(&format!("{}{ceiling}\n", place.text()));
        let median = |cell: &Cell<'_>| cell.rate().map_or(0.0, |rate| rate.median);
        cells.sort_by(|one, other| median(other).total_cmp(&median(one)));
        for cell in &cells {
            out.push_str(&row(cell, style));
            blurred.extend(not_sharp(cell));
        }
    }
    if !blurred.is_empty() {
        out.push_str(&labelled("precision", &format!("{}.", blurred.join("; "))));
    }
    out
}

/// `>=62,345`, `(62,345)`.
fn rate(rate: &Measure) -> String {
    let shown = plain(rate.median);
    match rate.standing {
        Standing::AtLeast => format!(">={shown}"),
        Standing::Struck => format!("({shown})"),
        Standing::Doubtful | Standing::Sound => shown,
    }
}

/// How far a rate is from being sharp: `nginx at 64 connections is rough (within 24 %; about 380
/// rounds would make it sharp)`.
fn not_sharp(cell: &Cell<'_>) -> Option<String> {
    let rate = cell.rate()?;
    let is_told = rate.precision.sharpness != Sharpness::Sharp && rate.standing != Standing::Struck;
    is_told.then(|| {
        let (server, place) = (cell.server(), cell.place().text());
        format!("{server} at {place} is {}", rate.precision.text())
    })
}

fn row(cell: &Cell<'_>, style: Style) -> String {
    let Some(measure) = cell.rate() else {
        return format!("  {:<width$}{:>10}\n", cell.server(), "-", width = NAME - 1);
    };
    let interval = measure.interval.map_or_else(String::new, |(low, high)| {
        format!("[{} {}]", plain(low), plain(high))
    });
    let time = |measure: Option<Measure>| {
        measure.map_or_else(|| "-".to_owned(), |us| time_us(us.median).replace('µ', "u"))
    };
    let cpu = cell.value(Claim::Resources, |digest| digest.cpu_us);
    let cpu = cpu.map_or_else(|| "-".to_owned(), |cpu| crate::number::digits(cpu.median));
    let p50 = time(cell.value(cell.response_claim(), |digest| digest.response_us(0)));
    let headroom = cell
        .rounds
        .iter()
        .filter(|digest| !digest.is_left_out())
        .filter_map(|digest| digest.headroom)
        .min_by(f64::total_cmp)
        .map_or_else(|| "-".to_owned(), |headroom| format!("{headroom:.1}"));
    let (before, name) = if cell.server().chars().count() < NAME {
        (String::new(), cell.server())
    } else {
        (format!("  {}\n", cell.server()), "")
    };
    let line = format!(
        "  {name:<width$}{:>10} {interval:<19} {cpu:>7} {p50:>7} {headroom:>4} {} {}",
        rate(&measure),
        worst(cell, style),
        measure.precision.sharpness.word(),
        width = NAME - 1
    );
    format!("{before}{}\n", line.trim_end())
}

/// What a point is worth: the worst of its rounds.
fn worst(cell: &Cell<'_>, style: Style) -> String {
    let status = cell.status();
    let partial = cell.claims().values().any(|(_, partial)| *partial);
    let text = if status == Status::Valid && partial {
        "partial"
    } else {
        status.name()
    };
    style.status(status, &format!("{text:<7}"))
}

/// Each rule that objected, once, with how often it did.
fn reasons(run: &Run, style: Style) -> String {
    let mut out = String::new();
    for heard in run.heard() {
        if !is_loud(&heard.finding) {
            continue;
        }
        out.push('\n');
        out.push_str(&reason(heard, style));
        let mut places: Vec<String> = heard
            .points
            .iter()
            .take(4)
            .map(|id| format!("{} {} {}", id.server, id.workload, id.load.slug()))
            .collect();
        let more = heard.points.len().saturating_sub(places.len());
        if more > 0 {
            places.push(format!("{more} more"));
        }
        out.push_str(&labelled("", &format!("at {}", places.join(", "))));
    }
    out
}

fn reason(heard: &Heard, style: Style) -> String {
    let (finding, trials) = (&heard.finding, heard.trials);
    let severity = finding.worst();
    debug_assert!(severity > Severity::Note);
    let mut out = format!(
        "{:<LABEL$}{} in {}\n",
        finding.rule,
        style.severity(severity, severity.name()),
        words::plural(trials as u64, "trial")
    );
    let which = match heard.points.as_slice() {
        [first, _, ..] => format!(
            "At {} {} {}: ",
            first.server,
            first.workload,
            first.load.slug()
        ),
        _ => String::new(),
    };
    out.push_str(&labelled("", &format!("{which}{}", finding.say)));
    for fix in &finding.fix {
        out.push_str(&labelled("", &format!("-> {fix}")));
    }
    out
}

/// What no rule could look at, or need not be told: what silence rests on.
fn coverage(run: &Run) -> String {
    let mut out = String::new();
    let mut tell = |rule: &str, what: String| {
        let label = if out.is_empty() { "rules" } else { "" };
        out.push_str(&labelled(label, &format!("{rule} {what}")));
    };
    for (rule, (missing, trials)) in run.unread() {
        let trials = words::plural(*trials as u64, "trial");
        let partial = worth::partial_claims(rule);
        tell(
            rule,
            format!("unknown in {trials}: could not read {missing}{partial}"),
        );
    }
    for (rule, (why, trials)) in run.cannot_apply() {
        let trials = words::plural(*trials as u64, "trial");
        let partial = worth::partial_claims(rule);
        tell(rule, format!("cannot judge {trials}: {why}{partial}"));
    }
    for (rule, causes) in run.explained() {
        let causes: Vec<String> = causes
            .iter()
            .map(|(cause, trials)| format!("{cause} in {}", words::plural(*trials as u64, "trial")))
            .collect();
        tell(
            rule,
            format!("is not told: its cause is, by {}", words::list(&causes)),
        );
    }
    if out.is_empty() {
        return labelled("rules", "every rule that applies could read what it needs");
    }
    out
}
