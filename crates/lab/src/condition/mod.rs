//! Reads what the doctor looks at: a machine at this moment, and a server on it.
//!
//! The roots of `/proc`, `/sys` and `/dev` are arguments, so that tests feed fixtures.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use model::condition::{
    Clocks, Condition, Disk, Link, ListenerCondition, OpenFiles, ServerCondition,
};
use model::{Bytes, Environment};
use sys::counters::{disk, log, page_size, parse_cpu_list, process, socket, system};

use crate::environment::tells_cpu_quota;

/// Where the kernel tells about itself.
#[derive(Clone, Debug)]
pub struct Roots {
    /// `/proc`.
    pub proc: PathBuf,
    /// `/sys`.
    pub sys: PathBuf,
    /// `/dev`.
    pub dev: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self {
            proc: "/proc".into(),
            sys: "/sys".into(),
            dev: "/dev".into(),
        }
    }
}

/// Reads the condition of the machine and, if one is asked about, of the server `server`.
pub fn read(
    roots: &Roots,
    environment: Environment,
    results: &Path,
    server: Option<u32>,
) -> Condition {
    let memory = |key: &str| meminfo(&roots.proc, key);
    let tracking = |name: &str| {
        number(
            &roots
                .proc
                .join("sys/net/netfilter")
                .join(format!("nf_conntrack_{name}")),
        )
    };
    Condition {
        cpu_quota_seen: tells_cpu_quota(&roots.proc, &roots.sys),
        page_size: page_size(),
        memory_available: memory("MemAvailable"),
        swap_used: memory("SwapTotal")
            .zip(memory("SwapFree"))
            .map(|(total, free)| Bytes::new(total.count().saturating_sub(free.count()))),
        sockets: system::socket_levels(&roots.proc).unwrap_or_default(),
        tracked_connections: tracking("count"),
        tracked_connections_max: tracking("max"),
        steal: steal(&roots.proc),
        // Nobody has watched: that costs time, and whoever wants it asks `sys::hiccup`.
        hiccups: None,
        others: None,
        clocks: clocks(&roots.sys, &environment.cpus_online),
        links: links(&roots.sys),
        disk: read_disk(results),
        mains: mains(&roots.sys),
        core_kinds: core_kinds(&roots.sys),
        kernel_log: kernel_log(&roots.dev),
        kernel_tracing: kernel_tracing(&roots.sys),
        filtered: is_filtered(&roots.proc),
        at_once: None,
        server: server.map(|pid| of_server(&roots.proc, pid)),
        environment,
    }
}

fn number(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

fn meminfo(proc: &Path, key: &str) -> Option<Bytes> {
    let text = fs::read_to_string(proc.join("meminfo")).ok()?;
    let rest = text
        .lines()
        .find_map(|line| line.strip_prefix(key)?.strip_prefix(':'))?;
    let kilobytes: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
    Some(Bytes::new(kilobytes * 1024))
}

fn steal(proc: &Path) -> Option<f64> {
    let times = system::cpu_times(proc).ok()?;
    let sum = |part: fn(&system::CpuTime) -> model::Span| -> f64 {
        times.iter().map(|time| part(time).as_s_f64()).sum()
    };
    let steal = sum(|time| time.steal);
    let all = sum(|time| time.user + time.system + time.idle + time.interrupt) + steal;
    (all > 0.0).then(|| steal / all)
}

fn clocks(sys: &Path, cpus: &[u32]) -> Vec<Clocks> {
    let mut ways: Vec<Clocks> = Vec::new();
    for cpu in cpus {
        let folder = sys.join(format!("devices/system/cpu/cpu{cpu}/cpufreq"));
        let read = |name: &str| {
            let text = fs::read_to_string(folder.join(name)).ok()?;
            Some(text.trim().to_owned())
        };
        let Some(governor) = read("scaling_governor") else {
            continue;
        };
        let (driver, preference) = (
            read("scaling_driver"),
            read("energy_performance_preference"),
        );
        let same = |way: &&mut Clocks| {
            (&way.governor, &way.driver, &way.preference) == (&governor, &driver, &preference)
        };
        if let Some(way) = ways.iter_mut().find(same) {
            way.cpus.push(*cpu);
        } else {
            ways.push(Clocks {
                cpus: vec![*cpu],
                governor,
                driver,
                preference,
            });
        }
    }
    ways
}

fn links(sys: &Path) -> Vec<Link> {
    let mut links: Vec<Link> = fs::read_dir(sys.join("class/net"))
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some(Link {
                name: entry.file_name().into_string().ok()?,
                device: entry.path().join("device").exists(),
                mtu: number(&entry.path().join("mtu")),
                // An unknown speed reads -1, which is no number here.
                speed_mbit: number(&entry.path().join("speed")),
            })
        })
        .collect();
    links.sort_by(|one, other| one.name.cmp(&other.name));
    links
}

