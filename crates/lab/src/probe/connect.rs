//! `connect()` to a server that holds so many idle connections already.

use std::os::fd::OwnedFd;

use model::probe::AxisKind;
use sys::syscall::socket::{connect, is_open};

use super::accept::{connected, source};
use super::stopwatch::Stopwatch;
use super::{Measured, Probe, ProbeError, Resource, Task, each, index, server};

pub(super) static PROBE: Probe = Probe {
    name: "connect",
    question: "connect() to a server, while all earlier connections stay open and idle",
    axis: "idle connections",
    kind: AxisKind::Population,
    variants: &[],
    population: 5_000,
    needs: &[
        each(Resource::OpenFiles, 1),
        each(Resource::Ports, 1),
        each(Resource::Memory, 14_000),
    ],
    server: true,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let server = server::ready(task)?;
    let mut timed = Stopwatch::new("connect", index(task.population));
    let mut idle: Vec<OwnedFd> = Vec::with_capacity(index(task.population));
    for number in 1..=task.population {
        idle.push(connected(
            server.address,
            source(task.pass),
            number,
            |client| timed.time(|| connect(client, server.address)),
        )?);
    }
    still_open(&idle)?;
    Ok(Measured {
        series: vec![timed.series()],
        facts: server.facts(),
        ..Measured::default()
    })
}

/// A population of connections that the server has closed is none.
pub(super) fn still_open(idle: &[OwnedFd]) -> Result<(), ProbeError> {
    let closed = idle.iter().filter(|socket| !is_open(socket)).count();
    for socket in idle {
        // So that no port stays taken by what this pass leaves.
        let _best_effort = sys::socket::set_reset_on_close(socket);
    }
    if closed > 0 {
        return Err(ProbeError::Program(format!(
            "the server closed {closed} of {} idle connections: ask for fewer with --population, \
             or raise the server's limit of connections and idle time",
            idle.len()
        )));
    }
    Ok(())
}
