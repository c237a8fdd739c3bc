//! One operation as a chart: the points of each pass, the typical cost, the fitted curve.

use std::collections::{BTreeMap, BTreeSet};

use model::probe::{AxisKind, Curve, Growth, ProbeResult};

use super::{Operation, second_of};
use crate::chart::{Axis, Chart, Dot, Kind, Point, Scale, Series, Standing};
use crate::number::{Unit, rounded};

/// Places that a drawing of this size keeps apart: a mark is three of its pixels wide.
const PLACES: (f64, f64) = (240.0, 110.0);

/// The look that is nobody's colour: that of ink.
const INK: usize = 7;

/// Points of a fitted curve.
const STEPS: u32 = 60;

/// The chart, its points thinned to the mark; all of them are in the data beside the page.
pub fn chart(operation: &Operation<'_>, id: &str) -> Chart {
    let overlaid = operation.sides.len() > 1;
    let mut series = Vec::new();
    for (position, (side, result)) in operation.sides.iter().enumerate() {
        series.extend(clouds(operation, side, result, position, overlaid));
    }
    for (position, (side, growth)) in operation.growth().into_iter().enumerate() {
        series.extend(lines(side, growth, position, overlaid));
    }
    let first = operation.sides.first().map(|(_, result)| *result);
    let progress = first.is_some_and(|result| result.kind == AxisKind::Progress);
    let mut chart = Chart {
        id: id.to_owned(),
        title: title(operation),
        caption: caption(operation),
        x: Axis {
            name: first.map_or_else(String::new, |result| result.axis.clone()),
            unit: Unit::Count,
            scale: Scale::Linear,
        },
        y: Axis {
            name: if progress {
                "time for each megabyte".to_owned()
            } else {
                "time of one call".to_owned()
            },
            unit: Unit::Nanoseconds,
            scale: Scale::Log,
        },
        series,
    };
    thin(&mut chart, overlaid);
    let results = operation.sides.iter().map(|(_, result)| *result);
    mark_seconds(&mut chart, results);
    chart
}

/// Puts a line across a chart of downloads where a second reader of one of them begins.
pub(crate) fn mark_seconds<'a>(chart: &mut Chart, results: impl Iterator<Item = &'a ProbeResult>) {
    let mut seconds: BTreeMap<u32, BTreeSet<&str>> = BTreeMap::new();
    for (begins, what) in results.filter_map(second_of) {
        seconds.entry(begins).or_default().insert(what);
    }
    let (_, (low, high)) = chart.extent();
    for (strand, (begins, who)) in seconds.into_iter().enumerate() {
        let verb = if who.len() == 1 { "begins" } else { "begin" };
        let who = verdict::words::list(&who.into_iter().collect::<Vec<_>>());
        let name = format!("{who} {verb}, after {begins} MB");
        let mut line = Series::new(name, 0, Kind::Reference);
        line.strand = strand;
        line.points = [low, high].map(|y| Point::new(f64::from(begins), y)).into();
        chart.series.push(line);
    }
}

/// What it shows, and the answers.
fn caption(operation: &Operation<'_>) -> String {
    let question = operation
        .sides
        .first()
        .map_or("", |(_, result)| result.question.as_str());
    let mut text = format!("{question}.");
    for (side, growth) in operation.growth() {
        let sentence = &growth.sentence;
        if side.is_empty() {
            text.push_str(&format!(" Answer: {sentence}."));
        } else {
            text.push_str(&format!(" {side}: {sentence}."));
        }
    }
    text
}

/// The points: a series for each pass, or for each side where there are two.
fn clouds(
    operation: &Operation<'_>,
    side: &str,
    result: &ProbeResult,
    position: usize,
    overlaid: bool,
) -> Vec<Series> {
    result
        .points(&operation.series)
        .into_iter()
        .enumerate()
        .map(|(pass, points)| {
            let mut series = if overlaid {
                Series::new(side, position, Kind::Scatter)
            } else {
                Series::new(format!("pass {}", pass + 1), pass, Kind::Scatter)
            };
            series.cloud = points
                .into_iter()
                .map(|(n, ns)| Dot {
                    x: f64::from(n),
                    y: ns.round(),
                    standing: Standing::Sound,
                })
                .collect();
            series
        })
        .collect()
}

