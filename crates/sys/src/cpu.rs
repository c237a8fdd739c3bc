//! CPUs: which ones this process may use, and binding a thread to one.

use std::io;
use std::os::unix::fs::FileExt as _;

use model::units::Span;

use crate::Errno;

/// The CPUs that the calling thread may run on, in order.
pub fn allowed() -> io::Result<Vec<u32>> {
    let mut set = empty_set();
    // SAFETY: `set` is a valid cpu_set_t of the size given; 0 means the calling thread.
    let result = unsafe { libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &raw mut set) };
    if result != 0 {
        return Err(Errno::last().into());
    }
    Ok((0..libc::CPU_SETSIZE as usize)
        .filter(|cpu| {
            // SAFETY: the index is below CPU_SETSIZE, the number of bits in the set.
            unsafe { libc::CPU_ISSET(*cpu, &set) }
        })
        .filter_map(|cpu| u32::try_from(cpu).ok())
        .collect())
}

/// Binds the calling thread to `cpu`, and the threads that it starts from now on.
pub fn pin(cpu: u32) -> io::Result<()> {
    pin_to(&[cpu])
}

/// Binds the calling thread to the CPUs of `cpus`.
pub fn pin_to(cpus: &[u32]) -> io::Result<()> {
    let mut set = empty_set();
    for cpu in cpus {
        if *cpu >= libc::CPU_SETSIZE as u32 {
            return Err(Errno::new(libc::EINVAL).into());
        }
        // SAFETY: the index is below CPU_SETSIZE, the number of bits in the set.
        unsafe { libc::CPU_SET(*cpu as usize, &mut set) };
    }
    // SAFETY: `set` is a valid cpu_set_t of the size given; 0 means the calling thread.
    let result =
        unsafe { libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::last().into())
    }
}

/// The CPU that the calling thread runs on at this moment.
pub fn current() -> Option<u32> {
    // SAFETY: the call takes nothing and touches no memory of ours.
    let cpu = unsafe { libc::sched_getcpu() };
    u32::try_from(cpu).ok()
}

/// The kernel's number of the calling thread, as /proc names it.
pub fn thread_id() -> Option<u32> {
    // SAFETY: the call takes nothing and cannot fail.
    let id = unsafe { libc::gettid() };
    u32::try_from(id).ok()
}

/// Lets the calling thread's waits end when asked and not up to 50 us later, which is what the
/// kernel otherwise allows itself in order to wake several sleepers at once.
pub fn set_precise_timers() -> io::Result<()> {
    let one: libc::c_ulong = 1;
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory of ours.
    let result = unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, one) };
    if result == 0 {
        Ok(())
    } else {
        Err(Errno::last().into())
    }
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

fn empty_set() -> libc::cpu_set_t {
    // SAFETY: a cpu_set_t is an array of integers, for which all zeroes is a value: the empty set.
    unsafe { std::mem::zeroed() }
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
