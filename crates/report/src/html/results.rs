//! The numbers: per workload a table of what each server reached, then the charts.

use std::fmt::Write as _;

use model::Claim;
use verdict::analysis::{Measure, Standing};

use super::chart::{figure, standing};
use super::table::Table;
use super::{escape, verdicts};
use crate::number::{self, Unit, plain};
use crate::plots::{PLOTS, Subject};
use crate::run::{Cell, Digest, QUANTILES, Run};

/// The section.
pub(super) fn section(run: &Run) -> String {
    let mut html = String::new();
    let workloads = run.workloads();
    for (position, workload) in workloads.iter().enumerate() {
        let _ = write!(
            html,
            "<section class=\"workload\" aria-labelledby=\"workload-{0}\">\n<h3 \
             id=\"workload-{0}\">{1}</h3>\n",
            position + 1,
            escape(workload)
        );
        let cells = run.cells(workload);
        html.push_str(&best(&cells));
        let subject = Subject {
            run,
            workload,
            position,
        };
        html.push_str("<div class=\"charts\">\n");
        for plot in PLOTS {
            for chart in plot(&subject) {
                html.push_str(&figure(&chart, 4));
            }
        }
        html.push_str("</div>\n</section>\n");
    }
    html
}

/// A server's best point.
struct Best<'a> {
    cell: Cell<'a>,
    rate: Measure,
}

/// What each server reached, each at its own best connection count.
fn best(cells: &[Cell<'_>]) -> String {
    let mut best: Vec<Best<'_>> = Vec::new();
    for cell in cells {
        let Some(rate) = cell.rate() else { continue };
        match best
            .iter_mut()
            .find(|other| other.cell.server() == cell.server())
        {
            Some(other) => {
                if better(&rate, &other.rate) {
                    *other = Best {
                        cell: cell.clone(),
                        rate,
                    };
                }
            }
            None => best.push(Best {
                cell: cell.clone(),
                rate,
            }),
        }
    }
    best.sort_by(|a, b| {
        (a.rate.standing == Standing::Struck)
            .cmp(&(b.rate.standing == Standing::Struck))
            .then(b.rate.median.total_cmp(&a.rate.median))
    });
    let open_loop = cells.iter().any(|cell| cell.place().rate().is_some());
    let columns = [
        "server",
        "verdict",
        "#rate",
        "#95 % interval",
        "precision",
        "#at",
        "#CPU per request (user + system)",
        "#p50",
        "#p99",
        "#memory",
        "#headroom",
    ];
    let mut table = Table::new("Each server at its own best point", &columns);
    for one in &best {
        row(&mut table, one);
    }
    let mut html = table.finish();
    if open_loop {
        html.push_str(
            "<p class=\"note\">In an open loop the rate is what was asked, as long as the server \
             keeps up: compare response times and cost at the same load.</p>\n",
        );
    } else if best.len() > 1 {
        html.push_str(
            "<p class=\"note\">The order is that of the medians. Which differences are more than \
             chance stands in the answer above.</p>\n",
        );
    }
    html
}

/// Struck numbers never win against others.
fn better(one: &Measure, other: &Measure) -> bool {
    let struck = |measure: &Measure| measure.standing == Standing::Struck;
    match (struck(one), struck(other)) {
        (false, true) => true,
        (true, false) => false,
        _ => one.median > other.median,
    }
}

/// The interval in words: "at least" has only a lower end.
fn reach_text(rate: &Measure) -> String {
    match rate.interval {
        None => "<span class=\"none\">–</span>".to_owned(),
        Some((low, _)) if rate.standing == Standing::AtLeast => {
            format!("from {}", Unit::PerSecond.show(low))
        }
        Some((low, high)) => {
            let text = format!("{} – {}", plain(low), Unit::PerSecond.show(high));
            standing(&text, rate.standing)
        }
    }
}

/// How sharp a rate is, in a word; the rest of it on touch.
fn precision(rate: &Measure) -> String {
    let precision = &rate.precision;
    format!(
        "<span title=\"{}\">{}</span>",
        escape(&precision.text()),
        precision.sharpness.word()
    )
}

/// CPU time per request, and its two halves where they could be read.
fn cost(cell: &Cell<'_>) -> String {
    let show = |value: fn(&Digest) -> Option<f64>| {
        cell.value(Claim::Resources, value)
            .map(|measure| standing(&Unit::Microseconds.show(measure.median), measure.standing))
    };
    let Some(all) = show(|digest| digest.cpu_us) else {
        return "<span class=\"none\">–</span>".to_owned();
    };
    match (
        show(|digest| digest.user_us),
        show(|digest| digest.system_us),
    ) {
        (Some(user), Some(system)) => format!("{all} <small>{user} + {system}</small>"),
        _ => format!("{all} <small>not split</small>"),
    }
}

/// Memory, and after how many connections where the server had held more than this point has.
fn memory(cell: &Cell<'_>) -> String {
    let Some(measure) = cell.value(Claim::Resources, |digest| digest.memory) else {
        return "<span class=\"none\">–</span>".to_owned();
    };
    let mut shown = standing(&Unit::Bytes.show(measure.median), measure.standing);
    if let Some(most) = cell.memory_after() {
        let connections = number::plural(most as usize, "connection");
        shown.push_str(&format!(" <small>after up to {connections}</small>"));
    }
    shown
}

/// `64 connections` with its unit below it.
fn stacked(text: &str) -> String {
    let (number, unit) = text.split_once(' ').unwrap_or((text, ""));
    format!("{} <small>{}</small>", escape(number), escape(unit))
}

fn row(table: &mut Table, best: &Best<'_>) {
    let cell = &best.cell;
    table.row();
    let show = |unit: Unit, measure: Option<Measure>| {
        measure.map_or_else(
            || "<span class=\"none\">–</span>".to_owned(),
            |measure| standing(&unit.show(measure.median), measure.standing),
        )
    };
    let interval = reach_text(&best.rate);
    let claim = cell.response_claim();
    let response = |position: usize| {
        debug_assert!(position < QUANTILES.len());
        show(
            Unit::Microseconds,
            cell.value(claim, |digest| digest.response_us(position)),
        )
    };
    table
        .head(&escape(cell.server()))
        .cell(&verdicts::mark(cell, true))
        .number(&show(Unit::PerSecond, Some(best.rate.clone())))
        .number(&interval)
        .cell(&precision(&best.rate))
        .number(&stacked(&cell.place().text()))
        .number(&cost(cell))
        .number(&response(0))
        .number(&response(4))
        .number(&memory(cell))
        .number(
            &cell
                .value(Claim::Capacity, |digest| digest.headroom)
                .map_or_else(
                    || "<span class=\"none\">–</span>".to_owned(),
                    |measure| format!("{} ×", number::digits(measure.median)),
                ),
        );
}
