//! How much more one result has than another, as a chart: what a study draws of two machines.

use verdict::compare::Row;

use super::chart::{Room, figure};
use crate::chart::scale::{Scale, index};
use crate::chart::{Axis, Chart, Kind, Point, Series};
use crate::number::Unit;

/// One row is read sooner than drawn.
const ROWS_MIN: usize = 2;

/// More names than that have no room below an axis.
const ROWS_MAX: usize = 24;

const CAPTION: &str = "By how much B has more than A, or less where it is below the dotted line: \
    each mark is a declared comparison, the stroke its interval. Where a stroke crosses the dotted \
    line, the two are not told apart.";

/// The figure of these rows; nothing where too few, or too many, have a ratio of two numbers that
/// are no bounds.
pub(super) fn section(rows: &[&Row]) -> String {
    chart(rows).map_or_else(String::new, |chart| figure(&chart, 3, Room::Full))
}

fn chart(rows: &[&Row]) -> Option<Chart> {
    let is_bound = |row: &Row| row.bounds.contains(&true);
    let known: Vec<(&Row, f64)> = rows
        .iter()
        .filter(|row| row.forbidden.is_none() && !is_bound(row))
        .filter_map(|row| Some((*row, row.estimate.as_ref()?.ratio - 1.0)))
        .collect();
    if !(ROWS_MIN..=ROWS_MAX).contains(&known.len()) {
        return None;
    }
    let mut as_much = Series::new("as much", 0, Kind::Reference);
    let places = (0..known.len()).map(index);
    as_much.points = places.map(|place| Point::new(place, 0.0)).collect();
    let mut series = vec![as_much];
    for (place, (row, gain)) in known.iter().enumerate() {
        let label = row.metric.label;
        let found = series.iter().position(|one| one.name == label);
        let position = found.unwrap_or_else(|| {
            series.push(Series::new(label, series.len() - 1, Kind::Marks));
            series.len() - 1
        });
        series[position].points.push(Point {
            interval: match row.ends() {
                (Some(low), Some(high)) => Some((low - 1.0, high - 1.0)),
                _ => None,
            },
            ..Point::new(index(place), *gain)
        });
    }
    let left_out = rows.len() - known.len();
    let caption = match left_out {
        0 => CAPTION.to_owned(),
        _ => format!("{CAPTION} What has no ratio, or rests on a bound, is not drawn."),
    };
    Some(Chart {
        id: "gain".to_owned(),
        title: "B in terms of A".to_owned(),
        caption,
        x: Axis {
            name: "place".to_owned(),
            unit: Unit::Count,
            scale: Scale::Category(known.iter().map(|(row, _)| row.place.clone()).collect()),
        },
        y: Axis {
            name: "more than A".to_owned(),
            unit: Unit::Share,
            scale: Scale::Linear,
        },
        series,
    })
}
