//! `fork()` by a statically linked program: fewer mappings to copy.

use model::probe::AxisKind;

use super::processes::{Linked, measure};
use super::{Measured, Probe, ProbeError, Task, fork};

pub(super) static PROBE: Probe = Probe {
    name: "fork-static",
    question: "as fork, by the same program linked statically",
    axis: "child processes",
    kind: AxisKind::Population,
    variants: &[],
    population: 3_000,
    needs: fork::NEEDS,
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    measure(task, "fork", Linked::Statically)
}
