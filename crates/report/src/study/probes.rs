//! The page of a study that asks the kernel: made from stored results of probes and from notes.

use std::fmt::Write as _;

use model::probe::{AxisKind, ProbeDemand, ProbeResult, ProbesFile};
use serde_json::{Map, Value};

use super::notes::{self, NoteError};
use super::{Study, asked_table, machine, probes_again, text};
use crate::asked::Told;
use crate::chart::{Axis, Chart, Kind, LOOKS, Point, Scale, Series};
use crate::number::{Unit, plural, rounded};
use crate::probe::{self, HOW, Side, asked, operations};
use crate::published::WARNING;

/// Probes that were asked again: what the numbers of the first time are held against.
#[derive(Clone, Copy, Debug)]
pub struct AgainOfProbes<'a> {
    /// What they told the second time.
    pub results: &'a [ProbeResult],
    /// Where that lies, as a link.
    pub record: &'a str,
}

/// Makes the page called `name`. `record` says where the results lie, as a link; `notes` is what
/// was written by hand, and may be empty; `again` is a second run, where there is one; `later` is
/// what is said where questions and figures are those of a later file.
pub fn of_probes(
    file: &ProbesFile,
    results: &[ProbeResult],
    name: &str,
    record: &str,
    notes: &str,
    again: Option<AgainOfProbes<'_>>,
    later: Option<&str>,
) -> Result<Study, NoteError> {
    let experiment = &file.experiment;
    let mut page = format!("# {}\n\n", text(&experiment.name));
    let _ = writeln!(page, "{}\n", text(&experiment.question));
    page.push_str(super::MADE);
    let _ = write!(
        page,
        "\n## How it was run\n\n```sh\ntriathlon lab {}\n```\n\n",
        experiment.name
    );
    if let Some(result) = results.first() {
        page.push_str(&machine(&result.environment));
    }
    page.push_str(&counted(results, record));
    page.push_str(&super::whole(record));
    page.extend(later.map(|said| format!("- {}\n", text(said))));
    page.push_str(&answer(results));
    let mut charts = Vec::from(costs(file, results));
    charts.push(speeds(results));
    charts.retain(|chart| !chart.is_empty());
    let drawings = super::draw(&mut page, name, &charts);
    page.push_str(&then_and_now(file, results));
    let said = " Each probe is a file of the record, by its name.";
    page.push_str(&asked_table(&asked::answers(file, results), said));
    page.push_str(&besides(results));
    let _ = write!(
        page,
        "\n## What ended early or was disturbed\n\n{}",
        doubts(results)
    );
    if !notes.trim().is_empty() {
        let filled = notes::fill(notes, &|placeholder| number(results, placeholder))?;
        let _ = writeln!(page, "{}{}", super::NOTES, filled.trim());
    }
    if let Some(second) = again {
        page.push_str(&probes_again::section(file, results, second));
    }
    Ok(Study { page, drawings })
}

/// How many there are, and where.
pub(super) fn counted(results: &[ProbeResult], record: &str) -> String {
    let passes = results.iter().map(|result| result.passes.len());
    format!(
        "- {} in {}: [the record]({record})\n",
        plural(results.len(), "probe"),
        plural(passes.max().unwrap_or(0), "pass")
    )
}

/// A row for each operation.
fn answer(results: &[ProbeResult]) -> String {
    let operations = operations(&[Side { name: "", results }]);
    let mut out = "\n## The answer here\n\n".to_owned();
    if let Some(said) = probe::answer(&operations) {
        let _ = writeln!(out, "{}\n", text(&said));
    }
    out.push_str(
        "| operation | growth | at the beginning | at the end | end over beginning |\n\
         |---|---|--:|--:|--:|\n",
    );
    for operation in operations {
        for (_, growth) in operation.growth() {
            let _ = write!(out, "| {} | {}", text(&operation.name()), growth.word());
            if let [_] = growth.classes[..] {
                let _ = write!(out, " ({:.0} %)", growth.confidence * 100.0);
            }
            let (ratio, low, high) = growth.ratio;
            let bounds = match low > 0.0 {
                true => text(&format!(" [{low:.2}, {high:.2}]")),
                false => String::new(),
            };
            let _ = match growth.classes.is_empty() {
                true => writeln!(out, ": {} | – | – | – |", text(&growth.sentence)),
                false => writeln!(
                    out,
                    " | {} | {} | {ratio:.2}{bounds} |",
                    Unit::Nanoseconds.show(growth.typical_ns.0),
                    Unit::Nanoseconds.show(growth.typical_ns.1)
                ),
            };
        }
    }
    let _ = writeln!(out, "\n{HOW}");
    out
}

/// What a call costs, of the operations that the study has figures of: those that ask the kernel
/// alone, and those that ask a server.
fn costs(file: &ProbesFile, results: &[ProbeResult]) -> [Chart; 2] {
    let published = asked::published(file, results);
    let (servers, kernel): (Vec<_>, Vec<_>) =
        published.into_iter().partition(|one| one.server.is_some());
    [
        cost(
            "study-costs",
            "What a call costs, against how many there are",
            "how many there are",
            &kernel,
        ),
        cost(
            "study-servers",
            "What a server costs a client, against how many connections are open",
            "idle connections",
            &servers,
        ),
    ]
}

