//! At most one alarm per connection, in a heap that is allocated once.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use model::units::Instant;

/// Alarms of connections, each by its place.
#[derive(Debug)]
pub(crate) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    armed: Box<[bool]>,
}

impl Timers {
    /// For `count` connections.
    pub(crate) fn new(count: usize) -> Self {
        Self {
            heap: BinaryHeap::with_capacity(count),
            armed: vec![false; count].into(),
        }
    }

    /// Wakes connection `place` at `at`, unless it has an alarm already: then that one is not
    /// later, and who is woken too early arms again.
    #[inline]
    pub(crate) fn arm(&mut self, place: u32, at: Instant) {
        let armed = &mut self.armed[place as usize];
        if !*armed {
            *armed = true;
            self.heap.push(Reverse((at, place)));
        }
    }

    /// The earliest alarm.
    #[inline]
    pub(crate) fn next(&self) -> Instant {
        self.heap
            .peek()
            .map_or(Instant::FAR_FUTURE, |Reverse((at, _))| *at)
    }

    /// Takes an alarm whose time has come.
    pub(crate) fn take_due(&mut self, now: Instant) -> Option<u32> {
        if self.next() > now {
            return None;
        }
        let Reverse((_, place)) = self.heap.pop()?;
        self.armed[place as usize] = false;
        Some(place)
    }
}
