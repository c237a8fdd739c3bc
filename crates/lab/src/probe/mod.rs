//! What the kernel can do: one operation after the other, timed against how many there are already.
//!
//! A probe is one file and one line of [`PROBES`]. Each pass of it runs in a process of its own
//! ([`pass::run`]), so that no population is left over from another; [`run`] starts those processes
//! in turn, the passes of different probes interleaved, and puts the points together.

pub mod pass;
pub mod question;
pub mod run;
pub mod select;
pub mod shelf;

mod accept;
mod asked;
mod bind;
mod connect;
mod context_switch;
mod download;
mod epoll_wait;
mod fork;
mod fork_static;
mod io_uring;
mod limits;
mod listen;
mod many_files;
mod mmap;
mod neighbours;
mod pipe;
mod processes;
mod request;
pub mod server;
mod socket;
mod spawn;
mod stopwatch;
mod thread;
mod touch;

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use model::probe::{AxisKind, Series};

pub use asked::{Asked, of_product};
pub use limits::Resource;
pub use neighbours::cpus;

/// All probes, in the order in which they are listed and run.
pub static PROBES: &[&Probe] = &[
    &socket::PROBE,
    &bind::PROBE,
    &listen::PROBE,
    &accept::PROBE,
    &connect::PROBE,
    &request::PROBE,
    &epoll_wait::PROBE,
    &io_uring::PROBE,
    &pipe::PROBE,
    &context_switch::PROBE,
    &fork::PROBE,
    &fork_static::PROBE,
    &spawn::PROBE,
    &thread::PROBE,
    &mmap::PROBE,
    &touch::PROBE,
    &many_files::PROBE,
    &download::PROBE,
];

/// A question to the kernel.
#[derive(Debug)]
pub struct Probe {
    /// Its name: `socket`.
    pub name: &'static str,
    /// What is timed, in a sentence.
    pub question: &'static str,
    /// What is counted along the axis: `open sockets`.
    pub axis: &'static str,
    /// What the axis means.
    pub kind: AxisKind,
    /// The ways it can be run; none: there is only one.
    pub variants: &'static [Variant],
    /// How many, unless told otherwise.
    pub population: u32,
    /// What it takes.
    pub needs: &'static [Need],
    /// Whether it asks a server.
    pub server: bool,
    /// One walk from nothing to the whole population.
    run: fn(&Task) -> Result<Measured, ProbeError>,
}

impl Probe {
    /// Whether any server of HTTP can be asked, and not our own alone.
    pub fn asks_requests(&self) -> bool {
        self.server && self.kind == AxisKind::Population
    }
}

/// One way to run a probe.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name: `2003-11`.
    pub name: &'static str,
    /// What is different, in a sentence.
    pub what: &'static str,
}

/// How much of something a probe takes.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// What is taken.
    pub resource: Resource,
    /// How many for a thousand of the population.
    pub per_1000: u64,
    /// How many beside.
    pub fixed: u64,
}

/// `count` of `resource` for each one of the population.
const fn each(resource: Resource, count: u64) -> Need {
    Need {
        resource,
        per_1000: count * 1_000,
        fixed: 0,
    }
}

/// One pass to run.
#[derive(Clone, Debug, Default)]
pub struct Task {
    /// How many.
    pub population: u32,
    /// Which pass, from 1.
    pub pass: u32,
    /// Which way.
    pub variant: Option<String>,
    /// A private folder on the disk to be probed, shared by the passes of one run.
    pub folder: PathBuf,
    /// This program, which is also the server to be asked.
    pub program: PathBuf,
    /// A server to be asked instead of our own.
    pub target: Option<SocketAddr>,
    /// What is asked of a server, as bytes.
    pub exchange: Exchange,
    /// The CPU to stay on.
    pub cpu: Option<u32>,
    /// The CPU that our own server stays on.
    pub server_cpu: Option<u32>,
}

impl Task {
    fn is_variant(&self, name: &str) -> bool {
        self.variant.as_deref() == Some(name)
    }
}

/// One question to a server and what its answer begins with: bytes, because this crate speaks no
/// protocol.
#[derive(Clone, Debug, Default)]
pub struct Exchange {
    /// What is sent so that the server closes after its answer.
    pub closing: Vec<u8>,
    /// What is sent so that it does not.
    pub keeping: Vec<u8>,
    /// What asks for the file named [`server::FILE`] of our own server.
    pub download: Vec<u8>,
    /// What a right answer begins with.
    pub begins: Vec<u8>,
}

/// What a pass measured.
#[derive(Debug, Default)]
struct Measured {
    series: Vec<Series>,
    facts: BTreeMap<String, String>,
    /// What two clock readings cost, where another program read the clock.
    timer_cost_ns: Option<f64>,
}

impl From<Vec<Series>> for Measured {
    fn from(series: Vec<Series>) -> Self {
        Self {
            series,
            ..Self::default()
        }
    }
}

/// Why a probe could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ProbeError {
    /// A system call failed.
    #[error("{doing}: {source}")]
    Io {
        /// What was being done.
        doing: String,
        /// What the system said.
        source: io::Error,
    },
    /// Something that the probe needs is not there.
    #[error("{0}")]
    Missing(String),
    /// A program that the probe started did something else than it should.
    #[error("{0}")]
    Program(String),
    /// More was asked than the machine's limits allow.
    #[error("{0}")]
    Limit(String),
    /// A name that is not in the table.
    #[error("{0}")]
    Unknown(String),
}

/// Names what was being done when a call failed.
trait Doing<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, ProbeError>;
}

impl<T> Doing<T> for io::Result<T> {
    fn doing(self, what: impl FnOnce() -> String) -> Result<T, ProbeError> {
        self.map_err(|source| ProbeError::Io {
            doing: what(),
            source,
        })
    }
}

/// As an index.
fn index(count: u32) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
