//! `listen()` on one port by so many sockets (`SO_REUSEPORT`), and finding one of them.

use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::time::Duration;

use model::probe::AxisKind;
use sys::socket::local_address;
use sys::syscall::epoll::Epoll;
use sys::syscall::socket::{
    Family, accept, bind, blocking_stream, connect, listen, share_port, stream,
};

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "listen",
    question: "bind() and listen() of one more socket on a port that a group shares \
               (SO_REUSEPORT), and connect() to the group",
    axis: "listening sockets",
    kind: AxisKind::Population,
    variants: &[],
    population: 2_000,
    needs: &[each(Resource::OpenFiles, 2), each(Resource::Memory, 8_000)],
    server: false,
    run,
};

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let mut bound = Stopwatch::new("bind", count);
    let mut listening = Stopwatch::new("listen", count);
    let mut connected = Stopwatch::new("connect", count);
    let mut address = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let mut group: Vec<OwnedFd> = Vec::with_capacity(count);
    let doors = Epoll::new().doing(|| "epoll_create1".to_owned())?;
    for number in 1..=task.population {
        let socket = stream(Family::V4).doing(|| format!("socket number {number}"))?;
        share_port(&socket).doing(|| "SO_REUSEPORT".to_owned())?;
        bound
            .time(|| bind(&socket, address))
            .doing(|| format!("bind number {number}"))?;
        listening
            .time(|| listen(&socket, 4))
            .doing(|| format!("listen number {number}"))?;
        address = local_address(&socket).doing(|| "reading the port".to_owned())?;
        doors
            .add(&socket, u64::from(number - 1))
            .doing(|| "epoll_ctl".to_owned())?;
        group.push(socket);
        knock(address, &doors, &group, &mut connected)?;
    }
    Ok(vec![bound.series(), listening.series(), connected.series()].into())
}

/// How long the connection may take to arrive in somebody's queue.
const PATIENCE: Duration = Duration::from_secs(5);

/// Connects once and lets whoever got the connection take it, so that no queue fills; then breaks
/// it off, so that no port stays taken.
fn knock(
    address: SocketAddr,
    doors: &Epoll,
    group: &[OwnedFd],
    connected: &mut Stopwatch,
) -> Result<(), ProbeError> {
    let client = blocking_stream(Family::V4).doing(|| "a socket to connect with".to_owned())?;
    sys::socket::set_reset_on_close(&client).doing(|| "SO_LINGER".to_owned())?;
    connected
        .time(|| connect(&client, address))
        .doing(|| format!("connecting to {address}"))?;
    let door = doors.wait(PATIENCE).doing(|| "epoll_wait".to_owned())?;
    let listener = door
        .and_then(|door| group.get(usize::try_from(door).ok()?))
        .ok_or_else(|| ProbeError::Program("nobody got the connection".to_owned()))?;
    let taken = accept(listener).doing(|| "accept".to_owned())?;
    drop(client);
    drop(taken);
    Ok(())
}
