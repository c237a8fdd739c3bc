//! What went wrong: failed exchanges with their first examples, and what error logs gained.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use model::Outcome;

use super::escape;
use super::table::Table;
use crate::digests::{Cell, Run, STALLED};
use crate::{errors, number};

/// So many lines of error log are shown per server.
const LINES_MAX: usize = 20;

/// The section.
pub(super) fn section(run: &Run) -> String {
    let mut html = String::new();
    let mut table = Table::new(
        "Exchanges that failed, over all rounds of a point",
        &[
            "server",
            "workload",
            "#at",
            "outcome",
            "#failed",
            "#of all",
            "first seen",
        ],
    );
    let mut total = 0;
    for workload in run.workloads() {
        for cell in run.cells(&workload) {
            total += cell.ok() + cell.lost();
            rows(&mut table, &workload, &cell);
        }
    }
    if table.is_empty() {
        let _ = writeln!(
            html,
            "<p>None: each of {} exchanges ended with an answer in which everything that was checked was right.</p>",
            number::count(total)
        );
    } else {
        html.push_str("<p>A failed exchange is a result about the server unless a rule above says otherwise. It does not count as goodput.</p>\n");
        html.push_str(&table.finish());
    }
    html.push_str(&at_each_point(run));
    html.push_str(&checked(run));
    html.push_str(&logs(run));
    html
}

/// Failed requests and stalled connections of each point.
fn at_each_point(run: &Run) -> String {
    let columns = [
        "server",
        "#at",
        "#failed or never sent",
        "#of all",
        "#stalled connections",
    ];
    let mut table = Table::new("Errors and stalled connections at each point", &columns);
    for workload in run.workloads() {
        table.group(&escape(&workload));
        for cell in run.cells(&workload) {
            let row = errors::row(&cell);
            let (text, most) = &row.stalled;
            let most = most.as_ref();
            let most = most.map(|most| format!(" <small>{most}</small>"));
            table
                .row()
                .head(&escape(cell.server()))
                .number(&escape(&cell.place().text()))
                .number(&row.lost)
                .number(&escape(&row.share))
                .number(&(escape(text) + &most.unwrap_or_default()));
        }
    }
    if table.is_empty() {
        return String::new();
    }
    let said = escape(STALLED);
    format!("{}<p class=\"note\">{said}</p>\n", table.finish())
}

/// What was checked of each answer, by workload where that differs.
fn checked(run: &Run) -> String {
    let mut ways: Vec<(Vec<String>, Vec<String>)> = Vec::new();
    for workload in run.workloads() {
        for cell in run.cells(&workload) {
            for digest in &cell.rounds {
                let place = ways.iter().position(|(way, _)| *way == digest.checked);
                let place = place.unwrap_or_else(|| {
                    ways.push((digest.checked.clone(), Vec::new()));
                    ways.len() - 1
                });
                let (_, workloads) = &mut ways[place];
                if !workloads.contains(&workload) {
                    workloads.push(workload.clone());
                }
            }
        }
    }
    let items: Vec<String> = match ways.as_slice() {
        [] => return String::new(),
        [(way, _)] => way.iter().map(|part| escape(part)).collect(),
        ways => ways
            .iter()
            .map(|(way, workloads)| {
                let names = verdict::words::list(workloads);
                format!("{}: {}", escape(&names), escape(&way.join("; ")))
            })
            .collect(),
    };
    match items.as_slice() {
        [one] => format!("<p>Checked: {one}.</p>\n"),
        items => {
            let items: String = items
                .iter()
                .map(|item| format!("<li>{item}</li>"))
                .collect();
            format!("<p>Checked of each answer:</p>\n<ul>{items}</ul>\n")
        }
    }
}

fn rows(table: &mut Table, workload: &str, cell: &Cell<'_>) {
    for outcome in Outcome::ALL {
        if outcome == Outcome::Ok {
            continue;
        }
        let count: u64 = cell
            .rounds
            .iter()
            .map(|digest| digest.outcomes[outcome])
            .sum();
        // Shed and unfinished are the run's own doing: shown, but only where they are.
        if count == 0 {
            continue;
        }
        let all: u64 = cell
            .rounds
            .iter()
            .map(|digest| digest.outcomes.total())
            .sum();
        let example = cell
            .rounds
            .iter()
            .flat_map(|digest| &digest.examples)
            .find(|example| example.outcome == outcome);
        table
            .row()
            .head(&escape(cell.server()))
            .text(workload)
            .number(&escape(&cell.place().text()))
            .cell(&named(outcome, cell))
            .number(&number::count(count))
            .number(&escape(&share(count, all)))
            .cell(&example.map_or_else(String::new, |example| {
                format!("<code>{}</code>", escape(&example.told()))
            }));
    }
}

/// The outcome; of wrong statuses each, with how many answers had it; of timeouts, how many cost no
/// connection.
fn named(outcome: Outcome, cell: &Cell<'_>) -> String {
    let name = escape(outcome.name());
    let told = match outcome {
        Outcome::Status => statuses(cell),
        Outcome::Timeout => cancelled(cell),
        _ => String::new(),
    };
    match told.is_empty() {
        true => name,
        false => format!("{name} <small>{told}</small>"),
    }
}

fn statuses(cell: &Cell<'_>) -> String {
    let mut statuses: BTreeMap<u16, u64> = BTreeMap::new();
    for (status, count) in cell.rounds.iter().flat_map(|one| &one.wrong_statuses) {
        *statuses.entry(*status).or_default() += count;
    }
    let each = statuses.into_iter();
    let each = each.map(|(status, count)| format!("{status}: {}", number::count(count)));
    let each: Vec<String> = each.collect();
    each.join(", ")
}

fn cancelled(cell: &Cell<'_>) -> String {
    let count: u64 = cell.rounds.iter().map(|one| one.cancelled).sum();
    match count {
        0 => String::new(),
        count => format!("cancelled alone: {}", number::count(count)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "a share for people")]
fn share(part: u64, all: u64) -> String {
    if all == 0 {
        return String::new();
    }
    number::Unit::Share.show(part as f64 / all as f64)
}

fn logs(run: &Run) -> String {
    let mut html = String::new();
    for label in run.labels() {
        let mut lines: Vec<&str> = Vec::new();
        let mut all = 0;
        for digest in run
            .digests()
            .iter()
            .filter(|digest| digest.id.server == label)
        {
            all += digest.error_log_lines;
            for line in &digest.error_log {
                if lines.len() < LINES_MAX && !lines.contains(&line.as_str()) {
                    lines.push(line);
                }
            }
        }
        if lines.is_empty() {
            continue;
        }
        let _ = writeln!(
            html,
            "<details><summary>Error log of {}: {} gained during trials</summary><pre>{}</pre></details>",
            escape(&label),
            number::plural(usize::try_from(all).unwrap_or(usize::MAX), "line"),
            escape(&lines.join("\n"))
        );
    }
    html
}
