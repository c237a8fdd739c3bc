//! CPU time per request, user and system apart.

use model::Claim;

use super::{Subject, add, how_to_read};
use crate::chart::scale::{Scale, index};
use crate::chart::{Axis, Chart, Kind, Point, Series};
use crate::digests::{Across, Cell, Digest};
use crate::number::Unit;

/// Above so many bars side by side lines read better.
const BARS_MAX: usize = 40;

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    if cells.len() < 2 {
        return Vec::new();
    }
    let across = Across::of(&cells);
    let groups = across.groups();
    let split = cells.iter().any(|cell| {
        cell.value(Claim::Resources, |d| d.user_us.and(d.system_us))
            .is_some()
    });
    let axis = Axis {
        name: "CPU time per request".to_owned(),
        unit: Unit::Microseconds,
        scale: Scale::Linear,
    };
    let title = "What a request costs the server".to_owned();
    let mut charts = Vec::new();
    if split && cells.len() <= BARS_MAX {
        let series = bars(subject, &cells, &across);
        let mut caption = "Microseconds of CPU time of the server's whole process tree per \
            request, median over rounds: user time below, system time (the kernel working for it) \
            above. Lower is cheaper."
            .to_owned();
        if series.iter().any(|one| !one.cloud.is_empty()) {
            caption.push_str(" Each dot is what a round had of both together.");
        }
        charts.push(Chart {
            id: subject.id("cost"),
            title,
            caption,
            x: groups,
            y: axis,
            series,
        });
        return charts;
    }
    let mut lines = subject.lines(|cell| cell.value(Claim::Resources, |digest| digest.cpu_us));
    let caption = format!(
        "Microseconds of CPU time of the server's whole process tree per request; the dotted line \
         of a server is its system time. Lower is cheaper. {}",
        how_to_read(&cells, &lines)
    );
    if split {
        for line in &mut lines {
            line.part = Some("in all".to_owned());
        }
        lines.extend(system(subject));
    }
    charts.push(Chart {
        id: subject.id("cost"),
        title,
        caption,
        x: across.axis(),
        y: axis,
        series: lines,
    });
    charts
}

fn bars(subject: &Subject<'_>, cells: &[Cell<'_>], across: &Across) -> Vec<Series> {
    let mut series: Vec<Series> = Vec::new();
    let mut stack = 0;
    for (position, name) in across.servers().iter().enumerate() {
        let own = cells.iter();
        let own = own.filter(|cell| across.server(cell) == Some(position));
        let own: Vec<(&Cell<'_>, usize)> = own
            .filter_map(|cell| Some((cell, across.group(cell)?)))
            .collect();
        let Some((first, _)) = own.first() else {
            continue;
        };
        let look = subject.look_at(across, first);
        let mut pair = [("user", false), ("system", true)].map(|(part, light)| Series {
            part: Some(part.to_owned()),
            light,
            ..Series::new(name, look, Kind::Bar { stack })
        });
        let values: [fn(&Digest) -> Option<f64>; 2] = [|d| d.user_us, |d| d.system_us];
        for (cell, group) in &own {
            for (half, value) in pair.iter_mut().zip(values) {
                if let Some(measure) = cell.value(Claim::Resources, value) {
                    half.points.push(Point {
                        standing: measure.standing,
                        ..Point::new(index(*group), measure.median)
                    });
                }
            }
        }
        let whole = unsplit(&own, name, look, stack);
        let sum = sum(&own, name, look, stack);
        let parts = pair.into_iter().chain([whole, sum]);
        let before = series.len();
        series.extend(parts.filter(|part| !part.points.is_empty()));
        stack += usize::from(series.len() > before);
    }
    series
}

/// What user and system time are together: the median, and each round.
fn sum(cells: &[(&Cell<'_>, usize)], name: &str, look: usize, stack: usize) -> Series {
    let mut series = Series {
        part: Some("in all".to_owned()),
        ..Series::new(name, look, Kind::Sum { stack })
    };
    for (cell, group) in cells {
        let measure = cell.value(Claim::Resources, |digest| digest.cpu_us);
        if let Some(measure) = measure.filter(|measure| measure.rounds.len() > 1) {
            add(&mut series, index(*group), &measure);
        }
    }
    series
}

/// Bars of points whose CPU time could be read, but not split.
fn unsplit(cells: &[(&Cell<'_>, usize)], name: &str, look: usize, stack: usize) -> Series {
    let mut series = Series {
        part: Some("user and system together".to_owned()),
        light: true,
        ..Series::new(name, look, Kind::Bar { stack })
    };
    for (cell, group) in cells {
        let split = cell.value(Claim::Resources, |digest| {
            digest.user_us.and(digest.system_us)
        });
        let whole = cell.value(Claim::Resources, |digest| digest.cpu_us);
        if let (None, Some(whole)) = (split, whole) {
            series.points.push(Point {
                standing: whole.standing,
                ..Point::new(index(*group), whole.median)
            });
        }
    }
    series
}

/// The system half of each server, as a lighter line.
fn system(subject: &Subject<'_>) -> Vec<Series> {
    let mut lines = subject.lines(|cell| cell.value(Claim::Resources, |digest| digest.system_us));
    for line in &mut lines {
        line.part = Some("system".to_owned());
        line.light = true;
        line.kind = Kind::Trace;
        line.cloud.clear();
    }
    lines
}
