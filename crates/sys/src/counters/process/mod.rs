//! One process or thread, as `/proc/PID` tells it.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use model::{Bytes, Span};

use super::{parse_cpu_list, ticks};

/// `/proc/PID/stat`, as far as anyone here needs it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Stat {
    /// Process id.
    pub pid: u32,
    /// The program's short name.
    pub name: String,
    /// `R`, `S`, `Z`, ...
    pub state: char,
    /// The parent's process id.
    pub parent: u32,
    /// Process group.
    pub group: u32,
    /// Session.
    pub session: u32,
    /// User time, in steps of a tick.
    pub user: Span,
    /// System time, likewise.
    pub system: Span,
    /// User time of children that were reaped, with theirs.
    pub children_user: Span,
    /// System time of children that were reaped, with theirs.
    pub children_system: Span,
    /// Threads.
    pub threads: u32,
    /// When it started, in ticks after boot: with the pid it names a process for ever.
    pub start_time: u64,
}

/// Time run, time waited for a CPU and number of turns: `schedstat`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Schedule {
    /// Time on a CPU.
    pub run: Span,
    /// Time spent runnable without one.
    pub wait: Span,
    /// Turns.
    pub turns: u64,
}

/// `/proc/PID/status` or that of one task, as far as anyone here needs it.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Status {
    /// Resident memory.
    pub resident: Option<Bytes>,
    /// Its highest mark.
    pub resident_max: Option<Bytes>,
    /// CPUs it may run on.
    pub cpus_allowed: Option<Vec<u32>>,
    /// Who traces it; 0 is nobody.
    pub tracer: Option<u32>,
    /// How its system calls are filtered: 0 not, 1 strictly, 2 by a program.
    pub seccomp: Option<u32>,
    /// Voluntary context switches of this thread.
    pub switches_voluntary: Option<u64>,
    /// Involuntary context switches of this thread.
    pub switches_involuntary: Option<u64>,
}

/// `/proc/PID/smaps_rollup`: exact, but the kernel walks every page table for it.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Memory {
    /// Proportional set size: each shared page divided by those who share it.
    pub proportional: Bytes,
    /// Resident set size.
    pub resident: Bytes,
}

/// Reads `/proc/PID/stat`.
pub fn stat(root: &Path, pid: u32) -> io::Result<Stat> {
    let text = fs::read_to_string(root.join(pid.to_string()).join("stat"))?;
    parse_stat(&text).ok_or_else(|| invalid("stat"))
}

/// Reads one line of `stat`. The name may hold blanks and brackets: it ends at the last bracket.
pub fn parse_stat(text: &str) -> Option<Stat> {
    let (pid, rest) = text.split_once(" (")?;
    let (name, rest) = rest.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    // proc(5) counts from 1 and the state is field 3.
    let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
    let small = |field: usize| fields.get(field - 3)?.parse::<u32>().ok();
    // Children's times are signed in the file; a negative one is unknown.
    Some(Stat {
        pid: pid.parse().ok()?,
        name: name.to_owned(),
        state: fields.first()?.chars().next()?,
        parent: small(4)?,
        group: small(5)?,
        session: small(6)?,
        user: ticks(number(14)?),
        system: ticks(number(15)?),
        children_user: ticks(number(16).unwrap_or(0)),
        children_system: ticks(number(17).unwrap_or(0)),
        threads: small(20)?,
        start_time: number(22)?,
    })
}

/// Every process id there is.
pub fn all(root: &Path) -> Vec<u32> {
    fs::read_dir(root)
        .map(|entries| {
            entries
                .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
                .collect()
        })
        .unwrap_or_default()
}

/// The living (not zombies) of one session.
pub fn session_members(root: &Path, session: u32) -> Vec<u32> {
    all(root)
        .into_iter()
        .filter(|&pid| {
            stat(root, pid).is_ok_and(|stat| stat.session == session && stat.state != 'Z')
        })
        .collect()
}

