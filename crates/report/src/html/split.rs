//! Where response times went, by times that the kernel noted on a part of the connections.

use model::record::TimeSplit;
use verdict::summary::{Reading, read};

use super::chart::standing;
use super::escape;
use super::table::Table;
use crate::digests::Cell;
use crate::number;
use crate::split::{PARTS, left_out, shares};

/// A table; nothing where the kernel was not asked.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let mut columns = vec!["server", "#at", "#exchanges"];
    let parts = PARTS.map(|name| format!("#{name}"));
    columns.extend(parts.iter().map(String::as_str));
    columns.push("#added here, p99");
    let title = "Where response times went, by the kernel's own times";
    let mut table = Table::new(title, &columns);
    let mut lacks = TimeSplit::default();
    for cell in cells {
        let rounds = cell.rounds.iter().filter(|digest| !digest.is_left_out());
        let worth = cell.standing(cell.response_claim());
        let mark = |text: &str| standing(text, worth);
        let all =
            rounds
                .filter_map(|digest| digest.split.clone())
                .reduce(|mut one: TimeSplit, other| {
                    one.merge(other);
                    one
                });
        let Some(split) = all else {
            continue;
        };
        lacks.incomplete += split.incomplete;
        lacks.refused += split.refused;
        let row = table
            .row()
            .head(&escape(cell.server()))
            .number(&escape(&cell.place().text()))
            .number(&number::count(split.response.count()));
        for share in shares(&split) {
            let text = share.map_or_else(|| "-".to_owned(), verdict::words::share);
            row.number(&mark(&text));
        }
        row.number(&match read(&split.client_added, 0.99) {
            Reading::Value(span) => mark(&span.to_string()),
            Reading::TooFew | Reading::Censored => "-".to_owned(),
        });
    }
    if table.is_empty() {
        return String::new();
    }
    let mut html = table.finish();
    html.push_str(
        "<p>Parts of the response times of all exchanges on a part of the connections, added up. \
         What was added here is what the generator was late, and how long it took to wake up and \
         read.",
    );
    for sentence in left_out(&lacks) {
        html.push(' ');
        html.push_str(&escape(&sentence));
    }
    html.push_str("</p>\n");
    html
}

#[cfg(test)]
mod tests {
    use model::finding::ClaimVerdict;
    use model::fixture;
    use model::record::TimeSplit;
    use model::units::Span;

    use crate::digests::Run;
    use crate::html;

    #[test]
    fn parts_have_a_table() {
        let mut trial = fixture::closed();
        let page = |trial: &model::Trial| {
            let mut run = Run::default();
            run.add(trial);
            html::page(&run)
        };
        assert!(!page(&trial).contains("Where response times went"));
        let mut split = TimeSplit {
            incomplete: 3,
            refused: 1,
            ..TimeSplit::default()
        };
        split.response.record_n(Span::from_us(1_000), 5_000);
        split.outside.record_n(Span::from_us(900), 5_000);
        split.client_wakeup.record_n(Span::from_us(100), 5_000);
        split.client_added.record_n(Span::from_us(100), 5_000);
        trial.record.split = Some(split);
        let html = page(&trial);
        assert!(html.contains("Where response times went"), "{html}");
        let lacks = "3 more exchanges had no times of the kernel. The kernel would not note the \
                     times of 1 connection.";
        for said in ["5,000", "90 %", "10 %", "100 µs", lacks] {
            assert!(html.contains(said), "{said}");
        }
        let table = |html: &str| {
            let start = html.find("Where response times went").unwrap();
            let end = start + html[start..].find("</table>").unwrap();
            html[start..end].to_owned()
        };
        assert!(!table(&html).contains("<s "), "{}", table(&html));
        // What may not be believed is struck here, too.
        let claim = model::Claim::Capacity;
        let worth = ClaimVerdict {
            status: model::Status::Invalid,
            because: Vec::new(),
            partial: false,
        };
        trial.verdict.claims.insert(claim, worth);
        let struck = table(&page(&trial));
        assert!(
            struck.contains("<s ") && struck.contains("90 %"),
            "{struck}"
        );
    }
}
