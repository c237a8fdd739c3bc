//! What searches for the capacity found, as a table of the page.

use super::escape;
use super::table::Table;
use crate::digests::Run;
use crate::number::plain;

/// The table of a workload; nothing where nothing was searched.
pub(super) fn table(run: &Run, workload: &str) -> String {
    let columns = [
        "server",
        "#met the objective",
        "#did not",
        "objective",
        "rests on",
    ];
    let mut table = Table::new(
        "Capacity: the highest rate that meets the objective",
        &columns,
    );
    let mut place = None;
    let mut found = run.searches(workload);
    found.sort_by(|one, other| one.place.cmp(other.place));
    for one in &found {
        if place.replace(one.place) != Some(one.place) {
            table.group(&escape(&one.place.text()));
        }
        let high = match one.high() {
            Some(rate) => plain(rate),
            None => "not found".to_owned(),
        };
        let low = one.low().map_or_else(|| "–".to_owned(), plain);
        table
            .row()
            .head(&escape(one.server))
            .number(&low)
            .number(&high)
            .text(one.objective)
            .text(&one.rests_on());
    }
    match table.is_empty() {
        true => String::new(),
        false => format!(
            "{}<p class=\"note\">Each search ends between two rates: the highest that met the \
             objective, and the lowest that is known not to. Over all searches, this table has \
             the lowest of the former and the highest of the latter. The rates above come from \
             one more trial, made at the rate that a search had found.</p>\n",
            table.finish()
        ),
    }
}
