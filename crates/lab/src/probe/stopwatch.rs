//! Times operations one by one into memory that was touched before.

use model::probe::Series;
use sys::clock;

/// The times of one operation.
pub(super) struct Stopwatch {
    name: &'static str,
    ns: Vec<u64>,
}

impl Stopwatch {
    /// One with room for `count`, whose pages exist already: else their first touch would be timed.
    pub(super) fn new(name: &'static str, count: usize) -> Self {
        let mut ns = vec![1; count];
        ns.clear();
        Self { name, ns }
    }

    /// Does it and keeps how long it took.
    #[inline]
    pub(super) fn time<T>(&mut self, operation: impl FnOnce() -> T) -> T {
        let start = clock::monotonic();
        let result = operation();
        let took = clock::monotonic() - start;
        debug_assert!(self.ns.len() < self.ns.capacity(), "room for all");
        self.ns.push(took.as_ns());
        result
    }

    /// Keeps a time that was read elsewhere.
    pub(super) fn push(&mut self, ns: u64) {
        self.ns.push(ns);
    }

    /// How many were timed.
    pub(super) const fn count(&self) -> usize {
        self.ns.len()
    }

    /// The points, one for each of the population.
    pub(super) fn series(self) -> Series {
        Series::counted(self.name, self.ns)
    }

    /// The points, at these populations.
    pub(super) fn series_at(self, at: Vec<u32>) -> Series {
        Series {
            at: Some(at),
            ..Series::counted(self.name, self.ns)
        }
    }
}

/// What the two readings around an operation add to it, in nanoseconds: the mean of the central
/// half of some ten thousand, because single ones are whole nanoseconds.
#[expect(clippy::cast_precision_loss, reason = "a few thousand small numbers")]
pub(super) fn cost_ns() -> f64 {
    const READINGS: usize = 8_192;
    let mut stopwatch = Stopwatch::new("nothing", READINGS);
    for _ in 0..READINGS {
        stopwatch.time(|| std::hint::black_box(()));
    }
    stopwatch.ns.sort_unstable();
    let central = &stopwatch.ns[READINGS / 4..READINGS * 3 / 4];
    central.iter().sum::<u64>() as f64 / central.len() as f64
}
