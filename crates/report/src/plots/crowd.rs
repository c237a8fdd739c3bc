//! What a load that changes does to answers over time: how long they take, and how many requests
//! are lost.

use super::Subject;
use super::time::{cells_over_time, traces};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Point, Series};
use crate::digests::Stretch;
use crate::number::Unit;

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let Some((cells, place, each)) = cells_over_time(subject) else {
        return Vec::new();
    };
    let changes = cells.iter().flat_map(|cell| &cell.rounds);
    let mut changes = changes.flat_map(|digest| &digest.stretches);
    if !changes.any(|stretch| stretch.scheduled.is_some()) {
        return Vec::new();
    }
    let chart = |id: &str, title: &str, caption: &str, y: Axis, value: Value| {
        let drawn = cells.iter();
        let series: Vec<Series> = drawn
            .flat_map(|cell| traces(subject, cell, value).into_iter().take(each))
            .filter(|series| !series.points.is_empty())
            .collect();
        Chart {
            id: subject.id(id),
            title: format!("{title} at {}", place.text()),
            caption: caption.to_owned(),
            x: Axis {
                name: "time since the window began".to_owned(),
                unit: Unit::Seconds,
                scale: Scale::Linear,
            },
            y,
            series,
        }
    };
    let wait = chart(
        "wait",
        "Response time over time",
        "A line per round: the median of the right answers that came in each stretch. Once the \
         crowd has gone, a line that stays up is a queue that is still being answered.",
        Axis {
            name: "median response time".to_owned(),
            unit: Unit::Microseconds,
            scale: Scale::Log,
        },
        |stretch| Some(Point::new(stretch.middle_s, stretch.p50_us?)),
    );
    let slowest = chart(
        "slowest",
        "p99 over time",
        "A line per round: the 99th percentile of the response times of the right answers that \
         came in each stretch, where it has answers enough.",
        Axis {
            name: "99th percentile of response time".to_owned(),
            unit: Unit::Microseconds,
            scale: Scale::Log,
        },
        |stretch| Some(Point::new(stretch.middle_s, stretch.p99_us?)),
    );
    let lost = chart(
        "lost",
        "Lost requests over time",
        "A line per round: requests that failed, or found no connection and were never sent. Each \
         stands where it was given up, which is up to the timeout after it was due; those that \
         waited when the window ended stand in its last stretch.",
        Axis {
            name: "lost requests per second".to_owned(),
            unit: Unit::PerSecond,
            scale: Scale::Linear,
        },
        |stretch| Some(Point::new(stretch.middle_s, stretch.lost)),
    );
    let is_lost = |series: &Series| series.points.iter().any(|point| point.y > 0.0);
    let has_lost = lost.series.iter().any(is_lost);
    let mut charts = vec![wait, slowest];
    charts.extend(has_lost.then_some(lost));
    charts.retain(|chart| !chart.series.is_empty());
    charts
}

/// A point of a stretch, where it has one.
type Value = fn(&Stretch) -> Option<Point>;
