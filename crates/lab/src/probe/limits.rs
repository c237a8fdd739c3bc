//! The bounds of the machine, read before anything is started.
//!
//! Each reader takes the root of /proc as an argument; a bound that cannot be read is no bound.

use std::fs;
use std::path::Path;

use model::probe::Limit;
use sys::counters::disk::space;
use sys::process::effective_user;
use sys::syscall::limit::{self, Bounds, bounds};

use super::{Need, Probe};

/// What a probe can take too much of.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resource {
    /// Bytes on the disk that is probed.
    Disk,
    /// Mappings of one process.
    Mappings,
    /// Bytes of memory, the kernel's included.
    Memory,
    /// Descriptors.
    OpenFiles,
    /// Ports that the kernel gives away.
    Ports,
    /// Processes and threads.
    Processes,
}

/// Descriptors, processes and the like that this program itself has in use at most.
const OURS: u64 = 64;

/// Everything that bounds `probe`.
pub(super) fn limits(root: &Path, probe: &Probe, folder: &Path) -> Vec<Limit> {
    probe
        .needs
        .iter()
        .flat_map(|need| {
            let found = match need.resource {
                Resource::Disk => disk(folder),
                Resource::Mappings => mappings(root),
                Resource::Memory => memory(root),
                Resource::OpenFiles => open_files(root),
                Resource::Ports => ports(root),
                Resource::Processes => processes(root),
            };
            found.into_iter().map(|(name, source, free)| Limit {
                name: name.to_owned(),
                source: source.to_owned(),
                free,
                per_1000: need.per_1000,
                fixed: fixed(need),
            })
        })
        .collect()
}

fn fixed(need: &Need) -> u64 {
    let ours = match need.resource {
        Resource::Mappings | Resource::OpenFiles | Resource::Processes => OURS,
        Resource::Disk | Resource::Memory | Resource::Ports => 0,
    };
    need.fixed + ours
}

type Found = (&'static str, &'static str, Option<u64>);

fn number(root: &Path, path: &str) -> Option<u64> {
    fs::read_to_string(root.join(path))
        .ok()?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn disk(folder: &Path) -> Vec<Found> {
    // Half of what is free: a disk that is filled to the brim is another disk.
    let free = space(folder).ok().map(|(_, free)| free.count() / 2);
    vec![("bytes on the disk", "statvfs, half of what is free", free)]
}

fn mappings(root: &Path) -> Vec<Found> {
    vec![(
        "mappings",
        "vm.max_map_count",
        number(root, "sys/vm/max_map_count"),
    )]
}

fn memory(root: &Path) -> Vec<Found> {
    let available = fs::read_to_string(root.join("meminfo"))
        .ok()
        .and_then(|text| {
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("MemAvailable:"))?;
            line.split_whitespace().next()?.parse::<u64>().ok()
        });
    vec![(
        "bytes of memory",
        "MemAvailable, half of it",
        available.map(|kilobytes| kilobytes * 1_024 / 2),
    )]
}

fn open_files(root: &Path) -> Vec<Found> {
    let of_process = bounds(limit::Resource::OpenFiles)
        .ok()
        .and_then(|Bounds { hard, .. }| hard);
    let raisable = number(root, "sys/fs/nr_open");
    // With a privilege the hard limit may be raised too, as far as fs.nr_open.
    let (source, free) = if may_raise(root) {
        ("fs.nr_open", raisable)
    } else {
        ("RLIMIT_NOFILE, the hard one", of_process)
    };
    let in_use = fs::read_to_string(root.join("sys/fs/file-nr")).ok();
    let system = in_use.and_then(|text| {
        let mut words = text.split_whitespace().map(str::parse::<u64>);
        let used = words.next()?.ok()?;
        let most = words.nth(1)?.ok()?;
        Some(most.saturating_sub(used))
    });
    vec![
        ("open files of a process", source, free),
        ("open files of the system", "fs.file-nr", system),
    ]
}

/// Whether this process may raise its hard limits. Root in a container often may not.
fn may_raise(root: &Path) -> bool {
    // linux/capability.h
    const CAP_SYS_RESOURCE: u32 = 24;
    let status = fs::read_to_string(root.join("self/status")).unwrap_or_default();
    let effective = status
        .lines()
        .find_map(|line| line.strip_prefix("CapEff:"))
        .and_then(|hex| u64::from_str_radix(hex.trim(), 16).ok());
    effective.is_some_and(|bits| bits >> CAP_SYS_RESOURCE & 1 == 1)
}

fn ports(root: &Path) -> Vec<Found> {
    let range = fs::read_to_string(root.join("sys/net/ipv4/ip_local_port_range")).ok();
    let free = range.and_then(|text| {
        let mut words = text.split_whitespace().map(str::parse::<u64>);
        let (first, last) = (words.next()?.ok()?, words.next()?.ok()?);
        Some((last + 1).saturating_sub(first))
    });
    vec![("ports", "net.ipv4.ip_local_port_range", free)]
}

fn processes(root: &Path) -> Vec<Found> {
    // "running/total" is the fourth word: threads of the whole system.
    let running = fs::read_to_string(root.join("loadavg"))
        .ok()
        .and_then(|text| {
            let counts = text.split_whitespace().nth(3)?.to_owned();
            counts.split_once('/')?.1.parse::<u64>().ok()
        })
        .unwrap_or(0);
    let left = |most: Option<u64>| most.map(|most| most.saturating_sub(running));
    let of_user = bounds(limit::Resource::Processes)
        .ok()
        .and_then(|Bounds { hard, .. }| hard)
        .filter(|_| effective_user() != 0);
    let mut found = vec![
        (
            "process numbers",
            "kernel.pid_max",
            left(number(root, "sys/kernel/pid_max")),
        ),
        (
            "threads",
            "kernel.threads-max",
            left(number(root, "sys/kernel/threads-max")),
        ),
        ("processes of this user", "RLIMIT_NPROC", left(of_user)),
    ];
    if let Some(most) = group_tasks(root, Path::new("/sys/fs/cgroup")) {
        found.push(("tasks of the control group", "pids.max", Some(most)));
    }
    found
}

/// What the control group and those above it leave, in either version of control groups.
pub(super) fn group_tasks(root: &Path, groups: &Path) -> Option<u64> {
    let text = fs::read_to_string(root.join("self/cgroup")).ok()?;
    let mut least: Option<u64> = None;
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else {
            continue;
        };
        let bases: &[&str] = match controllers {
            "" => &["", "unified"],
            all if all.split(',').any(|one| one == "pids") => &["pids"],
            _ => continue,
        };
        for base in bases.iter().map(|base| groups.join(base)) {
            let folder = base.join(path.trim_start_matches('/'));
            for folder in folder.ancestors().take_while(|one| one.starts_with(&base)) {
                let Some(most) = number(folder, "pids.max") else {
                    continue;
                };
                let left = most.saturating_sub(number(folder, "pids.current").unwrap_or(0));
                least = Some(least.map_or(left, |known| known.min(left)));
            }
        }
    }
    least
}
