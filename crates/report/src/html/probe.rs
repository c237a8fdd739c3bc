//! The page of probes: the answers first, then every curve, then the machines.

use std::fmt::Write as _;

use model::probe::{AxisKind, Growth, ProbeResult, ProbesFile};

use super::chart::{Room, figure_with};
use super::frame::{self, ASSETS, Assets, Section};
use super::table::Table;
use super::{escape, setting};
use crate::number::{self, Unit, plural};
use crate::probe::{HOW, Operation, Side, answer, asked, chart, of_each_pass, operations};
use crate::published::WARNING;

/// The page: results of one machine, or of two laid over each other.
pub fn probes(title: &str, sides: &[Side<'_>]) -> String {
    assemble(title, sides, &ASSETS)
}

/// The page of an experiment: with what an earlier study saw, and what its readers asked; and with
/// what is said of both, where they are those of a `later` file.
pub fn probes_asked(file: &ProbesFile, results: &[ProbeResult], later: Option<&str>) -> String {
    let sides = [Side { name: "", results }];
    let title = &file.experiment.question;
    let mut all = sections(&sides).to_vec();
    let answers = asked::answers(file, results);
    let further = [
        ("then", "Then and now", then_and_now(file, results)),
        (
            "asked",
            "What the readers asked",
            super::asked::table(&answers),
        ),
    ];
    all.splice(1..1, further);
    let name = escape(&file.experiment.name);
    let repeat = format!("<pre>triathlon lab {name}</pre>\n");
    all.push(("repeat", "How to repeat it", repeat));
    let said = later.map(|said| format!("<p class=\"facts\">{}</p>\n", escape(said)));
    let header = header(title, &sides) + &said.unwrap_or_default();
    frame::page(title, &header, &all, "", &ASSETS)
}

fn then_and_now(file: &ProbesFile, results: &[ProbeResult]) -> String {
    let rows = asked::then_and_now(file, results);
    if rows.is_empty() {
        return String::new();
    }
    let mut table = Table::stacked("Then and now", &["operation", "then", "now"]);
    for row in rows {
        table
            .row()
            .head(&escape(&row.name))
            .text(row.then)
            .text(&row.now);
    }
    format!("<p>{}</p>\n{}", escape(WARNING), table.finish())
}

pub(super) fn assemble(title: &str, sides: &[Side<'_>], assets: &Assets) -> String {
    frame::page(title, &header(title, sides), &sections(sides), "", assets)
}

/// What a page of these results shows, and what follows a comparison of them.
pub(super) fn sections(sides: &[Side<'_>]) -> [Section; 4] {
    let operations = operations(sides);
    [
        (
            "growth",
            "How each operation grows",
            answers(sides, &operations),
        ),
        ("curves", "Every point", curves(&operations)),
        ("limits", "What bounded the populations", limits(sides)),
        ("machine", "The machine", machines(sides)),
    ]
}

fn header(title: &str, sides: &[Side<'_>]) -> String {
    let title = escape(title);
    let mut html = String::new();
    let _ = write!(
        html,
        "<header>\n<p class=\"kicker\">Triathlon</p>\n<h1>{title}</h1>\n\
         <p class=\"question\">What one call costs, against how many there are already</p>\n"
    );
    for (letter, side) in ["A", "B"].iter().zip(sides) {
        let mut facts = Vec::new();
        if !side.name.is_empty() {
            facts.push(format!("{letter}: {}", side.name));
        }
        facts.push(plural(side.results.len(), "probe"));
        let passes = side.results.iter().map(|result| result.passes.len());
        facts.push(plural(passes.max().unwrap_or(0), "pass"));
        if let Some(result) = side.results.first() {
            facts.extend(result.environment.cpu_model.clone());
            facts.extend(result.environment.kernel.clone());
            facts.extend(result.environment.time.clone());
        }
        let facts: Vec<String> = facts.iter().map(|fact| escape(fact)).collect();
        let _ = writeln!(html, "<p class=\"facts\">{}</p>", facts.join(" · "));
    }
    html.push_str("</header>\n");
    html
}

/// A row for each operation.
fn answers(sides: &[Side<'_>], operations: &[Operation<'_>]) -> String {
    let table = match sides {
        [a, b] => both(a, b, operations),
        _ => one(operations),
    };
    let lead = match sides {
        [_] => answer(operations),
        _ => None,
    };
    let lead = lead.map(|said| format!("<p class=\"lead\">{}</p>\n", escape(&said)));
    format!(
        "{}{table}<p class=\"note\">{}</p>\n",
        lead.unwrap_or_default(),
        escape(HOW)
    )
}

/// The operation's name, which leads to its curve.
fn linked(position: usize, operation: &Operation<'_>) -> String {
    let name = escape(&operation.name());
    format!("<a href=\"#{}\">{name}</a>", anchor(position))
}

fn anchor(position: usize) -> String {
    format!("curve-{}", position + 1)
}

fn one(operations: &[Operation<'_>]) -> String {
    let columns = [
        "operation",
        "growth",
        "#confidence",
        "#at the beginning",
        "#at the end",
        "#end over beginning",
    ];
    let mut table = Table::stacked("Growth of each operation", &columns);
    for (position, operation) in operations.iter().enumerate() {
        let row = table.row().head(&linked(position, operation));
        let growth = operation.growth();
        let Some((_, growth)) = growth.first() else {
            let course = operation.sides.first().map(|(_, result)| *result);
            let told = course.and_then(|result| course_of(operation, result));
            row.text(&told.unwrap_or_else(|| "nothing was measured".to_owned()));
            row.number("").number("").number("").number("");
            continue;
        };
        if growth.classes.is_empty() {
            row.cell(&format!(
                "{}<br><small>{}</small>",
                escape(&growth.word()),
                escape(&growth.sentence)
            ));
            row.number("").number("–").number("–").number("–");
            continue;
        }
        let (ratio, low, high) = growth.ratio;
        row.text(&growth.word())
            .number(&match growth.classes.as_slice() {
                [_] => format!("{:.0} %", growth.confidence * 100.0),
                _ => String::new(),
            })
            .number(&escape(&Unit::Nanoseconds.show(growth.typical_ns.0)))
            .number(&escape(&Unit::Nanoseconds.show(growth.typical_ns.1)))
            .number(&if low > 0.0 {
                format!("{ratio:.2} <small>{low:.2} to {high:.2}</small>")
            } else {
                format!("{ratio:.2}")
            });
    }
    table.finish()
}

/// How fast a course in time was, in a few words.
fn course_of(operation: &Operation<'_>, result: &ProbeResult) -> Option<String> {
    let mut rates: Vec<f64> = result
        .points(&operation.series)
        .into_iter()
        .flatten()
        .map(|(_, ns)| 1e9 / ns)
        .collect();
    rates.sort_by(f64::total_cmp);
    let (first, last) = (rates.first()?, rates.last()?);
    Some(format!(
        "a course in time: median {} MB/s, slowest {}, fastest {}",
        number::plain(rates[rates.len() / 2].round()),
        number::plain(first.round()),
        number::plain(last.round())
    ))
}

/// Both machines side by side, and how many times dearer the second one is.
fn both(a: &Side<'_>, b: &Side<'_>, operations: &[Operation<'_>]) -> String {
    let columns = [
        "operation",
        "growth of A",
        "growth of B",
        "#A at the beginning",
        "#B at the beginning",
        "#B over A",
        "#A at the end",
        "#B at the end",
        "#B over A",
    ];
    let caption = format!("A is {}, B is {}", a.name, b.name);
    let mut table = Table::stacked(&caption, &columns);
    let time = |ns: f64| escape(&Unit::Nanoseconds.show(ns));
    for (position, operation) in operations.iter().enumerate() {
        let growth = operation.growth();
        let of = |side: &Side<'_>| {
            let found = growth.iter().find(|(name, _)| *name == side.name);
            found.map(|(_, growth)| *growth)
        };
        let word = |side: &Side<'_>| {
            let named = of(side).map(Growth::word);
            let result = operation.sides.iter().find(|(name, _)| *name == side.name);
            named
                .or_else(|| course_of(operation, result?.1))
                .unwrap_or_else(|| "not measured".to_owned())
        };
        let row = table
            .row()
            .head(&linked(position, operation))
            .text(&word(a));
        let note = match (of(a), of(b)) {
            (Some(a), Some(b)) if !a.agrees_with(b) => "<br><small>another class</small>",
            _ => "",
        };
        row.cell(&format!("{}{note}", escape(&word(b))));
        let (a, b) = (of(a), of(b));
        for end in [|g: &Growth| g.typical_ns.0, |g: &Growth| g.typical_ns.1] {
            let cost = |growth: Option<&Growth>| growth.map(end).filter(|ns| *ns > 0.0);
            let (a, b) = (cost(a), cost(b));
            for side in [a, b] {
                row.number(&side.map_or_else(String::new, time));
            }
            let times = a.zip(b).map(|(a, b)| format!("{:.2}", b / a));
            row.number(&times.unwrap_or_default());
        }
    }
    table.finish()
}

fn curves(operations: &[Operation<'_>]) -> String {
    let mut html = String::new();
    let mut seen = std::collections::BTreeSet::new();
    for (position, operation) in operations.iter().enumerate() {
        for (_, result) in &operation.sides {
            let label = result.label();
            if !seen.contains(&label) {
                let place = super::asked::place_of_probe(&label);
                let _ = writeln!(html, "<span id=\"{place}\"></span>");
                seen.insert(label);
            }
        }
        let chart = chart(operation, &anchor(position));
        html.push_str(&figure_with(&chart, 3, Room::Full, &numbers(operation)));
    }
    html
}

/// The bins of an operation, and how many points there are.
fn numbers(operation: &Operation<'_>) -> String {
    let mut html = String::new();
    for (side, result) in &operation.sides {
        let count: usize = result.points(&operation.series).iter().map(Vec::len).sum();
        let growth = operation
            .growth()
            .into_iter()
            .find(|(name, _)| name == side);
        let caption = if side.is_empty() {
            operation.name()
        } else {
            format!("{}, {side}", operation.name())
        };
        if let Some((_, growth)) = growth {
            html.push_str(&medians(&caption, growth));
        } else if result.kind == AxisKind::Progress {
            html.push_str(&rates(&caption, operation, result));
        }
        let file = escape(&format!("{}.json", result.label()));
        let _ = write!(
            html,
            "<p class=\"note\">{} points were measured; all of them are in <code>{file}</code>, \
             and the picture shows one for each place in it.</p>",
            number::count(count as u64)
        );
        html.push_str(&facts(result));
    }
    html
}

/// Medians of the bins, a few bins to a row: a third of the height, above all on paper.
fn medians(caption: &str, growth: &Growth) -> String {
    const ACROSS: usize = 3;
    let down = growth.bins.len().div_ceil(ACROSS);
    let mut table = Table::new(caption, &["#up to about", "#median"].repeat(ACROSS));
    for place in 0..down {
        let row = table.row();
        for (n, ns) in growth.bins.iter().skip(place).step_by(down) {
            row.number(&number::count(whole(*n)))
                .number(&escape(&Unit::Nanoseconds.show(*ns)));
        }
    }
    table.finish()
}

/// A download's passes, each by its slowest, median and fastest megabyte.
fn rates(caption: &str, operation: &Operation<'_>, result: &ProbeResult) -> String {
    let columns = ["#pass", "#slowest MB/s", "#median MB/s", "#fastest MB/s"];
    let mut table = Table::new(caption, &columns);
    for (pass, points) in result.points(&operation.series).into_iter().enumerate() {
        let mut rates: Vec<f64> = points.iter().map(|(_, ns)| 1e9 / ns).collect();
        rates.sort_by(f64::total_cmp);
        let row = table.row().number(&(pass + 1).to_string());
        if let (Some(slowest), Some(fastest)) = (rates.first(), rates.last()) {
            row.number(&number::plain(slowest.round()))
                .number(&number::plain(rates[rates.len() / 2].round()))
                .number(&number::plain(fastest.round()));
        }
    }
    table.finish()
}

/// What stands beside a curve: the size of what forked, the pieces of a file, a note.
fn facts(result: &ProbeResult) -> String {
    let mut html = String::new();
    if let Some(note) = &result.note {
        let _ = write!(html, "<p class=\"note\">{}</p>", escape(note));
    }
    if !result.facts.is_empty() {
        html.push_str("<dl class=\"facts\">");
        for (name, value) in &result.facts {
            let _ = write!(
                html,
                "<div><dt>{}</dt><dd>{}</dd></div>",
                escape(name),
                escape(&of_each_pass(result, name, value))
            );
        }
        html.push_str("</dl>\n");
    }
    html
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a population"
)]
fn whole(n: f64) -> u64 {
    n.round().max(0.0) as u64
}

fn limits(sides: &[Side<'_>]) -> String {
    let mut table = Table::new(
        "Limits that were read before the start",
        &[
            "probe",
            "#asked",
            "#measured",
            "limit",
            "#free",
            "#would allow",
            "CPU used by others",
            "note",
        ],
    );
    for result in sides.iter().flat_map(|side| side.results) {
        let tightest = result.limits.iter().min_by_key(|limit| limit.allows());
        let row = table
            .row()
            .head(&escape(&result.label()))
            .number(&number::count(u64::from(result.population_asked)))
            .number(&number::count(if result.passes.is_empty() {
                0
            } else {
                u64::from(result.population)
            }));
        match tightest {
            Some(limit) if limit.free.is_some() => {
                row.text(&format!("{} ({})", limit.name, limit.source))
                    .number(&limit.free.map_or_else(String::new, number::count))
                    .number(&number::count(limit.allows()));
            }
            _ => {
                row.text("none was read").number("").number("");
            }
        }
        row.text(
            &result
                .busy_elsewhere
                .map_or_else(|| "unknown".to_owned(), |share| Unit::Share.show(share)),
        )
        .text(result.note.as_deref().unwrap_or_default());
    }
    table.finish()
}

fn machines(sides: &[Side<'_>]) -> String {
    let mut html = String::new();
    for side in sides {
        if !side.name.is_empty() {
            let _ = writeln!(html, "<h3>{}</h3>", escape(side.name));
        }
        if let Some(result) = side.results.first() {
            html.push_str(&setting::of_environment(&result.environment));
        }
    }
    html
}
