//! Response-time spectra: how long the slowest half, tenth, hundredth and thousandth took.

use super::{Subject, add, places};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart, Kind, Series};
use crate::digests::{Cell, QUANTILES};
use crate::number::Unit;

/// At most so many connection counts get a spectrum; the tables of the tail have all.
const CHARTS_MAX: usize = 4;

const CAPTION: &str = "Read across: at p99, 99 of 100 answers came within the time shown. The \
    line is the median over rounds, the band its 95 % interval; it ends where too few answers lie \
    beyond.";

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let cells = subject.cells();
    places(&cells, CHARTS_MAX)
        .into_iter()
        .map(|place| Chart {
            id: subject.id(&format!("spectrum-{}", place.slug())),
            title: format!("Response-time spectrum at {}", place.text()),
            caption: CAPTION.to_owned(),
            x: Axis {
                name: "percentile".to_owned(),
                unit: Unit::Share,
                scale: Scale::Quantile,
            },
            y: Axis {
                name: "response time".to_owned(),
                unit: Unit::Microseconds,
                scale: Scale::Log,
            },
            series: cells
                .iter()
                .filter(|cell| *cell.place() == place)
                .map(|cell| spectrum(subject, cell))
                .collect(),
        })
        .collect()
}

fn spectrum(subject: &Subject<'_>, cell: &Cell<'_>) -> Series {
    let mut line = Series::new(cell.server(), subject.look(cell.server()), Kind::Line);
    for (position, (q, _)) in QUANTILES.iter().enumerate() {
        if let Some(measure) = cell.time(|digest| digest.response(position))
            // A quantile that only some rounds support would be the median of the lucky ones.
            && measure.rounds.len() == cell.rounds.len()
        {
            add(&mut line, *q, &measure);
        }
    }
    line.cloud.clear();
    line
}
