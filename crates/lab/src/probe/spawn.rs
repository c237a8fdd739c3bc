//! A new program: `posix_spawn()`, or `vfork()` and `execve()`.

use model::probe::AxisKind;

use super::processes::{Linked, measure};
use super::{Measured, Probe, ProbeError, Task, Variant, fork};

pub(super) static PROBE: Probe = Probe {
    name: "spawn",
    question: "starting a small dynamically linked C program until a byte from it has arrived, \
               while all earlier ones wait; then ending and reaping each",
    axis: "child processes",
    kind: AxisKind::Population,
    variants: &[
        Variant {
            name: "posix-spawn",
            what: "by posix_spawn()",
        },
        Variant {
            name: "vfork",
            what: "by vfork() and execve()",
        },
    ],
    population: 1_000,
    needs: fork::NEEDS,
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let mode = if task.is_variant("vfork") {
        "vfork"
    } else {
        "spawn"
    };
    measure(task, mode, Linked::Dynamically)
}
