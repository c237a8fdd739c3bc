//! How many exchanges are in flight, integrated over the window: the left side of Little's law,
//! kept apart from the distributions that give its right side. And how long those in flight have
//! been so at an instant, summed up: two sums, however many there are.

use model::units::{Instant, Span};

/// The integral of the count over the window.
#[derive(Debug)]
pub(crate) struct InFlight {
    count: u64,
    /// When each of those in flight was sent, summed up.
    sent_at_ns: u128,
    start: Instant,
    end: Instant,
    /// How far into the window exchanges were sent, and how far they ended, each summed up. What
    /// is still in flight adds the window's end for each.
    sent_ns: u128,
    ended_ns: u128,
    /// Those that were in flight through the whole window.
    through: u64,
}

impl InFlight {
    /// Nothing is in flight; the window is from `start` to `end`.
    pub(crate) const fn new(start: Instant, end: Instant) -> Self {
        Self {
            count: 0,
            sent_at_ns: 0,
            start,
            end,
            sent_ns: 0,
            ended_ns: 0,
            through: 0,
        }
    }

    /// The window ends at `end`. Instants recorded before are not later than that.
    pub(crate) const fn end_window(&mut self, end: Instant) {
        self.end = end;
    }

    /// One was sent at `at`.
    #[inline]
    pub(crate) fn send(&mut self, at: Instant) {
        self.count += 1;
        self.sent_at_ns += u128::from(at.as_ns());
        self.sent_ns += self.within(at);
    }

    /// One that was sent at `sent` has ended at `at`.
    #[inline]
    pub(crate) fn end(&mut self, sent: Instant, at: Instant) {
        debug_assert!(self.count > 0, "what ends was sent");
        self.count = self.count.saturating_sub(1);
        self.sent_at_ns = self.sent_at_ns.saturating_sub(u128::from(sent.as_ns()));
        self.ended_ns += self.within(at);
    }

    /// One that was sent at `sent` has ended at `at`, before the window or after it.
    pub(crate) fn end_outside(&mut self, sent: Instant, at: Instant) {
        self.through += u64::from(sent < self.start && at >= self.end);
    }

    /// How many were in flight through the whole window.
    pub(crate) const fn through(&self) -> u64 {
        self.through
    }

    /// One that was sent at `sent` counts as if it had not been.
    #[cold]
    pub(crate) fn take_back(&mut self, sent: Instant) {
        debug_assert!(self.count > 0, "what is taken back was sent");
        self.count = self.count.saturating_sub(1);
        self.sent_at_ns = self.sent_at_ns.saturating_sub(u128::from(sent.as_ns()));
        self.sent_ns = self.sent_ns.saturating_sub(self.within(sent));
    }

    /// How long those in flight have been so at `at`, summed up. None of them was sent later.
    pub(crate) fn age(&self, at: Instant) -> Span {
        let since_clock_start = u128::from(self.count) * u128::from(at.as_ns());
        let age = since_clock_start.saturating_sub(self.sent_at_ns);
        Span::from_ns(u64::try_from(age).unwrap_or(u64::MAX))
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
