//! Median and tail of response time against connections.

use super::{Subject, how_to_read, loop_note};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart};
use crate::digests::{Across, QUANTILES};
use crate::number::Unit;

/// The quantiles that get a chart of their own against connections, by position.
const SHOWN: [(usize, &str); 2] = [
    (0, "Median response time"),
    (4, "99th percentile of response time"),
];

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let across = Across::of(&cells);
    SHOWN
        .iter()
        .map(|(position, title)| {
            let series = subject.lines(|cell| cell.time(|digest| digest.response(*position)));
            let caption = if *position == 0 {
                format!("{} {}", loop_note(&cells), how_to_read(&cells, &series))
            } else {
                format!(
                    "One answer in a hundred took longer. {}",
                    how_to_read(&cells, &series)
                )
            };
            Chart {
                id: subject.id(&QUANTILES[*position].1.replace('.', "-")),
                title: format!("{title} {}", across.phrase()),
                caption,
                x: across.axis(),
                y: Axis {
                    name: format!("response time, {}", QUANTILES[*position].1),
                    unit: Unit::Microseconds,
                    scale: Scale::Log,
                },
                series,
            }
        })
        .collect()
}
