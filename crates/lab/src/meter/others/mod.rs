//! Who else used the CPUs: every process there is, before the window and after it, by its own CPU
//! clock.
//!
//! Clocks are exact to the nanosecond, so this tells in any window. What ended meanwhile is in the
//! account of whoever reaped it, to a tick, with all that it ever used: what it had used before the
//! first look is taken off, and what is left is at most what the CPUs had to give. What nobody
//! accounts for is told by the CPUs' own times, where it is more than their ticks can be wrong by.
//! Of that, what the control groups of server and generator count beyond the clocks of their
//! processes is theirs: programs that ended, and that nobody reaped.
//!
//! A look costs about 20 us a process (ADR 0021), so the first one is taken before the window
//! begins, and with more than `PROCESSES_MAX` there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::usage::{Others, Spender};
use model::{Instant, Span};
use sys::clock::monotonic;
use sys::counters::{process, system};
use sys::process::Leaf;

use super::{Group, Way};

/// With more processes than this, looking would last longer than the load runs in.
const PROCESSES_MAX: usize = 2_000;

/// So many names are kept.
const TOP: usize = 3;

/// Threads of the kernel that work for somebody else than a server or a generator: they look for
/// memory to merge, to move and to take away, watch who uses it, mend a disk array, serve files to
/// other machines, run virtual machines, or make packets.
const KERNEL_FOREIGN: &[&str] = &[
    "kcompactd",
    "kdamond",
    "khugepaged",
    "kmemleak",
    "kpktgend",
    "ksmbd",
    "ksmd",
    "kswapd",
    "kvm",
    "md",
    "nfsd",
    "scrub",
    "vhost",
];

/// Threads of the kernel that receive packets of a network device. The loopback device has none.
const KERNEL_OF_DEVICES: &[&str] = &["napi"];

/// What workers of the kernel may do for a server or a generator, by the beginning of its name:
/// write a log to the disk, and carry packets through tunnels.
const WORK_SERVING: &[&str] = &["flush", "pdecrypt", "pencrypt", "wg", "writeback"];

/// Programs that take in what a server logs.
const LOG_DAEMONS: &[&str] = &[
    "cronolog",
    "journald",
    "logger",
    "multilog",
    "rotatelogs",
    "rsyslogd",
    "s6-log",
    "svlogd",
    "syslog-ng",
    "syslogd",
    "systemd-journal",
    "vlogger",
];

/// The parent of all threads of the kernel, and its name: in a container that number is anybody's.
const KERNEL_PARENT: u32 = 2;
const KERNEL_PARENT_NAME: &str = "kthreadd";