/// The nearest folder that exists: results may not be there yet.
fn read_disk(results: &Path) -> Option<Disk> {
    let absolute = std::path::absolute(results).ok()?;
    let folder = absolute.ancestors().find(|folder| folder.is_dir())?;
    let (size, free) = disk::space(folder).ok()?;
    Some(Disk {
        path: results.display().to_string(),
        size,
        free,
    })
}

/// Batteries have no file that says whether they are online, mains supplies do.
fn mains(sys: &Path) -> Option<Vec<bool>> {
    let supplies = fs::read_dir(sys.join("class/power_supply")).ok()?;
    let online = |supply: fs::DirEntry| number(&supply.path().join("online"));
    let mains = supplies.filter_map(|supply| online(supply.ok()?));
    Some(mains.map(|online| online != 0).collect())
}

/// Intel's mixed cores have a counting unit for each kind, other machines one; where the kernel
/// knows how much each CPU can do, it says so.
fn core_kinds(sys: &Path) -> Option<BTreeMap<String, Vec<u32>>> {
    let devices = sys.join("devices");
    let list = |path: &str| parse_cpu_list(&fs::read_to_string(devices.join(path)).ok()?);
    let hybrid: BTreeMap<String, Vec<u32>> = ["cpu_core", "cpu_atom"]
        .into_iter()
        .filter_map(|kind| Some((kind.to_owned(), list(&format!("{kind}/cpus"))?)))
        .collect();
    if !hybrid.is_empty() {
        return Some(hybrid);
    }
    let mut kinds: BTreeMap<String, Vec<u32>> = BTreeMap::new();
    let online = list("system/cpu/online")?;
    for cpu in &online {
        let path = devices.join(format!("system/cpu/cpu{cpu}/cpu_capacity"));
        if let Some(capacity) = number(&path) {
            kinds
                .entry(format!("capacity {capacity}"))
                .or_default()
                .push(*cpu);
        }
    }
    if kinds.is_empty() && devices.join("cpu").is_dir() {
        kinds.insert("cpu".to_owned(), online);
    }
    (!kinds.is_empty()).then_some(kinds)
}

/// What in the kernel's log spoils a measurement, as the kernel words it.
const TROUBLE: &[&str] = &[
    "possible SYN flooding",
    "Possible SYN flooding",
    "nf_conntrack: table full",
    "TCP: out of memory",
    "too many orphaned sockets",
    "Out of memory: Killed",
    "clock throttled",
    "Marking clocksource",
    "soft lockup",
    "NETDEV WATCHDOG",
    "hrtimer: interrupt took",
    "perf: interrupt took too long",
    "page allocation failure",
    "Link is Down",
];

fn kernel_log(dev: &Path) -> Option<Vec<String>> {
    let mut lines = log::messages(&dev.join("kmsg")).ok()?;
    lines.retain(|line| TROUBLE.iter().any(|trouble| line.contains(trouble)));
    // The newest say most.
    lines.drain(..lines.len().saturating_sub(20));
    Some(lines)
}

