//! `fork()` by a dynamically linked program, until the child's byte has arrived.

use model::probe::AxisKind;

use super::processes::{Linked, measure};
use super::{Measured, Need, Probe, ProbeError, Resource, Task, each};

/// What so many small processes take: for each its kernel stack, page tables and touched pages.
pub(super) static NEEDS: &[Need] = &[
    Need {
        resource: Resource::Processes,
        per_1000: 1_000,
        fixed: 16,
    },
    each(Resource::Memory, 256_000),
];

pub(super) static PROBE: Probe = Probe {
    name: "fork",
    question: "fork() by a small dynamically linked C program until a byte from the child has \
               arrived, while all earlier children wait; then ending and reaping each",
    axis: "child processes",
    kind: AxisKind::Population,
    variants: &[],
    population: 3_000,
    needs: NEEDS,
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    measure(task, "fork", Linked::Dynamically)
}
