//! A whole experiment: what it is worth, then a table for each workload.

use std::collections::BTreeMap;

use model::point::{PROTOCOL, Values};
use model::{Claim, PointId, Severity, Status};
use verdict::analysis::{Measure, Standing};
use verdict::pairs::{Precision, Sharpness};
use verdict::words;

use super::legend::legend;
use super::steps::{pages, steps};
use super::{LABEL, Style, worth, wrap};
use crate::digests::{Cell, Heard, Run, is_loud};
use crate::number::{plain, time_us};

/// Columns of a server's name.
pub(super) const NAME: usize = 14;

/// The whole of it. The verdict comes first.
pub fn lab(run: &Run, style: Style) -> String {
    let mut out = style.bold(&run.name) + "\n";
    out.push_str(&style.paragraph(&run.question));
    out.push('\n');
    out.push_str(&answers(run, style));
    out.push_str(&points_worth(run, style));
    out.push_str(&protocol(run, style));
    for note in &run.said_first() {
        out.push_str(&style.labelled("note", note));
    }
    out.push_str(&tables(run, style));
    out.push_str(&reasons(run, style));
    out.push('\n');
    out.push_str(&coverage(run, style));
    out
}

/// The analysis alone: the answers, and the numbers that they rest on; empty where nothing is a
/// round of a point.
pub fn analysis(run: &Run, style: Style) -> String {
    if run.rounds() == 0 {
        return String::new();
    }
    let mut out = answers(run, style);
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
    for (name, meaning) in legend(&out) {
        out.push_str(&style.labelled(name, meaning));
    }
    out
}

/// How the servers compare, a sentence for each workload, and how certain that is.
fn answers(run: &Run, style: Style) -> String {
    let mut out = String::new();
    for sentence in run.in_the_way() {
        out.push_str(&style.paragraph(&sentence));
    }
    if !out.is_empty() {
        out.push('\n');
    }
    for (comparison, spoilt) in run.answers() {
        let said = [comparison.sentence()].into_iter();
        let said = said.chain(comparison.certainty()).chain(comparison.cost());
        let said = said
            .chain(crate::ranks::sentence(&comparison))
            .chain(spoilt);
        for (place, sentence) in said.enumerate() {
            let indent = if place == 0 { "" } else { "  " };
            for line in wrap(&sentence, style.width - indent.len()) {
                out.push_str(&format!("{indent}{line}\n"));
            }
        }
        out.push('\n');
    }
    out
}

/// What connections of all servers spoke, where that is one thing and more than HTTP/1.1 in clear:
/// where servers differ in it, their names tell.
fn protocol(run: &Run, style: Style) -> String {
    let measured = run.digests().iter().filter(|one| !one.ceiling);
    let mut values = measured.filter_map(|one| one.id.value(PROTOCOL));
    match values.next().map(ToString::to_string) {
        Some(first) if first != "http1" && values.all(|other| other.to_string() == first) => {
            style.labelled("protocol", &format!("all connections spoke {first}"))
        }
        _ => String::new(),
    }
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

/// One workload: for each place on the grid, the servers by rate, or by response time where the
/// rate was asked for; then what it would take to know all of them sharply.
fn table(run: &Run, workload: &str, style: Style) -> String {
    let mut groups: BTreeMap<Values, Vec<Cell<'_>>> = BTreeMap::new();
    for cell in run.cells(workload) {
        groups.entry(cell.place().clone()).or_default().push(cell);
    }
    let is_open = groups.keys().any(|place| place.rate().is_some());
    let mut out = format!("{}\n", style.bold(workload));
    out.push_str(&heads(is_open, style));
    let ceilings = run.ceilings(workload);
    let mut blurred = Vec::new();
    for (place, mut cells) in groups {
        out.push_str(&place.text());
        out.push_str(&ceilings_at(&ceilings, &place));
        out.push('\n');
        let key = |cell: &Cell<'_>| match (cell.place().rate(), cell.rate()) {
            (Some(_), _) => cell
                .response(P50)
                .map_or(f64::MAX, |p50| p50.measure.median),
            (None, rate) => rate.map_or(0.0, |rate| -rate.median),
        };
        cells.sort_by(|one, other| key(one).total_cmp(&key(other)));
        for cell in &cells {
            out.push_str(&if cell.place().rate().is_some() {
                row_of_times(cell, style)
            } else {
                row(cell, style)
            });
        }
        out.push_str(&steps(&cells, style));
        out.push_str(&pages(&cells, style));
        blurred.extend(cells.iter().filter_map(not_sharp));
    }
    for found in run.searches(workload) {
        let (server, place) = (found.server, found.place.text());
        let said = format!(
            "{server}, {place}: {} while {} ({})",
            found.interval(),
            found.objective,
            found.rests_on()
        );
        out.push_str(&style.labelled("capacity", &said));
    }
    if !blurred.is_empty() {
        out.push_str(&style.labelled("precision", &to_be_sharp(&blurred)));
    }
    let sources = run.sources_of_ceilings(workload);
    for said in sources.into_iter().chain(run.above_ceilings(workload)) {
        out.push_str(&style.labelled("ceiling", &said));
    }
    out
}

