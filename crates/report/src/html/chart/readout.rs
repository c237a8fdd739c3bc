//! What the page's script reads out under the pointer: for each series the places across and what
//! is said there, as the rest of the page writes numbers.

use serde_json::{Value, json};

use super::drawing::x_text;
use super::{look, range};
use crate::chart::scale::{Placing, index};
use crate::chart::{Chart, Kind, Point, Series, Standing};

/// A dense cloud is read out in so many groups across.
const GROUPS: usize = 60;

/// The name of the axis across; for each series its name, its colour, and where it can be read: the
/// place (0 at the left end of the axis, 1 at the right one), across, up, and its range.
pub(super) fn readout(chart: &Chart) -> Value {
    let (across, _) = chart.placings();
    let series = chart.series.iter().filter(|series| is_read(series));
    let series = series.map(|series| {
        let at = match series.kind {
            Kind::Scatter => groups(chart, series, &across),
            _ => points(chart, series, &across),
        };
        json!({ "name": series.name, "part": series.part, "colour": colour(series), "at": at })
    });
    json!({ "across": chart.x.name, "series": series.collect::<Vec<Value>>() })
}

/// Whether it has something to say at a place across.
fn is_read(series: &Series) -> bool {
    !series.is_empty() && series.kind != Kind::Shade
}

/// The colour of a series, as the style sheet names it.
pub(super) fn colour(series: &Series) -> String {
    match series.kind {
        Kind::Reference | Kind::Shade => "var(--muted)".to_owned(),
        _ => look::colour(series.look),
    }
}

fn points(chart: &Chart, series: &Series, across: &Placing<'_>) -> Vec<Value> {
    let stop = |point: &Point| {
        let range = (point.interval).map(|interval| range(chart, interval, point.is_open_above));
        json!([
            short(across.place(point.x)),
            x_text(chart, point.x),
            worth(chart, point),
            range.unwrap_or_default(),
        ])
    };
    series.points.iter().map(stop).collect()
}

/// The medians of a cloud's dots, and how far those beside each other reach.
fn groups(chart: &Chart, series: &Series, across: &Placing<'_>) -> Vec<Value> {
    let mut dots: Vec<(f64, f64)> = series.cloud.iter().map(|dot| (dot.x, dot.y)).collect();
    dots.sort_by(|one, other| one.0.total_cmp(&other.0));
    let size = dots.len().div_ceil(GROUPS).max(1);
    let group = |dots: &[(f64, f64)]| {
        let (middle, _) = dots[dots.len() / 2];
        let mut values: Vec<f64> = dots.iter().map(|(_, y)| *y).collect();
        values.sort_by(f64::total_cmp);
        let (lowest, highest) = (values[0], values[values.len() - 1]);
        json!([
            short(across.place(middle)),
            format!("about {}", x_text(chart, middle)),
            chart.y.unit.show(values[values.len() / 2]),
            range(chart, (lowest, highest), false),
        ])
    };
    dots.chunks(size).map(group).collect()
}

/// A value, and how far it may be believed.
fn worth(chart: &Chart, point: &Point) -> String {
    let text = chart.y.unit.show(point.y);
    match point.standing {
        Standing::Sound => text,
        Standing::AtLeast => format!("at least {text}"),
        Standing::Doubtful => format!("{text} (suspect)"),
        Standing::Struck => format!("{text} (invalid)"),
    }
}

/// A place in as few bytes as a pixel needs.
fn short(place: f64) -> f64 {
    (place * index(10_000)).round() / index(10_000)
}
