//! `socket()`: a new descriptor beside so many open ones.

use std::os::fd::OwnedFd;

use model::probe::AxisKind;
use sys::syscall::socket::{Family, stream};

use super::stopwatch::Stopwatch;
use super::{Doing as _, Measured, Probe, ProbeError, Resource, Task, Variant, each, index};

pub(super) static PROBE: Probe = Probe {
    name: "socket",
    question: "socket(), a TCP socket, while all earlier ones stay open",
    axis: "open sockets",
    kind: AxisKind::Population,
    variants: VARIANTS,
    population: 10_000,
    needs: &[each(Resource::OpenFiles, 1), each(Resource::Memory, 3_000)],
    server: false,
    run,
};

/// How the program of 2003 did it, before and after its author saw a fast path in one kernel.
pub(super) static VARIANTS: &[Variant] = &[
    Variant {
        name: "2003-10",
        what: "descriptors without a hole: the next one is the next number",
    },
    Variant {
        name: "2003-11",
        what: "the tenth descriptor is closed and opened again before each call, so that the \
               kernel must search for the lowest free number",
    },
    Variant {
        name: "ipv6",
        what: "as 2003-10, over IPv6",
    },
];

/// The descriptor that is opened again, and from when on.
const HOLE: usize = 10;
const HOLE_FROM: usize = 50;

/// Sockets that stay open, with the hole of 2003-11.
pub(super) struct Sockets {
    open: Vec<Option<OwnedFd>>,
    family: Family,
    hole: bool,
}

impl Sockets {
    pub(super) fn new(task: &Task) -> Self {
        Self {
            open: Vec::with_capacity(index(task.population)),
            family: if task.is_variant("ipv6") {
                Family::V6
            } else {
                Family::V4
            },
            hole: task.is_variant("2003-11"),
        }
    }

    /// One more, timed, and then the hole.
    pub(super) fn open(&mut self, timed: &mut Stopwatch) -> Result<&OwnedFd, ProbeError> {
        if self.hole && self.open.len() > HOLE_FROM {
            drop(self.open[HOLE].take());
            self.open[HOLE] = Some(stream(self.family).doing(|| "socket again".to_owned())?);
        }
        let family = self.family;
        let socket = timed
            .time(|| stream(family))
            .doing(|| format!("socket number {}", self.open.len() + 1))?;
        self.open.push(Some(socket));
        self.open
            .last()
            .and_then(Option::as_ref)
            .ok_or_else(|| ProbeError::Program("the last socket is open".to_owned()))
    }
}

fn run(task: &Task) -> Result<Measured, ProbeError> {
    let mut timed = Stopwatch::new("socket", index(task.population));
    let mut sockets = Sockets::new(task);
    for _ in 0..task.population {
        sockets.open(&mut timed)?;
    }
    Ok(vec![timed.series()].into())
}
