//! Which limits stand in the way of a plan's connections: looked at before the run, all at once, so
//! that nobody learns of the second one after having raised the first.
//!
//! What cannot be read is taken not to be a limit: then the first connect beyond it will tell.

use std::collections::BTreeSet;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;
use std::path::Path;

use model::plan::{Backend, Plan};
use sys::reactor::Uring;

use crate::pool::HALF_CLOSED;
use crate::run::{LoadError, settings};

/// Files that a process has open beside its connections: standard streams, results, the fetches
/// before the run, and what libraries open.
const FILES_BESIDE: u64 = 32;
/// Files of one worker: its ring or poll, its timers and waker, its accounts in /proc.
const FILES_PER_WORKER: u64 = 8;
/// What an idle connection costs here: at most 1 KiB of ours (`tests/memory.rs`) and 4.3 KiB of the
/// kernel's (9,000 pairs on loopback, Linux 6.18).
const CONNECTION_BYTES: u64 = 6 * 1024;

/// The most files that a process with so many workers has open beside its connections: a bound that
/// `tests/files.rs` holds against what is open.
pub const fn files_beside(workers: u64) -> u64 {
    FILES_BESIDE + workers * FILES_PER_WORKER
}

/// What the connections of a plan need.
struct Need<'a> {
    connections: u64,
    /// Sockets of all workers, those that wait for the server's close included.
    sockets: u64,
    /// The most sockets of one worker on io_uring; 0 if it is not asked for.
    in_one_table: u64,
    workers: u64,
    targets: &'a [SocketAddr],
    sources: &'a [IpAddr],
}

/// Raises the limit of open files as far as it goes, looks at all limits that this process meets
/// with `workers` of the plan, and has the kernel make room for their files.
///
/// # Errors
///
/// Some limit does not allow what the plan wants.
pub(crate) fn check(
    plan: &Plan,
    workers: &Range<u32>,
    targets: &[SocketAddr],
) -> Result<(), LoadError> {
    let need = Need::of(plan, workers.clone(), targets);
    refuse(plan, need.obstacles(files_allowed(&need), proc()))?;
    // Where there is no room yet, the kernel makes it while the load runs.
    let _made = sys::process::make_room_for_files(need.files());
    Ok(())
}

/// Divides the workers of `plan` into as few processes as their open files need.
///
/// # Errors
///
/// Some limit does not allow what the plan wants, however it is divided.
pub(crate) fn divide(plan: &Plan, targets: &[SocketAddr]) -> Result<Vec<Range<u32>>, LoadError> {
    let workers = plan.file().workers;
    let whole = Need::of(plan, 0..workers, targets);
    let Some(allowed) = files_allowed(&whole).filter(|allowed| *allowed < whole.files()) else {
        return Ok(split(workers, 1));
    };
    // No worker has more than the first one.
    let one = Need::of(plan, 0..1, targets);
    let mut obstacles: Vec<String> = one.files_of_process(Some(allowed)).into_iter().collect();
    obstacles.extend(whole.obstacles(None, proc()));
    refuse(plan, obstacles)?;
    let most = (allowed - files_beside(0)) / (one.files() - files_beside(0));
    let parts = u64::from(workers).div_ceil(most.max(1));
    Ok(split(workers, u32::try_from(parts).unwrap_or(workers)))
}

/// Ranges of `workers`, as equal as can be.
fn split(workers: u32, parts: u32) -> Vec<Range<u32>> {
    let edge = |part: u32| {
        let edge = u64::from(workers) * u64::from(part) / u64::from(parts);
        u32::try_from(edge).unwrap_or(workers)
    };
    (0..parts).map(|part| edge(part)..edge(part + 1)).collect()
}

/// The least workers among which `connections` can be shared out, so that no process has more files
/// open than it may.
pub fn workers_needed(connections: u32) -> u32 {
    let beside = files_beside(1) + HALF_CLOSED as u64;
    let Some(allowed) = raise(u64::MAX).max(raise(u64::from(connections) + beside)) else {
        return 1;
    };
    let room = allowed.saturating_sub(beside).max(1);
    u32::try_from(u64::from(connections).div_ceil(room)).unwrap_or(u32::MAX)
}

fn refuse(plan: &Plan, obstacles: Vec<String>) -> Result<(), LoadError> {
    if obstacles.is_empty() {
        return Ok(());
    }
    Err(LoadError::Limits {
        connections: plan.file().connections,
        obstacles: obstacles.join("; "),
    })
}

/// With a privilege there is more than the hard limit, but not more than is asked for.
fn files_allowed(need: &Need<'_>) -> Option<u64> {
    raise(u64::MAX).max(raise(need.files()))
}

fn raise(wanted: u64) -> Option<u64> {
    sys::process::raise_open_files(wanted).ok()
}

fn proc() -> &'static Path {
    Path::new("/proc")
}

