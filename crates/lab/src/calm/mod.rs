//! Between trials: what earlier ones left to the kernel is ended, or waited for, and not for long.
//!
//! Connections in TIME_WAIT, pages that are still to be written and tasks that want to run are work
//! that is none of the trial's. Each is held against what it was when the lab began, or what a
//! machine bears without showing it. What does not go away is no leftover but how the machine is:
//! after some waits in vain that is taken for its rest.

use std::fs;
use std::path::Path;

use model::trial::Waited;
use model::units::{Bytes, Span};
use sys::counters::{socket, system};

/// So many waits in vain for one thing, and it is not waited for any more.
const IN_VAIN_MAX: u32 = 3;
/// How often is looked.
const STEP: Span = Span::from_ms(20);
/// So many bytes to be written more than at the start disturb nobody: a disk takes them at once.
const DIRTY_MORE: u64 = 64 << 20;

/// Fewer connections in TIME_WAIT take a CPU away for less than a millisecond when they end.
const TIME_WAIT_MANY: u64 = 1_000;

/// What a machine has to do beside a trial; none where that cannot be read.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Unrest {
    /// Connections in TIME_WAIT.
    pub time_wait: Option<u64>,
    /// The most of them that the kernel keeps (tcp_max_tw_buckets).
    pub time_wait_max: Option<u64>,
    /// Bytes of files that are to be written, or are being written.
    pub dirty: Option<Bytes>,
    /// Tasks that run or want to, our own among them.
    pub runnable: Option<u64>,
    /// CPUs that they may have.
    pub cpus: u64,
}

/// A machine that can be looked at, and its clock.
pub trait Machine {
    /// What it has to do now.
    fn unrest(&self) -> Unrest;
    /// Lets that much time pass.
    fn pause(&self, span: Span);
    /// Ends the connections in TIME_WAIT of which `port` is one end, if that is allowed.
    fn end_time_wait(&self, port: u16);
}

/// This one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Here;

impl Machine for Here {
    fn unrest(&self) -> Unrest {
        read(Path::new("/proc"))
    }

    fn pause(&self, span: Span) {
        std::thread::sleep(std::time::Duration::from_nanos(span.as_ns()));
    }

    fn end_time_wait(&self, port: u16) {
        // Where it is not allowed, they end by themselves.
        let _ended = socket::end_time_wait(port);
    }
}

fn read(proc: &Path) -> Unrest {
    let sockets = system::socket_levels(proc).unwrap_or_default();
    let most = fs::read_to_string(proc.join("sys/net/ipv4/tcp_max_tw_buckets"));
    let memory = fs::read_to_string(proc.join("meminfo")).unwrap_or_default();
    let stat = fs::read_to_string(proc.join("stat")).unwrap_or_default();
    let kilobytes = |name: &str| line(&memory, name);
    let dirty = kilobytes("Dirty:").zip(kilobytes("Writeback:"));
    let is_cpu = |line: &&str| {
        let number = line.strip_prefix("cpu");
        number.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
    };
    Unrest {
        time_wait: sockets.get("TCP.tw").copied(),
        time_wait_max: most.ok().and_then(|text| text.trim().parse().ok()),
        dirty: dirty.map(|(dirty, writeback)| Bytes::new((dirty + writeback) * 1024)),
        runnable: line(&stat, "procs_running"),
        cpus: stat.lines().filter(is_cpu).count() as u64,
    }
}

/// The number behind that name at the beginning of a line.
fn line(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_ascii_whitespace().next()?.parse().ok()
}

/// What is waited for, in this order.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum What {
    Dirty,
    Runnable,
    TimeWait,
}

const ALL: [What; 3] = [What::Dirty, What::Runnable, What::TimeWait];

impl What {
    fn of(self, unrest: &Unrest) -> Option<u64> {
        match self {
            Self::Dirty => unrest.dirty.map(Bytes::count),
            Self::Runnable => unrest.runnable,
            Self::TimeWait => unrest.time_wait,
        }
    }

    /// As much as is no unrest, on a machine that was like that before.
    fn limit(self, before: &Unrest) -> u64 {
        let was = self.of(before).unwrap_or(u64::MAX);
        match self {
            Self::Dirty => was.saturating_add(DIRTY_MORE),
            Self::Runnable => was.max(before.cpus),
            // Where all of them are used, the kernel does otherwise with those that end.
            Self::TimeWait => was.max(before.time_wait_max.unwrap_or(u64::MAX) / 2),
        }
    }

    fn words(self, found: u64, limit: u64) -> String {
        match self {
            Self::Dirty => {
                let (found, limit) = (Bytes::new(found), Bytes::new(limit));
                format!("{found} to be written to disk, and {limit} are allowed")
            }
            Self::Runnable => format!("{found} tasks ready to run, and {limit} are allowed"),
            Self::TimeWait => format!("{found} connections in TIME_WAIT, and {limit} are allowed"),
        }
    }
}

/// What was a machine's rest, and how long it is waited for.
pub struct Calm<'a> {
    machine: &'a dyn Machine,
    patience: Span,
    limits: [u64; ALL.len()],
    in_vain: [u32; ALL.len()],
}

impl<'a> Calm<'a> {
    /// Looks at the machine, which nothing has loaded yet, and waits for at most `patience` each
    /// time.
    pub fn of(machine: &'a dyn Machine, patience: Span) -> Self {
        let before = machine.unrest();
        Self {
            machine,
            patience,
            limits: ALL.map(|what| what.limit(&before)),
            in_vain: [0; ALL.len()],
        }
    }

    /// Waits until the machine is as it was; none where it is.
    pub fn wait(&mut self) -> Option<Waited> {
        let mut restless = self.restless();
        if restless.is_empty() || self.patience.is_zero() {
            return None;
        }
        let words = |found: &[(usize, u64)]| -> Vec<String> {
            let each = found.iter();
            each.map(|(index, found)| ALL[*index].words(*found, self.limits[*index]))
                .collect()
        };
        let until = words(&restless);
        let mut took = Span::ZERO;
        while !restless.is_empty() && took < self.patience {
            self.machine.pause(STEP);
            took += STEP;
            restless = self.restless();
        }
        let left = words(&restless);
        for (index, _) in restless {
            self.in_vain[index] += 1;
            if self.in_vain[index] >= IN_VAIN_MAX {
                // What grows all the time would be more than any limit.
                self.limits[index] = u64::MAX;
            }
        }
        Some(Waited { took, until, left })
    }

    /// Ends what a trial left in TIME_WAIT at the port of its server, which nobody asks any more. A
    /// minute later the kernel would do it in lumps, in the midst of another trial.
    pub fn after(&self, port: u16) {
        let unrest = self.machine.unrest();
        if unrest
            .time_wait
            .is_some_and(|count| count >= TIME_WAIT_MANY)
        {
            self.machine.end_time_wait(port);
        }
    }

    fn restless(&self) -> Vec<(usize, u64)> {
        let now = self.machine.unrest();
        let each = ALL.iter().enumerate();
        let found = each.filter_map(|(index, what)| Some((index, what.of(&now)?)));
        found
            .filter(|(index, found)| *found > self.limits[*index])
            .collect()
    }
}

impl std::fmt::Debug for Calm<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Calm")
            .field("patience", &self.patience)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
