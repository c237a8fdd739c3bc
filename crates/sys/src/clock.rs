//! The only place that reads a clock.
//!
//! One reading of the monotonic clock costs about 20 ns through the vDSO and 200 ns or more where
//! the kernel must be entered (clock sources other than `tsc`); [`monotonic_cost`] measures it.

use model::units::{Instant, Span};
use rustix::time::{ClockId, clock_gettime};

/// Now, on the clock that every instant of a trial is read from (`CLOCK_MONOTONIC`).
#[inline]
pub fn monotonic() -> Instant {
    Instant::from_ns(read(ClockId::Monotonic))
}

/// The CPU time that the calling thread has used, user and system together.
pub fn thread_cpu() -> Option<Span> {
    Some(Span::from_ns(read(ClockId::ThreadCPUTime)))
}

/// The CPU time that this process has used, all its threads together.
pub fn process_cpu() -> Option<Span> {
    Some(Span::from_ns(read(ClockId::ProcessCPUTime)))
}

/// Time since 1970 (`CLOCK_REALTIME`): for names of files and `Date` fields, never for measuring.
pub fn realtime() -> Span {
    Span::from_ns(read(ClockId::Realtime))
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
fn read(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    seconds * 1_000_000_000 + u64::try_from(time.tv_nsec).unwrap_or(0)
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
