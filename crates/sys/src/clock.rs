//! The only place that reads a clock.
//!
//! One reading of the monotonic clock costs about 20 ns through the vDSO and 200 ns or more where
//! the kernel must be entered (clock sources other than `tsc`); [`monotonic_cost`] measures it.

use std::io;
use std::mem::MaybeUninit;

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

/// How the kernel keeps the clock of the day (adjtimex(2)).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Discipline {
    /// Whether it takes the clock for synchronised: somebody has said so, and the largest error has
    /// not grown to 16 seconds since, as it does within nine hours.
    pub is_synchronised: bool,
    /// The largest error, by whoever corrects the clock; it grows until the next correction.
    pub error_at_most: Span,
    /// The error by the estimate of whoever corrects the clock.
    pub error_estimated: Span,
    /// What is left of the last correction.
    pub correction_left_ns: i64,
}

impl Discipline {
    fn of(state: &libc::timex) -> Self {
        let micros = |value| Span::from_us(u64::try_from(value).unwrap_or(0));
        let has = |flag: i32| state.status & flag != 0;
        let unit = if has(libc::STA_NANO) { 1 } else { 1_000 };
        Self {
            is_synchronised: !has(libc::STA_UNSYNC),
            error_at_most: micros(state.maxerror),
            error_estimated: micros(state.esterror),
            correction_left_ns: state.offset.saturating_mul(unit),
        }
    }
}

/// How the clock of the day is kept now. It changes nothing, and everybody may ask.
pub fn discipline() -> io::Result<Discipline> {
    let mut state = MaybeUninit::<libc::timex>::zeroed();
    // SAFETY: the structure is live and the kernel's own; with all bits zero its mode asks, and
    // sets nothing.
    let done = unsafe { libc::adjtimex(state.as_mut_ptr()) };
    if done == -1 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: all of it was set to zero, and any bits are numbers.
    Ok(Discipline::of(unsafe { state.assume_init_ref() }))
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
    fn the_state_of_the_clock_is_told_in_nanoseconds() {
        let check = |status: i32, offset: i64, expected: (bool, i64)| {
            // SAFETY: any bits of it are numbers, or a pointer that nobody follows.
            let mut state: libc::timex = unsafe { std::mem::zeroed() };
            (state.status, state.offset) = (status, offset);
            (state.maxerror, state.esterror) = (1_500, 20);
            let told = Discipline::of(&state);
            let (is_synchronised, correction_left_ns) = expected;
            let expected = Discipline {
                is_synchronised,
                error_at_most: Span::from_us(1_500),
                error_estimated: Span::from_us(20),
                correction_left_ns,
            };
            assert_eq!(told, expected, "{status:#x}");
        };
        check(libc::STA_PLL | libc::STA_NANO, -70, (true, -70));
        check(libc::STA_PLL, -70, (true, -70_000));
        check(libc::STA_UNSYNC, 0, (false, 0));
    }

    #[test]
    fn the_clock_of_this_machine_can_be_asked() {
        match discipline() {
            Ok(state) => assert!(state.error_at_most <= Span::from_s(3_600), "{state:?}"),
            // Some sandboxes refuse every call that has to do with the clock.
            Err(error) => assert_eq!(error.raw_os_error(), Some(libc::EPERM), "{error}"),
        }
    }

    #[test]
    fn a_reading_costs_something() {
        assert!(!monotonic_cost().is_zero());
    }
}
