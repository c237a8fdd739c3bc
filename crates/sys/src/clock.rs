//! The only place that reads a clock.
//!
//! One reading of the monotonic clock costs about 20 ns through the vDSO and 200 ns or more where
//! the kernel must be entered (clock sources other than `tsc`); [`monotonic_cost`] measures it.

use model::units::{Instant, Span};

/// Now, on the clock that every instant of a trial is read from (`CLOCK_MONOTONIC`).
#[inline]
pub fn monotonic() -> Instant {
    Instant::from_ns(read(libc::CLOCK_MONOTONIC).unwrap_or(0))
}

/// The CPU time that the calling thread has used, user and system together.
pub fn thread_cpu() -> Option<Span> {
    read(libc::CLOCK_THREAD_CPUTIME_ID).map(Span::from_ns)
}

/// The CPU time that this process has used, all its threads together.
pub fn process_cpu() -> Option<Span> {
    read(libc::CLOCK_PROCESS_CPUTIME_ID).map(Span::from_ns)
}

/// Time since 1970 (`CLOCK_REALTIME`): for names of files and `Date` fields, never for measuring.
pub fn realtime() -> Span {
    Span::from_ns(read(libc::CLOCK_REALTIME).unwrap_or(0))
}

/// What one reading of the monotonic clock costs here: the median of some thousand.
pub fn monotonic_cost() -> Span {
    const BATCH: u64 = 64;
    let mut costs = [0; 65];
    for cost in &mut costs {
        let start = monotonic();
        for _ in 1..BATCH {
            std::hint::black_box(monotonic());
        }
        *cost = (monotonic() - start).as_ns() / BATCH;
    }
    costs.sort_unstable();
    Span::from_ns(costs[costs.len() / 2])
}

#[inline]
fn read(clock: libc::clockid_t) -> Option<u64> {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is a valid place for a timespec, and the call writes nowhere else.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    let seconds = u64::try_from(time.tv_sec).ok()?;
    let nanoseconds = u64::try_from(time.tv_nsec).ok()?;
    (result == 0).then_some(seconds * 1_000_000_000 + nanoseconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_never_goes_back() {
        let mut last = monotonic();
        for _ in 0..1_000 {
            let now = monotonic();
            assert!(now >= last);
            last = now;
        }
    }

    #[test]
    fn cpu_time_grows_with_work() {
        let before = thread_cpu().expect("the thread clock is readable");
        while thread_cpu().expect("still readable") == before {
            std::hint::black_box(monotonic());
        }
        assert!(process_cpu().expect("the process clock is readable") >= before);
    }

    #[test]
    fn a_reading_costs_something() {
        assert!(!monotonic_cost().is_zero());
    }
}
