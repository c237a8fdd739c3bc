//! The steps of users that ask, or the requests of a mix, each apart.

use super::escape;
use super::results::show;
use super::table::Table;
use crate::digests::{Cell, STEP_QUANTILES};
use crate::number::{self, Unit};

/// A table, behind a line that opens it; nothing where each server was asked for one thing.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let mut columns = vec!["request", "server", "#right", "#failed"];
    let quantiles = STEP_QUANTILES.map(|(_, name)| format!("#{name}"));
    columns.extend(quantiles.iter().map(String::as_str));
    let mut table = Table::new(
        "Each request separately, over all rounds of a point",
        &columns,
    );
    let mut cells: Vec<&Cell<'_>> = cells.iter().collect();
    cells.sort_by(|one, other| one.place().cmp(other.place()));
    let steps: Vec<_> = cells.iter().map(|cell| (*cell, cell.steps())).collect();
    let mut from = 0;
    while let Some((first, _)) = steps.get(from) {
        let here = steps[from..].iter();
        let here = here.take_while(|(cell, _)| cell.place() == first.place());
        let to = from + here.count();
        let most = steps[from..to].iter().map(|(_, steps)| steps.len()).max();
        if most.is_some_and(|most| most > 0) {
            table.group(&escape(&first.place().text()));
        }
        for place in 0..most.unwrap_or(0) {
            for (cell, steps) in &steps[from..to] {
                let Some(step) = steps.get(place) else {
                    continue;
                };
                table
                    .row()
                    .head(&escape(&step.name))
                    .text(cell.server())
                    .number(&number::count(step.right))
                    .number(&number::count(step.failed));
                for time in step.response.clone() {
                    table.number(&show(Unit::Microseconds, time));
                }
            }
        }
        from = to;
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "<details class=\"notes\"><summary>Each request separately</summary>\n{}</details>\n",
        table.finish()
    )
}
