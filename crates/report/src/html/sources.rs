//! From how many addresses the generator's connections came.

use super::escape;
use super::results::show;
use super::table::Table;
use crate::digests::{Cell, Sources};
use crate::number::Unit;

/// A number of a trial.
type Column = (fn(&Sources) -> f64, Unit);

const COLUMNS: [Column; 4] = [
    (|of| of.all, Unit::Count),
    (|of| of.used, Unit::Count),
    (|of| of.least, Unit::Share),
    (|of| of.most, Unit::Share),
];

/// A table; nothing where the kernel chose the addresses.
pub(super) fn table(cells: &[Cell<'_>]) -> String {
    let columns = [
        "server",
        "#at",
        "#addresses",
        "#used",
        "#smallest share of connections",
        "#largest share",
    ];
    let mut table = Table::new(
        "Source addresses of the generator over the whole run: medians of the rounds that count, \
         shares of addresses that were used",
        &columns,
    );
    for cell in cells {
        let claim = cell.response_claim();
        let of =
            |column: &Column| cell.value(claim, |digest| digest.sources.as_ref().map(column.0));
        if of(&COLUMNS[0]).is_none() {
            continue;
        }
        table
            .row()
            .head(&escape(cell.server()))
            .number(&escape(&cell.place().text()));
        for column in &COLUMNS {
            table.number(&show(column.1, of(column)));
        }
    }
    table.finish_unless_empty()
}

#[cfg(test)]
mod tests {
    use model::fixture::Heat;

    use crate::digests::Run;
    use crate::html;

    #[test]
    fn addresses_have_a_table_where_the_plan_names_them() {
        let mut trials = Heat::of_one("nginx", 2).trials();
        let page = |trials: &[model::Trial]| {
            let mut run = Run::default();
            trials.iter().for_each(|trial| run.add(trial));
            html::page(&run)
        };
        let title = "Source addresses of the generator";
        assert!(!page(&trials).contains(title));
        for trial in &mut trials {
            trial.record.connections_from = vec![4, 0, 1, 3];
        }
        let told = page(&trials);
        let start = told.find(&format!("<caption>{title}")).expect("a table");
        let table = &told[start..start + told[start..].find("</table>").expect("its end")];
        for part in [">4<", ">3<", ">12 %<", ">50 %<"] {
            assert!(table.contains(part), "{part}: {table}");
        }
    }
}
