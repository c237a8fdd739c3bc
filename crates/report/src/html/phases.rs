//! Where the time went, as far as the generator saw it: a table of the parts of exchanges.

use super::escape;
use super::results::{none, show};
use super::table::Table;
use crate::digests::{Cell, LATE, PHASES};
use crate::number::Unit;

/// A table that can be opened; nothing where there are no times.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let time = |cell: &Cell<'_>, phase: usize, position: usize| {
        cell.time(|digest| {
            // In a closed loop a request is due when it can go.
            let is_asked = phase != LATE || digest.is_scheduled;
            digest.phases[phase][position].filter(|_| is_asked)
        })
    };
    let has = |phase: &usize| cells.iter().any(|cell| time(cell, *phase, 0).is_some());
    let phases: Vec<usize> = (0..PHASES.len()).filter(has).collect();
    if phases.is_empty() {
        return String::new();
    }
    let headings = phases.iter().map(|phase| format!("#{}", PHASES[*phase]));
    let headings: Vec<String> = headings.collect();
    let mut columns = vec!["server", "#at"];
    columns.extend(headings.iter().map(String::as_str));
    let mut table = Table::new("Medians, and below them the 99th percentiles", &columns);
    for cell in cells {
        let row = table
            .row()
            .head(&escape(cell.server()))
            .number(&escape(&cell.place().text()));
        for &phase in &phases {
            let Some(median) = time(cell, phase, 0) else {
                row.number(&none());
                continue;
            };
            let mut shown = show(Unit::Microseconds, Some(median));
            if let Some(high) = time(cell, phase, 1) {
                let high = show(Unit::Microseconds, Some(high));
                shown.push_str(&format!(" <small>{high}</small>"));
            }
            row.number(&shown);
        }
    }
    format!(
        "<details class=\"notes\"><summary>Where the time went</summary>\n{}<p \
         class=\"note\">{NOTE}</p>\n</details>\n",
        table.finish()
    )
}

/// What the parts are.
const NOTE: &str = "A name is looked up before the window: that is the longest look-up. Connect \
                    and TLS handshake are of connections made in the window. Late is how long \
                    after a request was due and could go it left; blocked is how long it waited \
                    for a free connection. First byte is from the request to the first byte of \
                    its answer, transfer from there to the last.";

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::{Arrivals, ScriptFile};
    use model::units::{Rate, Span};

    use crate::digests::Run;
    use crate::html;

    #[test]
    fn parts_of_times_have_a_table_with_those_that_there_are() {
        let mut trial = fixture::closed();
        let record = &mut trial.record;
        for times in [
            &mut record.connect_time,
            &mut record.tls_time,
            &mut record.blocked_time,
            &mut record.first_byte_time,
            &mut record.transfer_time,
        ] {
            *times = model::Distribution::default();
        }
        record.connect_time.record_n(Span::from_us(80), 5_000);
        record.first_byte_time.record_n(Span::from_us(400), 5_000);
        record.transfer_time.record_n(Span::from_ms(3), 5_000);
        // Shorter than anybody waits.
        record.blocked_time.record_n(Span::from_ns(100), 5_000);
        let mut run = Run::default();
        run.add(&trial);
        let page = html::page(&run);
        let start = page.find("Where the time went").expect("it has the table");
        let table = &page[start..start + page[start..].find("</table>").unwrap()];
        for (phase, is_there) in [
            ("connect", true),
            ("first byte", true),
            ("transfer", true),
            ("TLS handshake", false),
            ("blocked", false),
            ("late", false),
            ("name look-up", false),
        ] {
            let heading = format!("<th scope=\"col\" class=\"n\">{phase}</th>");
            assert_eq!(table.contains(&heading), is_there, "{phase}: {table}");
        }
        for time in ["80.0 µs", "400 µs", "3.00 ms"] {
            assert!(table.contains(time), "{time}: {table}");
        }
    }

    /// They come by a schedule, as requests of an open loop do.
    #[test]
    fn late_times_of_users_who_come_have_a_column() {
        let mut trial = fixture::closed();
        trial.record.late_time = model::Distribution::default();
        let late = Span::from_us(17);
        trial.record.late_time.record_n(late, 5_000);
        let heading = "<th scope=\"col\" class=\"n\">late</th>";
        for do_users_come in [false, true] {
            trial.plan.script = do_users_come.then(|| ScriptFile {
                arrivals: Arrivals::Poisson {
                    rate_per_1000_s: Rate::per_second(50),
                },
                ..ScriptFile::default()
            });
            let mut run = Run::default();
            run.add(&trial);
            let page = html::page(&run);
            assert_eq!(page.contains(heading), do_users_come);
            assert_eq!(page.contains("17.0 µs"), do_users_come);
        }
    }
}
