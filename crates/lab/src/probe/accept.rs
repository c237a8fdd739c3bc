//! `accept4()` of one more connection while all earlier ones stay open.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;

use model::probe::AxisKind;
use sys::socket::local_address;
use sys::syscall::socket::{
    Family, accept, bind, bind_without_port, blocking_stream, connect, listen, stream,
};

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "accept",
    question: "accept4() of a waiting connection, while all earlier ones stay open; the \
               loopback interface, one process on both ends",
    axis: "open connections",
    kind: AxisKind::Population,
    variants: &[],
    population: 5_000,
    needs: &[
        each(Resource::OpenFiles, 2),
        each(Resource::Ports, 1),
        each(Resource::Memory, 12_000),
    ],
    server: false,
    run,
};

/// A source address of its own for each pass: what one leaves in TIME_WAIT another never meets.
pub(super) fn source(pass: u32) -> SocketAddr {
    let [.., third, fourth] = pass.saturating_add(256).to_be_bytes();
    let tenant = u8::try_from(std::process::id() % 200).unwrap_or(0) + 16;
    SocketAddr::from((IpAddr::from(Ipv4Addr::new(127, tenant, third, fourth)), 0))
}

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let count = index(task.population);
    let mut timed = Stopwatch::new("accept", count);
    let listener = stream(Family::V4).doing(|| "a listening socket".to_owned())?;
    bind(&listener, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
        .doing(|| "bind to 127.0.0.1".to_owned())?;
    listen(&listener, 16).doing(|| "listen".to_owned())?;
    let address = local_address(&listener).doing(|| "reading the port".to_owned())?;
    let mut open: Vec<(OwnedFd, OwnedFd)> = Vec::with_capacity(count);
    for number in 1..=task.population {
        let client = connected(address, source(task.pass), number, |client| {
            connect(client, address)
        })?;
        let server = timed
            .time(|| accept(&listener))
            .doing(|| format!("accept number {number}"))?;
        open.push((client, server));
    }
    for (client, _) in &open {
        sys::socket::set_reset_on_close(client).doing(|| "SO_LINGER".to_owned())?;
    }
    // Clients first: whoever closes first keeps the port busy, unless it resets.
    for (client, server) in open {
        drop(client);
        drop(server);
    }
    Ok(vec![timed.series()].into())
}

/// A socket bound to `source`, connected by `connect`.
pub(super) fn connected(
    address: SocketAddr,
    source: SocketAddr,
    number: u32,
    connect: impl FnOnce(&OwnedFd) -> std::io::Result<()>,
) -> Result<OwnedFd, ProbeError> {
    let family = if address.is_ipv4() {
        Family::V4
    } else {
        Family::V6
    };
    let client = blocking_stream(family).doing(|| format!("socket number {number}"))?;
    if address.ip().is_loopback() && address.is_ipv4() {
        bind_without_port(&client).doing(|| "IP_BIND_ADDRESS_NO_PORT".to_owned())?;
        bind(&client, source).doing(|| format!("bind to {}", source.ip()))?;
    }
    connect(&client).doing(|| format!("connection number {number} to {address}"))?;
    Ok(client)
}
