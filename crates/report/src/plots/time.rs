//! Rate over time within trials: whether it was steady.

use model::point::Values;

use super::{Subject, ramp};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Kind, Point, Series};
use crate::digests::{Across, Cell, Stretch};
use crate::number::Unit;

/// Fewer stretches than this show nothing that the rounds do not.
const STRETCHES_MIN: usize = 4;

/// More lines than this hide each other.
const LINES_MAX: usize = 60;

/// The look that is nobody's colour: that of ink.
const INK: usize = 7;

/// The points that are drawn over time, their place, and how many rounds of each.
pub(super) fn cells_over_time<'a>(subject: &Subject<'a>) -> Option<(Vec<Cell<'a>>, Values, usize)> {
    let cells = subject.cells();
    let place = Across::of(&cells).places.last().cloned()?;
    let is_there = |cell: &Cell<'_>| *cell.place() == place;
    let cells: Vec<Cell<'a>> = cells.into_iter().filter(is_there).collect();
    let each = (LINES_MAX / cells.len().max(1)).max(1);
    Some((cells, place, each))
}

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let Some((cells, place, each)) = cells_over_time(subject) else {
        return Vec::new();
    };
    let most = cells.iter().map(|cell| cell.rounds.len()).max();
    let cut = match most.filter(|most| *most > each) {
        Some(_) => format!(" Of each server the first {each} rounds are drawn."),
        None => String::new(),
    };
    let rate = |stretch: &Stretch| Some(Point::new(stretch.middle_s, stretch.rate));
    let mut series: Vec<Series> = cells
        .iter()
        .flat_map(|cell| traces(subject, cell, rate).into_iter().take(each))
        .collect();
    if series.is_empty() {
        return Vec::new();
    }
    series.extend(offered(&cells));
    let (shade, said) = ramp::shade(&cells).unzip();
    series.splice(0..0, shade);
    vec![Chart {
        id: subject.id("time"),
        title: format!("Rate over time at {}", place.text()),
        caption: format!(
            "A line per round, from the start of the measured window. Where a line climbs, \
             falls or jumps while the load does not, the server had not settled, and its mean \
             says less than it seems to.{cut}{}",
            said.unwrap_or_default()
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

/// A line for each round of a point.
pub(super) fn traces(
    subject: &Subject<'_>,
    cell: &Cell<'_>,
    value: fn(&Stretch) -> Option<Point>,
) -> Vec<Series> {
    cell.rounds
        .iter()
        .filter(|digest| digest.stretches.len() >= STRETCHES_MIN)
        .map(|digest| Series {
            part: (digest.round > 0).then(|| format!("round {}", digest.round)),
            points: digest.stretches.iter().filter_map(value).collect(),
            ..Series::new(cell.server(), subject.look(cell.server()), Kind::Trace)
        })
        .collect()
}

/// The rate that was asked for, where it changes: the same of all.
fn offered(cells: &[Cell<'_>]) -> Option<Series> {
    let digest = cells.first()?.rounds.first()?;
    let mut series = Series::new("asked for", INK, Kind::Reference);
    let stretches = digest.stretches.iter();
    series.points = stretches
        .filter_map(|stretch| Some(Point::new(stretch.middle_s, stretch.scheduled?)))
        .collect();
    (!series.is_empty()).then_some(series)
}
