//! Rates as bars, each round a dot on its bar: where what stands across has names.

use super::{Subject, add};
use crate::chart::scale::{Scale, index};
use crate::chart::{Axis, Chart, Kind, Series};
use crate::digests::{Across, Cell};
use crate::number::Unit;

/// More bars than this are no longer seen as bars.
const BARS_MAX: usize = 40;

/// Of servers that were asked in several ways, with a few numbers of connections: the rates with
/// the most of them.
pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let all = Across::of(&cells);
    let Some(place) = all.places.last().filter(|_| all.is_along_connections()) else {
        return Vec::new();
    };
    let here = cells.into_iter().filter(|cell| cell.place() == place);
    let here: Vec<Cell<'_>> = here.collect();
    let across = Across::of(&here);
    if !across.is_by_way() {
        return Vec::new();
    }
    let Some(series) = series(subject, &here, &across) else {
        return Vec::new();
    };
    vec![Chart {
        id: subject.id("bars"),
        title: format!("Rate at {}", place.text()),
        caption: super::how_to_read(&here, &series),
        x: across.groups(),
        y: Axis {
            name: "right answers per second".to_owned(),
            unit: Unit::PerSecond,
            scale: Scale::Linear,
        },
        series,
    }]
}

/// The bars of points that stand beside each other on an axis of names; none where they stand on
/// one of numbers, or where there are many.
pub(super) fn series(
    subject: &Subject<'_>,
    cells: &[Cell<'_>],
    across: &Across,
) -> Option<Vec<Series>> {
    let is_alone = across.places.len() == 1;
    if across.joins() || !is_alone || cells.len() > BARS_MAX {
        return None;
    }
    let mut all: Vec<Series> = Vec::new();
    for cell in cells {
        let Some(rate) = cell.rate() else { continue };
        // Servers of a way stand beside each other; else each has a place of its own.
        let (x, stack) = match across.is_by_way() {
            true => (index(across.group(cell)?), across.server(cell)?),
            false => (across.x(cell), 0),
        };
        let name = across.line(cell);
        let found = all.iter().position(|one| one.name == name);
        let found = found.unwrap_or_else(|| {
            let look = subject.look_at(across, cell);
            all.push(Series::new(name, look, Kind::Bar { stack }));
            all.len() - 1
        });
        add(&mut all[found], x, &rate);
    }
    Some(all)
}
