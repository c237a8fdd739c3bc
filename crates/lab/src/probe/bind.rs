//! `bind()` to port 0: the kernel looks for a free port among so many taken ones.

use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use model::probe::AxisKind;
use sys::syscall::socket::bind;

use super::socket::{Sockets, VARIANTS};
use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "bind",
    question: "socket() and then bind() to any address and port 0, while all earlier ones stay \
               bound",
    axis: "bound sockets",
    kind: AxisKind::Population,
    variants: VARIANTS,
    population: 10_000,
    needs: &[
        each(Resource::OpenFiles, 1),
        each(Resource::Ports, 1),
        each(Resource::Memory, 3_500),
    ],
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let mut opened = Stopwatch::new("socket", count);
    let mut bound = Stopwatch::new("bind", count);
    let mut sockets = Sockets::new(task);
    let anywhere = if task.is_variant("ipv6") {
        SocketAddr::from((Ipv6Addr::UNSPECIFIED, 0))
    } else {
        SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0))
    };
    for number in 1..=task.population {
        let socket = sockets.open(&mut opened)?;
        bound
            .time(|| bind(socket, anywhere))
            .doing(|| format!("bind number {number}"))?;
    }
    Ok(vec![opened.series(), bound.series()].into())
}
