//! The ranks of the servers of a comparison, as a table.

use verdict::analysis::Comparison;

use super::chart::standing;
use super::escape;
use super::results::none;
use super::table::Table;
use crate::digests::Run;
use crate::ranks::rows;

/// The table, below what ranks are; a sentence alone where there are no ranks.
pub(super) fn table(run: &Run, comparison: &Comparison) -> String {
    let Some(said) = comparison.of_ranks() else {
        return String::new();
    };
    let html = format!("<p class=\"note\">{}</p>\n", escape(&said));
    let rows = rows(run, comparison);
    if rows.is_empty() {
        return html;
    }
    let (workload, place) = (&comparison.workload, comparison.load.text());
    let quantity = format!("#{}", comparison.quantity());
    let columns = ["#ranks", "server", quantity.as_str(), "not told apart from"];
    let mut table = Table::new(&format!("Ranks: {workload}, at {place}"), &columns);
    for row in rows {
        let value = row.value.as_ref();
        let value = value.map(|(value, worth)| standing(value, *worth));
        table
            .row()
            .number(&escape(&row.ranks))
            .head(&escape(&row.server))
            .number(&value.unwrap_or_else(none))
            .text(&row.not_told_from);
    }
    html + &table.finish()
}
