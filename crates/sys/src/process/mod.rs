//! Child processes: started in a session of their own, confined, stopped for certain, reaped.
//!
//! A session of its own, because some servers signal their whole process group when they stop
//! (lighttpd and Cherokee: `kill(0, SIGTERM)`), and would take us along. A subreaper, because a
//! server's orphans must come back to us to be counted and ended.

mod family;
mod freeze;
mod guard;
mod leaf;
mod signal;
pub mod title;

use std::io;
use std::os::fd::{AsRawFd as _, FromRawFd as _, OwnedFd};
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{ChildStderr, ChildStdin, ChildStdout, Command};
use std::time::{Duration, Instant};

use model::Span;

use crate::counters::process as reading;
use crate::syscall::limit::{self, Bounds, Resource};

pub use guard::Guard;
pub use leaf::{Leaf, LeafCpu};
pub use signal::{Interrupt, Readiness, outlive_file_limits, wait_readable};

/// How long those who were killed may take to be gone.
const KILL_LIMIT: Duration = Duration::from_secs(5);

/// What a child may use.
#[derive(Clone, Copy, Debug, Default)]
pub struct Confinement<'a> {
    /// CPUs it may run on; empty: those of its parent.
    pub cpus: &'a [u32],
    /// A control group of its own, where there is one.
    pub leaf: Option<&'a Leaf>,
    /// What it gets when the thread that started it ends, however that ends. A server's workers
    /// end with it only if it may see to that: SIGTERM, the default. SIGKILL needs no consent.
    pub orphaned: Signal,
    /// Whether those who leave its session and come to us as orphans are its own, where it has no
    /// control group: a server may put itself into the background. Of several such children that
    /// run at a time, the first that is stopped takes the orphans of all.
    pub is_alone: bool,
}

/// A signal that we send.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Signal {
    /// SIGCONT.
    Continue,
    /// SIGHUP.
    Hangup,
    /// SIGINT.
    Interrupt,
    /// SIGKILL.
    Kill,
    /// SIGQUIT.
    Quit,
    /// SIGSTOP.
    Stop,
    /// SIGTERM.
    #[default]
    Terminate,
    /// SIGUSR1.
    User1,
    /// SIGUSR2.
    User2,
}

impl Signal {
    const fn number(self) -> libc::c_int {
        match self {
            Self::Continue => libc::SIGCONT,
            Self::Hangup => libc::SIGHUP,
            Self::Stop => libc::SIGSTOP,
            Self::Interrupt => libc::SIGINT,
            Self::Kill => libc::SIGKILL,
            Self::Quit => libc::SIGQUIT,
            Self::Terminate => libc::SIGTERM,
            Self::User1 => libc::SIGUSR1,
            Self::User2 => libc::SIGUSR2,
        }
    }
}

/// How a child ended, and what it and the children it reaped had used.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Ended {
    /// Its exit code, if it left by itself.
    pub code: Option<i32>,
    /// The signal that ended it otherwise.
    pub signal: Option<i32>,
    /// User CPU time.
    pub user: Span,
    /// System CPU time.
    pub system: Span,
}

impl Ended {
    /// Whether it left with code 0.
    pub fn is_success(&self) -> bool {
        self.code == Some(0)
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.code, self.signal) {
            (Some(code), _) => write!(f, "exit code {code}"),
            (None, Some(signal)) => write!(f, "ended by signal {signal}"),
            (None, None) => write!(f, "ended"),
        }
    }
}

/// A child that we started and have to end.
#[derive(Debug)]
pub struct Child {
    inner: std::process::Child,
    pid: u32,
    pidfd: Option<OwnedFd>,
    ended: Option<Ended>,
    /// Orphans that began since then, in ticks after boot, are its own.
    claims_since: Option<u64>,
    /// It and its own do not run.
    is_frozen: bool,
    /// Until it is reaped, its pid names it and its session, and nobody else.
    is_reaped: bool,
}

