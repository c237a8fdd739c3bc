//! How many exchanges are in flight, integrated over the window: the left side of Little's law,
//! kept apart from the distributions that give its right side.

use model::units::Instant;

/// The integral of the count over the window.
#[derive(Debug)]
pub(crate) struct InFlight {
    count: u64,
    start: Instant,
    end: Instant,
    /// How far into the window exchanges were sent, and how far they ended, each summed up. What
    /// is still in flight adds the window's end for each.
    sent_ns: u128,
    ended_ns: u128,
}

impl InFlight {
    /// Nothing is in flight; the window is from `start` to `end`.
    pub(crate) const fn new(start: Instant, end: Instant) -> Self {
        Self {
            count: 0,
            start,
            end,
            sent_ns: 0,
            ended_ns: 0,
        }
    }

    /// The window ends at `end`. Instants recorded before are not later than that.
    pub(crate) const fn end_window(&mut self, end: Instant) {
        self.end = end;
    }

    /// So many were sent at `at`.
    #[inline]
    pub(crate) fn send(&mut self, count: u32, at: Instant) {
        self.count += u64::from(count);
        self.sent_ns += u128::from(count) * self.within(at);
    }

    /// One that was sent has ended at `at`.
    #[inline]
    pub(crate) fn end(&mut self, at: Instant) {
        debug_assert!(self.count > 0, "what ends was sent");
        self.count = self.count.saturating_sub(1);
        self.ended_ns += self.within(at);
    }

    /// The integral over the window, if nothing happens any more before its end.
    pub(crate) fn integral_ns(&self) -> u64 {
        let still = u128::from(self.count) * self.within(self.end);
        let integral = (self.ended_ns + still).saturating_sub(self.sent_ns);
        u64::try_from(integral).unwrap_or(u64::MAX)
    }

    /// How far into the window `at` is: 0 before it, all of it after.
    #[inline]
    fn within(&self, at: Instant) -> u128 {
        u128::from(at.min(self.end).saturating_since(self.start).as_ns())
    }
}