/// What the generator itself could do there.
fn ceilings_at(ceilings: &BTreeMap<String, BTreeMap<&Values, Measure>>, place: &Values) -> String {
    let said = |(kind, places): (&String, &BTreeMap<&Values, Measure>)| {
        let ceiling = rate(places.get(place)?);
        Some(match kind.as_str() {
            "" => format!("ceiling {ceiling}/s"),
            kind => format!("ceiling {ceiling}/s of {kind}"),
        })
    };
    let all: Vec<String> = ceilings.iter().filter_map(said).collect();
    if all.is_empty() {
        return String::new();
    }
    format!(" ({})", all.join("; "))
}

/// Positions in the list of quantiles.
const P50: usize = 0;
const P99: usize = 4;

/// The heads of the columns.
fn heads(is_open: bool, style: Style) -> String {
    let interval = if style.is_narrow() { "" } else { "[95 %]" };
    let line = if is_open {
        format!(
            "{}{:>9} {}{:>8} {:>6} {}verdict",
            " ".repeat(NAME),
            "p50",
            beside(interval, 18, style),
            "p99",
            "CPU µs",
            beside("  got/s", 7, style),
        )
    } else {
        format!(
            "{}{:>10} {}{:>7} {:>8} {:>4} verdict",
            " ".repeat(NAME),
            "rate/s",
            beside(interval, 19, style),
            "CPU µs",
            "p50",
            "head",
        )
    };
    style.faint(line.trim_end()) + "\n"
}

/// A column that a narrow terminal has no room for, and a blank.
fn beside(text: &str, width: usize, style: Style) -> String {
    if style.is_narrow() {
        String::new()
    } else {
        format!("{text:<width$} ")
    }
}

