//! A new thread beside so many that wait.

use model::probe::AxisKind;
use sys::syscall::thread::Threads;

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "thread",
    question: "pthread_create() until a byte from the new thread has arrived, while all earlier \
               ones wait",
    axis: "threads",
    kind: AxisKind::Population,
    variants: &[],
    population: 3_000,
    needs: &[
        each(Resource::Processes, 1),
        each(Resource::Mappings, 2),
        each(Resource::Memory, 32_000),
    ],
    server: false,
    run,
};

/// Small, so that thousands fit; the kernel's share of a thread does not depend on it.
const STACK: usize = 64 << 10;

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let mut timed = Stopwatch::new("thread", count);
    let mut threads = Threads::new(count, STACK).doing(|| "a pipe for threads".to_owned())?;
    for number in 1..=task.population {
        timed
            .time(|| threads.start())
            .doing(|| format!("thread number {number}"))?;
    }
    Ok(vec![timed.series()].into())
}