/// `pid` and all its living descendants, and all that share its session.
pub fn tree(root: &Path, pid: u32) -> Vec<Stat> {
    let everyone: Vec<Stat> = all(root)
        .into_iter()
        .filter_map(|pid| stat(root, pid).ok())
        .filter(|stat| stat.state != 'Z')
        .collect();
    let mut members: Vec<Stat> = Vec::new();
    let mut found = true;
    while found {
        found = false;
        for candidate in &everyone {
            let belongs = candidate.pid == pid
                || candidate.session == pid
                || members.iter().any(|member| member.pid == candidate.parent);
            if belongs && !members.iter().any(|member| member.pid == candidate.pid) {
                members.push(candidate.clone());
                found = true;
            }
        }
    }
    members.sort_by_key(|member| member.pid);
    members
}

/// Thread ids of a process.
pub fn tasks(root: &Path, pid: u32) -> Vec<u32> {
    all(&root.join(pid.to_string()).join("task"))
}

/// Reads the schedstat of one thread.
pub fn schedule(root: &Path, pid: u32, task: u32) -> io::Result<Schedule> {
    let path = root.join(format!("{pid}/task/{task}/schedstat"));
    let text = fs::read_to_string(path)?;
    let mut numbers = text.split_ascii_whitespace().map(str::parse::<u64>);
    let mut next = || numbers.next()?.ok();
    match (next(), next(), next()) {
        (Some(run), Some(wait), Some(turns)) => Ok(Schedule {
            run: Span::from_ns(run),
            wait: Span::from_ns(wait),
            turns,
        }),
        _ => Err(invalid("schedstat")),
    }
}

/// Reads `/proc/PID/status`.
pub fn status(root: &Path, pid: u32) -> io::Result<Status> {
    fs::read_to_string(root.join(format!("{pid}/status"))).map(|text| parse_status(&text))
}

/// Reads the status of the process that reads.
pub fn status_of_self(root: &Path) -> io::Result<Status> {
    fs::read_to_string(root.join("self/status")).map(|text| parse_status(&text))
}

/// Reads the status of one thread.
pub fn task_status(root: &Path, pid: u32, task: u32) -> io::Result<Status> {
    let path = root.join(format!("{pid}/task/{task}/status"));
    fs::read_to_string(path).map(|text| parse_status(&text))
}

fn parse_status(text: &str) -> Status {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .map(str::trim)
    };
    let number = |name: &str| field(name)?.parse().ok();
    Status {
        resident: field("VmRSS").and_then(parse_kb),
        resident_max: field("VmHWM").and_then(parse_kb),
        cpus_allowed: field("Cpus_allowed_list").and_then(parse_cpu_list),
        tracer: field("TracerPid").and_then(|text| text.parse().ok()),
        seccomp: field("Seccomp").and_then(|text| text.parse().ok()),
        switches_voluntary: number("voluntary_ctxt_switches"),
        switches_involuntary: number("nonvoluntary_ctxt_switches"),
    }
}

/// How many system calls of a process wrote to a file or a socket: those of all its threads, dead
/// ones too, and of children that it has reaped. `send` and `sendmsg` are not among them.
pub fn write_calls(root: &Path, pid: u32) -> io::Result<u64> {
    let text = fs::read_to_string(root.join(format!("{pid}/io")))?;
    text.lines()
        .find_map(|line| line.strip_prefix("syscw:")?.trim().parse().ok())
        .ok_or_else(|| invalid("io"))
}

/// Reads `/proc/PID/smaps_rollup`.
pub fn memory(root: &Path, pid: u32) -> io::Result<Memory> {
    let text = fs::read_to_string(root.join(format!("{pid}/smaps_rollup")))?;
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            .and_then(parse_kb)
    };
    match (field("Pss"), field("Rss")) {
        (Some(proportional), Some(resident)) => Ok(Memory {
            proportional,
            resident,
        }),
        _ => Err(invalid("smaps_rollup")),
    }
}

fn parse_kb(text: &str) -> Option<Bytes> {
    let number: u64 = text.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(Bytes::new(number.saturating_mul(1024)))
}

/// The soft limit of open files; none is unlimited.
pub fn open_files_limit(root: &Path, pid: u32) -> io::Result<Option<u64>> {
    open_files_limits(root, pid).map(|(soft, _)| soft)
}

