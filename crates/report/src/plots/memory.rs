//! Memory against connections.

use model::Claim;

use super::{Subject, how_to_read};
use crate::chart::scale::Scale;
use crate::chart::{Axis, Chart};
use crate::digests::{Across, Cell};
use crate::number::{Unit, plural};

pub(super) fn plot(subject: &Subject<'_>) -> Vec<Chart> {
    let series = subject.lines(|cell| cell.value(Claim::Resources, |digest| digest.memory));
    let values: Vec<f64> = series
        .iter()
        .flat_map(|line| line.points.iter().map(|point| point.y))
        .collect();
    let cells = subject.cells();
    let after = cells.iter().filter_map(Cell::memory_after).max();
    let after = after.map_or_else(String::new, |most| {
        format!(
            " The servers were not started afresh for each point: each number was read after they \
             had held up to {}.",
            plural(most as usize, "connection")
        )
    });
    let caption = format!(
        "Proportional set size of the server's whole process tree at the end of the window: pages \
         that processes share count once in all. Kernel memory of sockets is not included.{after} \
         {}",
        how_to_read(&cells, &series)
    );
    vec![Chart {
        id: subject.id("memory"),
        title: "Memory of the server".to_owned(),
        caption,
        x: Across::of(&cells).axis(),
        y: Axis {
            name: "memory (PSS)".to_owned(),
            unit: Unit::Bytes,
            scale: Scale::suited(&values),
        },
        series,
    }]
}
