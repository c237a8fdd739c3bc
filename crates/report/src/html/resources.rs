//! What an exchange took of each server, besides CPU time: waits, switches, interrupts and bytes.

use model::Claim;

use super::chart::standing;
use super::escape;
use super::table::Table;
use crate::digests::{Cell, Digest, Resources};
use crate::number;

/// A number of a trial, and how it is written.
type Column = (
    &'static str,
    fn(&Resources) -> Option<f64>,
    fn(f64) -> String,
);

const COLUMNS: [Column; 12] = [
    ("#waited for a CPU, µs", |of| of.runqueue_wait_us, small),
    ("#CPU of servers behind, µs", |of| of.behind_us, small),
    ("#switches: gave up", |of| of.switches_voluntary, small),
    ("#was taken", |of| of.switches_involuntary, small),
    ("#write calls", |of| of.write_calls, small),
    ("#processes begun", |of| of.processes_begun, small),
    ("#interrupts, µs", |of| of.interrupt_us, small),
    ("#received", |of| of.received, number::bytes),
    ("#beside content", |of| of.beside_content, number::bytes),
    ("#sent", |of| of.sent, number::bytes),
    ("#generator: user, µs", |of| of.generator_user_us, small),
    ("#system, µs", |of| of.generator_system_us, small),
];

/// A table; nothing where nobody could tell anything.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let mut columns = vec!["server", "#at"];
    columns.extend(COLUMNS.iter().map(|(name, _, _)| *name));
    columns.push("#memory per connection");
    let title =
        "What an exchange took besides the server's CPU time: medians of the rounds that count";
    let mut table = Table::new(title, &columns);
    for cell in cells {
        let counting = cell.rounds.iter().filter(|digest| !digest.is_left_out());
        let counting: Vec<&Digest> = counting.copied().collect();
        let worth = cell.standing(Claim::Resources);
        let mark = |text: String| standing(&text, worth);
        let rounds: Vec<&Resources> = counting.iter().map(|digest| &digest.resources).collect();
        let median = |of: fn(&Resources) -> Option<f64>| {
            let mut values: Vec<f64> = rounds.iter().filter_map(|one| of(one)).collect();
            values.sort_by(f64::total_cmp);
            verdict::summary::median(&values)
        };
        let memory = |of: &Resources| of.memory_per_connection;
        if COLUMNS.iter().all(|(_, of, _)| median(*of).is_none()) {
            continue;
        }
        let row = table
            .row()
            .head(&escape(cell.server()))
            .number(&escape(&cell.place().text()));
        for (_, of, write) in COLUMNS {
            row.number(&median(of).map_or_else(|| "-".to_owned(), |value| mark(write(value))));
        }
        let memory = median(memory).map(|value| mark(number::bytes(value)));
        row.number(&memory.unwrap_or_else(|| "-".to_owned()));
    }
    table.finish_unless_empty()
}

fn small(value: f64) -> String {
    format!("{value:.2}")
}

#[cfg(test)]
mod tests {
    use model::finding::{Claim, ClaimVerdict};
    use model::{Status, fixture};

    use crate::digests::Run;
    use crate::html;

    #[test]
    fn what_an_exchange_took_is_believed_as_the_rules_say() {
        let mut trial = fixture::closed();
        let mut table = |status: Status| {
            let worth = ClaimVerdict {
                status,
                because: Vec::new(),
                partial: false,
            };
            trial.verdict.claims.insert(Claim::Resources, worth);
            let mut run = Run::default();
            run.add(&trial);
            let html = html::page(&run);
            let start = html.find("What an exchange took besides").expect("it");
            let end = start + html[start..].find("</table>").expect("its end");
            html[start..end].to_owned()
        };
        let valid = table(Status::Valid);
        assert!(
            !valid.contains("<s ") && !valid.contains("class=\"doubt\""),
            "{valid}"
        );
        let suspect = table(Status::Suspect);
        assert!(
            suspect.contains("class=\"doubt\"") && !suspect.contains("<s "),
            "{suspect}"
        );
        let invalid = table(Status::Invalid);
        assert!(invalid.contains("<s "), "{invalid}");
    }
}