/// The soft and the hard limit of open files; none is unlimited.
pub fn open_files_limits(root: &Path, pid: u32) -> io::Result<(Option<u64>, Option<u64>)> {
    let text = fs::read_to_string(root.join(format!("{pid}/limits")))?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Max open files"))
        .ok_or_else(|| invalid("limits"))?;
    let mut words = line.split_ascii_whitespace();
    let mut limit = || match words.next() {
        Some("unlimited") => Ok(None),
        Some(number) => number.parse().map(Some).map_err(|_| invalid("limits")),
        None => Err(invalid("limits")),
    };
    Ok((limit()?, limit()?))
}

/// The inodes of the sockets that a process has open.
pub fn sockets(root: &Path, pid: u32) -> io::Result<Vec<u64>> {
    let entries = fs::read_dir(root.join(format!("{pid}/fd")))?;
    Ok(entries
        .filter_map(|entry| {
            let target = fs::read_link(entry.ok()?.path()).ok()?;
            let text = target.to_str()?.strip_prefix("socket:[")?;
            text.strip_suffix(']')?.parse().ok()
        })
        .collect())
}

/// How a process waits for its connections, as far as that can be told from outside.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Waiting {
    /// By poll or select, which leave nothing open; or it waits for nothing.
    Poll,
    /// By epoll.
    Epoll,
    /// By io_uring.
    Uring,
}

impl Waiting {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Poll => "poll or select",
            Self::Epoll => "epoll",
            Self::Uring => "io_uring",
        }
    }
}

/// How a process waits, by what it has open.
pub fn waits_by(root: &Path, pid: u32) -> io::Result<Waiting> {
    let entries = fs::read_dir(root.join(format!("{pid}/fd")))?;
    let ways = entries.filter_map(|entry| {
        let target = fs::read_link(entry.ok()?.path()).ok()?;
        match target.to_str()? {
            "anon_inode:[io_uring]" => Some(Waiting::Uring),
            "anon_inode:[eventpoll]" => Some(Waiting::Epoll),
            _ => None,
        }
    });
    Ok(ways.max().unwrap_or(Waiting::Poll))
}

/// How many event loops a process has that wait by epoll: a server of threads has one for each
/// thread that serves, and none for those that do something else.
pub fn event_loops(root: &Path, pid: u32) -> io::Result<usize> {
    let entries = fs::read_dir(root.join(format!("{pid}/fd")))?;
    let targets = entries.filter_map(|entry| fs::read_link(entry.ok()?.path()).ok());
    Ok(targets
        .filter(|target| target.as_os_str() == "anon_inode:[eventpoll]")
        .count())
}

/// The regular files that a process appends to, as paths that lead there from any mount namespace,
/// each with its name.
pub fn appended(root: &Path, pid: u32) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let process = root.join(pid.to_string());
    let entries = fs::read_dir(process.join("fd"))?;
    let flags = |name: &OsStr| {
        let text = fs::read_to_string(process.join("fdinfo").join(name)).ok()?;
        let flags = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
        libc::c_int::from_str_radix(flags.trim(), 8).ok()
    };
    Ok(entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let is_log = flags(&entry.file_name())? & libc::O_APPEND != 0
                && fs::metadata(entry.path()).ok()?.is_file();
            is_log.then_some((entry.path(), fs::read_link(entry.path()).ok()?))
        })
        .collect())
}

/// CPU time of a process to the nanosecond: all its threads, dead ones too, children not.
pub fn cpu_clock(pid: u32) -> io::Result<Span> {
    // The id of a process's CPU clock is made as the kernel makes it (posix-timers:
    // CPUCLOCK_SCHED).
    let pid = libc::clockid_t::try_from(pid).map_err(io::Error::other)?;
    let clock = (!pid << 3) | 2;
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the kernel fills the struct that it is given, or refuses the clock.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } == -1 {
        return Err(io::Error::last_os_error());
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let nanos = u64::try_from(time.tv_nsec).unwrap_or(0);
    Ok(Span::from_s(seconds) + Span::from_ns(nanos))
}

fn invalid(file: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidData,
        format!("{file} is not in the form that this program knows"),
    )
}

#[cfg(test)]
mod tests;
