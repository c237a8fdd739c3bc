//! The steps of users that ask, or the requests of a mix, each apart; and whole pages.

use super::escape;
use super::results::show;
use super::table::Table;
use crate::digests::{Cell, STEP_QUANTILES, StepOver};
use crate::number::{self, Unit};

/// A table, behind a line that opens it; nothing where each server was asked for one thing.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let title = "Each request separately, over all rounds of a point";
    let Some(table) = rows(cells, title, ["request", "#right"], Cell::steps) else {
        return String::new();
    };
    format!(
        "<details class=\"notes\"><summary>Each request separately</summary>\n{table}</details>\n"
    )
}

/// Whole pages with a line that says what their times are; nothing where users ask for no parts.
pub(super) fn pages(cells: &[Cell<'_>]) -> String {
    let title = "Whole pages with their parts, over all rounds of a point";
    let Some(table) = rows(cells, title, ["page", "#complete"], Cell::pages) else {
        return String::new();
    };
    format!(
        "{table}<p>Times are from when the page was due to the end of its last part, of complete \
         pages: those of which something failed are not in them.</p>\n"
    )
}

fn rows<'a>(
    cells: &[Cell<'a>],
    title: &str,
    [what, right]: [&str; 2],
    of: fn(&Cell<'a>) -> Vec<StepOver>,
) -> Option<String> {
    let mut columns = vec![what, "server", right, "#failed"];
    let quantiles = STEP_QUANTILES.map(|(_, name)| format!("#{name}"));
    columns.extend(quantiles.iter().map(String::as_str));
    let mut table = Table::new(title, &columns);
    let mut cells: Vec<&Cell<'a>> = cells.iter().collect();
    cells.sort_by(|one, other| one.place().cmp(other.place()));
    let steps: Vec<_> = cells.iter().map(|cell| (*cell, of(cell))).collect();
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
    (!table.is_empty()).then(|| table.finish())
}
