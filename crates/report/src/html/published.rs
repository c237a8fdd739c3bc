//! Then and now: what was published of an earlier study, beside what this run has at the same
//! place.

use model::experiment::Published;
use verdict::analysis::Measure;

use super::escape;
use super::table::Table;
use crate::number::{plain, times};
use crate::run::{Cell, Run};

/// The section; nothing where the experiment names no earlier figures.
pub(super) fn section(run: &Run) -> String {
    if run.published.is_empty() {
        return String::new();
    }
    let columns = ["what", "here", "#then", "#now", "#now / then", "source"];
    let mut table = Table::new("Right answers per second, then and now", &columns);
    for published in &run.published {
        let then = published.rate.0.as_per_second_f64();
        table.row().head(&escape(&published.what));
        match now(run, published) {
            Some((cell, rate)) => {
                let place = format!("{}, {}", cell.server(), cell.place().text());
                table.text(&place).number(&plain(then));
                table.number(&plain(rate.median));
                table.number(&escape(&times(rate.median / then)));
            }
            None => {
                table.text("not measured in this run").number(&plain(then));
                table.number("–").number("–");
            }
        }
        table.text(published.source.as_deref().unwrap_or_default());
    }
    format!(
        "<p><strong>Other hardware, other software, another generator: compare shapes and ratios \
         within a column, and never a number of one column with one of the other.</strong> From \
         this run each row shows the best point of its server and workload.</p>\n{}",
        table.finish()
    )
}

/// What this run has there: the point with the highest rate of those that it may be.
fn now<'r>(run: &'r Run, published: &Published) -> Option<(Cell<'r>, Measure)> {
    let name = published.server.as_deref()?;
    let label = run.label_of(name).unwrap_or(name);
    let is_there = |cell: &Cell<'_>| {
        let count = published.connections;
        cell.server() == label
            && count.is_none_or(|count| cell.place().connections() == count)
    };
    let workload = published.workload.as_deref()?;
    let cells = run.cells(workload).into_iter().filter(is_there);
    let rates = cells.filter_map(|cell| Some((cell.rate()?, cell)));
    let best = rates.max_by(|(one, _), (other, _)| one.median.total_cmp(&other.median));
    best.map(|(rate, cell)| (cell, rate))
}
