//! What earlier studies published for points of a chart of rates, as lines to hold them against.

use model::experiment::Shown;

use super::Subject;
use crate::chart::{Kind, Point, Series};
use crate::number::Unit;
use crate::published::rows;

/// So many lines can be told apart.
const LINES_MAX: usize = 3;
/// What is so many times more than all that is drawn, or less, is off the scale.
const OFF_SCALE: f64 = 2.0;
/// So small a part of the highest value lies on the axis.
const ON_AXIS: f64 = 0.05;

/// The lines that belong into a chart of `series`, beside `references`, and what its caption says
/// of them.
pub(super) fn lines(
    subject: &Subject<'_>,
    series: &[Series],
    references: &[Series],
) -> (Vec<Series>, String) {
    let here = rows(subject.run).into_iter().filter(|row| {
        let now = row.now.as_ref();
        let is_here = now.is_ok_and(|now| now.cell.rounds[0].id.workload == subject.workload);
        is_here && row.shown == Shown::Rate
    });
    let (Some(across), Some((low, high))) = (
        ends(series, |point| point.x).filter(|(first, last)| first < last),
        ends(series, |point| point.y),
    ) else {
        return Default::default();
    };
    let top = ends(references, |point| point.y).map_or(high, |(_, most)| most.max(high));
    let least = f64::max(low / OFF_SCALE, top * ON_AXIS);
    let is_near = |rate: f64| (least..=high * OFF_SCALE).contains(&rate);
    let (near, far): (Vec<_>, Vec<_>) = here.partition(|row| is_near(row.then));
    let mut said = String::new();
    let mut lines = Vec::new();
    if near.len() > LINES_MAX {
        said.push_str(&format!(
            " {} published figures would be too many lines: the table of figures then and now has \
             them.",
            near.len()
        ));
    } else {
        for row in &near {
            let mut line = Series::new(format!("{} (published)", row.what), 0, Kind::Reference);
            line.strand = lines.len() + 1;
            line.points = [across.0, across.1].map(|x| Point::new(x, row.then)).into();
            lines.push(line);
        }
    }
    if !lines.is_empty() {
        said.push_str(
            " A dashed line is what an earlier study published for one of these points, with other \
             hardware: compare shapes, not heights.",
        );
    }
    said.push_str(&left_out(
        &far.iter()
            .map(|row| (row.what, row.then))
            .collect::<Vec<_>>(),
    ));
    (lines, said)
}

/// What is said of figures that are too far from all that is drawn.
fn left_out(far: &[(&str, f64)]) -> String {
    let why = "on the axis here, or far off what is drawn";
    match far {
        [] => String::new(),
        [(what, rate)] => format!(
            " The published figure '{what}', {}, is not drawn: it would be {why}.",
            Unit::PerSecond.show(*rate)
        ),
        all => format!(
            " {} published figures are not drawn, because they would be {why}: the table of \
             figures then and now has them.",
            all.len()
        ),
    }
}

/// The lowest and the highest value of all points that are drawn.
fn ends(series: &[Series], value: fn(&Point) -> f64) -> Option<(f64, f64)> {
    let values = || series.iter().flat_map(|one| &one.points).map(value);
    let low = values().min_by(f64::total_cmp)?;
    Some((low, values().max_by(f64::total_cmp)?))
}
