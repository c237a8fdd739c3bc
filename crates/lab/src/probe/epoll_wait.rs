//! `epoll_wait()` that finds the one ready descriptor among so many idle ones.

use std::time::Duration;

use model::probe::AxisKind;
use sys::syscall::epoll::{Epoll, EventFd};

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "epoll-wait",
    question: "epoll_ctl() that adds one more idle descriptor, and epoll_wait() that finds the \
               one that is ready",
    axis: "idle descriptors",
    kind: AxisKind::Population,
    variants: &[],
    population: 10_000,
    needs: &[each(Resource::OpenFiles, 1), each(Resource::Memory, 1_000)],
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let mut added = Stopwatch::new("epoll_ctl", count);
    let mut waited = Stopwatch::new("epoll_wait", count);
    let set = Epoll::new().doing(|| "epoll_create1".to_owned())?;
    let ready = EventFd::new().doing(|| "eventfd".to_owned())?;
    set.add(&ready, u64::MAX).doing(|| "epoll_ctl".to_owned())?;
    let mut idle: Vec<EventFd> = Vec::with_capacity(count);
    for number in 1..=task.population {
        let one = EventFd::new().doing(|| format!("eventfd number {number}"))?;
        added
            .time(|| set.add(&one, u64::from(number)))
            .doing(|| format!("epoll_ctl number {number}"))?;
        idle.push(one);
        ready.raise();
        let found = waited
            .time(|| set.wait(Duration::ZERO))
            .doing(|| "epoll_wait".to_owned())?;
        ready.clear();
        if found != Some(u64::MAX) {
            return Err(ProbeError::Program(format!(
                "epoll_wait found {found:?} instead of the descriptor that is ready"
            )));
        }
    }
    Ok(vec![added.series(), waited.series()].into())
}