impl<'a> Need<'a> {
    /// What `workers` of the plan need.
    fn of(plan: &'a Plan, workers: Range<u32>, targets: &'a [SocketAddr]) -> Self {
        let file = plan.file();
        let count = workers.len() as u64;
        let held = workers.map(|index| plan.connections_of(index));
        let held: Vec<u32> = held.collect();
        let rooms = held.iter().map(|held| settings(*held).connections);
        let rooms: Vec<u64> = rooms.map(u64::from).collect();
        Self {
            connections: held.iter().copied().map(u64::from).sum(),
            sockets: rooms.iter().sum(),
            in_one_table: match file.backend {
                Backend::Readiness => 0,
                Backend::Auto | Backend::Uring => rooms.iter().copied().max().unwrap_or(0),
            },
            workers: count,
            // A Unix socket needs no port.
            targets: match file.unix_socket {
                None => targets,
                Some(_) => &[],
            },
            sources: &file.sources,
        }
    }

    const fn files(&self) -> u64 {
        self.sockets + files_beside(self.workers)
    }

    /// The limits that are lower than what is needed, each with what to do.
    fn obstacles(&self, files_allowed: Option<u64>, proc: &Path) -> Vec<String> {
        let obstacles = [
            self.files_of_process(files_allowed),
            self.files_of_system(proc),
            self.table(),
            self.ports(proc),
            self.memory(proc),
        ];
        obstacles.into_iter().flatten().collect()
    }

    fn files_of_process(&self, allowed: Option<u64>) -> Option<String> {
        let needed = self.files();
        let allowed = allowed.filter(|allowed| *allowed < needed)?;
        Some(format!(
            "this process may have {allowed} files open and needs {needed} (raise the limit: \
             ulimit -n {needed}; or use more workers, which may run in several processes: -t)"
        ))
    }

    fn files_of_system(&self, proc: &Path) -> Option<String> {
        let text = fs::read_to_string(proc.join("sys/fs/file-nr")).ok()?;
        let mut words = text.split_whitespace().map(str::parse::<u64>);
        let used = words.next()?.ok()?;
        let most = words.nth(1)?.ok()?;
        let needed = used + self.files();
        (needed > most).then(|| {
            format!(
                "all programs together may have {most} files open and would have {needed} (raise \
                 it: sysctl fs.file-max={needed})"
            )
        })
    }

    fn table(&self) -> Option<String> {
        let most = u64::from(Uring::FILES_MOST);
        (self.in_one_table > most).then(|| {
            format!(
                "io_uring has room for {most} files in the table of one worker, which would have \
                 {} (use more workers: -t)",
                self.in_one_table
            )
        })
    }

    /// Connections from one address to one target each need a port of their own.
    fn ports(&self, proc: &Path) -> Option<String> {
        let read = |name: &str| fs::read_to_string(proc.join("sys/net/ipv4").join(name));
        let range = read("ip_local_port_range").ok()?;
        let mut ends = range.split_whitespace().map(str::parse::<u64>);
        let (first, last) = (ends.next()?.ok()?, ends.next()?.ok()?);
        let reserved = ranges(&read("ip_local_reserved_ports").unwrap_or_default());
        let reserved = reserved.range(first..=last).count() as u64;
        let ports = (last + 1).saturating_sub(first).saturating_sub(reserved);
        let targets = self.targets.len().max(1) as u64;
        let family = self.targets.first()?.is_ipv6();
        let sources = self.sources.iter().filter(|ip| ip.is_ipv6() == family);
        let sources = (sources.count() as u64).max(1);
        let needed = self.connections.div_ceil(targets * sources);
        (needed > ports).then(|| {
            let enough = self.connections.div_ceil(ports.max(1) * targets);
            format!(
                "each of {sources} source addresses has {ports} ports for each of {targets} \
                 targets and needs {needed} (give {enough} addresses of this machine with \
                 --interface; or widen net.ipv4.ip_local_port_range)"
            )
        })
    }

    fn memory(&self, proc: &Path) -> Option<String> {
        let text = fs::read_to_string(proc.join("meminfo")).ok()?;
        let line = text
            .lines()
            .find_map(|line| line.strip_prefix("MemAvailable:"))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        let is_here = self.targets.iter().all(|target| target.ip().is_loopback());
        // On loopback the other end is here, too.
        let ends = 1 + u64::from(is_here);
        let needed = self.connections * CONNECTION_BYTES * ends / (1024 * 1024);
        let available = kib / 1024;
        (needed > available).then(|| {
            format!(
                "{available} MiB of memory are available and about {needed} MiB are needed (close \
                 other programs, or use another machine)"
            )
        })
    }
}

/// The numbers of a list such as `1-3,8`.
fn ranges(list: &str) -> BTreeSet<u64> {
    let parts = list.trim().split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<u64>().ok()?..=last.parse().ok()?)
    });
    parts.flatten().collect()
}

#[cfg(test)]
mod tests;
