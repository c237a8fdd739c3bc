//! What a backend keeps about itself: where its time went, how much it did.

use model::units::Instant;

use super::Activity;

/// Keeps an [`Activity`]. It reads no clock: it is told.
#[derive(Debug, Default)]
pub(super) struct Meter {
    pub(super) activity: Activity,
    /// When the latest poll or wait returned.
    last: Instant,
    /// That one found nothing, and nothing was asked since.
    idle: bool,
}

impl Meter {
    /// Something was asked of the reactor: what follows is work.
    #[inline]
    pub(super) const fn work(&mut self) {
        self.idle = false;
    }

    /// A poll or wait returned at `now`, and completions are there or not.
    #[inline]
    pub(super) fn returned(&mut self, now: Instant, found: bool) {
        if found {
            self.activity.batches += 1;
        } else if self.idle {
            self.activity.spun += now.saturating_since(self.last);
        }
        self.idle = !found;
        self.last = now;
    }

    /// The thread was blocked from `start` to `end`.
    #[inline]
    pub(super) fn blocked(&mut self, start: Instant, end: Instant) {
        self.activity.waited += end.saturating_since(start);
        self.idle = false;
        self.last = end;
    }
}

#[cfg(test)]
mod tests {
    use model::units::Span;

    use super::*;

    fn at(ns: u64) -> Instant {
        Instant::from_ns(ns)
    }

    #[test]
    fn time_is_work_wait_or_spin() {
        let mut meter = Meter::default();
        meter.blocked(at(0), at(100));
        meter.returned(at(100), true); // a batch, handled until 130
        meter.returned(at(130), false); // the first empty poll ends the work
        meter.returned(at(150), false);
        meter.returned(at(170), false);
        meter.work();
        meter.returned(at(200), false);
        meter.returned(at(210), true);
        let activity = meter.activity;
        assert_eq!(activity.waited, Span::from_ns(100));
        assert_eq!(activity.spun, Span::from_ns(40));
        assert_eq!(activity.batches, 2);
        assert_eq!(activity.busy(Span::from_ns(210)), Span::from_ns(70));
    }
}