/// The typical cost in each bin, and the curves that were fitted.
fn lines(side: &str, growth: &Growth, position: usize, overlaid: bool) -> Vec<Series> {
    let named = |what: &str| {
        if overlaid {
            format!("{side}, {what}")
        } else {
            what.to_owned()
        }
    };
    let look = if overlaid { position } else { INK };
    // Without marks: bins of equal ratio crowd at the beginning of an axis of equal steps.
    let mut typical = Series::new(named("median of each bin"), look, Kind::Curve);
    typical.points = growth
        .bins
        .iter()
        .map(|(n, ns)| Point::new(rounded(*n), rounded(*ns)))
        .collect();
    let mut series = vec![typical];
    for curve in &growth.curves {
        let name = named(&format!("fit: {}", curve.class().word()));
        let mut fit = if overlaid {
            Series {
                light: true,
                ..Series::new(name, look, Kind::Trace)
            }
        } else {
            Series::new(name, look, Kind::Reference)
        };
        fit.points = drawn(curve, growth);
        series.push(fit);
    }
    series
}

fn drawn(curve: &Curve, growth: &Growth) -> Vec<Point> {
    let (from, to) = (growth.from, growth.to);
    (0..=STEPS)
        .map(|step| {
            // Geometric, so that the bend of a logarithm is drawn where it is.
            let n = from * (to / from).powf(f64::from(step) / f64::from(STEPS));
            Point::new(rounded(n), rounded(curve.value(n).max(1.0)))
        })
        .collect()
}

/// One dot for each place that the drawing keeps apart. Where several passes have one, they take
/// turns along the axis, so that none hides the others; two sides never hide each other.
fn thin(chart: &mut Chart, overlaid: bool) {
    let ((x_low, x_high), (y_low, y_high)) = chart.extent();
    let (x, y) = (chart.x.clone(), chart.y.clone());
    let across = x.placing(x_low, x_high);
    let up = y.placing(y_low, y_high);
    let spot = |dot: &Dot| {
        (
            place(across.place(dot.x), PLACES.0),
            place(up.place(dot.y), PLACES.1),
        )
    };
    let mut claims: BTreeMap<(String, (usize, usize)), Vec<usize>> = BTreeMap::new();
    let group = |series: &Series| {
        if overlaid {
            series.name.clone()
        } else {
            String::new()
        }
    };
    for (number, series) in chart.series.iter().enumerate() {
        for dot in &series.cloud {
            let claim = claims.entry((group(series), spot(dot))).or_default();
            if claim.last() != Some(&number) {
                claim.push(number);
            }
        }
    }
    for (number, series) in chart.series.iter_mut().enumerate() {
        let group = group(series);
        series.cloud.retain(|dot| {
            let key = (group.clone(), spot(dot));
            match claims.get(&key) {
                Some(claim) if claim[(key.1.0 + key.1.1) % claim.len()] == number => {
                    claims.remove(&key);
                    true
                }
                _ => false,
            }
        });
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place on a screen; what is off it saturates"
)]
fn place(share: f64, places: f64) -> usize {
    (share * places).round() as usize
}
/// The operation; and where a server was asked, which one and how it waits.
fn title(operation: &Operation<'_>) -> String {
    let [(_, result)] = operation.sides.as_slice() else {
        return operation.name();
    };
    let fact = |name: &str| result.facts.get(name);
    match (fact("server"), fact("waits by")) {
        (Some(server), Some(way)) => format!("{}: {server}, by {way}", operation.name()),
        (Some(server), None) => format!("{}: {server}", operation.name()),
        (None, _) => operation.name(),
    }
}
