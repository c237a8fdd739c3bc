//! io_uring: submitting an operation that stays, and one that completes at once beside so many.

use model::probe::AxisKind;
use sys::syscall::epoll::EventFd;
use sys::syscall::ring::Ring;

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "io-uring",
    question: "submitting one more poll that stays under way, and a no-op submitted, waited for \
               and completed beside them",
    axis: "operations under way",
    kind: AxisKind::Population,
    variants: &[],
    population: 10_000,
    needs: &[each(Resource::OpenFiles, 1), each(Resource::Memory, 1_500)],
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let mut submitted = Stopwatch::new("submit", count);
    let mut completed = Stopwatch::new("complete", count);
    let mut ring = Ring::new(task.population).map_err(|error| {
        ProbeError::Missing(format!(
            "this kernel does not let us use io_uring ({error}); see kernel.io_uring_disabled and \
             the container's seccomp profile"
        ))
    })?;
    let mut idle: Vec<EventFd> = Vec::with_capacity(count);
    for number in 1..=task.population {
        let one = EventFd::new().doing(|| format!("eventfd number {number}"))?;
        submitted
            .time(|| ring.arm(&one, u64::from(number)))
            .doing(|| format!("poll number {number}"))?;
        idle.push(one);
        completed.time(|| ring.nop()).doing(|| "no-op".to_owned())?;
    }
    // The polls end before their descriptors close.
    drop(ring);
    Ok(vec![submitted.series(), completed.series()].into())
}