/// Whether the system calls of this process are filtered.
pub fn is_filtered(proc: &Path) -> Option<bool> {
    Some(process::status_of_self(proc).ok()?.seccomp? != 0)
}

/// Events on the way of every request; those of hardware errors, say, cost nothing.
const ON_THE_WAY: &[&str] = &[
    "sched",
    "irq",
    "timer",
    "hrtimer",
    "kmem",
    "syscalls",
    "raw_syscalls",
    "io_uring",
    "net",
    "napi",
    "skb",
    "sock",
    "tcp",
];

/// Only root may read it.
pub fn kernel_tracing(sys: &Path) -> Option<Vec<String>> {
    let folders = ["kernel/tracing", "kernel/debug/tracing"].map(|folder| sys.join(folder));
    let (folder, tracer) = folders.into_iter().find_map(|folder| {
        let tracer = fs::read_to_string(folder.join("current_tracer")).ok()?;
        Some((folder, tracer))
    })?;
    let tracer = Some(tracer.trim().to_owned()).filter(|tracer| tracer != "nop");
    let events = fs::read_to_string(folder.join("set_event")).unwrap_or_default();
    let is_on_the_way = |event: &&str| {
        event
            .split_once(':')
            .is_some_and(|(group, _)| ON_THE_WAY.contains(&group))
    };
    let events = events.lines().filter(is_on_the_way).map(str::to_owned);
    Some(tracer.into_iter().chain(events).collect())
}

/// Reads the condition of the server whose first process is `pid`.
pub fn of_server(proc: &Path, pid: u32) -> ServerCondition {
    let mut tree = process::tree(proc, pid);
    // What has ended and was not waited for serves nobody.
    tree.retain(|stat| stat.state != 'Z');
    let processes: Vec<u32> = tree.iter().map(|stat| stat.pid).collect();
    let statuses: Vec<_> = processes
        .iter()
        .filter_map(|pid| process::status(proc, *pid).ok())
        .collect();
    let tracers: Option<Vec<u32>> = statuses.iter().map(|status| status.tracer).collect();
    let filters: Option<Vec<u32>> = statuses.iter().map(|status| status.seccomp).collect();
    let any = |all: Option<Vec<u32>>| {
        all.filter(|all| !all.is_empty())
            .map(|all| all.iter().any(|number| *number != 0))
    };
    ServerCondition {
        pid,
        name: fs::read_to_string(proc.join(format!("{pid}/comm")))
            .map(|name| name.trim().to_owned())
            .unwrap_or_default(),
        cpus_allowed: cpus_of(proc, &processes),
        open_files: processes
            .iter()
            .filter_map(|pid| {
                let (soft, hard) = process::open_files_limits(proc, *pid).ok()?;
                let pid = *pid;
                Some(OpenFiles { pid, soft, hard })
            })
            .collect(),
        listeners: listeners_of(proc, pid, &processes),
        traced: any(tracers),
        filtered: any(filters),
        logs: logs_of(proc, &processes),
        swap_used: swap_of(proc, &processes),
        processes,
    }
}

/// All CPUs that any thread of these processes may use.
fn cpus_of(proc: &Path, processes: &[u32]) -> Option<Vec<u32>> {
    let mut cpus = Vec::new();
    for pid in processes {
        for task in process::tasks(proc, *pid) {
            let status = process::task_status(proc, *pid, task).ok();
            cpus.extend(
                status
                    .and_then(|status| status.cpus_allowed)
                    .unwrap_or_default(),
            );
        }
    }
    cpus.sort_unstable();
    cpus.dedup();
    (!cpus.is_empty()).then_some(cpus)
}

