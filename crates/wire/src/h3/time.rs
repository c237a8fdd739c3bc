//! From our instants to those of the standard library, which quinn counts in, and back.

use std::time::{Duration, Instant as Std};

use model::Instant;

/// The two kinds of instants, made to fit once. No time is read from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calendar {
    zero: Std,
}

impl Calendar {
    /// Any instant of the library will do as our zero: only differences count.
    #[expect(
        clippy::disallowed_methods,
        reason = "the library makes instants in no other way; it is a name for zero"
    )]
    pub(super) fn new() -> Self {
        Self { zero: Std::now() }
    }

    pub(super) fn to_std(self, at: Instant) -> Std {
        self.zero + Duration::from_nanos(at.as_ns())
    }

    pub(super) fn to_ours(self, at: Std) -> Instant {
        let since = at.saturating_duration_since(self.zero).as_nanos();
        Instant::from_ns(u64::try_from(since).unwrap_or(u64::MAX))
    }
}
