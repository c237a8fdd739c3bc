//! Then and now, as a table of the page.

use super::chart::standing;
use super::escape;
use super::table::Table;
use crate::digests::Run;
use crate::published::{WARNING, meaning, rows};

/// The section; nothing where the experiment names no earlier figures.
pub(super) fn section(run: &Run) -> String {
    let rows = rows(run);
    if rows.is_empty() {
        return String::new();
    }
    let columns = ["what", "here", "#then", "#now", "#now / then", "source"];
    let mut table = Table::new("Figures of earlier studies, then and now", &columns);
    for row in &rows {
        table.row().head(&escape(row.what)).text(&row.here());
        table.number(&escape(&row.then_with_unit()));
        match &row.now {
            Ok(now) => {
                let of = now.number.standing;
                table.number(&standing(&now.number.value, of));
                table.number(&standing(&now.ratio, of));
            }
            Err(_) => {
                table.number("–").number("–");
            }
        }
        table.text(row.source);
    }
    format!(
        "<p><strong>{WARNING}</strong> {} From this run each row shows the best point of its server \
         and workload. Where the row names no network or placement, that is a point over loopback \
         with CPUs apart, if there is one.</p>\n{}",
        meaning(&rows),
        table.finish()
    )
}
