//! How long a thread that always wants its CPU is kept from it, by what the kernel does not account
//! for: interrupts, firmware, a hypervisor that gives the CPU to somebody else.
//!
//! It reads the clock in a loop, so it costs the CPUs that it watches, one after the other.

use model::condition::Hiccups;
use model::units::{Instant, Span};

use crate::{clock, cpu};

/// A shorter gap between two readings is no hiccup: interrupts of the machine's own timer take
/// some microseconds each.
const SHORTEST: Span = Span::from_us(100);

/// Watches each of `cpus` for its part of `time`, with a thread of its own; none if none of them
/// may be used. It ends early once it `is_over`.
pub fn watch(cpus: &[u32], time: Span, is_over: impl Fn() -> bool + Sync) -> Option<Hiccups> {
    let parts = u64::try_from(cpus.len()).ok().filter(|count| *count > 0)?;
    let part = Span::from_ns(time.as_ns() / parts);
    let watching = || {
        let waits = cpu::ScheduleStatistics::of_this_thread();
        let waited = || {
            let wait = waits.as_ref().and_then(|waits| waits.runqueue_wait());
            wait.unwrap_or(Span::ZERO)
        };
        let mut all = None;
        for number in cpus {
            if cpu::pin(*number).is_ok() {
                let seen = observe(clock::monotonic, waited, part, &is_over);
                all = Some(merge(all.unwrap_or_default(), seen));
            }
        }
        all
    };
    std::thread::scope(|scope| scope.spawn(watching).join().ok().flatten())
}

/// Reads `now` until `time` has passed or it `is_over`. What `waited` grew by in a gap was a wait
/// for other work.
fn observe(
    mut now: impl FnMut() -> Instant,
    mut waited: impl FnMut() -> Span,
    time: Span,
    is_over: impl Fn() -> bool,
) -> Hiccups {
    let mut seen = Hiccups::default();
    let mut wait = waited();
    let start = now();
    let mut last = start;
    while last.saturating_since(start) < time && !is_over() {
        let next = now();
        let gap = next.saturating_since(last);
        last = next;
        if gap < SHORTEST {
            continue;
        }
        let until = waited();
        let lost = gap.saturating_sub(until.saturating_sub(wait));
        wait = until;
        if lost >= SHORTEST {
            seen.count += 1;
            seen.lost += lost;
            seen.longest = seen.longest.max(lost);
        }
        // Reading the statistics took time too.
        last = now();
    }
    seen.watched = last.saturating_since(start);
    seen
}

fn merge(one: Hiccups, other: Hiccups) -> Hiccups {
    Hiccups {
        watched: one.watched + other.watched,
        count: one.count + other.count,
        lost: one.lost + other.lost,
        longest: one.longest.max(other.longest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock that ticks each 10 us and jumps by `gap` at each of `jumps` (in ticks), while the
    /// scheduler accounts for `wait` of each jump.
    fn check(jumps: &[u64], gap: u64, wait: u64, expected: (u64, u64, u64)) {
        let (ns, due) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
        let mut ticks = 0;
        let now = || {
            ticks += 1;
            let jump = jumps.contains(&ticks);
            ns.set(ns.get() + if jump { gap } else { 10_000 });
            due.set(due.get() + if jump { wait } else { 0 });
            Instant::from_ns(ns.get())
        };
        let time = Span::from_ms(100);
        let seen = observe(now, || Span::from_ns(due.get()), time, || false);
        let found = (seen.count, seen.lost.as_ns(), seen.longest.as_ns());
        assert_eq!(found, expected, "{seen:?}");
        assert!(seen.watched >= Span::from_ms(100));
    }

    #[test]
    fn gaps_are_hiccups_unless_others_had_their_turn() {
        const MS: u64 = 1_000_000;
        check(&[], 0, 0, (0, 0, 0));
        check(&[50, 70], 3 * MS, 0, (2, 6 * MS, 3 * MS));
        check(&[50], 3 * MS, 3 * MS, (0, 0, 0));
        check(&[50], 3 * MS, MS, (1, 2 * MS, 2 * MS));
        check(&[50], 90_000, 0, (0, 0, 0));
    }

    #[test]
    fn what_may_not_be_used_is_not_watched() {
        assert_eq!(watch(&[], Span::from_ms(1), || false), None);
        assert_eq!(watch(&[1_000_000], Span::from_ms(1), || false), None);
        let own = cpu::allowed().unwrap();
        assert!(watch(&own[..1], Span::from_us(10), || false).is_some());
    }

    #[test]
    fn what_is_over_is_watched_no_longer() {
        let own = cpu::allowed().unwrap();
        let seen = watch(&own, Span::from_s(600), || true).unwrap();
        assert!(seen.watched < Span::from_s(60), "{seen:?}");
    }
}
