//! Where curves of rate against connections bend.

use std::fmt::Write as _;

use super::escape;
use super::results::show;
use super::table::Table;
use crate::digests::{Cell, definition_of_knee, knees};
use crate::number::Unit;

/// A table, and what its columns are; nothing where there is no curve.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let knees = knees(cells);
    if knees.is_empty() {
        return String::new();
    }
    let columns = [
        "server",
        "connections measured",
        "knee",
        "#rate there",
        "limit there",
    ];
    let mut table = Table::new("Where curves of rate against connections bend", &columns);
    for knee in &knees {
        table
            .row()
            .head(&escape(&knee.curve()))
            .text(&knee.counted())
            .text(&knee.bend())
            .number(&show(Unit::PerSecond, knee.rate.clone()))
            .text(&knee.limited_by());
    }
    let mut html = table.finish();
    let _ = writeln!(
        html,
        "<p class=\"note\">{}</p>",
        escape(&definition_of_knee())
    );
    html
}

#[cfg(test)]
mod tests {
    use model::fixture::Heat;
    use verdict::judge_set;

    use crate::digests::Run;
    use crate::html;

    #[test]
    fn a_curve_has_a_row_and_its_column_is_explained() {
        let page = |connections: Vec<u32>| {
            let trials = Heat {
                connections,
                ..Heat::default()
            }
            .trials();
            let verdicts = judge_set(&trials);
            let mut run = Run::default();
            for (mut trial, verdict) in trials.into_iter().zip(verdicts) {
                trial.verdict = verdict;
                run.add(&trial);
            }
            html::page(&run)
        };
        let told = page(vec![1, 16, 64, 256]);
        let title = "Where curves of rate against connections bend</caption>";
        assert_eq!(told.matches(title).count(), 2);
        let start = told.find(title).expect("a table");
        let table = &told[start..start + told[start..].find("</table>").expect("its end")];
        assert_eq!(table.matches("<tr>").count(), 5, "{table}");
        assert!(table.contains("<td>1, 16, 64, 256</td>"), "{table}");
        assert!(told.contains("(R. Jain, The Art of Computer Systems Performance Analysis, 1991"));
        assert!(!page(vec![16, 64]).contains(title));
    }
}
