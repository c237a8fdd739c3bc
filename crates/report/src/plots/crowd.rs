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
    let lines = |value: Value| -> Vec<Series> {
        let drawn = cells.iter();
        drawn
            .flat_map(|cell| traces(subject, cell, value).into_iter().take(each))
            .filter(|series| !series.points.is_empty())
            .collect()
    };
    let chart = |id: &str, title: &str, caption: &str, y: Axis, series: Vec<Series>| Chart {
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
    };
    let wait = chart(
        "wait",
        "Response time over time",
        "A line per round: the median of the right answers that came in each stretch. Once the \
         crowd has gone, a line that stays up is a queue that is still being answered.",
        times("median response time"),
        lines(|stretch| Some(Point::new(stretch.middle_s, stretch.p50_us?))),
    );
    let slowest = chart(
        "slowest",
        "p99 over time",
        "A line per round: the 99th percentile of the response times of the right answers that \
         came in each stretch, where it has answers enough.",
        times("99th percentile of response time"),
        lines(|stretch| Some(Point::new(stretch.middle_s, stretch.p99_us?))),
    );
    let lost = chart(
        "lost",
        "Lost requests over time",
        "Two lines per round: requests that failed, and those that found no connection and were \
         never sent. Each stands where it was given up, which is up to the timeout after it was \
         due; those that waited when the window ended stand in its last stretch.",
        Axis {
            name: "lost requests per second".to_owned(),
            unit: Unit::PerSecond,
            scale: Scale::Linear,
        },
        halves(
            lines(|stretch| Some(Point::new(stretch.middle_s, stretch.failed))),
            lines(|stretch| Some(Point::new(stretch.middle_s, stretch.never_sent))),
        ),
    );
    let is_lost = |series: &Series| series.points.iter().any(|point| point.y > 0.0);
    let has_lost = lost.series.iter().any(is_lost);
    let mut charts = vec![wait, slowest];
    charts.extend(has_lost.then_some(lost));
    charts.retain(|chart| !chart.series.is_empty());
    charts
}

/// An axis of response times.
fn times(name: &str) -> Axis {
    Axis {
        name: name.to_owned(),
        unit: Unit::Microseconds,
        scale: Scale::Log,
    }
}

/// What failed, and what was never sent: the light half.
fn halves(mut failed: Vec<Series>, mut never_sent: Vec<Series>) -> Vec<Series> {
    let name = |series: &mut Vec<Series>, half: &str| {
        for one in series {
            let round = one.part.take().map(|round| format!(", {round}"));
            one.part = Some(format!("{half}{}", round.unwrap_or_default()));
        }
    };
    name(&mut failed, "failed");
    name(&mut never_sent, "never sent");
    for one in &mut never_sent {
        one.light = true;
    }
    failed.into_iter().chain(never_sent).collect()
}

/// A point of a stretch, where it has one.
type Value = fn(&Stretch) -> Option<Point>;
