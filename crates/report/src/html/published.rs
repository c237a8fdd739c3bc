//! Then and now, as a table of the page.

use super::chart::standing;
use super::escape;
use super::table::Table;
use crate::digests::Run;
use crate::number::{plain, times};
use crate::published::{RATIO, WARNING, rows};

/// The section; nothing where the experiment names no earlier figures.
pub(super) fn section(run: &Run) -> String {
    if run.published.is_empty() {
        return String::new();
    }
    let columns = ["what", "here", "#then", "#now", "#now / then", "source"];
    let mut table = Table::new("Right answers per second, then and now", &columns);
    for row in rows(run) {
        table.row().head(&escape(row.what));
        match row.now {
            Some((cell, rate)) => {
                let place = format!("{}, {}", cell.server(), cell.place().text());
                table.text(&place).number(&plain(row.then));
                table.number(&standing(&plain(rate.median), rate.standing));
                let ratio = times(rate.median / row.then);
                table.number(&standing(&ratio, rate.standing));
            }
            None => {
                table
                    .text("not measured in this run")
                    .number(&plain(row.then));
                table.number("–").number("–");
            }
        }
        table.text(row.source);
    }
    format!(
        "<p><strong>{WARNING}</strong> {RATIO} From this run each row shows the best point of its server \
         and workload. Where the row names no network or placement, that is a point over loopback \
         with CPUs apart, if there is one.</p>\n{}",
        table.finish()
    )
}
