//! What servers wrote to their access logs.

use super::escape;
use super::table::Table;
use crate::digests::Cell;
use crate::number;

/// A table; nothing where no server writes one.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let columns = ["server", "#at", "#lines", "#bytes", "#bytes per line"];
    let mut table = Table::new(
        "Access logs, over all rounds of a point, warm-up included",
        &columns,
    );
    for cell in cells {
        let all = cell.rounds.iter().filter_map(|digest| digest.logged);
        let Some((lines, bytes)) =
            all.reduce(|(lines, bytes), (more, longer)| (lines + more, bytes + longer))
        else {
            continue;
        };
        #[expect(clippy::cast_precision_loss, reason = "a number for people")]
        let bytes = bytes.count() as f64;
        #[expect(clippy::cast_precision_loss, reason = "the same")]
        let per_line = match lines {
            0 => "-".to_owned(),
            _ => format!("{:.1}", bytes / lines as f64),
        };
        table
            .row()
            .head(&escape(cell.server()))
            .number(&escape(&cell.place().text()))
            .number(&number::count(lines))
            .number(&number::bytes(bytes))
            .number(&per_line);
    }
    table.finish_unless_empty()
}

#[cfg(test)]
mod tests {
    use model::fixture::Heat;
    use model::{Bytes, Trial};

    use crate::digests::Run;
    use crate::html;

    fn page(trials: &[Trial]) -> String {
        let mut run = Run::default();
        for trial in trials {
            run.add(trial);
        }
        html::page(&run)
    }

    #[test]
    fn what_was_logged_has_a_table() {
        let mut trials = Heat {
            servers: vec!["nginx", "quiet"],
            rounds: 2,
            ..Heat::default()
        }
        .trials();
        assert!(!page(&trials).contains("Access logs"));
        for trial in &mut trials {
            let is_nginx = trial.point.as_ref().unwrap().id.server == "nginx";
            let Some(server) = trial.context.server.as_mut() else {
                continue;
            };
            server.access_log_lines = is_nginx.then_some(1_000);
            server.access_log_bytes = is_nginx.then_some(Bytes::new(92_500));
        }
        let told = page(&trials);
        let start = told.find("Access logs, over all rounds").expect("a table");
        let table = &told[start..start + told[start..].find("</table>").unwrap()];
        for part in [">nginx<", ">2,000<", ">92.5<"] {
            assert!(table.contains(part), "{part}: {table}");
        }
        assert!(!table.contains("quiet"), "{table}");
    }
}