/// None where nobody can tell: a server of another user, or one in another network namespace,
/// whose sockets the kernel does not list here.
fn listeners_of(proc: &Path, pid: u32, processes: &[u32]) -> Option<Vec<ListenerCondition>> {
    let namespace = |of: &str| fs::read_link(proc.join(of).join("ns/net")).ok();
    if namespace(&pid.to_string())? != namespace("self")? {
        return None;
    }
    let mut owned: Vec<u64> = Vec::new();
    let mut is_readable = true;
    for pid in processes {
        match process::sockets(proc, *pid) {
            Ok(sockets) => owned.extend(sockets),
            Err(_) => is_readable = false,
        }
    }
    let mut listeners: Vec<ListenerCondition> = socket::all_listeners()
        .ok()?
        .into_iter()
        .filter(|listener| owned.contains(&listener.inode))
        .map(|listener| ListenerCondition {
            address: SocketAddr::new(listener.address, listener.port),
            waiting: listener.queue,
            backlog: listener.queue_limit,
        })
        .collect();
    listeners.sort_by_key(|listener| listener.address);
    (is_readable || !listeners.is_empty()).then_some(listeners)
}

/// Logs are what programs append to; what they write elsewhere has a size from the start.
fn logs_of(proc: &Path, processes: &[u32]) -> Option<Vec<Disk>> {
    let readable = processes
        .iter()
        .filter_map(|pid| process::appended(proc, *pid).ok());
    let mut disks = BTreeMap::new();
    let mut is_readable = false;
    for (path, name) in readable.inspect(|_| is_readable = true).flatten() {
        let Some((device, (size, free))) = fs::metadata(&path)
            .ok()
            .map(|facts| facts.dev())
            .zip(disk::space(&path).ok())
        else {
            continue;
        };
        let path = name.display().to_string();
        disks.entry(device).or_insert(Disk { path, size, free });
    }
    is_readable.then(|| disks.into_values().collect())
}

fn swap_of(proc: &Path, processes: &[u32]) -> Option<Bytes> {
    let of = |pid: &u32| {
        let text = fs::read_to_string(proc.join(format!("{pid}/status"))).ok()?;
        let rest = text.lines().find_map(|line| line.strip_prefix("VmSwap:"))?;
        let kilobytes: u64 = rest.trim().trim_end_matches("kB").trim().parse().ok()?;
        Some(Bytes::new(kilobytes * 1024))
    };
    let each: Vec<Bytes> = processes.iter().filter_map(of).collect();
    (!each.is_empty()).then(|| each.into_iter().sum())
}

/// The process that listens on `port`; none if nobody does or it is not readable.
pub fn owner_of(proc: &Path, port: u16) -> Option<u32> {
    let listeners = socket::listeners(port).ok()?;
    owner(proc, listeners.iter().map(|one| one.inode).collect())
}

/// The process that takes datagrams at `address`; none if nobody does or it is not readable.
pub fn owner_of_datagrams_at(proc: &Path, address: SocketAddr) -> Option<u32> {
    let receivers = socket::receivers_at(proc, address).ok()?;
    owner(proc, receivers.iter().map(|one| one.inode).collect())
}

/// The process that answers at `address`; none if nobody does or it is not readable.
pub fn owner_at(proc: &Path, address: SocketAddr) -> Option<u32> {
    let listeners = socket::listeners_at(address).ok()?;
    owner(proc, listeners.iter().map(|one| one.inode).collect())
}

/// The process whose sockets these are.
fn owner(proc: &Path, inodes: Vec<u64>) -> Option<u32> {
    let owners: Vec<u32> = process::all(proc)
        .into_iter()
        .filter(|pid| {
            let sockets = process::sockets(proc, *pid).unwrap_or_default();
            sockets.iter().any(|inode| inodes.contains(inode))
        })
        .collect();
    // A parent opens the socket and its workers share it: the one that is no other's child.
    owners
        .iter()
        .find(|pid| process::stat(proc, **pid).is_ok_and(|stat| !owners.contains(&stat.parent)))
        .copied()
}

#[cfg(test)]
mod tests;
