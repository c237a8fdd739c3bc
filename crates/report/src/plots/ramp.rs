//! How users begin, before and in the window, by the plan.

use super::Subject;
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Kind, Point, Series};
use crate::digests::Cell;
use crate::number::Unit;

/// The look that is nobody's colour: that of ink.
const INK: usize = 7;

/// The stretch in which users begin, to be shaded, and what a caption says of it; none where all
/// are there from the beginning.
pub(super) fn shade(cells: &[Cell<'_>]) -> Option<(Series, &'static str)> {
    let mut rounds = cells.iter().flat_map(|cell| &cell.rounds);
    let ramp = rounds.find_map(|one| one.ramp)?;
    let mut series = Series::new("users begin (ramp)", INK, Kind::Shade);
    series.points = [ramp.first_s, ramp.last_s]
        .map(|x| Point::new(x, 0.0))
        .into();
    let said = " In the shaded stretch users begin; what happens before 0 counts in no number.";
    Some((series, said))
}

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let mut rounds = cells.iter().flat_map(|cell| &cell.rounds);
    let Some((ramp, window_s)) = rounds.find_map(|one| Some((one.ramp?, one.window_s))) else {
        return Vec::new();
    };
    let mut line = Series::new("users by the plan", INK, Kind::Curve);
    line.points = vec![
        Point::new(ramp.first_s, 0.0),
        Point::new(ramp.last_s, ramp.users),
    ];
    if window_s > ramp.last_s {
        line.points.push(Point::new(window_s, ramp.users));
    }
    vec![Chart {
        id: subject.id("ramp"),
        title: "Users over time".to_owned(),
        caption:
            "How many users have begun, by the plan: each begins at a random moment while the \
                  line rises. The window begins at 0, and what happens before it counts in no \
                  number of this report."
                .to_owned(),
        x: Axis {
            name: "time since the window began".to_owned(),
            unit: Unit::Seconds,
            scale: Scale::Linear,
        },
        y: Axis {
            name: "users".to_owned(),
            unit: Unit::Count,
            scale: Scale::Linear,
        },
        series: shade(&cells)
            .map(|(shade, _)| shade)
            .into_iter()
            .chain([line])
            .collect(),
    }]
}
