//! The charts of a report: one file each, one table. Each makes its charts for one workload of a
//! run, or none where the trials do not hold what it needs.

mod bars;
mod cost;
mod crowd;
mod earlier;
mod memory;
mod ramp;
mod rate;
mod spectrum;
mod tail;
mod time;
mod total;

use model::point::Values;

use verdict::analysis::{Measure, Standing};

use crate::chart::{Chart, Dot, Kind, Point, Series};
use crate::digests::{Across, Cell, Digest, Run};

/// What a chart is made from: a run, and one of its workloads by name and position.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The run.
    pub run: &'a Run,
    /// The workload's name.
    pub workload: &'a str,
    /// Its position among the workloads, for ids.
    pub position: usize,
}

/// All charts, in the order in which a reader meets them.
pub const PLOTS: [fn(&Subject<'_>) -> Vec<Chart>; 10] = [
    rate::plot,
    bars::plot,
    cost::plot,
    tail::plot,
    spectrum::plot,
    memory::plot,
    total::plot,
    ramp::plot,
    time::plot,
    crowd::plot,
];

impl<'a> Subject<'a> {
    /// Its points.
    fn cells(&self) -> Vec<Cell<'a>> {
        self.run.cells(self.workload)
    }

    /// The look of a server: the same in all charts of a page.
    fn look(&self, server: &str) -> usize {
        self.run
            .labels()
            .iter()
            .position(|label| label == server)
            .unwrap_or(0)
    }

    /// The same where one that was asked in several ways is one server.
    fn look_at(&self, across: &Across, cell: &Cell<'_>) -> usize {
        match across.servers().len() < self.run.labels().len() {
            true => across.server(cell).unwrap_or(0),
            false => self.look(cell.server()),
        }
    }

    /// A chart's id: unique on the page.
    fn id(&self, name: &str) -> String {
        format!("{name}-{}", self.position + 1)
    }

    /// A line per server of some value across the points, every round drawn. None where there is
    /// but one point: a table says that better.
    fn lines(&self, measure: impl Fn(&Cell<'_>) -> Option<Measure>) -> Vec<Series> {
        let cells = self.cells();
        let mut lines: Vec<Series> = Vec::new();
        if cells.len() < 2 {
            return lines;
        }
        let across = Across::of(&cells);
        for cell in &cells {
            let Some(measure) = measure(cell) else {
                continue;
            };
            let name = across.line(cell);
            let x = across.x(cell);
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => add(line, x, &measure),
                None => {
                    let kind = match across.joins() {
                        true => Kind::Line,
                        false => Kind::Marks,
                    };
                    let look = self.look_at(&across, cell);
                    let mut line = Series::new(name, look, kind);
                    line.strand = lines.iter().filter(|other| other.look == look).count();
                    add(&mut line, x, &measure);
                    lines.push(line);
                }
            }
        }
        lines
    }
}

/// Adds a measure at `x`: its median with the interval, each round as a dot.
pub(crate) fn add(series: &mut Series, x: f64, measure: &Measure) {
    series.points.push(Point {
        x,
        y: measure.median,
        interval: measure.interval,
        is_open_above: measure.is_open_above,
        standing: measure.standing,
    });
    if measure.rounds.len() > 1 {
        series
            .cloud
            .extend(measure.rounds.iter().map(|(_, y, standing)| Dot {
                x,
                y: *y,
                standing: *standing,
            }));
    }
}

/// What the marks of a line chart mean, for captions.
fn how_to_read(cells: &[Cell<'_>], lines: &[Series]) -> String {
    let rounds = cells
        .iter()
        .map(|cell| cell.rounds.len())
        .max()
        .unwrap_or(0);
    let mut text = if rounds < 2 {
        "One round each: no interval can be given.".to_owned()
    } else if lines
        .iter()
        .any(|line| line.points.iter().any(|point| point.interval.is_some()))
    {
        let (median, interval) = match lines.first().map(|line| line.kind) {
            Some(Kind::Bar { .. }) => ("bar", "stroke"),
            _ if lines.iter().all(|line| line.kind == Kind::Marks) => ("mark", "stroke"),
            _ => ("line", "band"),
        };
        format!("Each dot is a round, the {median} their median, the {interval} its 95 % interval.")
    } else {
        let median = if has_bars(lines) { "bar" } else { "line" };
        format!(
            "Each dot is a round, the {median} their median; fewer than 6 rounds give no interval."
        )
    };
    let any = |standing: Standing| {
        lines
            .iter()
            .any(|line| line.points.iter().any(|point| point.standing == standing))
    };
    if any(Standing::AtLeast) {
        text.push_str(
            " An arrow marks a number that is at least that: the generator set the rate, or too \
             many requests got no answer.",
        );
    }
    let is_open = |point: &Point| point.interval.is_some() && point.is_open_above;
    if lines.iter().any(|line| line.points.iter().any(is_open)) {
        text.push_str(" Where an interval ends in an arrow, nobody knows how far up it goes.");
    }
    if any(Standing::Struck) {
        text.push_str(match has_bars(lines) {
            true => " A bar of dashes is an invalid number, a cross a round that does not count.",
            false => " A cross marks an invalid number; no line joins it.",
        });
    }
    text
}

fn has_bars(lines: &[Series]) -> bool {
    let mut kinds = lines.iter().map(|line| line.kind);
    kinds.any(|kind| matches!(kind, Kind::Bar { .. }))
}

/// The places at which there is something to show, in order; thinned to `most`.
fn places(cells: &[Cell<'_>], most: usize) -> Vec<Values> {
    let places = Across::of(cells).places;
    if places.len() <= most {
        return places;
    }
    let last = places.len() - 1;
    (0..most)
        .map(|n| places[n * last / (most - 1)].clone())
        .collect()
}

/// Whether any round of these points is so.
fn any_round(cells: &[Cell<'_>], is_so: fn(&Digest) -> bool) -> bool {
    let mut rounds = cells.iter().flat_map(|cell| cell.rounds.iter());
    rounds.any(|digest| is_so(digest))
}

/// A word on what response time means under this load.
fn loop_note(cells: &[Cell<'_>]) -> &'static str {
    if any_round(cells, |digest| digest.users.is_some()) {
        return "Users come at a rate, whether or not others have their answers: the time of a \
                user's first request counts from when the user came, that of each other one from \
                when the user was ready to ask.";
    }
    match any_round(cells, |digest| digest.open_loop) {
        true => {
            "Open loop: time counts from when a request was due, so that waiting for a free \
             connection counts too."
        }
        false => {
            "Closed loop: the next request waits for an answer, so past saturation this is \
             exchanges in flight ÷ rate, not what a user would wait."
        }
    }
}

#[cfg(test)]
mod tests;
