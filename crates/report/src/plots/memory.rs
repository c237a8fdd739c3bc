//! Memory against connections.

use model::Claim;

use super::{Subject, how_to_read};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart};
use crate::number::Unit;
use crate::run::Across;

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let series = subject.lines(|cell| cell.value(Claim::Resources, |digest| digest.memory));
    let values: Vec<f64> = series
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.y))
        .collect();
    let caption = format!(
        "Proportional set size of the server's whole process tree at the end of the window: pages \
         that processes share count once in all. Kernel memory of sockets is not in it. {}",
        how_to_read(&subject.cells(), &series)
    );
    vec![Chart {
        id: subject.id("memory"),
        title: "Memory of the server".to_owned(),
        caption,
        x: Across::of(&subject.cells()).axis(),
        y: Axis {
            name: "memory (PSS)".to_owned(),
            unit: Unit::Bytes,
            scale: Scale::suited(&values),
        },
        series,
    }]
}
