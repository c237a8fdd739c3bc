//! How long a number of requests would take at the measured rates: a bar for each server.

use std::collections::{BTreeMap, BTreeSet};

use verdict::analysis::{Measure, Standing};

use super::Subject;
use crate::chart::scale::{Scale, index};
use crate::chart::{Axis, Chart, Kind, Point, Series};
use crate::digests::Across;
use crate::number::{Unit, count};

/// So many requests: those of three rounds at a hundred numbers of connections, 100,000 at a time.
/// The comparison of web servers that drew such bars first (2016) sent as many to each of them.
const REQUESTS: u32 = 30_000_000;

/// With fewer numbers of connections the chart of rates says the same.
const COUNTS_MIN: usize = 3;

/// A bar.
struct Bar {
    name: String,
    look: usize,
    /// In seconds.
    time: Measure,
    /// Whether it took at most so long: a rate that it was computed from is at least that.
    is_at_most: bool,
}

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    let across = Across::of(&cells);
    // A rate that was asked for, or searched, says nothing of how long more requests would take.
    let rounds = cells.iter().flat_map(|cell| &cell.rounds);
    let mut asked = rounds.map(|digest| digest.is_scheduled || digest.search.is_some());
    if !across.is_along_connections() || asked.any(|is_asked| is_asked) {
        return Vec::new();
    }
    let places: BTreeSet<u64> = cells.iter().map(|cell| across.x(cell).to_bits()).collect();
    let mut rates: Vec<(String, usize, Vec<Measure>)> = Vec::new();
    for cell in &cells {
        let (name, rate) = (across.line(cell), cell.rate());
        let found = rates.iter().position(|(other, ..)| *other == name);
        let position = found.unwrap_or_else(|| {
            rates.push((name, subject.look_at(&across, cell), Vec::new()));
            rates.len() - 1
        });
        rates[position].2.extend(rate);
    }
    let mut missing = Vec::new();
    let mut bars = Vec::new();
    for (name, look, rates) in rates {
        let is_whole = rates.len() == places.len();
        match time(&rates).filter(|_| is_whole) {
            Some((time, is_at_most)) => bars.push(Bar {
                name,
                look,
                time,
                is_at_most,
            }),
            None => missing.push(name),
        }
    }
    if places.len() < COUNTS_MIN || bars.len() < 2 {
        return Vec::new();
    }
    vec![chart(subject, &bars, places.len(), &missing)]
}

fn chart(subject: &Subject<'_>, bars: &[Bar], places: usize, missing: &[String]) -> Chart {
    let requests = count(u64::from(REQUESTS));
    let mut caption = format!(
        "How long a server would take to answer {requests} requests, as many with each of the \
         {places} numbers of connections, at the rates that were measured: computed, not measured. \
         A shorter bar is faster; a stroke is its 95 % interval."
    );
    if bars.iter().any(|bar| bar.is_at_most) {
        caption.push_str(" A pale bar is at most that long: the generator set a rate.");
    }
    if !missing.is_empty() {
        caption.push_str(&format!(
            " No bar for {}: a rate is missing at some number of connections.",
            verdict::words::list(missing)
        ));
    }
    let bar = |(place, bar): (usize, &Bar)| {
        let time = &bar.time;
        let mut series = Series::new(&bar.name, bar.look, Kind::Bar { stack: 0 });
        series.light = bar.is_at_most;
        series.part = bar.is_at_most.then(|| "at most".to_owned());
        series.points.push(Point {
            interval: time.interval.filter(|_| !bar.is_at_most),
            standing: time.standing,
            ..Point::new(index(place), time.median)
        });
        series
    };
    Chart {
        id: subject.id("total"),
        title: format!("Time for {requests} requests"),
        caption,
        x: Axis {
            name: "server".to_owned(),
            unit: Unit::Count,
            scale: Scale::Category(bars.iter().map(|bar| bar.name.clone()).collect()),
        },
        y: Axis {
            name: format!("time for {requests} requests"),
            unit: Unit::Seconds,
            scale: Scale::Linear,
        },
        series: bars.iter().enumerate().map(bar).collect(),
    }
}

/// How long all requests would take in the rounds in which there is a rate at each place, and
/// whether that is a bound. A rate that does not count leaves no time that does.
fn time(rates: &[Measure]) -> Option<(Measure, bool)> {
    let each: Vec<BTreeMap<u32, f64>> = rates.iter().map(Measure::counting).collect();
    let share = f64::from(REQUESTS) / index(each.len().max(1));
    let of_round = |round: &u32| {
        let rates = each.iter().map(|rates| rates.get(round).copied());
        let times = rates.map(|rate| Some(share / rate.filter(|rate| *rate > 0.0)?));
        Some((*round, times.sum::<Option<f64>>()?, Standing::Sound))
    };
    let rounds = each.first()?.keys().filter_map(of_round).collect();
    let mut time = Measure::over(rounds)?;
    let any = |standing| rates.iter().any(|rate| rate.standing == standing);
    time.standing = match (any(Standing::Struck), any(Standing::Doubtful)) {
        (true, _) => Standing::Struck,
        (false, true) => Standing::Doubtful,
        (false, false) => Standing::Sound,
    };
    Some((time, rates.iter().any(|rate| rate.has_bounds)))
}
