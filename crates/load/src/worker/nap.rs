//! How to wait: asleep, and how long before something is due, or awake, where being late costs more
//! than that.

use model::plan::Spin;
use model::units::{Instant, Span};
use sys::reactor::Reactor;
use wire::Client;

use super::Worker;

/// A machine that wakes up in time is awake so long before.
const SHORTEST: Span = Span::from_us(100);
/// Nor does one that does not sleep at all gain from more.
const LONGEST: Span = Span::from_ms(2);

/// What waits for a connection so long is not measured worse by who sleeps until one has room: an
/// awakening takes some hundred microseconds at most, one per cent of that.
const FAR_BEHIND: Span = Span::from_ms(10);

/// Learns from each awakening how long before the due time it has to be.
///
/// Timers of virtual machines fire up to hundreds of microseconds late. The time in hand grows at
/// once to twice what an awakening was late, and shrinks slowly, by a 256th for each in time.
#[derive(Debug)]
pub(super) struct Nap {
    in_hand: Span,
}

impl Nap {
    pub(super) const fn new() -> Self {
        Self { in_hand: SHORTEST }
    }

    /// When to wake up for what is due then; none if it is too near to sleep at all.
    pub(super) fn until(&self, due: Instant, now: Instant) -> Option<Instant> {
        let until = due - self.in_hand;
        (until > now).then_some(until)
    }

    /// It was to end at `until`, at the latest, and ended at `now`.
    pub(super) fn ended(&mut self, until: Instant, now: Instant) {
        let needed = now.saturating_since(until) * 2;
        self.in_hand = if needed > self.in_hand {
            needed.min(LONGEST)
        } else {
            (self.in_hand - self.in_hand / 256).max(SHORTEST)
        };
    }
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Hands in what is to be sent and lets time pass: asleep, or spinning where the plan wants it.
    pub(super) fn wait(&mut self, wakeup: Instant) -> Instant {
        if self.batch_start.is_some() || !self.unstamped.is_empty() {
            let now = self.reactor.now();
            self.stamp(now);
            if let Some(start) = self.batch_start.take() {
                self.recorder.batch(now.saturating_since(start));
            }
        }
        match self.share.spin {
            Spin::Never => return self.reactor.wait(wakeup),
            Spin::Auto if self.recorder.outstanding() == 0 => {
                let now = self.reactor.now();
                if let Some(until) = self.nap.until(wakeup, now) {
                    let now = self.reactor.wait(until);
                    self.nap.ended(until, now);
                    return now;
                }
            }
            Spin::Auto if self.is_far_behind() => return self.reactor.wait(wakeup),
            Spin::Auto | Spin::Always => {}
        }
        self.reactor.poll()
    }

    /// Whether what becomes due has to wait for an answer, as others wait before it and no
    /// connection has room.
    #[inline]
    pub(super) fn is_behind(&self) -> bool {
        self.backlog.len() > 0 && self.pool.hosts() == 1
    }

    /// The same for so long that it makes no difference when exactly the answer is seen.
    fn is_far_behind(&self) -> bool {
        let is_old = |due| due + FAR_BEHIND <= self.reactor.now();
        self.is_behind() && self.backlog.oldest().is_some_and(is_old)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DUE: Instant = Instant::from_ns(1_000_000_000);

    #[test]
    fn the_time_in_hand_follows_the_machine() {
        let mut nap = Nap::new();
        let punctual = DUE - SHORTEST;
        assert_eq!(nap.until(DUE, DUE - Span::from_ms(1)), Some(punctual));
        assert_eq!(nap.until(DUE, punctual), None, "too near to sleep");
        nap.ended(punctual, punctual + Span::from_us(30));
        assert_eq!(nap.until(DUE, DUE - Span::from_ms(1)), Some(punctual));

        nap.ended(punctual, punctual + Span::from_us(250));
        let earlier = DUE - Span::from_us(500);
        assert_eq!(nap.until(DUE, DUE - Span::from_ms(1)), Some(earlier));
        nap.ended(earlier, earlier + Span::from_s(1));
        let longest = DUE - LONGEST;
        assert_eq!(nap.until(DUE, DUE - Span::from_ms(3)), Some(longest));

        for _ in 0..1_000 {
            nap.ended(longest, longest);
        }
        assert_eq!(nap.until(DUE, DUE - Span::from_ms(1)), Some(punctual));
    }
}
