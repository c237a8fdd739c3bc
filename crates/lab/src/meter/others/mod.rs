//! Who else used the CPUs: every process there is, before the window and after it, by its own CPU
//! clock.
//!
//! Clocks are exact to the nanosecond, so this tells in any window. What ended meanwhile is in the
//! account of whoever reaped it, to a tick; what nobody accounts for is told by the CPUs' own
//! times, where it is more than their ticks can be wrong by.
//!
//! A look costs about 20 us a process (ADR 0021), so the first one is taken before the window
//! begins, and with more than `PROCESSES_MAX` there is none.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use model::usage::{Others, Spender};
use model::{Instant, Span};
use sys::clock::monotonic;
use sys::counters::{process, system};

/// With more processes than this, looking would last longer than the load runs in.
const PROCESSES_MAX: usize = 2_000;

/// So many names are kept.
const TOP: usize = 3;

/// Threads of the kernel that work for somebody else than a server or a generator: they look for
/// memory to merge, to move and to take away, or mend a disk array.
const KERNEL_FOREIGN: &[&str] = &[
    "kcompactd",
    "khugepaged",
    "kmemleak",
    "ksmd",
    "kswapd",
    "md",
    "scrub",
];

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

/// The kernel's own name of the parent of all its threads.
const KERNEL_PARENT: u32 = 2;

/// Every process at one moment.
#[derive(Clone, Debug, Default)]
pub struct Census {
    at: Instant,
    processes: BTreeMap<(u32, u64), Member>,
    /// User and system time of all CPUs, in ticks.
    tasks: Option<Tasks>,
    begun: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Tasks {
    sum: Span,
    /// What the sum may be wrong by.
    error: Span,
}

#[derive(Clone, Debug, Default)]
struct Member {
    name: String,
    parent: u32,
    clock: Span,
    reaped: Span,
}

/// Looks at every process; none where they are too many or none can be seen.
pub fn look(root: &Path) -> Option<Census> {
    let pids = process::all(root);
    if pids.is_empty() || pids.len() > PROCESSES_MAX {
        return None;
    }
    let at = monotonic();
    let tasks = system::cpu_times(root).ok().map(|cpus| Tasks {
        sum: cpus.iter().map(|cpu| cpu.user + cpu.system).sum(),
        error: system::tick() * u64::try_from(cpus.len() * 2).unwrap_or(0),
    });
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
        tasks,
        begun: system::processes_begun(root),
    })
}

/// What everyone else used from `before` to `after`, where `ours` are processes of the generator
/// and of the server; their descendants are ours, too, and those of this process serve.
pub(super) fn between(before: &Census, after: &Census, ours: &BTreeSet<u32>) -> Others {
    let lab = std::process::id();
    let (ours, rig) = (
        family(before, after, ours),
        family(before, after, &[lab].into()),
    );
    let mut foreign = Account::default();
    let mut serving = Account::default();
    let mut known = Span::ZERO;
    for Spent {
        pid,
        parent,
        name,
        own,
        reaped,
    } in spent(before, after)
    {
        known += own + reaped;
        if ours.contains(&pid) {
            continue;
        }
        let kernel = pid == KERNEL_PARENT || parent == KERNEL_PARENT;
        let serves = rig.contains(&pid)
            || LOG_DAEMONS.contains(&name)
            || (kernel && !is_foreign_kernel_thread(name));
        let account = if serves { &mut serving } else { &mut foreign };
        let name = if kernel { common(name) } else { name };
        account.add(name, false, own);
        account.add(name, true, reaped);
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

fn spent<'a>(before: &'a Census, after: &'a Census) -> impl Iterator<Item = Spent<'a>> {
    // Who has ended has brought its parent what it had used before, too.
    let mut brought: BTreeMap<u32, Span> = BTreeMap::new();
    for (key, gone) in &before.processes {
        if !after.processes.contains_key(key) {
            *brought.entry(gone.parent).or_default() += gone.clock + gone.reaped;
        }
    }
    after.processes.iter().map(move |(key, member)| {
        let earlier = before.processes.get(key);
        let (clock, reaped) = earlier.map_or((Span::ZERO, Span::ZERO), |e| (e.clock, e.reaped));
        let brought = brought.get(&key.0).copied().unwrap_or(Span::ZERO);
        let reaped = member.reaped.saturating_sub(reaped);
        Spent {
            pid: key.0,
            parent: member.parent,
            name: &member.name,
            own: member.clock.saturating_sub(clock),
            reaped: reaped.saturating_sub(brought),
        }
    })
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

/// Whether a thread of the kernel works for somebody else. `md127_resync` does, `md127_raid1` too.
fn is_foreign_kernel_thread(name: &str) -> bool {
    let stem = common(name);
    let numberless = stem.trim_end_matches(|c: char| c.is_ascii_digit());
    KERNEL_FOREIGN.contains(&numberless)
}

/// The name that threads of one kind have in common: `kworker` of `kworker/0:1-events`.
fn common(name: &str) -> &str {
    let end = name.find(['/', ':', '_', '-']).unwrap_or(name.len());
    let stem = &name[..end];
    if stem.is_empty() { name } else { stem }
}

#[derive(Default)]
struct Account<'a> {
    sum: Span,
    by_name: BTreeMap<(&'a str, bool), (u32, Span)>,
}

impl<'a> Account<'a> {
    fn add(&mut self, name: &'a str, short_lived: bool, cpu: Span) {
        if cpu.is_zero() {
            return;
        }
        self.sum += cpu;
        let (count, sum) = self.by_name.entry((name, short_lived)).or_default();
        *count += 1;
        *sum += cpu;
    }

    fn top(self) -> Vec<Spender> {
        let mut all: Vec<Spender> = self
            .by_name
            .into_iter()
            .map(|((name, short_lived), (processes, cpu))| Spender {
                name: name.to_owned(),
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

#[cfg(test)]
mod tests;