/// Every process at one moment.
#[derive(Clone, Debug, Default)]
pub struct Census {
    at: Instant,
    processes: BTreeMap<(u32, u64), Member>,
    /// What the control group counts in which the process of that number is the first.
    groups: BTreeMap<u32, Span>,
    /// User and system time of all CPUs, in ticks.
    tasks: Option<Tasks>,
    begun: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tasks {
    sum: Span,
    /// Time that no task of this machine can have had: idle, or given to other guests.
    idle: Span,
    cpus: u64,
    /// What each of these may be wrong by.
    error: Span,
}

#[derive(Clone, Debug, Default)]
struct Member {
    name: String,
    parent: u32,
    clock: Span,
    reaped: Span,
}

impl Census {
    /// The process of that number.
    fn process(&self, pid: u32) -> Option<(&(u32, u64), &Member)> {
        self.processes.range((pid, 0)..=(pid, u64::MAX)).next_back()
    }
}

/// Looks at every process, and at what the control groups of `groups` count; none where they are
/// too many or none can be seen.
pub fn look(root: &Path, groups: &[Group<'_>]) -> Option<Census> {
    let pids = process::all(root);
    if pids.is_empty() || pids.len() > PROCESSES_MAX {
        return None;
    }
    let at = monotonic();
    let tasks = system::cpu_times(root).ok().map(|times| {
        let cpus = u64::try_from(times.len()).unwrap_or(0);
        Tasks {
            sum: times.iter().map(|cpu| cpu.user + cpu.system).sum(),
            idle: times.iter().map(|cpu| cpu.idle + cpu.steal).sum(),
            cpus,
            error: system::tick() * (cpus * 2),
        }
    });
    let counted = |group: &Group<'_>| {
        let counted = group.leaf.map(Leaf::cpu)?.ok()?;
        Some((group.pid, counted.total))
    };
    let groups = groups.iter().filter_map(counted).collect();
    let mut processes = BTreeMap::new();
    for pid in pids {
        // One that ends between the two calls is in its parent's account.
        let (Ok(clock), Ok(stat)) = (process::cpu_clock(pid), process::stat(root, pid)) else {
            continue;
        };
        let member = Member {
            name: stat.name,
            parent: stat.parent,
            clock,
            reaped: stat.children_user + stat.children_system,
        };
        processes.insert((pid, stat.start_time), member);
    }
    Some(Census {
        at,
        processes,
        groups,
        tasks,
        begun: system::processes_begun(root),
    })
}

/// What everyone else used from `before` to `after`, where `groups` are the processes of the
/// generator and of the server, by the first of each; their descendants are ours, too, and those of
/// this process serve. Threads of the kernel serve by what they do and by the way of the load.
pub(super) fn between(
    before: &Census,
    after: &Census,
    groups: &BTreeMap<u32, BTreeSet<u32>>,
    way: Way,
) -> Others {
    let lab = std::process::id();
    let rig = family(before, after, &[lab].into());
    let mut spent = spent(before, after);
    let (mut ours, mut unreaped) = (BTreeSet::new(), Span::ZERO);
    for (first, members) in groups {
        let members = family(before, after, members);
        unreaped += beyond_clocks(before, after, *first, &spent, &members);
        ours.extend(members);
    }
    if let Some(room) = room(before, after) {
        bound(&mut spent, &ours, room.saturating_sub(unreaped));
    }
    let sees_kernel = sees_kernel(after);
    let mut foreign = Account::default();
    let mut serving = Account::default();
    let mut known = unreaped;
    for Spent {
        pid,
        parent,
        name,
        own,
        reaped,
    } in spent
    {
        known += own + reaped;
        if ours.contains(&pid) {
            continue;
        }
        let kernel = sees_kernel && (pid == KERNEL_PARENT || parent == KERNEL_PARENT);
        let serves = rig.contains(&pid)
            || LOG_DAEMONS.contains(&name)
            || (kernel && !is_foreign_kernel_thread(name, way));
        let account = if serves { &mut serving } else { &mut foreign };
        let name = match (kernel, work(name)) {
            // As ps prints a thread of the kernel.
            (true, Some(work)) => format!("[kworker, {work}]"),
            (true, None) => format!("[{}]", common(name)),
            (false, _) => name.to_owned(),
        };
        account.add(&name, false, own);
        account.add(&name, true, reaped);
    }
    let unseen = before.tasks.zip(after.tasks).map(|(before, after)| {
        let all = after.sum.saturating_sub(before.sum);
        let unseen = all.saturating_sub(known);
        // Ticks are samples: what they say beyond the clocks must be more than chance.
        let chance = after.error + all / 20;
        if unseen > chance { unseen } else { Span::ZERO }
    });
    Others {
        window: after.at.saturating_since(before.at),
        cpu: foreign.sum,
        unseen,
        top: foreign.top(),
        serving: serving.sum,
        serving_top: serving.top(),
        begun: before
            .begun
            .zip(after.begun)
            .map(|(before, after)| after.saturating_sub(before)),
    }
}

/// What one process used, and what those whom it reaped had used that were not there before.
struct Spent<'a> {
    pid: u32,
    parent: u32,
    name: &'a str,
    own: Span,
    reaped: Span,
}

