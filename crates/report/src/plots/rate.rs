//! Rate against connections, with the generator's own ceiling.

use std::collections::BTreeMap;

use model::point::Values;
use verdict::summary::Rounds;

use super::{Subject, how_to_read};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Dot, Kind, Point, Series, Standing};
use crate::number::Unit;
use crate::run::{Across, Cell, per_second};

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let lines = subject.lines(|cell| cell.rate());
    let mut caption = how_to_read(&cells, &lines);
    let across = Across::of(&cells);
    let mut series = Vec::new();
    if let Some((ceiling, at_least)) = ceiling(subject, &cells, &across) {
        caption.push_str(
            " The dotted line is the ceiling: this generator with the same plan on the same CPUs \
             against a server that does nothing.",
        );
        if at_least {
            caption.push_str(" Where that server was the limit, the true ceiling is higher.");
        }
        series.push(ceiling);
    }
    if lines.is_empty() {
        return Vec::new();
    }
    if across.is_rate() {
        caption.push_str(" Where a line leaves the diagonal, the server no longer keeps up.");
        series.push(diagonal(&across));
    }
    series.extend(lines);
    vec![Chart {
        id: subject.id("rate"),
        title: format!("Rate {}", across.phrase()),
        caption,
        x: across.axis(),
        y: Axis {
            name: "right answers per second".to_owned(),
            unit: Unit::PerSecond,
            scale: Scale::Linear,
        },
        series,
    }]
}

/// Where all that was asked is answered.
fn diagonal(across: &Across) -> Series {
    let mut series = Series::new("intended load", 0, Kind::Reference);
    for rate in across.places.iter().filter_map(per_second) {
        series.points.push(Point::new(rate, rate));
    }
    series
        .points
        .dedup_by(|one, other| one.x.total_cmp(&other.x).is_eq());
    series
}

/// The median over rounds of the ceiling at each count, and whether any was a lower bound.
fn ceiling(subject: &Subject<'_>, cells: &[Cell<'_>], across: &Across) -> Option<(Series, bool)> {
    let mut at: BTreeMap<&Values, Vec<f64>> = BTreeMap::new();
    let mut seen: BTreeMap<(&Values, u32), ()> = BTreeMap::new();
    let mut at_least = false;
    for digest in cells.iter().flat_map(|cell| &cell.rounds) {
        let Some(ceiling) = &digest.ceiling_here else {
            continue;
        };
        // Every server of a round carries the same ceiling: once is enough.
        if seen.insert((&digest.id.load, digest.round), ()).is_none() {
            at.entry(&digest.id.load).or_default().push(ceiling.rate);
            at_least |= ceiling.at_least;
        }
    }
    let mut measured: BTreeMap<&Values, Vec<f64>> = BTreeMap::new();
    for digest in subject.run.ceilings(subject.workload) {
        let rates = measured.entry(&digest.id.load).or_default();
        rates.push(digest.rate);
    }
    let mut series = Series::new("ceiling of the generator", 0, Kind::Reference);
    let dot = |x: f64, y: f64| Dot {
        x,
        y,
        standing: Standing::Sound,
    };
    for (place, rates) in &measured {
        for x in across.places_on_axis(place) {
            series.cloud.extend(rates.iter().map(|rate| dot(x, *rate)));
        }
    }
    let medians = if at.is_empty() { measured } else { at };
    for (place, rates) in medians {
        let Some(rounds) = Rounds::of(rates) else {
            continue;
        };
        for x in across.places_on_axis(place) {
            series.points.push(Point::new(x, rounds.median));
        }
    }
    (!series.points.is_empty()).then_some((series, at_least))
}
