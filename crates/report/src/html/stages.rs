//! What happened in each stage of a load that changes.

use super::escape;
use super::results::show;
use super::table::Table;
use crate::digests::Cell;
use crate::number::Unit;

const TITLE: &str = "Each stage of the load, medians of rounds; p50 and p99 are those of the right \
                     answers alone";

/// A table, behind a line that opens it; nothing where the load does not change.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let columns = [
        "server",
        "stage",
        "#asked for",
        "#right answers",
        "#lost",
        "#p50",
        "#p99",
    ];
    let mut table = Table::new(TITLE, &columns);
    let mut cells: Vec<&Cell<'_>> = cells.iter().collect();
    cells.sort_by(|one, other| one.place().cmp(other.place()));
    let mut place = None;
    for cell in cells {
        let stages = cell.stages();
        if !stages.is_empty() && place.replace(cell.place()) != Some(cell.place()) {
            table.group(&escape(&cell.place().text()));
        }
        for stage in stages {
            table
                .row()
                .head(&escape(cell.server()))
                .text(&stage.stage)
                .number(&show(Unit::PerSecond, stage.asked))
                .number(&show(Unit::PerSecond, stage.right))
                .number(&show(Unit::PerSecond, stage.lost))
                .number(&show(Unit::Microseconds, stage.p50_us))
                .number(&show(Unit::Microseconds, stage.p99_us));
        }
    }
    if table.is_empty() {
        return String::new();
    }
    format!(
        "<details class=\"notes\"><summary>Each stage of the load</summary>\n{}</details>\n",
        table.finish()
    )
}
