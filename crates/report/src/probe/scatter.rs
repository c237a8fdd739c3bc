//! All points of an operation as a picture of characters: two dots across and four up for each.

use std::fmt::Write as _;

use super::Operation;
use crate::chart::Scale;
use crate::chart::scale::index;
use crate::number::Unit;

/// The picture's size in characters.
const COLUMNS: usize = 72;
const ROWS: usize = 14;

/// Where each of a character's eight dots is in its code (Unicode block U+2800).
const DOTS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The picture, with the fitted curve as a line through it where there is one.
pub fn scatter(operation: &Operation<'_>) -> String {
    let points: Vec<(f64, f64)> = operation
        .sides
        .iter()
        .flat_map(|(_, result)| result.points(&operation.series))
        .flatten()
        .map(|(n, ns)| (f64::from(n), ns))
        .collect();
    let range = |pick: fn(&(f64, f64)) -> f64| {
        points
            .iter()
            .map(pick)
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| {
                (low.min(value), high.max(value))
            })
    };
    if points.is_empty() {
        return String::new();
    }
    let ((_, last), (low, high)) = (range(|point| point.0), range(|point| point.1));
    let up = Scale::Log.placing(Unit::Nanoseconds, low, high);
    let (wide, tall) = (COLUMNS * 2, ROWS * 4);
    let mut dots = vec![[0_u32; COLUMNS]; ROWS];
    for (n, ns) in points {
        let x = cell(n / last, wide);
        let y = tall - 1 - cell(up.place(ns), tall);
        dots[y / 4][x / 2] |= DOTS[x % 2][y % 4];
    }
    let mut picture = braille(&dots);
    for (_, growth) in operation.growth() {
        for curve in &growth.curves {
            let places = (0..COLUMNS)
                .map(|column| (column, last * (index(column) + 0.5) / index(COLUMNS)))
                .filter(|(_, n)| *n >= growth.from);
            for (column, n) in places {
                let row = ROWS - 1 - cell(up.place(curve.value(n).max(low)), ROWS);
                picture[row][column] = '━';
            }
        }
    }
    let mut text = format!("  {}\n", operation.name());
    let axis = operation
        .sides
        .first()
        .map_or("", |(_, result)| &result.axis);
    for (row, line) in picture.iter().enumerate() {
        let mark = match row {
            0 => Unit::Nanoseconds.show(high),
            row if row == ROWS - 1 => Unit::Nanoseconds.show(low),
            _ => String::new(),
        };
        let line: String = line.iter().collect();
        let _ = writeln!(text, "  {mark:>8} │{}", line.trim_end());
    }
    let end = Unit::Count.show(last);
    let _ = writeln!(text, "  {:>8} └{}", "", "─".repeat(COLUMNS));
    let _ = writeln!(
        text,
        "  {:>8}  1{:>width$} {axis}",
        "",
        end,
        width = COLUMNS - 2 - axis.len()
    );
    text
}

/// Sets of dots as characters.
fn braille(dots: &[[u32; COLUMNS]]) -> Vec<[char; COLUMNS]> {
    dots.iter()
        .map(|row| {
            row.map(|bits| match bits {
                0 => ' ',
                bits => char::from_u32(0x2800 + bits).unwrap_or('?'),
            })
        })
        .collect()
}

/// Which of `count` cells a share from 0 to 1 falls into.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "clamped to the cells"
)]
fn cell(share: f64, count: usize) -> usize {
    let place = share * index(count);
    (place.max(0.0) as usize).min(count - 1)
}