/// An interval on a line of its own, where it has no column.
fn below(interval: &str, style: Style) -> String {
    if style.is_narrow() && !interval.is_empty() {
        format!("{}{interval}\n", " ".repeat(NAME + 2))
    } else {
        String::new()
    }
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

/// `[62,000 63,000]`, `[62,000 …]` where nobody knows how far it reaches.
fn interval(measure: &Measure, show: fn(f64) -> String) -> String {
    match measure.interval {
        None => String::new(),
        Some((low, _)) if measure.is_open_above => format!("[{} …]", show(low)),
        Some((low, high)) => format!("[{} {}]", show(low), show(high)),
    }
}

/// How precise the first number of a row is, where that is a result and not sharp.
fn not_sharp(cell: &Cell<'_>) -> Option<Precision> {
    let first = match cell.place().rate() {
        Some(_) => cell.response(P50)?.measure,
        None => cell.rate()?,
    };
    let is_sharp = first.precision.sharpness == Sharpness::Sharp;
    (!is_sharp && first.standing != Standing::Struck).then_some(first.precision)
}

/// How many rounds those that are not sharp would take: `5 points are not sharp. That would take 29
/// to 822 rounds.`
fn to_be_sharp(blurred: &[Precision]) -> String {
    let known = || blurred.iter().filter_map(|one| one.rounds_to_be_sharp);
    let (least, most) = (known().min(), known().max());
    let rounds = match (least, most, known().count() < blurred.len()) {
        (None, _, _) | (_, None, _) => "more rounds than anyone runs".to_owned(),
        (Some(least), _, true) => format!("{} rounds or more", words::count(least)),
        (Some(least), Some(most), false) if least == most => {
            format!("about {} rounds", words::count(most))
        }
        (Some(least), Some(most), false) => {
            format!("{} to {} rounds", words::count(least), words::count(most))
        }
    };
    let (verb, them) = if blurred.len() == 1 {
        ("is", "it")
    } else {
        ("are", "them")
    };
    format!(
        "{} {verb} not sharp. It would take {rounds} to make {them} sharp.",
        words::plural(blurred.len() as u64, "point")
    )
}

fn row(cell: &Cell<'_>, style: Style) -> String {
    let Some(measure) = cell.rate() else {
        return format!("  {:<width$}{:>10}\n", cell.server(), "-", width = NAME - 2);
    };
    let interval = interval(&measure, plain);
    let headroom = cell
        .headroom()
        .map_or_else(|| "-".to_owned(), |headroom| format!("{headroom:.1}"));
    let line = format!(
        "{:>10} {}{:>7} {:>8} {headroom:>4} {}",
        rate(&measure),
        beside(&interval, 19, style),
        cost(cell),
        time(cell, P50),
        worth_of(cell, &measure, style),
    );
    let (line, below) = (named(cell, &line), below(&interval, style));
    format!("{line}{below}{}", invalid_claims(cell))
}

/// The same where the rate was asked for: what servers differ by is how long they take.
fn row_of_times(cell: &Cell<'_>, style: Style) -> String {
    // More than half of what was asked may have failed: then the rate is what is left to say.
    let p50 = cell.response(P50).map(|p50| p50.measure);
    let got = cell.rate();
    let Some(shown) = p50.as_ref().or(got.as_ref()) else {
        return format!("  {:<width$}{:>10}\n", cell.server(), "-", width = NAME - 2);
    };
    let interval = p50
        .as_ref()
        .map_or_else(String::new, |p50| interval(p50, time_us));
    let worth = worth_of(cell, shown, style);
    let got = got.map_or_else(|| "-".to_owned(), |got| rate(&got));
    let line = format!(
        "{:>9} {}{:>8} {:>6} {}{}",
        match p50.map(|p50| p50.standing) {
            Some(Standing::Struck) => format!("({})", time(cell, P50)),
            _ => time(cell, P50),
        },
        beside(&interval, 18, style),
        time(cell, P99),
        cost(cell),
        beside(&format!("{got:>7}"), 7, style),
        worth,
    );
    let (line, below) = (named(cell, &line), below(&interval, style));
    format!("{line}{below}{}", invalid_claims(cell))
}

/// A line with the claims in which a point is invalid; nothing where it is in none.
fn invalid_claims(cell: &Cell<'_>) -> String {
    let claims = cell.claims().into_iter();
    let invalid = claims.filter(|(_, (status, _))| *status == Status::Invalid);
    let names: Vec<&str> = invalid.map(|(claim, _)| claim.name()).collect();
    match names.is_empty() {
        true => String::new(),
        false => format!("{:NAME$}  invalid: {}\n", "", names.join(", ")),
    }
}

/// The line of a server; a long name stands on a line of its own.
pub(super) fn named(cell: &Cell<'_>, line: &str) -> String {
    let (before, name) = if cell.server().chars().count() < NAME {
        (String::new(), cell.server())
    } else {
        (format!("  {}\n", cell.server()), "")
    };
    let line = format!("  {name:<width$}{line}", width = NAME - 2);
    format!("{before}{}\n", line.trim_end())
}

/// A quantile of response time, marked where only some of the rounds carry it.
fn time(cell: &Cell<'_>, position: usize) -> String {
    let Some(found) = cell.response(position) else {
        return "-".to_owned();
    };
    let least = match found.measure.standing {
        Standing::AtLeast => ">=",
        _ => "",
    };
    let partial = if found.is_partial() { "*" } else { "" };
    format!("{least}{}{partial}", time_us(found.measure.median))
}

fn cost(cell: &Cell<'_>) -> String {
    let cpu = cell.value(Claim::Resources, |digest| digest.cpu_us);
    cpu.map_or_else(|| "-".to_owned(), |cpu| crate::number::digits(cpu.median))
}

fn worth_of(cell: &Cell<'_>, measure: &Measure, style: Style) -> String {
    let precision = measure.precision.sharpness.word();
    format!("{} {precision}", worst(cell, style))
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
        let mut places: Vec<String> = heard.points.iter().take(4).map(place).collect();
        let more = heard.points.len().saturating_sub(places.len());
        if more > 0 {
            places.push(format!("{more} more"));
        }
        out.push_str(&style.labelled("", &format!("at {}", places.join("; "))));
    }
    out
}

/// `nginx, small, 64 connections`.
fn place(id: &PointId) -> String {
    format!("{}, {}, {}", id.server, id.workload, id.load.text())
}

fn reason(heard: &Heard, style: Style) -> String {
    let (finding, trials) = (&heard.finding, heard.trials);
    let severity = finding.worst();
    assert!(severity > Severity::Note);
    let mut out = format!(
        "{:<LABEL$}{} in {}\n",
        finding.rule,
        style.severity(severity, severity.name()),
        words::plural(trials as u64, "trial")
    );
    let which = match heard.points.as_slice() {
        [first, _, ..] => format!("At {}: ", place(first)),
        _ => String::new(),
    };
    out.push_str(&style.labelled("", &format!("{which}{}", finding.say)));
    for fix in &finding.fix {
        out.push_str(&style.labelled("", &format!("-> {fix}")));
    }
    out
}

/// What no rule could look at, or need not be told: what silence rests on.
fn coverage(run: &Run, style: Style) -> String {
    let mut out = String::new();
    let mut tell = |rule: &str, what: String| {
        let label = if out.is_empty() { "rules" } else { "" };
        out.push_str(&style.labelled(label, &format!("{rule} {what}")));
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
            format!(
                "is left out: its cause is named by {}",
                words::list(&causes)
            ),
        );
    }
    if out.is_empty() {
        return style.labelled("rules", "every rule that applies could read what it needs");
    }
    out
}
