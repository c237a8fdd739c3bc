//! CPUs: which ones this process may use, and binding a thread to one.

use std::io;
use std::num::NonZeroU64;
use std::os::unix::fs::FileExt as _;

use model::units::Span;
use rustix::thread::{
    CpuSet, Pid, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity,
    set_current_timer_slack,
};

use crate::Errno;

/// The CPUs that the calling thread may run on, in order.
pub fn allowed() -> io::Result<Vec<u32>> {
    let set = sched_getaffinity(None)?;
    let numbers = (0..).take(CpuSet::MAX_CPU);
    Ok(numbers.filter(|cpu| set.is_set(*cpu as usize)).collect())
}

/// Binds the calling thread to `cpu`, and the threads that it starts from now on.
pub fn pin(cpu: u32) -> io::Result<()> {
    pin_to(&[cpu])
}

/// Binds the calling thread to the CPUs of `cpus`.
pub fn pin_to(cpus: &[u32]) -> io::Result<()> {
    let mut set = CpuSet::new();
    for cpu in cpus {
        let cpu = *cpu as usize;
        if cpu >= CpuSet::MAX_CPU {
            return Err(Errno::new(libc::EINVAL).into());
        }
        set.set(cpu);
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Binds a thread of another process, by its number, to one CPU.
pub fn pin_thread(thread: u32, cpu: u32) -> io::Result<()> {
    let thread = i32::try_from(thread).ok().and_then(Pid::from_raw);
    let thread = thread.ok_or(io::ErrorKind::InvalidInput)?;
    let index = usize::try_from(cpu).expect("an address holds a CPU number");
    let mut set = CpuSet::new();
    if index >= CpuSet::MAX_CPU {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    set.set(index);
    Ok(sched_setaffinity(Some(thread), &set)?)
}

/// The CPU that the calling thread runs on at this moment.
pub fn current() -> Option<u32> {
    u32::try_from(sched_getcpu()).ok()
}

/// The kernel's number of the calling thread, as /proc names it.
pub fn thread_id() -> Option<u32> {
    u32::try_from(gettid().as_raw_pid()).ok()
}

/// Lets the calling thread's waits end when asked and not up to 50 us later, which is what the
/// kernel otherwise allows itself in order to wake several sleepers at once.
pub fn set_precise_timers() -> io::Result<()> {
    Ok(set_current_timer_slack(NonZeroU64::new(1))?)
}

/// How long a thread was runnable without running: its schedstat, kept open so that a reading
/// neither opens a file nor allocates.
#[derive(Debug)]
pub struct ScheduleStatistics {
    file: std::fs::File,
}

impl ScheduleStatistics {
    /// Those of the calling thread; none where the kernel keeps none.
    pub fn of_this_thread() -> Option<Self> {
        let file = std::fs::File::open("/proc/thread-self/schedstat").ok()?;
        Some(Self { file })
    }

    /// Time spent waiting on a run queue so far: the second number of the line.
    pub fn runqueue_wait(&self) -> Option<Span> {
        let mut line = [0; 96];
        let length = self.file.read_at(&mut line, 0).ok()?;
        let text = std::str::from_utf8(line.get(..length)?).ok()?;
        text.split_ascii_whitespace()
            .nth(1)?
            .parse()
            .ok()
            .map(Span::from_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_where_it_was_bound() {
        let cpus = allowed().unwrap();
        let last = *cpus.last().expect("some CPU runs this");
        let seen = std::thread::spawn(move || {
            pin(last).unwrap();
            (allowed().unwrap(), current())
        });
        assert_eq!(seen.join().unwrap(), (vec![last], Some(last)));
    }

    #[test]
    fn a_cpu_that_cannot_be_is_refused() {
        assert!(pin(1_000_000).is_err());
    }

    #[test]
    fn timers_become_precise() {
        set_precise_timers().unwrap();
    }
}
