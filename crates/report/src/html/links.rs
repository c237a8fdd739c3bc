//! What became of connections of each server, and what an answer had.

use model::Claim;

use super::chart::standing;
use super::escape;
use super::results::show;
use super::table::Table;
use crate::digests::{Cell, Digest};
use crate::number::{self, Unit};

const TITLE: &str = "Connections and content: counts are those of the windows that count, the \
                     share kept alive is that of exchanges of the whole run which needed no new \
                     connection";

/// A table; nothing where no trial counts.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let columns = [
        "server",
        "#at",
        "#exchanges",
        "#connections opened",
        "#closed by the server",
        "#closed by the generator",
        "#broken",
        "#kept alive",
        "#content of an answer",
    ];
    let mut table = Table::new(TITLE, &columns);
    for cell in cells {
        let rounds = cell.rounds.iter().filter(|digest| cell.is_behind(digest));
        let rounds: Vec<&Digest> = rounds.copied().collect();
        let worth = cell.standing(cell.response_claim());
        let all = |of: fn(&Digest) -> u64| {
            let sum = rounds.iter().map(|digest| of(digest)).sum();
            standing(&number::count(sum), worth)
        };
        let kept = cell.value(cell.response_claim(), |digest| digest.kept_alive);
        let content = cell.value(Claim::Resources, |digest| digest.content);
        table
            .row()
            .head(&escape(cell.server()))
            .number(&escape(&cell.place().text()))
            .number(&all(|one| {
                one.outcomes[model::Outcome::Ok] + one.outcomes.failures()
            }))
            .number(&all(|one| one.connections.established))
            .number(&all(|one| one.connections.closed_by_server))
            .number(&all(|one| one.connections.closed_by_client))
            .number(&all(|one| one.connections.broken))
            .number(&kept.map_or_else(super::results::none, |kept| {
                standing(&number::fine_share(kept.median), kept.standing)
            }))
            .number(&show(Unit::Bytes, content));
    }
    table.finish_unless_empty()
}

#[cfg(test)]
mod tests {
    use model::fixture::Heat;
    use model::record::{ConnectionCounts, Tally};
    use model::{Bytes, Outcome};

    use crate::digests::Run;
    use crate::html;

    #[test]
    fn connections_are_counted_by_who_closed_them() {
        let mut trials = Heat::of_one("nginx", 2).trials();
        for trial in &mut trials {
            trial.record.warmup_phase = Tally::default();
            trial.record.drain_phase = Tally::default();
            let total = &mut trial.record.total;
            total.passed = None;
            total.sent = 4_000;
            total.outcomes = model::OutcomeCounts::default();
            total.outcomes[Outcome::Ok] = 4_000;
            total.bytes_content = Bytes::new(62_000_000);
            total.connections = ConnectionCounts {
                asked: 501,
                established: 500,
                failed: 1,
                closed_by_client: 90,
                closed_by_server: 400,
                broken: 7,
                backed_off: 0,
            };
        }
        let mut run = Run::default();
        trials.iter().for_each(|trial| run.add(trial));
        let told = html::page(&run);
        let start = told
            .find("<caption>Connections and content")
            .expect("a table");
        let table = &told[start..start + told[start..].find("</table>").expect("its end")];
        for part in [
            ">8,000<",
            ">1,000<",
            ">800<",
            ">180<",
            ">14<",
            ">87.5 %<",
            ">15.1 KiB<",
        ] {
            assert!(table.contains(part), "{part}: {table}");
        }
    }
}
