//! Rate against connections, with the generator's own ceiling.

use verdict::analysis::Standing;

use super::{Subject, how_to_read};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Dot, Kind, Point, Series};
use crate::number::Unit;
use crate::run::{Across, per_second};

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let lines = subject.lines(|cell| cell.rate());
    let mut caption = how_to_read(&cells, &lines);
    let across = Across::of(&cells);
    let mut series = Vec::new();
    if let Some((ceiling, at_least)) = ceiling(subject, &across) {
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
fn ceiling(subject: &Subject<'_>, across: &Across) -> Option<(Series, bool)> {
    let mut series = Series::new("ceiling of the generator", 0, Kind::Reference);
    for digest in subject.run.ceiling_trials(subject.workload) {
        for x in across.places_on_axis(&digest.place) {
            series.cloud.push(Dot {
                x,
                y: digest.rate,
                standing: Standing::Sound,
            });
        }
    }
    let mut at_least = false;
    for (place, measure) in subject.run.ceilings(subject.workload) {
        at_least |= measure.standing == Standing::AtLeast;
        for x in across.places_on_axis(place) {
            series.points.push(Point::new(x, measure.median));
        }
    }
    (!series.points.is_empty()).then_some((series, at_least))
}
