//! Rate over time within trials: whether it was steady.

use super::Subject;
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Kind, Point, Series};
use crate::number::Unit;
use crate::run::{Across, Cell};

/// Fewer stretches than this show nothing that the rounds do not.
const STRETCHES_MIN: usize = 4;

/// More lines than this hide each other.
const LINES_MAX: usize = 60;

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let Some(place) = Across::of(&cells).places.last().cloned() else {
        return Vec::new();
    };
    let cells: Vec<&Cell<'_>> = cells.iter().filter(|cell| *cell.place() == place).collect();
    let each = (LINES_MAX / cells.len().max(1)).max(1);
    let most = cells.iter().map(|cell| cell.rounds.len()).max();
    let cut = match most.filter(|most| *most > each) {
        Some(_) => format!(" Of each server the first {each} rounds are drawn."),
        None => String::new(),
    };
    let series: Vec<Series> = cells
        .iter()
        .flat_map(|cell| traces(subject, cell).into_iter().take(each))
        .collect();
    if series.is_empty() {
        return Vec::new();
    }
    vec![Chart {
        id: subject.id("time"),
        title: format!("Rate over time at {}", place.text()),
        caption: format!(
            "A line per round, from the start of the measured window. A line that climbs, falls or \
             jumps where the load does not is a server that had not settled, and its mean says \
             less than it seems to.{cut}"
        ),
        x: Axis {
            name: "time since the window began".to_owned(),
            unit: Unit::Seconds,
            scale: Scale::Linear,
        },
        y: Axis {
            name: "right answers per second".to_owned(),
            unit: Unit::PerSecond,
            scale: Scale::Linear,
        },
        series,
    }]
}

fn traces(subject: &Subject<'_>, cell: &Cell<'_>) -> Vec<Series> {
    cell.rounds
        .iter()
        .filter(|digest| digest.stretches.len() >= STRETCHES_MIN)
        .map(|digest| Series {
            part: (digest.round > 0).then(|| format!("round {}", digest.round)),
            points: digest
                .stretches
                .iter()
                .map(|(second, rate)| Point::new(*second, *rate))
                .collect(),
            ..Series::new(cell.server(), subject.look(cell.server()), Kind::Trace)
        })
        .collect()
}
