//! Failed requests and stalled connections with the most connections, as a table of Markdown.

use std::fmt::Write as _;

use super::text;
use crate::digests::{Across, Cell, Run, STALLED};
use crate::errors::row;

/// The section: of each workload that was measured along numbers of connections, the points with
/// the most of them, over loopback and with CPUs apart. Nothing where there is none.
pub(super) fn section(run: &Run) -> String {
    let mut out = String::new();
    for workload in run.workloads() {
        let cells = run.cells(&workload);
        if !Across::of(&cells).is_along_connections() {
            continue;
        }
        let most = cells.iter().map(|cell| cell.place().connections()).max();
        let is_shown =
            |cell: &&Cell<'_>| cell.is_at_home() && Some(cell.place().connections()) == most;
        for cell in cells.iter().filter(is_shown) {
            let row = row(cell);
            let (number, most) = row.stalled;
            let most = most.map(|most| format!(", {most}"));
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} | {number}{} |",
                text(&workload),
                text(cell.server()),
                text(&cell.place().text()),
                row.lost,
                text(&row.share),
                most.unwrap_or_default()
            );
        }
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "\n## Errors with the most connections\n\n{}\n\n\
         | workload | server | at | failed or never sent | of all | stalled connections |\n\
         |---|---|---|--:|--:|--:|\n{out}",
        text(STALLED)
    )
}
