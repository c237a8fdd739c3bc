//! Then and now: what was published of an earlier study, beside what a run has at the same place.

use model::experiment::{Published, Quantity, Shown};
use verdict::analysis::Standing;

use crate::asked::{Number, beside, in_its_unit, number_at, with_unit};
use crate::digests::{Cell, Run};
use crate::number::times;

/// What must be said before such figures stand side by side.
pub const WARNING: &str = "Other hardware, other software, another generator: compare shapes and \
    ratios within a column.";

/// A figure, and the best point of its server and workload in the run.
#[derive(Clone, Debug)]
pub struct Row<'r> {
    /// What it is a figure of.
    pub what: &'r str,
    /// Which number.
    pub shown: Shown,
    /// How much it was then, in the unit in which such numbers are kept.
    pub then: f64,
    /// The point of this run with the highest rate of those that it may be; or why there is none.
    pub now: Result<Now<'r>, String>,
    /// Where the figure stands.
    pub source: &'r str,
}

/// What stands beside a figure.
#[derive(Clone, Debug)]
pub struct Now<'r> {
    /// The point.
    pub cell: Cell<'r>,
    /// Its number.
    pub number: Number,
    /// That in terms of the figure.
    pub ratio: String,
}

impl Row<'_> {
    /// How much it was then, with its unit.
    pub fn then_with_unit(&self) -> String {
        with_unit(self.shown, self.then)
    }

    /// What stands beside it, and where; or why nothing does.
    pub fn here(&self) -> String {
        let now = match &self.now {
            Ok(now) => now,
            Err(why) => return why.clone(),
        };
        let place = format!("{}, {}", now.cell.server(), now.cell.place().text());
        match self.shown {
            Shown::Rate => place,
            shown => format!("{}, {place}", shown.name()),
        }
    }

    /// Whether it says how fast something went.
    const fn is_of_speed(&self) -> bool {
        matches!(self.shown, Shown::Goodput | Shown::Rate)
    }

    /// Whether it says how long something took.
    const fn is_of_time(&self) -> bool {
        matches!(self.shown.quantity(), Quantity::Time)
    }
}

/// What the ratios of the two numbers of these rows are good for.
pub fn meaning(rows: &[Row<'_>]) -> String {
    let times = match rows.iter().any(Row::is_of_time) {
        true => ", and of times what part of them this machine needs",
        false => "",
    };
    let are_all_rates = rows.iter().all(Row::is_of_speed);
    let (of_rates, of_a_kind) = match are_all_rates {
        true => ("", ""),
        false => (" of rates", ", among those of a kind"),
    };
    let is_other = |row: &Row<'_>| !row.is_of_speed() && !row.is_of_time();
    let others = match rows.iter().any(is_other) {
        true => {
            " Bytes, counts and shares say little of how fast a machine is: where they differ, \
             something else is different."
        }
        false => "",
    };
    format!(
        "Of the numbers of a row nothing follows but this: now / then{of_rates} is mostly how much \
         faster this machine is in all{times}; where it differs from row to row{of_a_kind}, it is \
         more.{others}"
    )
}

/// All figures, in their order.
pub fn rows(run: &Run) -> Vec<Row<'_>> {
    let rows = run.published.iter().filter_map(|figure| row(run, figure));
    rows.collect()
}

/// None of a figure that does not say how much it was: no experiment is read with one.
fn row<'r>(run: &'r Run, published: &'r Published) -> Option<Row<'r>> {
    let (shown, then) = published.figure().ok()?;
    let then = in_its_unit(shown, then);
    Some(Row {
        what: &published.what,
        shown,
        then,
        now: now(run, published, shown, then),
        source: published.source.as_deref().unwrap_or_default(),
    })
}

fn now<'r>(
    run: &'r Run,
    published: &Published,
    shown: Shown,
    then: f64,
) -> Result<Now<'r>, String> {
    let cell = beside(run, published).ok_or("not measured in this run")?;
    let (number, value) = number_at(&cell, shown)?;
    let most = match number.is_bound && number.standing != Standing::AtLeast {
        true => "at most ",
        false => "",
    };
    let ratio = match then > 0.0 {
        true => format!("{most}{}", times(value / then)),
        false => "–".to_owned(),
    };
    Ok(Now {
        cell,
        number,
        ratio,
    })
}
