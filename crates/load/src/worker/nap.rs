//! How long to sleep before something is due, where being late costs more than being awake.

use model::units::{Instant, Span};

/// A machine that wakes up in time is awake so long before.
const SHORTEST: Span = Span::from_us(100);
/// Nor does one that does not sleep at all gain from more.
const LONGEST: Span = Span::from_ms(2);

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