fn spent<'a>(before: &'a Census, after: &'a Census) -> Vec<Spent<'a>> {
    let brought = brought(before, after);
    let each = after.processes.iter().map(|(key, member)| {
        let earlier = before.processes.get(key);
        let clock = earlier.map_or(Span::ZERO, |earlier| earlier.clock);
        let brought = brought.get(&key.0).copied().unwrap_or(Span::ZERO);
        Spent {
            pid: key.0,
            parent: member.parent,
            name: &member.name,
            own: member.clock.saturating_sub(clock),
            reaped: grown(before, key, member).saturating_sub(brought),
        }
    });
    each.collect()
}

/// What a control group counted beyond what its `members` account for: what those used who ended,
/// and whom nobody reaped. Nothing where it has no counter.
fn beyond_clocks(
    before: &Census,
    after: &Census,
    first: u32,
    spent: &[Spent<'_>],
    members: &BTreeSet<u32>,
) -> Span {
    let counters = before.groups.get(&first).zip(after.groups.get(&first));
    let counted = counters.map_or(Span::ZERO, |(earlier, later)| {
        later.saturating_sub(*earlier)
    });
    let theirs = spent.iter().filter(|one| members.contains(&one.pid));
    let accounted: Span = theirs.map(|one| one.own + one.reaped).sum();
    counted.saturating_sub(accounted)
}

/// What `member` has reaped since `before`.
fn grown(before: &Census, key: &(u32, u64), member: &Member) -> Span {
    let earlier = before.processes.get(key);
    let reaped = earlier.map_or(Span::ZERO, |earlier| earlier.reaped);
    member.reaped.saturating_sub(reaped)
}

/// What those who have ended had used before, by the process to whose account it came: that of the
/// nearest ancestor who is still there, as far as this account has grown. Who was left behind by
/// its parent is reaped by an ancestor further up, to whom the rest goes.
fn brought(before: &Census, after: &Census) -> BTreeMap<u32, Span> {
    let mut brought: BTreeMap<u32, Span> = BTreeMap::new();
    for (key, gone) in &before.processes {
        if after.processes.contains_key(key) {
            continue;
        }
        let mut rest = gone.clock + gone.reaped;
        let mut pid = heir(before, after, gone.parent);
        // No line of ancestors is longer than this.
        for _ in 0..after.processes.len() {
            let Some((key, member)) = after.process(pid).filter(|_| !rest.is_zero()) else {
                break;
            };
            let taken = brought.entry(pid).or_default();
            let fits = rest.min(grown(before, key, member).saturating_sub(*taken));
            *taken += fits;
            rest = rest.saturating_sub(fits);
            pid = member.parent;
        }
    }
    brought
}

/// The first process of every machine and of every container reaps whom nobody else does.
const INIT: u32 = 1;

/// Who is still there of `pid` and its ancestors.
fn heir(before: &Census, after: &Census, mut pid: u32) -> u32 {
    for _ in 0..before.processes.len() {
        match before.process(pid) {
            Some((key, gone)) if !after.processes.contains_key(key) => pid = gone.parent,
            _ => break,
        }
    }
    if after.process(pid).is_some() {
        pid
    } else {
        INIT
    }
}

/// What all tasks together can have had at most: the time of all CPUs, less what was idle.
fn room(before: &Census, after: &Census) -> Option<Span> {
    let (earlier, later) = before.tasks.zip(after.tasks)?;
    let whole = after.at.saturating_since(before.at) * later.cpus;
    let idle = later.idle.saturating_sub(earlier.idle);
    let busy = whole.saturating_sub(idle) + later.error;
    (later.cpus > 0).then(|| busy.min(whole))
}

/// Cuts what others reaped to what `room` leaves of it: one who ended between its own reading and
/// that of its parent was seen by neither, and nobody knows what it had used before.
fn bound(spent: &mut [Spent<'_>], ours: &BTreeSet<u32>, room: Span) {
    let (mut certain, mut doubtful) = (Span::ZERO, Span::ZERO);
    for one in &*spent {
        certain += one.own;
        let sum = if ours.contains(&one.pid) {
            &mut certain
        } else {
            &mut doubtful
        };
        *sum += one.reaped;
    }
    let left = room.saturating_sub(certain);
    if doubtful <= left {
        return;
    }
    for one in spent.iter_mut().filter(|one| !ours.contains(&one.pid)) {
        let rest = doubtful.saturating_sub(one.reaped);
        let part = super::share(left, (one.reaped, rest));
        one.reaped = part.map_or(Span::ZERO, |(part, _)| part);
    }
}

/// `roots` and all who descend from them in either census.
fn family(before: &Census, after: &Census, roots: &BTreeSet<u32>) -> BTreeSet<u32> {
    let mut family = roots.clone();
    loop {
        let more: Vec<u32> = [before, after]
            .into_iter()
            .flat_map(|census| &census.processes)
            .filter(|((pid, _), member)| family.contains(&member.parent) && !family.contains(pid))
            .map(|((pid, _), _)| *pid)
            .collect();
        if more.is_empty() {
            return family;
        }
        family.extend(more);
    }
}

/// Whether threads of the kernel are among those who were looked at.
fn sees_kernel(census: &Census) -> bool {
    let parent = census.process(KERNEL_PARENT);
    parent.is_some_and(|(_, member)| member.name == KERNEL_PARENT_NAME)
}

/// Whether a thread of the kernel works for somebody else. `md127_resync` does, `md127_raid1` too.
/// Packets of servers and generators pass without a worker, so a worker does, unless its work is
/// known to be theirs.
fn is_foreign_kernel_thread(name: &str, way: Way) -> bool {
    if let Some(work) = work(name) {
        return !WORK_SERVING.contains(&common(work));
    }
    let stem = common(name);
    let numberless = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    KERNEL_FOREIGN.contains(&numberless)
        || (way == Way::Loopback && KERNEL_OF_DEVICES.contains(&numberless))
}

/// What a worker of the kernel does or did last: `loop0` of `kworker/u4:1+loop0`. The kernel adds
/// it to the name (Linux 4.18 and later).
fn work(name: &str) -> Option<&str> {
    let worker = name.strip_prefix("kworker/")?;
    let (_, work) = worker.split_once(['+', '-'])?;
    (!work.is_empty()).then_some(work)
}

/// The name that threads of one kind have in common: `kworker` of `kworker/0:1-events`.
fn common(name: &str) -> &str {
    let end = name.find(['/', ':', '_', '-', '.']).unwrap_or(name.len());
    let stem = &name[..end];
    if stem.is_empty() { name } else { stem }
}

#[derive(Default)]
struct Account {
    sum: Span,
    by_name: BTreeMap<(String, bool), (u32, Span)>,
}

impl Account {
    fn add(&mut self, name: &str, short_lived: bool, cpu: Span) {
        if cpu.is_zero() {
            return;
        }
        self.sum += cpu;
        let key = (name.to_owned(), short_lived);
        let (count, sum) = self.by_name.entry(key).or_default();
        *count += 1;
        *sum += cpu;
    }

    fn top(self) -> Vec<Spender> {
        let mut all: Vec<Spender> = self
            .by_name
            .into_iter()
            .map(|((name, short_lived), (processes, cpu))| Spender {
                name,
                processes,
                short_lived,
                cpu,
            })
            .collect();
        all.sort_by_key(|spender| std::cmp::Reverse(spender.cpu));
        all.truncate(TOP);
        all
    }
}

/// What the control group of the process `first` counted beyond the clocks of its family.
#[cfg(test)]
pub(super) fn unreaped(before: &Census, after: &Census, first: u32) -> Span {
    let members = family(before, after, &[first].into());
    beyond_clocks(before, after, first, &spent(before, after), &members)
}

#[cfg(test)]
mod tests;
