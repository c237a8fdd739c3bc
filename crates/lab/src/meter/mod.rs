//! What generator, server and machine consume between two moments.
//!
//! CPU time comes from the processes' own clocks, which are exact to the nanosecond and count dead
//! threads too, plus what they have reaped of children. Children of a parent that ignores their end
//! (SIGCHLD), as Apache's daemon for CGI programs does, are in nobody's account: the control group
//! has the truth, to a tick, where it counts more than that, and where processes came or went. The
//! split into user and system is the control group's, for /proc counts it in steps of 10 ms: below
//! a second without a control group it is unknown.

mod memory;
mod others;
mod sockets;
mod way;
mod window;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use model::usage::{GroupUsage, Others, SystemUsage};
use model::{Instant, Span, Usage};
use sys::clock::monotonic;
use sys::counters::system::Networks;
use sys::counters::{process, system};
use sys::process::{Leaf, LeafCpu};

pub use memory::memory;
pub use others::{Census, look};
pub use sockets::Sockets;
pub use way::Way;
pub use window::Meters;

/// Shorter windows have too few ticks for /proc to split user from system.
const SPLIT_MIN: Span = Span::from_s(1);
/// And so has less CPU time than so many ticks: each counts as a whole for the one or the other, so
/// that of 20 that are half and half one in twenty splits is off by more than 22 points.
const SPLIT_TICKS: u64 = 20;

/// Reading two files of each thread costs 15 us a thread, on the CPUs that are being measured: with
/// more threads than this the reading would be felt, so run queue and switches stay unknown.
const THREADS_MAX: usize = 64;

/// Counters that are kept even where they did not move: rules read them, and zero is an answer.
const ALWAYS: &[&str] = &[
    "Ip.InDiscards",
    "Tcp.ActiveOpens",
    "Tcp.AttemptFails",
    "Tcp.EstabResets",
    "Tcp.InErrs",
    "Tcp.OutRsts",
    "Tcp.PassiveOpens",
    "Tcp.RetransSegs",
    "TcpExt.ListenDrops",
    "TcpExt.ListenOverflows",
    "TcpExt.PruneCalled",
    "TcpExt.SyncookiesSent",
    "TcpExt.TCPAbortOnMemory",
    "TcpExt.TCPBacklogDrop",
    "TcpExt.TCPLossProbes",
    "TcpExt.TCPReqQFullDoCookies",
    "TcpExt.TCPReqQFullDrop",
    "TcpExt.TCPTimeWaitOverflow",
    "TcpExt.TCPTimeouts",
    "TcpExt.TW",
    "Udp.InErrors",
    "Udp.RcvbufErrors",
    "Udp.SndbufErrors",
    "Udp6.InErrors",
    "Udp6.RcvbufErrors",
    "Udp6.SndbufErrors",
    "softnet.dropped",
    "softnet.squeezed",
    "vmstat.allocstall_normal",
    "vmstat.oom_kill",
    "vmstat.pgmajfault",
    "vmstat.pswpin",
    "vmstat.pswpout",
];

/// Counters that move on every machine at any time and that no rule reads.
const NEVER: &[&str] = &[
    "vmstat.nr_",
    "vmstat.workingset_",
    "vmstat.numa_",
    "vmstat.thp_",
];

/// A process tree: its root, and the control group that it lives in, if any.
#[derive(Clone, Copy, Debug)]
pub struct Group<'a> {
    /// Its first process.
    pub pid: u32,
    /// Its control group.
    pub leaf: Option<&'a Leaf>,
    /// Processes of the tree that wait beside for other loads: their clocks, threads and memory are
    /// not read.
    pub idle: &'a [u32],
}

impl Group<'_> {
    /// The tree of a process that is in no control group of ours.
    pub const fn alone(pid: u32) -> Self {
        Self {
            pid,
            leaf: None,
            idle: &[],
        }
    }
}

/// Everything at one moment.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The edge of the window that this is the reading of, shortly before.
    edge: Instant,
    generator: Option<GroupReading>,
    server: Option<GroupReading>,
    at: Instant,
    cpus: Vec<system::CpuTime>,
    counters: BTreeMap<String, u64>,
    /// Whose counters those of the network are.
    networks: Arc<Networks>,
    tracked_connections: Option<u64>,
}

