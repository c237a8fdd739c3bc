//! A whole experiment: what it is worth, then a table for each workload.

use std::collections::BTreeMap;

use model::point::Values;
use model::{Claim, Severity, Status};
use verdict::pairs::paired;
use verdict::words;

use super::{LABEL, Style, WIDTH, labelled, wrap};
use crate::chart::Standing;
use crate::number::time_us;
use crate::run::{Cell, Heard, Run, is_loud};

/// Columns of a server's name.
const NAME: usize = 16;

/// The whole of it. The verdict comes first.
pub fn lab(run: &Run, style: Style) -> String {
    let mut out = style.bold(&run.name) + "\n";
    for line in wrap(&run.question, WIDTH) {
        out.push_str(&line);
        out.push('\n');
    }
    out.push('\n');
    out.push_str(&answers(run));
    out.push_str(&worth(run, style));
    for note in &run.notes {
        out.push_str(&labelled("note", note));
    }
    for workload in run.workloads() {
        out.push('\n');
        out.push_str(&table(run, &workload, style));
    }
    out.push('\n');
    out.push_str(LEGEND);
    out.push_str(&reasons(run, style));
    out
}

const LEGEND: &str = "\
rate/s    right answers per second: median over rounds and its 95 % interval;
          \">=\": the generator was the limit; in brackets: invalid, no result
=         not distinguishable from the fastest at 95 % (paired rounds)
head      headroom: how far the generator was from its limit in the worst round
partial   valid, but some mandatory rule could not be evaluated
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
            for line in wrap(&sentence, WIDTH - indent.len()) {
                out.push_str(&format!("{indent}{line}\n"));
            }
        }
        out.push('\n');
    }
    out
}

/// How many points are worth what.
fn worth(run: &Run, style: Style) -> String {
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

/// One workload: for each number of connections, the servers by rate.
fn table(run: &Run, workload: &str, style: Style) -> String {
    let heads = format!(
        "  {:<NAME$}{:>10} {:<19} {:>8} {:>8} {:>5} {}",
        "", "rate/s", "[95 %]", "CPU us", "p50", "head", "verdict"
    );
    let mut out = format!("{}\n{}\n", style.bold(workload), style.faint(&heads));
    let mut groups: BTreeMap<Values, Vec<Cell<'_>>> = BTreeMap::new();
    for cell in run.cells(workload) {
        groups.entry(cell.place().clone()).or_default().push(cell);
    }
    for (place, mut cells) in groups {
        out.push_str(&format!(
            "{}{}\n",
            place.text(),
            ceiling(run, workload, &place)
        ));
        let rate = |cell: &Cell<'_>| cell.rate().map_or(0.0, |rate| rate.median);
        cells.sort_by(|one, other| rate(other).total_cmp(&rate(one)));
        for cell in &cells {
            out.push_str(&row(cell, cells.first(), style));
        }
    }
    out
}

/// The ceiling's median at that place.
fn ceiling(run: &Run, workload: &str, place: &Values) -> String {
    let rates: Vec<f64> = run
        .ceilings(workload)
        .iter()
        .filter(|digest| digest.id.load == *place)
        .map(|digest| digest.rate)
        .collect();
    verdict::summary::Rounds::of(rates).map_or_else(String::new, |rates| {
        format!(" (ceiling {}/s)", words::rate(rates.median))
    })
}

fn row(cell: &Cell<'_>, fastest: Option<&Cell<'_>>, style: Style) -> String {
    let Some(rate) = cell.rate() else {
        return format!("  {:<NAME$}{:>10}\n", cell.server(), "-");
    };
    let shown = words::rate(rate.median);
    let shown = match rate.standing {
        Standing::AtLeast => format!(">={shown}"),
        Standing::Struck => format!("({shown})"),
        Standing::Doubtful | Standing::Sound => shown,
    };
    let interval = rate.interval.map_or_else(String::new, |(low, high)| {
        format!("[{} {}]", words::rate(low), words::rate(high))
    });
    let cpu = cell
        .value(Claim::Resources, |digest| digest.cpu_us)
        .map_or_else(|| "-".to_owned(), |cpu| format!("{:.2}", cpu.median));
    let p50 = cell
        .value(Claim::Latency, |digest| digest.response_us(0))
        .map_or_else(|| "-".to_owned(), |us| time_us(us.median).replace('µ', "u"));
    let headroom = cell
        .rounds
        .iter()
        .filter_map(|digest| digest.headroom)
        .min_by(f64::total_cmp)
        .map_or_else(|| "-".to_owned(), |headroom| format!("{headroom:.1}"));
    let mark = match fastest {
        Some(fastest) if fastest.server() != cell.server() && alike(fastest, cell) => "=",
        _ => " ",
    };
    let (before, name) = if cell.server().chars().count() < NAME {
        (String::new(), cell.server())
    } else {
        (format!("  {}\n", cell.server()), "")
    };
    format!(
        "{before}  {name:<width$}{mark}{shown:>10} {interval:<19} {cpu:>8} {p50:>8} {headroom:>5} \
         {}\n",
        worst(cell, style),
        width = NAME - 1
    )
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
    style.status(status, text)
}

/// Whether the rounds that count for both cannot tell the two apart at 95 %.
fn alike(one: &Cell<'_>, other: &Cell<'_>) -> bool {
    let rates = |cell: &Cell<'_>| -> BTreeMap<u32, f64> {
        let counting = cell
            .rounds
            .iter()
            .filter(|digest| digest.rate_standing() != Standing::Struck);
        counting.map(|digest| (digest.round, digest.rate)).collect()
    };
    paired(&rates(one), &rates(other))
        .and_then(|estimate| estimate.interval)
        .is_none_or(|interval| interval.contains(1.0))
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
