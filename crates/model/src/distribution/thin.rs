//! Fewer buckets, for results that are kept for long: what reports and rules read stays exact.

use super::Distribution;
use crate::units::Span;

/// What of a distribution stays exact when it is thinned.
#[derive(Clone, Copy, Debug)]
pub struct Exact<'a> {
    /// The value at each of these quantiles.
    pub quantiles: &'a [f64],
    /// The buckets of so many of the longest values.
    pub longest: u64,
    /// How many values lie above that length.
    pub above: Span,
}

impl Distribution {
    /// The same with fewer buckets. Counts, the sum and both ends are as they were, and so is all
    /// that `exact` names; what lies between is counted at the next lower bucket that is kept.
    #[must_use]
    pub fn thinned(&self, exact: &Exact<'_>) -> Self {
        let mut ranks: Vec<u64> = exact.quantiles.iter().map(|q| self.rank(*q)).collect();
        ranks.sort_unstable();
        let mut ranks = ranks.into_iter().peekable();
        let first_of_longest = self.count.saturating_sub(exact.longest);
        let above = self
            .shape
            .index_of(exact.above.min(super::Shape::HIGHEST).as_ns());
        let mut thin = self.clone();
        let mut seen = 0;
        let mut kept = None;
        for index in self.used() {
            let count = self.counts[index];
            if count == 0 {
                continue;
            }
            seen += count;
            let mut is_read = false;
            while ranks.next_if(|rank| *rank <= seen).is_some() {
                is_read = true;
            }
            match kept {
                // Nothing moves from above that length to below it.
                Some(lower)
                    if !is_read
                        && seen <= first_of_longest
                        && (lower > above) == (index > above) =>
                {
                    thin.counts[lower] += count;
                    thin.counts[index] = 0;
                }
                _ => kept = Some(index),
            }
        }
        thin
    }
}
