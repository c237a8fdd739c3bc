//! What a terminal shows.

use std::fmt::Write as _;

use verdict::compare::{Compared, Row};

use super::{brackets, fact, interval, ratio, surroundings, tables, value};

/// So many differences of a kind are shown; the others are counted.
const DIFFERENCES_MAX: usize = 12;

/// What differs around the two, then the answers, then everything else.
pub fn text(compared: &Compared) -> String {
    let mut text = format!("A: {}\nB: {}\n", compared.a, compared.b);
    for (name, differences) in surroundings(compared) {
        if differences.is_empty() {
            let _ = writeln!(text, "\nSame {name}, as far as it is known.");
            continue;
        }
        let _ = writeln!(text, "\nWhat differs in the {name}:");
        for one in differences.iter().take(DIFFERENCES_MAX) {
            let [a, b] = fact(one);
            let _ = writeln!(text, "  {}\n    A  {a}\n    B  {b}", one.what);
        }
        let more = differences.len().saturating_sub(DIFFERENCES_MAX);
        if more > 0 {
            let _ = writeln!(text, "  and {more} more; --html and --json have all");
        }
    }
    for (heading, rows) in tables(compared) {
        if !rows.is_empty() {
            let _ = writeln!(text, "\n{heading} (ratio: B relative to A)");
            table(&mut text, &rows);
        }
    }
    for only in &compared.only {
        let _ = writeln!(text, "\n{only}");
    }
    let _ = write!(text, "\n{}\n{}\n", compared.declared, compared.caveat);
    if let Some(brackets) = brackets(compared) {
        let _ = writeln!(text, "{brackets}");
    }
    text
}

/// A line of numbers for each row, its answer below.
fn table(text: &mut String, rows: &[&Row]) {
    let cells: Vec<[String; 5]> = rows
        .iter()
        .map(|row| {
            [
                row.metric.label.to_owned(),
                value(row, &row.a),
                value(row, &row.b),
                ratio(row),
                interval(row),
            ]
        })
        .collect();
    let width = |column: usize| {
        let widths = cells.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let [metric, a, b, times] = [width(0), width(1), width(2), width(3)];
    let mut place = "";
    for (row, cells) in rows.iter().zip(&cells) {
        if row.place != place {
            place = &row.place;
            let _ = writeln!(text, "  {place}");
        }
        let [name, one, other, ratio, interval] = cells;
        let _ = writeln!(
            text,
            "    {name:<metric$}  {one:>a$}  {other:>b$}  {ratio:>times$}  {interval}\n\
             \x20   {:<metric$}  {}",
            "", row.text
        );
    }
}