/// Starts `command` as the leader of a new session, on its CPUs, in its control group, and such
/// that it is not left behind when the thread that started it ends.
pub fn start(command: &mut Command, confinement: Confinement<'_>) -> io::Result<Child> {
    let cpus = cpu_set(confinement.cpus)?;
    let group = confinement.leaf.map(Leaf::door).transpose()?;
    let group_fd = group.as_ref().map(std::os::fd::AsRawFd::as_raw_fd);
    let parent = std::process::id();
    let orphaned = confinement.orphaned.number();
    let confine = move || {
        // SAFETY: setsid takes nothing and is async-signal-safe.
        check(unsafe { libc::setsid() })?;
        // SAFETY: PR_SET_PDEATHSIG takes a signal number; async-signal-safe.
        check(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, orphaned) })?;
        // SAFETY: getppid takes nothing and is async-signal-safe.
        let now = unsafe { libc::getppid() };
        if u32::try_from(now) != Ok(parent) {
            // The parent went away before the death signal was armed.
            return Err(io::Error::from_raw_os_error(libc::ESRCH));
        }
        if let Some(cpus) = &cpus {
            // SAFETY: the set lives in this closure and has the size given.
            check(unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), cpus) })?;
        }
        if let Some(fd) = group_fd {
            // SAFETY: the descriptor stays open in the parent over the fork; two bytes are read.
            // A child that cannot enter its control group is still worth running: meters notice.
            let _entered = unsafe { libc::write(fd, b"0\n".as_ptr().cast(), 2) };
        }
        Ok(())
    };
    // SAFETY: between fork and exec the closure makes async-signal-safe calls only and does not
    // allocate: what it needs was prepared before.
    unsafe { command.pre_exec(confine) };
    let inner = family::enter(|| command.spawn())?;
    let pid = inner.id();
    let born = reading::stat(Path::new("/proc"), pid).map(|stat| stat.start_time);
    Ok(Child {
        inner,
        pid,
        pidfd: pidfd_open(pid).ok(),
        ended: None,
        claims_since: born.ok().filter(|_| confinement.is_alone),
        is_frozen: false,
        is_reaped: false,
    })
}

impl Child {
    /// Its process id: also that of its session and process group.
    pub const fn pid(&self) -> u32 {
        self.pid
    }

    /// The writing end of its standard input, once, if it was piped.
    pub const fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.inner.stdin.take()
    }

    /// The reading end of its standard output, once, if it was piped.
    pub const fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.inner.stdout.take()
    }

    /// The reading end of its standard error, once, if it was piped.
    pub const fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.inner.stderr.take()
    }

    /// How it ended, if it has.
    pub fn ended(&mut self) -> Option<Ended> {
        if self.ended.is_none() {
            self.ended = look(self.pid, Then::Leave).ok().flatten();
        }
        self.ended
    }

    /// Who is left of it and its descendants: those of its session, and those of its control group
    /// or, where it has none, orphans that came to us.
    pub fn family(&mut self, leaf: Option<&Leaf>) -> Vec<u32> {
        if self.is_reaped {
            return Vec::new();
        }
        let mut left = reading::session_members(Path::new("/proc"), self.pid);
        left.extend(match (leaf, self.claims_since) {
            (Some(leaf), _) => leaf.members(),
            (None, Some(since)) => family::orphans(since),
            (None, None) => Vec::new(),
        });
        left.sort_unstable();
        left.dedup();
        left.retain(|&pid| pid != self.pid || self.ended().is_none());
        left
    }

    /// Sends it a signal, unless it has ended.
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        if self.ended().is_some() {
            return Ok(());
        }
        send(self.pid, signal)
    }

    /// Waits until it has ended, at most so long.
    pub fn wait(&mut self, at_most: Duration) -> Option<Ended> {
        let until = Instant::now() + at_most;
        loop {
            if let Some(ended) = self.ended() {
                return Some(ended);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            match &self.pidfd {
                // A pidfd becomes readable when its process ends.
                Some(pidfd) => drop(wait_readable(pidfd.as_raw_fd(), left)),
                None => std::thread::sleep(left.min(Duration::from_millis(2))),
            }
        }
    }

    /// Asks it to leave, waits, then kills what is left of it and its descendants, also where it
    /// had ended before. Returns how it ended.
    pub fn stop(&mut self, signal: Signal, patience: Duration, leaf: Option<&Leaf>) -> Ended {
        if !self.is_reaped {
            let _already_gone = self.signal(signal);
            // Who stands still does not see the signal.
            self.thaw(leaf);
            let _in_time = self.wait(patience);
            self.end_family(leaf);
            self.is_reaped = self.ended().is_some() && family::leave(self.pid);
        }
        self.ended.unwrap_or(Ended {
            code: None,
            signal: None,
            user: Span::ZERO,
            system: Span::ZERO,
        })
    }

    fn end_family(&mut self, leaf: Option<&Leaf>) {
        let until = Instant::now() + KILL_LIMIT;
        loop {
            let left = self.family(leaf);
            if left.is_empty() || Instant::now() > until {
                return;
            }
            for &pid in &left {
                let _already_gone = send(pid, Signal::Kill);
            }
            if self.wait(Duration::from_millis(2)).is_some() {
                // The others are no pidfd's: they are looked for again in a moment.
                std::thread::sleep(Duration::from_millis(1));
            }
            for &pid in left.iter().filter(|&&pid| pid != self.pid) {
                // Orphans are our children (subreaper): reap those that are.
                let _not_ours = look(pid, Then::Reap);
            }
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ended = self.stop(Signal::Kill, Duration::from_secs(1), None);
    }
}

/// Makes orphans of our descendants our own children.
pub fn become_subreaper() -> io::Result<()> {
    Ok(rustix::process::set_child_subreaper(Some(
        rustix::process::getpid(),
    ))?)
}

/// Raises this process's limit of open files, inherited by children, to `wanted` or as near as is
/// permitted; returns the limit that holds. `u64::MAX` is as far as it goes.
pub fn raise_open_files(wanted: u64) -> io::Result<u64> {
    let unlimited = u64::MAX;
    let Bounds { soft, hard } = limit::bounds(Resource::OpenFiles)?;
    let (soft, hard) = (soft.unwrap_or(unlimited), hard.unwrap_or(unlimited));
    if soft >= wanted {
        return Ok(soft);
    }
    // Beyond the hard limit needs a privilege; without it the hard limit is as far as it goes.
    for target in [wanted.max(hard), hard] {
        let bounded = |limit: u64| (limit != unlimited).then_some(limit);
        let raised = rustix::process::Rlimit {
            current: bounded(wanted.min(target)),
            maximum: bounded(target),
        };
        if rustix::process::setrlimit(rustix::process::Resource::Nofile, raised).is_ok() {
            return Ok(wanted.min(target));
        }
    }
    Ok(soft)
}

/// Has the kernel make room for `count` open files of this process, as far as its limit allows.
///
/// By itself it doubles the room when it is full, and then waits until no CPU looks at the old one
/// (`expand_fdtable` in fs/file.c), where threads share it: whoever opens the 257th file waits for
/// 10 ms or more. Done before there are threads, it costs nothing but eight bytes for each file.
pub fn make_room_for_files(count: u64) -> io::Result<()> {
    let limit = limit::bounds(Resource::OpenFiles)?.soft.unwrap_or(u64::MAX);
    let last = count.min(limit).saturating_sub(1);
    let some = std::fs::File::open("/dev/null")?;
    let number = i32::try_from(last).map_err(io::Error::other)?;
    // The descriptor with that number, or the next that is free, is closed at once.
    rustix::io::fcntl_dupfd_cloexec(&some, number)?;
    Ok(())
}

/// The effective user id of this process: 0 is root.
pub fn effective_user() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Sends a signal to one process.
fn send(pid: u32, signal: Signal) -> io::Result<()> {
    let pid = libc::pid_t::try_from(pid).map_err(io::Error::other)?;
    debug_assert!(pid > 0, "0 and below mean groups");
    // SAFETY: kill takes numbers.
    check(unsafe { libc::kill(pid, signal.number()) })
}

/// What becomes of a child that has ended, once we know.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Then {
    /// It stays a zombie: nobody else can get its pid.
    Leave,
    /// It is gone for good.
    Reap,
}