impl Reading {
    /// Reads everything once more, at a later edge: of the networks that this reading found, for a
    /// generator may have ended by then, and its network with it.
    pub fn again(
        &self,
        root: &Path,
        edge: Instant,
        generator: Option<Group<'_>>,
        server: Option<Group<'_>>,
    ) -> Self {
        read_of(root, edge, generator, server, Arc::clone(&self.networks))
    }
}

/// What is looked at before the load begins, so that looking costs the window nothing.
#[derive(Clone, Debug, Default)]
pub struct Before {
    way: Way,
    census: Option<Census>,
    tracked_connections: Option<u64>,
}

impl Before {
    /// Looks at every process, at the counters of `groups`, and at the firewall's table, before a
    /// load that goes that way.
    pub fn look(root: &Path, groups: &[Group<'_>], way: Way) -> Self {
        Self {
            way,
            census: look(root, groups),
            tracked_connections: system::tracked_connections(root),
        }
    }

    /// Puts into `usage` what was before and who else used the CPUs since then. Read it after the
    /// window: it costs some milliseconds.
    pub fn complete(&self, root: &Path, groups: &[Group<'_>], usage: &mut Usage) {
        if let Some(system) = usage.system.as_mut() {
            system.tracked_before = self.tracked_connections;
            system.others = self.others(root, groups);
        }
    }

    /// Who used the CPUs since then beside `groups`; none where nobody can see all processes.
    pub fn others(&self, root: &Path, groups: &[Group<'_>]) -> Option<Others> {
        let (before, after) = self.census.as_ref().zip(look(root, groups))?;
        let members = |group: &Group<'_>| (group.pid, members(root, *group).into_iter().collect());
        let ours: BTreeMap<u32, BTreeSet<u32>> = groups.iter().map(members).collect();
        Some(others::between(before, &after, &ours, self.way))
    }
}

/// A process tree at one moment.
#[derive(Clone, Debug)]
struct GroupReading {
    at: Instant,
    processes: BTreeMap<(u32, u64), ProcessReading>,
    leaf: Option<(LeafCpu, &'static str)>,
    schedule: Option<ScheduleReading>,
    write_calls: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
struct ProcessReading {
    clock: Span,
    user: Span,
    system: Span,
    reaped_user: Span,
    reaped_system: Span,
    threads: u32,
}

#[derive(Clone, Debug, Default)]
struct ScheduleReading {
    wait: Span,
    voluntary: u64,
    involuntary: u64,
    /// Time on a CPU of each thread, by process and thread.
    run: BTreeMap<(u32, u32), Span>,
}

impl ScheduleReading {
    /// What the thread used that used most since `before`.
    fn busiest_since(&self, before: &Self) -> Option<Span> {
        let lived = self.run.iter().filter_map(|(thread, run)| {
            let earlier = before.run.get(thread)?;
            Some(run.saturating_sub(*earlier))
        });
        lived.max()
    }
}

/// Reads everything at the edge of a window, which was at `edge`, a moment ago. Clocks first: what
/// follows costs the CPUs a moment.
pub fn read(
    root: &Path,
    edge: Instant,
    generator: Option<Group<'_>>,
    server: Option<Group<'_>>,
) -> Reading {
    let groups = [generator, server].into_iter().flatten();
    let pids: Vec<u32> = groups.map(|group| group.pid).collect();
    let networks = Arc::new(Networks::of(root, &pids));
    read_of(root, edge, generator, server, networks)
}

fn read_of(
    root: &Path,
    edge: Instant,
    generator: Option<Group<'_>>,
    server: Option<Group<'_>>,
    networks: Arc<Networks>,
) -> Reading {
    let (mut generator, generator_group) = (generator.and_then(|g| clocks(root, g)), generator);
    let (mut server, server_group) = (server.and_then(|g| clocks(root, g)), server);
    let at = monotonic();
    let cpus = system::cpu_times(root).unwrap_or_default();
    for (reading, group) in [
        (&mut generator, generator_group),
        (&mut server, server_group),
    ] {
        if let (Some(reading), Some(_)) = (reading, group) {
            reading.schedule = schedule(root, reading);
            reading.write_calls = write_calls(root, reading);
        }
    }
    Reading {
        edge,
        generator,
        server,
        at,
        cpus,
        counters: system::counters(root, &networks),
        networks,
        tracked_connections: system::tracked_connections(root),
    }
}

/// What was consumed from `before` to `after`.
pub fn between(before: &Reading, after: &Reading) -> Usage {
    let group = |of: fn(&Reading) -> Option<&GroupReading>| {
        let (first, last) = (of(before)?, of(after)?);
        let covered = last.at.min(after.edge);
        Some(GroupUsage {
            covered: Some(covered.saturating_since(first.at.max(before.edge))),
            ..group_between(first, last)
        })
    };
    Usage {
        generator: group(|reading| reading.generator.as_ref()),
        server: group(|reading| reading.server.as_ref()),
        system: Some(SystemUsage {
            window: after.at.saturating_since(before.at),
            cpus: system::cpu_shares(&before.cpus, &after.cpus),
            counters: moved(&before.counters, &after.counters),
            tracked_connections: after.tracked_connections,
            tick: Some(system::tick()),
            ..SystemUsage::default()
        }),
    }
}

fn members(root: &Path, group: Group<'_>) -> Vec<u32> {
    let mut pids = group.leaf.map(Leaf::members).unwrap_or_default();
    if pids.is_empty() {
        let tree = process::tree(root, group.pid);
        pids = tree.into_iter().map(|stat| stat.pid).collect();
    }
    // One that has ended and waits to be reaped is in no list any more, but its clock still tells.
    if !pids.contains(&group.pid) {
        pids.push(group.pid);
    }
    pids
}

/// The members that the load needs.
fn at_work(root: &Path, group: Group<'_>) -> Vec<u32> {
    let mut pids = members(root, group);
    pids.retain(|pid| !group.idle.contains(pid));
    pids
}

fn clocks(root: &Path, group: Group<'_>) -> Option<GroupReading> {
    let pids = at_work(root, group);
    let at = monotonic();
    let leaf = group
        .leaf
        .and_then(|leaf| Some((leaf.cpu().ok()?, leaf.source())));
    let mut processes = BTreeMap::new();
    for pid in pids {
        // One that ends between the two calls is in its parent's account, or in the leaf's.
        let (Ok(clock), Ok(stat)) = (process::cpu_clock(pid), process::stat(root, pid)) else {
            continue;
        };
        processes.insert(
            (pid, stat.start_time),
            ProcessReading {
                clock,
                user: stat.user,
                system: stat.system,
                reaped_user: stat.children_user,
                reaped_system: stat.children_system,
                threads: stat.threads,
            },
        );
    }
    (!processes.is_empty()).then_some(GroupReading {
        at,
        processes,
        leaf,
        schedule: None,
        write_calls: None,
    })
}

/// Those of all processes; none where one may not be read.
fn write_calls(root: &Path, reading: &GroupReading) -> Option<u64> {
    let pids = reading.processes.keys().map(|(pid, _)| *pid);
    let calls = pids.map(|pid| process::write_calls(root, pid).ok());
    calls.sum()
}

fn schedule(root: &Path, reading: &GroupReading) -> Option<ScheduleReading> {
    let threads: usize = reading
        .processes
        .values()
        .map(|process| usize::try_from(process.threads).unwrap_or(usize::MAX))
        .fold(0, usize::saturating_add);
    if threads > THREADS_MAX {
        return None;
    }
    let mut sum = ScheduleReading::default();
    for (pid, _) in reading.processes.keys() {
        for task in process::tasks(root, *pid) {
            let (Ok(schedule), Ok(status)) = (
                process::schedule(root, *pid, task),
                process::task_status(root, *pid, task),
            ) else {
                continue;
            };
            sum.wait += schedule.wait;
            sum.run.insert((*pid, task), schedule.run);
            sum.voluntary += status.switches_voluntary?;
            sum.involuntary += status.switches_involuntary?;
        }
    }
    Some(sum)
}

fn group_between(before: &GroupReading, after: &GroupReading) -> GroupUsage {
    let window = after.at.saturating_since(before.at);
    let same = before.processes.keys().eq(after.processes.keys());
    let reaped = |reading: &GroupReading| -> Span {
        let each = reading.processes.values();
        each.map(|p| p.reaped_user + p.reaped_system).sum()
    };
    let nobody_reaped = reaped(before) == reaped(after);
    let clocks = |reading: &GroupReading| -> Span {
        reading.processes.values().map(|p| p.clock).sum::<Span>() + reaped(reading)
    };
    let by_clocks = clocks(after).saturating_sub(clocks(before));
    let by_leaf = before
        .leaf
        .zip(after.leaf)
        .map(|((before, source), (after, _))| {
            (
                after.total.saturating_sub(before.total),
                after.user.saturating_sub(before.user),
                after.system.saturating_sub(before.system),
                source,
            )
        });
    let (cpu, cpu_source) = match by_leaf {
        Some((total, _, _, source))
            if !(same && nobody_reaped) || total > by_clocks + system::tick() =>
        {
            (total, source)
        }
        _ => (by_clocks, "proc"),
    };
    let split = match by_leaf {
        Some((_, user, system, _)) => Some((user, system)),
        None if window >= SPLIT_MIN && cpu >= system::tick() * SPLIT_TICKS => {
            Some(split_of_ticks(before, after))
        }
        None => None,
    };
    let (user, system) = split.and_then(|split| share(cpu, split)).unzip();
    let schedules = before.schedule.as_ref().zip(after.schedule.as_ref());
    let schedule = schedules.filter(|_| same);
    let calls = before.write_calls.zip(after.write_calls);
    let calls = calls.filter(|_| same);
    let threads = after.processes.values().map(|p| p.threads).sum();
    GroupUsage {
        window,
        cpu: Some(cpu),
        user,
        system,
        cpu_source: match (cpu_source, by_leaf) {
            ("proc", Some((_, _, _, leaf))) => format!("proc, split by {leaf}"),
            (source, _) => source.to_owned(),
        },
        context_switches_voluntary: schedule.map(|(b, a)| a.voluntary.saturating_sub(b.voluntary)),
        context_switches_involuntary: schedule
            .map(|(b, a)| a.involuntary.saturating_sub(b.involuntary)),
        write_calls: calls.map(|(before, after)| after.saturating_sub(before)),
        runqueue_wait: schedule.map(|(b, a)| a.wait.saturating_sub(b.wait)),
        busiest_thread: schedules.and_then(|(before, after)| after.busiest_since(before)),
        processes: u32::try_from(after.processes.len()).ok(),
        threads: Some(threads),
        ..GroupUsage::default()
    }
}

/// User and system as /proc has them, children that were reaped included.
fn split_of_ticks(before: &GroupReading, after: &GroupReading) -> (Span, Span) {
    let sum = |reading: &GroupReading| {
        let each = reading.processes.values();
        each.fold((Span::ZERO, Span::ZERO), |(user, system), p| {
            (
                user + p.user + p.reaped_user,
                system + p.system + p.reaped_system,
            )
        })
    };
    let ((user, system), (user_before, system_before)) = (sum(after), sum(before));
    (
        user.saturating_sub(user_before),
        system.saturating_sub(system_before),
    )
}

/// The whole, divided as the sampled parts are: the parts are counted in ticks, the whole is exact.
fn share(whole: Span, (user, system): (Span, Span)) -> Option<(Span, Span)> {
    let sum = u128::from((user + system).as_ns());
    if sum == 0 {
        return None;
    }
    let part = u128::from(whole.as_ns()) * u128::from(user.as_ns()) / sum;
    let user = Span::from_ns(u64::try_from(part).ok()?);
    Some((user, whole.saturating_sub(user)))
}

/// How far each counter went: those that moved, and those that rules read.
fn moved(before: &BTreeMap<String, u64>, after: &BTreeMap<String, u64>) -> BTreeMap<String, u64> {
    after
        .iter()
        .filter_map(|(name, value)| {
            let went = value.checked_sub(*before.get(name)?)?;
            let ignored = NEVER.iter().any(|prefix| name.starts_with(prefix));
            let wanted = ALWAYS.contains(&name.as_str()) || (went > 0 && !ignored);
            wanted.then(|| (name.clone(), went))
        })
        .collect()
}

#[cfg(test)]
mod tests;
