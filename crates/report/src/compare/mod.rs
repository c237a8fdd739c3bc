//! Two results laid over each other, as text for a terminal and as Markdown for a review; the page
//! is `html::comparison`.
//!
//! All of them show what differs around the two first, then the declared comparisons with their
//! answers, then everything else with its interval.

mod markdown;
mod text;

use verdict::compare::{Compared, Difference, Quantity, Row, Value};

pub(crate) use markdown::cell as plain_cell;
pub use markdown::markdown;
pub use text::text;

use crate::number::{Unit, times};

/// The two kinds of differences, each with its heading.
pub(crate) fn surroundings(compared: &Compared) -> [(&'static str, &[Difference]); 2] {
    [
        ("environment", &compared.environment),
        ("configuration", &compared.configuration),
    ]
}

/// Declared rows, and all others, each with their heading.
pub(crate) fn tables(compared: &Compared) -> [(&'static str, Vec<&Row>); 2] {
    let part = |is_declared: bool| {
        let rows = compared.rows.iter();
        rows.filter(|row| row.is_declared == is_declared).collect()
    };
    [
        ("Declared comparisons", part(true)),
        ("Everything else: intervals, no answers", part(false)),
    ]
}

/// What is shown of both sides.
pub(crate) fn fact(one: &Difference) -> [String; 2] {
    let shown = one.shown();
    shown.map(|text| text.unwrap_or_else(|| "not known".to_owned()))
}

/// A side's value with its unit.
pub(crate) fn value(row: &Row, value: &Value) -> String {
    let unit = match row.quantity {
        Quantity::Bytes => Unit::Bytes,
        Quantity::Microseconds => Unit::Microseconds,
        Quantity::Nanoseconds => Unit::Nanoseconds,
        Quantity::PerSecond => Unit::PerSecond,
    };
    let shown = unit.show(value.median);
    match (value.rounds, value.at_least) {
        (0, _) => format!("({shown})"),
        (_, true) => format!("at least {shown}"),
        (_, false) => shown,
    }
}

/// What brackets mean, where there are any.
pub(crate) fn brackets(compared: &Compared) -> Option<&'static str> {
    let mut sides = compared.rows.iter().flat_map(|row| [&row.a, &row.b]);
    sides.any(|side| side.rounds == 0).then_some(
        "A number in round brackets is no result: every round of it is invalid or disturbed.",
    )
}

/// B in terms of A.
pub(crate) fn ratio(row: &Row) -> String {
    row.estimate.as_ref().map_or_else(
        || "–".to_owned(),
        |found| format!("{}{}", row.bound_of_ratio(), times(found.ratio)),
    )
}

/// Its interval with the probability at which it covers.
pub(crate) fn interval(row: &Row) -> String {
    let interval = row.estimate.as_ref().and_then(|found| found.interval);
    interval.map_or_else(
        || "–".to_owned(),
        |found| {
            let covers = format!("({:.1} %)", found.coverage * 100.0);
            match row.ends() {
                (Some(low), Some(high)) => format!("{} to {} {covers}", times(low), times(high)),
                (Some(low), None) => format!("from {} {covers}", times(low)),
                (None, Some(high)) => format!("to {} {covers}", times(high)),
                (None, None) => "–".to_owned(),
            }
        },
    )
}

#[cfg(test)]
mod tests;
