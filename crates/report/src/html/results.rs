//! The numbers: per workload a table of what each server reached, then the charts.

use std::fmt::Write as _;

use model::Claim;
use verdict::analysis::{Measure, Standing, UNANSWERED};

use super::chart::{Room, figure, standing};
use super::table::Table;
use super::{
    escape, knee, links, logs, phases, resources, scaling, searches, sources, split, stages, steps,
    users, verdicts,
};
use crate::chart::Scale;
use crate::digests::{Cell, Digest, QUANTILES, Run};
use crate::number::{self, Unit, plain};
use crate::plots::{PLOTS, Subject};

/// So many names have room below half a page.
const NAMES: usize = 6;

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
        html.push_str(&knee::table(&cells));
        html.push_str(&scaling::section(run, &cells));
        html.push_str(&searches::table(run, workload));
        html.push_str(&users::table(&cells));
        html.push_str(&split::table(&cells));
        html.push_str(&phases::table(&cells));
        html.push_str(&steps::pages(&cells));
        html.push_str(&steps::table(&cells));
        html.push_str(&stages::table(&cells));
        html.push_str(&resources::table(&cells));
        html.push_str(&links::table(&cells));
        html.push_str(&sources::table(&cells));
        html.push_str(&logs::table(&cells));
        for said in run.above_ceilings(workload) {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(&said));
        }
        let subject = Subject {
            run,
            workload,
            position,
        };
        html.push_str("<div class=\"charts\">\n");
        for (number, plot) in PLOTS.iter().enumerate() {
            for chart in plot(&subject) {
                // What was asked is seen first, and large; many names need room.
                let has_many =
                    matches!(&chart.x.scale, Scale::Category(names) if names.len() > NAMES);
                let room = match number == 0 || has_many {
                    true => Room::Full,
                    false => Room::Half,
                };
                html.push_str(&figure(&chart, 4, room));
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
    if cells.iter().any(|cell| cell.place().rate().is_some()) {
        return at_each_rate(cells);
    }
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
    let columns = [
        "server",
        "verdict",
        "#rate",
        "#95 % interval",
        "precision",
        "#at",
        "#CPU per request (user + system)",
        "#generator's CPU per request (user + system)",
        "#p50",
        "#p99",
        "#memory",
        "#headroom, worst round",
    ];
    let mut table = Table::new("Each server at its own best point", &columns);
    for one in &best {
        row(&mut table, one);
    }
    let mut html = table.finish();
    if best.len() > 1 {
        html.push_str(
            "<p class=\"note\">The order is that of the medians. The answer above says which \
             differences are more than chance.</p>\n",
        );
    }
    html
}

/// What each server did at each rate that was asked for, the shortest median response time first:
/// the rate itself is that of the schedule as long as the server keeps up.
fn at_each_rate(cells: &[Cell<'_>]) -> String {
    let columns = [
        "server",
        "verdict",
        "#p50",
        "#95 % interval",
        "precision",
        "#p99",
        "#CPU per request (user + system)",
        "#generator's CPU per request (user + system)",
        "#right answers",
        "#memory",
    ];
    // Only a crowd leaves something to recover from.
    let with_recovery = cells.iter().any(|cell| cell.recovery().is_some());
    let notes = notes(cells, with_recovery);
    let columns = columns.iter().copied();
    let further = with_recovery.then_some("#recovery");
    let columns: Vec<&str> = columns.chain(further).collect();
    let mut table = Table::new("Each server at each load that was asked for", &columns);
    let mut cells: Vec<&Cell<'_>> = cells.iter().collect();
    let p50 = |cell: &Cell<'_>| {
        cell.response(P50)
            .map_or(f64::MAX, |p50| p50.measure.median)
    };
    cells.sort_by(|one, other| {
        let of_place = one.place().cmp(other.place());
        of_place.then(p50(one).total_cmp(&p50(other)))
    });
    let mut place = None;
    for cell in cells {
        if place.replace(cell.place()) != Some(cell.place()) {
            table.group(&escape(&cell.place().text()));
        }
        let first = cell.response(P50).map(|p50| p50.measure);
        let or_none = |text: Option<String>| text.unwrap_or_else(none);
        table.row();
        table
            .head(&escape(cell.server()))
            .cell(&verdicts::mark(cell, true))
            .number(&response(cell, P50))
            .number(&or_none(first.as_ref().and_then(times_reach)))
            .cell(&or_none(first.as_ref().map(precision)))
            .number(&response(cell, P99))
            .number(&cost(cell))
            .number(&cost_of_generator(cell))
            .number(&cost_of_generator(cell))
            .number(&show(Unit::PerSecond, cell.rate()))
            .number(&memory(cell));
        if with_recovery {
            table.number(&recovery_of(cell));
        }
    }
    table.finish() + &notes
}

/// What the columns of that table are.
fn notes(cells: &[Cell<'_>], with_recovery: bool) -> String {
    let mut notes = String::new();
    if cells.iter().any(counts_unanswered) {
        let _ = writeln!(notes, "<p class=\"note\">{}</p>", escape(UNANSWERED));
    }
    if with_recovery {
        notes.push_str(RECOVERY);
    }
    notes
        + "<p class=\"note\">The rate was asked for: servers differ by how long their answers take \
           and by what they cost. The order is that of the medians. The answer above says which \
           differences are more than chance.</p>\n"
}

/// Whether requests without an answer count in what is shown of its response times.
fn counts_unanswered(cell: &Cell<'_>) -> bool {
    let of = |position| {
        cell.response(position)
            .map(|found| found.measure.has_bounds)
    };
    [P50, P99]
        .into_iter()
        .filter_map(of)
        .any(|has_bounds| has_bounds)
}

/// The interval of a time.
fn times_reach(measure: &Measure) -> Option<String> {
    let (low, high) = measure.interval?;
    let low = Unit::Microseconds.show(low);
    let text = match measure.is_open_above {
        true => format!("from {low}"),
        false => format!("{low} – {}", Unit::Microseconds.show(high)),
    };
    Some(match measure.standing {
        Standing::AtLeast => text,
        level => standing(&text, level),
    })
}

/// Positions in the list of quantiles.
const P50: usize = 0;
const P99: usize = 4;

/// What stands where there is no number.
pub(super) fn none() -> String {
    "<span class=\"none\">–</span>".to_owned()
}

/// The recovery of a server.
fn recovery_of(cell: &Cell<'_>) -> String {
    let shown = show(Unit::Seconds, cell.recovery());
    match cell.recovered_within() {
        true => format!("at most {shown}"),
        false => shown,
    }
}

/// What the recovery of a server is.
const RECOVERY: &str = "<p class=\"note\">Recovery is the time from when the schedule is back at \
                        its initial rate until 9 of 10 requests are answered correctly within \
                        twice the time that 9 of 10 answers took before. “At least” means that \
                        this did not happen within the window, “at most” that it had happened when \
                        the first interval of the record was over.</p>\n";

pub(super) fn show(unit: Unit, measure: Option<Measure>) -> String {
    measure.map_or_else(none, |measure| {
        standing(&unit.show(measure.median), measure.standing)
    })
}

/// A quantile of response time, and how many of the rounds carry it where not all do.
fn response(cell: &Cell<'_>, position: usize) -> String {
    assert!(position < QUANTILES.len());
    let Some(found) = cell.response(position) else {
        return none();
    };
    let partial = found.is_partial();
    let mut shown = show(Unit::Microseconds, Some(found.measure));
    if partial {
        let (carried, rounds) = (found.carried, found.rounds);
        shown.push_str(&format!(" <small>{carried} of {rounds} rounds</small>"));
    }
    shown
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
        Some((low, _)) if rate.is_open_above => {
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

/// CPU time of the server per request, and its two halves where they could be read.
fn cost(cell: &Cell<'_>) -> String {
    split(
        cell,
        |digest| digest.cpu_us,
        |digest| Some(digest.user_us? / (digest.user_us? + digest.system_us?)),
    )
}

/// The same of the generator.
fn cost_of_generator(cell: &Cell<'_>) -> String {
    split(
        cell,
        |digest| digest.generator_us,
        |digest| {
            let (user, system) = (
                digest.resources.generator_user_us?,
                digest.resources.generator_system_us?,
            );
            Some(user / (user + system))
        },
    )
}

/// A CPU time, and its two halves where it is known what share of it is user time.
fn split(
    cell: &Cell<'_>,
    all: fn(&Digest) -> Option<f64>,
    share: fn(&Digest) -> Option<f64>,
) -> String {
    let Some(all) = cell.value(Claim::Resources, all) else {
        return none();
    };
    let show = |us: f64| standing(&Unit::Microseconds.show(us), all.standing);
    let shown = show(all.median);
    // Medians of two parts do not add up to the median of the whole: the usual share of it does.
    let user = cell.value(Claim::Resources, share);
    match user.map(|share| share.median * all.median) {
        Some(user) => {
            let (user, system) = (show(user), show(all.median - user));
            format!("{shown} <small>{user} + {system}</small>")
        }
        None => format!("{shown} <small>not split</small>"),
    }
}

/// Memory, what the kernel holds in sockets beside it, and after how many connections where the
/// server had held more than this point has.
fn memory(cell: &Cell<'_>) -> String {
    let Some(measure) = cell.value(Claim::Resources, |digest| digest.memory) else {
        return none();
    };
    let mut shown = standing(&Unit::Bytes.show(measure.median), measure.standing);
    let held = cell.value(Claim::Resources, |digest| digest.memory_sockets);
    let each = cell.value(Claim::Resources, |digest| digest.memory_per_connection);
    if let (Some(held), Some(each)) = (held, each) {
        let [held, each] = [held, each].map(|one| Unit::Bytes.show(one.median));
        shown.push_str(&format!(" <small>sockets {held}, {each} each</small>"));
    }
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
    let interval = reach_text(&best.rate);
    table
        .head(&escape(cell.server()))
        .cell(&verdicts::mark(cell, true))
        .number(&show(Unit::PerSecond, Some(best.rate.clone())))
        .number(&interval)
        .cell(&precision(&best.rate))
        .number(&stacked(&cell.place().text()))
        .number(&cost(cell))
        .number(&cost_of_generator(cell))
        .number(&response(cell, P50))
        .number(&response(cell, P99))
        .number(&memory(cell))
        .number(
            &cell
                .headroom()
                .map_or_else(none, |headroom| format!("{} ×", number::digits(headroom))),
        );
}