fn cost(id: &str, title: &str, x: &str, published: &[asked::Published<'_>]) -> Chart {
    let mut all = Vec::new();
    for (look, one) in published.iter().take(LOOKS).enumerate() {
        let mut series = Series::new(one.title(), look, Kind::Curve);
        let bins = one.growth.bins.iter();
        series.points = bins
            .map(|(n, ns)| Point::new(rounded(*n), rounded(*ns)))
            .collect();
        all.push(series);
    }
    Chart {
        id: id.to_owned(),
        title: title.to_owned(),
        caption: format!(
            "The median of all passes in each bin, of {} operations that the study has figures \
             of. A level line is a cost that does not grow.",
            match all.len() < published.len() {
                true => format!("{} of the {}", all.len(), published.len()),
                false => "the".to_owned(),
            }
        ),
        x: Axis {
            name: x.to_owned(),
            unit: Unit::Count,
            scale: Scale::Log,
        },
        y: Axis {
            name: "time of one call".to_owned(),
            unit: Unit::Nanoseconds,
            scale: Scale::Log,
        },
        series: all,
    }
}

/// How fast courses in time were.
fn speeds(results: &[ProbeResult]) -> Chart {
    let mut all = Vec::new();
    let courses = results.iter();
    let courses = courses.filter(|result| result.kind == AxisKind::Progress);
    for (look, result) in courses.take(LOOKS).enumerate() {
        let mut series = Series::new(result.label(), look, Kind::Curve);
        for name in result.series_names() {
            series.points = medians(&result.points(name));
        }
        all.push(series);
    }
    let mut chart = Chart {
        id: "study-speeds".to_owned(),
        title: "Megabytes per second of a download, as it goes on".to_owned(),
        caption: "The median of all passes at each megabyte.".to_owned(),
        x: Axis {
            name: "megabytes received".to_owned(),
            unit: Unit::Count,
            scale: Scale::Linear,
        },
        y: Axis {
            name: "megabytes per second".to_owned(),
            unit: Unit::Count,
            scale: Scale::Log,
        },
        series: all,
    };
    let courses = results.iter();
    probe::mark_seconds(
        &mut chart,
        courses.filter(|result| result.kind == AxisKind::Progress),
    );
    chart
}

/// The median over passes at each place, as a rate.
fn medians(passes: &[Vec<(u32, f64)>]) -> Vec<Point> {
    let first = passes.first().map_or(&[][..], Vec::as_slice);
    let median = |place: usize| {
        let there = passes.iter().filter_map(|pass| pass.get(place));
        let mut speeds: Vec<f64> = there.map(|(_, ns)| 1e9 / ns).collect();
        speeds.sort_by(f64::total_cmp);
        speeds[speeds.len() / 2]
    };
    let places = first.iter().enumerate();
    places
        .map(|(place, (n, _))| Point::new(f64::from(*n), rounded(median(place))))
        .collect()
}

fn then_and_now(file: &ProbesFile, results: &[ProbeResult]) -> String {
    let rows = asked::then_and_now(file, results);
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!(
        "\n## Then and now\n\n**{WARNING}**\n\n| operation | then | now |\n|---|---|---|\n"
    );
    for row in rows {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            text(&row.name),
            text(row.then),
            text(&row.now)
        );
    }
    out
}

/// What was read beside the curves: which server was asked, in how many pieces a file lies.
fn besides(results: &[ProbeResult]) -> String {
    let mut out = String::new();
    let shared = probe::shared(results);
    for result in results.iter().filter(|result| !result.passes.is_empty()) {
        let facts = result.facts.iter().filter(|fact| !shared.contains(fact));
        let facts: Vec<String> = facts
            .map(|(name, value)| format!("{name}: {}", probe::of_each_pass(result, name, value)))
            .collect();
        if !facts.is_empty() {
            let (label, facts) = (text(&result.label()), text(&facts.join("; ")));
            let _ = writeln!(out, "- {label}. {facts}");
        }
    }
    match out.is_empty() {
        true => out,
        false => format!("\n## What was read besides\n\n{out}"),
    }
}

/// Which curves end early, and who else had the CPUs.
pub(super) fn doubts(results: &[ProbeResult]) -> String {
    let (mut ended, mut disturbed) = (String::new(), String::new());
    for result in results {
        let label = text(&result.label());
        if let Some(note) = &result.note {
            let _ = writeln!(ended, "- {label}: {}", text(note));
        }
        if let Some(share) = result.busy_elsewhere.filter(|share| *share >= 0.01) {
            let share = Unit::Share.show(share);
            let _ = writeln!(
                disturbed,
                "- {label}: other programs used {share} of its CPUs"
            );
        }
    }
    match (ended.is_empty(), disturbed.is_empty()) {
        (true, true) => {
            "No curve ended early, and no other program used 1 % of the CPUs.\n".to_owned()
        }
        (true, false) => format!("No curve ended early.\n\n{disturbed}"),
        (false, _) => ended + &disturbed,
    }
}

/// The number of a placeholder.
fn number(results: &[ProbeResult], placeholder: &str) -> Result<String, String> {
    let fields: Map<String, Value> = notes::fields(placeholder)?;
    let demand: ProbeDemand =
        serde_json::from_value(Value::Object(fields)).map_err(|error| error.to_string())?;
    match asked::told(results, &demand) {
        Told::Number(number) => {
            let interval = number.interval;
            let interval = interval.map_or_else(String::new, |text| format!(" {text}"));
            Ok(format!("{}{interval}", number.value))
        }
        Told::Not(why) => Err(why),
    }
}
