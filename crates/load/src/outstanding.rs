//! How many exchanges are due and not ended, integrated over the window: the left side of Little's
//! law, kept apart from the distributions that give its right side.

use model::units::Instant;

/// The count now and its integral over the window.
#[derive(Debug)]
pub(crate) struct Outstanding {
    count: u64,
    start: Instant,
    end: Instant,
    /// The sum over all that ended of the time until then within the window, less the sum over
    /// all that arrived: what is still outstanding adds the window's end for each.
    ended_ns: u128,
    arrived_ns: u128,
}

impl Outstanding {
    /// Nothing is outstanding; the window is from `start` to `end`.
    pub(crate) const fn new(start: Instant, end: Instant) -> Self {
        Self {
            count: 0,
            start,
            end,
            ended_ns: 0,
            arrived_ns: 0,
        }
    }

    /// Due and not ended.
    pub(crate) const fn count(&self) -> u64 {
        self.count
    }

    /// The window ends at `end`. Instants recorded before are not later than that.
    pub(crate) fn end_window(&mut self, end: Instant) {
        self.end = end;
    }

    /// One became due.
    #[inline]
    pub(crate) fn arrive(&mut self, due: Instant) {
        self.count += 1;
        self.arrived_ns += self.within(due);
    }

    /// One that was due at `due` has ended.
    #[inline]
    pub(crate) fn leave(&mut self, due: Instant, ended: Instant) {
        debug_assert!(self.count > 0, "nothing is outstanding");
        debug_assert!(due <= ended, "it ends after it was due");
        self.count = self.count.saturating_sub(1);
        self.ended_ns += self.within(ended);
    }

    /// The integral over the window, if nothing happens any more before its end.
    pub(crate) fn integral_ns(&self) -> u64 {
        let still = u128::from(self.count) * self.within(self.end);
        let integral = (self.ended_ns + still).saturating_sub(self.arrived_ns);
        u64::try_from(integral).unwrap_or(u64::MAX)
    }

    /// How far into the window `at` is: 0 before it, all of it after.
    fn within(&self, at: Instant) -> u128 {
        u128::from(at.min(self.end).saturating_since(self.start).as_ns())
    }
}
