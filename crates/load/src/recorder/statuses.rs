//! Which statuses came that were not expected.

use std::collections::BTreeMap;

/// The lowest status that an answer can have (RFC 9110 §15).
const LOWEST: u16 = 100;
/// How many there can be: all of three digits.
const COUNT: usize = 900;

/// How often each status came.
#[derive(Debug)]
pub(super) struct Statuses(Box<[u64]>);

impl Statuses {
    pub(super) fn new() -> Self {
        Self(vec![0; COUNT].into())
    }

    #[cold]
    pub(super) fn count(&mut self, status: u16) {
        let place = usize::from(status.saturating_sub(LOWEST));
        self.0[place.min(COUNT - 1)] += 1;
    }

    /// Those that came.
    pub(super) fn finish(self) -> BTreeMap<u16, u64> {
        let counts = (LOWEST..).zip(self.0);
        counts.filter(|(_, count)| *count > 0).collect()
    }
}
