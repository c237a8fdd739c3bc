//! The first touch of a mapped page: a fault that finds its page in memory.

use model::probe::AxisKind;

use super::{Measured, Probe, ProbeError, Resource, Task, each, mmap};

pub(super) static PROBE: Probe = Probe {
    name: "touch",
    question: "reading the first byte of a page that was just mapped and is in memory, while all \
               earlier mappings stay",
    axis: "mappings",
    kind: AxisKind::Population,
    variants: &[],
    population: 25_000,
    needs: &[each(Resource::Mappings, 1), each(Resource::Memory, 9_000)],
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let (_, touched) = mmap::walk(task)?;
    Ok(vec![touched.series()].into())
}
