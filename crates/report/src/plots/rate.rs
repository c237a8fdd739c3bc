//! Rate against connections, with the generator's own ceiling.

use std::collections::BTreeMap;

use verdict::summary::Rounds;

use super::{Subject, how_to_read};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Dot, Kind, Point, Series};
use crate::number::Unit;
use crate::run::Cell;

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let lines = subject.lines(|cell| cell.rate());
    let mut caption = how_to_read(&cells, &lines);
    let mut series = Vec::new();
    if let Some((ceiling, at_least)) = ceiling(subject, &cells) {
        caption.push_str(
            " The dotted line is the ceiling: this generator with the same plan on the same CPUs against a server that does nothing.",
        );
        if at_least {
            caption.push_str(" Where that server was the limit, the true ceiling is higher.");
        }
        series.push(ceiling);
    }
    series.extend(lines);
    vec![Chart {
        id: subject.id("rate"),
        title: "Rate against connections".to_owned(),
        caption,
        x: subject.connections(),
        y: Axis {
            name: "right answers per second".to_owned(),
            unit: Unit::PerSecond,
            scale: Scale::Linear,
        },
        series,
    }]
}

/// The median over rounds of the ceiling at each count, and whether any was a lower bound.
fn ceiling(subject: &Subject<'_>, cells: &[Cell<'_>]) -> Option<(Series, bool)> {
    let mut at: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut seen: BTreeMap<(u32, u32), ()> = BTreeMap::new();
    let mut at_least = false;
    for digest in cells.iter().flat_map(|cell| &cell.rounds) {
        let Some(ceiling) = &digest.ceiling_here else {
            continue;
        };
        // Every server of a round carries the same ceiling: once is enough.
        if seen
            .insert((digest.connections, digest.round), ())
            .is_none()
        {
            at.entry(digest.connections).or_default().push(ceiling.rate);
            at_least |= ceiling.at_least;
        }
    }
    let mut measured: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for digest in subject.run.ceilings(subject.workload) {
        measured
            .entry(digest.connections)
            .or_default()
            .push(digest.rate);
    }
    let mut series = Series::new("ceiling of the generator", 0, Kind::Reference);
    for (connections, rates) in &measured {
        series.cloud.extend(rates.iter().map(|rate| Dot {
            x: f64::from(*connections),
            y: *rate,
            standing: crate::chart::Standing::Sound,
        }));
    }
    let medians = if at.is_empty() { measured } else { at };
    for (connections, rates) in medians {
        if let Some(rounds) = Rounds::of(rates) {
            series
                .points
                .push(Point::new(f64::from(connections), rounds.median));
        }
    }
    (!series.points.is_empty()).then_some((series, at_least))
}
