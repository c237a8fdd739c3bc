//! The page of probes: the answers first, then every curve, then the machines.

use std::fmt::Write as _;

use model::probe::{AxisKind, ProbeResult};

use super::chart::figure_with;
use super::page::{ASSETS, Assets};
use super::table::Table;
use super::{escape, setting};
use crate::number::{self, Unit, plural};
use crate::probe::{Operation, Side, chart, operations};

/// The page: results of one machine, or of two laid over each other.
pub fn probes(title: &str, sides: &[Side<'_>]) -> String {
    assemble(title, sides, &ASSETS)
}

pub(super) fn assemble(title: &str, sides: &[Side<'_>], assets: &Assets) -> String {
    let Assets {
        style,
        script,
        echarts,
    } = assets;
    let operations = operations(sides);
    let mut html = String::with_capacity(echarts.len() + 400_000);
    let title = escape(title);
    let _ = write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"Triathlon\">\n\
         <title>{title} · Triathlon</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
    );
    header(&mut html, &title, sides);
    let sections = [
        ("answers", "How each operation grows", answers(&operations)),
        ("curves", "Every point", curves(&operations)),
        ("limits", "What bounded the populations", limits(sides)),
        ("machine", "The machine", machines(sides)),
    ];
    html.push_str("<nav aria-label=\"Contents\"><ul>");
    for (anchor, heading, _) in &sections {
        let _ = write!(html, "<li><a href=\"#{anchor}\">{heading}</a></li>");
    }
    html.push_str("</ul></nav>\n<main>\n");
    for (anchor, heading, body) in &sections {
        let _ = write!(
            html,
            "<section id=\"{anchor}\" aria-labelledby=\"{anchor}-heading\">\n\
             <h2 id=\"{anchor}-heading\">{heading}</h2>\n{body}</section>\n"
        );
    }
    let _ = write!(
        html,
        "</main>\n<footer>\n<p>Measured and written by Triathlon. Charts are drawn by Apache \
         ECharts 5.5.1 (Apache License 2.0), which is inside this file; nothing is \
         fetched.</p>\n</footer>\n\
         <script id=\"echarts\">{echarts}</script>\n<script>\n{script}</script>\n</body>\n</html>\n"
    );
    html
}

fn header(html: &mut String, title: &str, sides: &[Side<'_>]) {
    let _ = write!(
        html,
        "<header>\n<p class=\"kicker\">Triathlon</p>\n<h1>{title}</h1>\n\
         <p class=\"question\">What one call costs, against how many there are already</p>\n"
    );
    for side in sides {
        let mut facts = Vec::new();
        if !side.name.is_empty() {
            facts.push(side.name.to_owned());
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
}

/// A row for each operation and side.
fn answers(operations: &[Operation<'_>]) -> String {
    let overlaid = operations.iter().any(|one| one.sides.len() > 1);
    let mut columns = vec!["operation"];
    if overlaid {
        columns.push("machine");
    }
    columns.extend([
        "growth",
        "#confidence",
        "#at the beginning",
        "#at the end",
        "#end over beginning",
    ]);
    let mut table = Table::new("Growth of each operation", &columns);
    for operation in operations {
        for (side, growth) in operation.growth() {
            let row = table.row().head(&escape(&operation.name()));
            if overlaid {
                row.text(side);
            }
            if growth.classes.is_empty() {
                row.text(&growth.word())
                    .number("")
                    .number("–")
                    .number("–")
                    .text(&growth.sentence);
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
    }
    format!(
        "<p>A class is named where the 95 % bounds over the passes and the fits allow one answer \
         alone; else the answer lies between two.</p>\n{}",
        table.finish()
    )
}

fn curves(operations: &[Operation<'_>]) -> String {
    let mut html = String::new();
    for (position, operation) in operations.iter().enumerate() {
        let chart = chart(operation, &format!("curve-{}", position + 1));
        html.push_str(&figure_with(&chart, 3, &numbers(operation)));
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
            let mut table = Table::new(&caption, &["#up to about", "#median of the passes"]);
            for (n, ns) in &growth.bins {
                table
                    .row()
                    .number(&number::count(whole(*n)))
                    .number(&escape(&Unit::Nanoseconds.show(*ns)));
            }
            html.push_str(&table.finish());
        } else if result.kind == AxisKind::Progress {
            html.push_str(&rates(&caption, operation, result));
        }
        let file = escape(&format!("{}.json", result.label()));
        let _ = write!(
            html,
            "<p class=\"note\">{} points were measured; all of them are in <code>{file}</code>, \
             drawn is one for each place of the picture.</p>",
            number::count(count as u64)
        );
        html.push_str(&facts(result));
    }
    html
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
                escape(value)
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
