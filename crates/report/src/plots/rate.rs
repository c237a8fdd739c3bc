//! Rate against connections, with the generator's own ceiling.

use verdict::analysis::Standing;

use super::{Subject, bars, earlier, has_bars, how_to_read};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Dot, Kind, Point, Series};
use crate::digests::{Across, per_second};
use crate::number::Unit;

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let across = Across::of(&cells);
    let mut lines = subject.lines(|cell| cell.rate());
    if let Some(bars) = bars::series(subject, &cells, &across).filter(|_| !lines.is_empty()) {
        lines = bars;
    }
    let mut caption = how_to_read(&cells, &lines);
    let mut series = Vec::new();
    let (ceilings, at_least) = ceilings(subject, &across);
    if !ceilings.is_empty() {
        caption.push_str(match ceilings.len() {
            1 => {
                " The dotted line is the ceiling: this generator with the same plan on the same \
                 CPUs against a server that does nothing."
            }
            _ => {
                " The dotted lines are the ceilings: this generator with the same plan on the same \
                 CPUs against a server that does nothing, for each way in which servers were asked."
            }
        });
        if at_least {
            caption.push_str(" Where that server was the limit, the true ceiling is higher.");
        }
        if let Some(said) = subject.run.sources_of_ceilings(subject.workload) {
            caption.push_str(&format!(" {said}"));
        }
        series.extend(ceilings);
    }
    if lines.is_empty() {
        return Vec::new();
    }
    if across.is_rate() {
        caption.push_str(" Where a line leaves the diagonal, the server no longer keeps up.");
        series.push(diagonal(&across));
    }
    let (published, said) = earlier::lines(subject, &lines, &series);
    caption.push_str(&said);
    series.extend(published);
    // What bars are held against is drawn over them.
    let at = if has_bars(&lines) { 0 } else { series.len() };
    series.splice(at..at, lines);
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

/// The median over rounds of each ceiling at each count, and whether any was a lower bound.
fn ceilings(subject: &Subject<'_>, across: &Across) -> (Vec<Series>, bool) {
    let mut at_least = false;
    let mut all = Vec::new();
    for (kind, places) in subject.run.ceilings(subject.workload) {
        let name = match kind.as_str() {
            kind if !kind.is_empty() && !across.is_by_way() => format!("ceiling, {kind}"),
            _ => "ceiling of the generator".to_owned(),
        };
        let mut series = Series::new(&name, 0, Kind::Reference);
        for digest in subject.run.ceiling_trials(subject.workload) {
            if subject.run.kind_of_ceiling(digest) != kind {
                continue;
            }
            let mut places = across.places_of_ceiling(&kind, &digest.place);
            // A stroke from end to end needs its dots once.
            places.truncate(if across.is_by_way() { 1 } else { usize::MAX });
            for x in places {
                series.cloud.push(Dot {
                    x,
                    y: digest.rate,
                    standing: Standing::Sound,
                });
            }
        }
        for (place, measure) in places {
            at_least |= measure.standing == Standing::AtLeast;
            for x in across.places_of_ceiling(&kind, place) {
                series.points.push(Point::new(x, measure.median));
            }
        }
        if !series.points.is_empty() {
            all.push(series);
        }
    }
    (all, at_least)
}