/// How our child `pid` ended, if it has.
fn look(pid: u32, then: Then) -> io::Result<Option<Ended>> {
    let mut options = libc::WEXITED | libc::WNOHANG;
    if then == Then::Leave {
        options |= libc::WNOWAIT;
    }
    // SAFETY: siginfo is plain data, for which all zero is a value.
    let mut info: libc::siginfo_t = unsafe { std::mem::zeroed() };
    // SAFETY: rusage is plain numbers, for which all zero is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    let (info_place, usage_place) = (&raw mut info, &raw mut usage);
    // The library's waitid does not tell the usage; the kernel's does.
    // SAFETY: the kernel fills info and usage, both live.
    let got = unsafe {
        libc::syscall(
            libc::SYS_waitid,
            libc::P_PID,
            pid,
            info_place,
            options,
            usage_place,
        )
    };
    if got == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: waitid filled this field, or left it zero.
    let who = unsafe { info.si_pid() };
    // SAFETY: the same holds here.
    let status = unsafe { info.si_status() };
    Ok((who != 0).then(|| {
        let has_left = info.si_code == libc::CLD_EXITED;
        Ended {
            code: has_left.then_some(status),
            signal: (!has_left).then_some(status),
            user: span_of(usage.ru_utime),
            system: span_of(usage.ru_stime),
        }
    }))
}

fn span_of(time: libc::timeval) -> Span {
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    let micros = u64::try_from(time.tv_usec).unwrap_or(0);
    Span::from_s(seconds) + Span::from_us(micros)
}

fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: pidfd_open takes numbers and returns a new descriptor.
    let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let fd = i32::try_from(fd).map_err(io::Error::other)?;
    check(fd)?;
    // SAFETY: the descriptor is new and nobody else's.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

fn cpu_set(cpus: &[u32]) -> io::Result<Option<libc::cpu_set_t>> {
    if cpus.is_empty() {
        return Ok(None);
    }
    // SAFETY: a cpu_set_t is a bit mask, for which all zero is a value.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in cpus {
        let index = usize::try_from(cpu).map_err(io::Error::other)?;
        if index >= size_of::<libc::cpu_set_t>() * 8 {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("CPU {cpu} is beyond what an affinity mask holds"),
            ));
        }
        // SAFETY: the index was checked against the size of the set.
        unsafe { libc::CPU_SET(index, &mut set) };
    }
    Ok(Some(set))
}

pub(crate) fn check(result: libc::c_int) -> io::Result<()> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
