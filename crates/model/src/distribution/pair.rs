//! Two distributions with narrow counters: of many at once, more stays in the caches of a CPU.

use super::{Distribution, Shape};
use crate::units::Span;

/// Two of a [`Distribution`] of the shape [`Shape::TOTAL`], which they become in the end, for two
/// values of one thing that are near each other: the counters of a bucket lie side by side, so that
/// both mostly touch one page, and what is added up of both lies in one line of a cache, if this
/// begins one.
///
/// Cost: a branch more for each value, and a quarter of the memory that values touch.
#[derive(Debug)]
#[repr(C)]
pub struct Pair {
    sums: [Sums; 2],
    /// What is missing in the wide counters.
    counts: Box<[[u16; 2]]>,
    /// What is seldom touched: wide counters, and all that is neither here nor in the sums.
    wide: Box<[Distribution; 2]>,
}

/// What a distribution knows of its values beside the buckets.
#[derive(Clone, Copy, Debug)]
struct Sums {
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
}

const NO_VALUES: Sums = Sums {
    count: 0,
    sum_ns: 0,
    min_ns: u64::MAX,
    max_ns: 0,
};

/// Which of two distributions.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Which {
    /// That one.
    First,
    /// The other.
    Second,
}

impl Default for Pair {
    fn default() -> Self {
        let wide = [(); 2].map(|()| Distribution::new(Shape::TOTAL));
        Self {
            sums: [NO_VALUES; 2],
            counts: vec![[0; 2]; wide[0].counts.len()].into_boxed_slice(),
            wide: Box::new(wide),
        }
    }
}

impl Pair {
    /// Counts one value.
    #[inline]
    pub fn record(&mut self, which: Which, value: Span) {
        let mut ns = value.as_ns();
        if ns > Shape::HIGHEST.as_ns() {
            ns = Shape::HIGHEST.as_ns();
            self.wide[which as usize].clamped += 1;
        }
        let sums = &mut self.sums[which as usize];
        sums.count += 1;
        sums.sum_ns = sums.sum_ns.saturating_add(ns);
        sums.min_ns = sums.min_ns.min(ns);
        sums.max_ns = sums.max_ns.max(ns);
        let index = Shape::TOTAL.index_of(ns);
        let count = &mut self.counts[index][which as usize];
        *count = count.wrapping_add(1);
        if *count == 0 {
            self.wide[which as usize].counts[index] += 1 << u16::BITS;
        }
    }

    /// How many values one of them has, without the censored ones.
    pub const fn count(&self, which: Which) -> u64 {
        self.sums[which as usize].count
    }

    /// Reads the counters that `value` has, so that they are in the caches when it is counted. What
    /// is returned means nothing.
    #[inline]
    pub fn touch(&self, value: Span) -> u64 {
        let ns = value.as_ns().min(Shape::HIGHEST.as_ns());
        let [first, second] = self.counts[Shape::TOTAL.index_of(ns)];
        u64::from(first ^ second) ^ self.sums[0].count
    }

    /// As [`Distribution::record_censored`].
    #[inline]
    pub fn record_censored(&mut self, which: Which) {
        self.wide[which as usize].record_censored();
    }

    /// The same with wide counters.
    pub fn widen(self) -> [Distribution; 2] {
        let Self { sums, counts, wide } = self;
        let mut wide = *wide;
        for (which, wide) in wide.iter_mut().enumerate() {
            let sums = sums[which];
            wide.count = sums.count;
            wide.sum_ns = sums.sum_ns;
            (wide.min_ns, wide.max_ns) = (sums.min_ns, sums.max_ns);
            let used = wide.used();
            for (wide, narrow) in wide.counts[used.clone()].iter_mut().zip(&counts[used]) {
                *wide += u64::from(narrow[which]);
            }
        }
        wide
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::Random;

    #[test]
    fn both_count_what_wide_ones_count() {
        let mut random = Random::new(1);
        let mut pair = Pair::default();
        let mut wide = [(); 2].map(|()| Distribution::default());
        for round in 0..600_000_u64 {
            let ns = match round % 3 {
                // Often enough that a narrow counter is full.
                0 => 12_345,
                1 => random.next_u64() >> (20 + round % 40),
                _ => 7_200_000_000_000 * (round % 2),
            };
            let which = match round % 2 {
                0 => Which::First,
                _ => Which::Second,
            };
            pair.record(which, Span::from_ns(ns));
            wide[which as usize].record(Span::from_ns(ns));
        }
        pair.record_censored(Which::Second);
        wide[1].record_censored();
        assert_eq!(pair.count(Which::First), wide[0].count());
        assert!(wide == pair.widen());
        let empty = [(); 2].map(|()| Distribution::default());
        assert!(Pair::default().widen() == empty);
    }
}
