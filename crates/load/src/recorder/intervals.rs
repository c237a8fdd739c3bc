//! The window cut into intervals, in memory of a fixed size.
//!
//! When all are in use, neighbours merge: one pair for each interval that opens from then on, which
//! is twice as long. So no instant of the window pays for more than one merge (some microseconds).

use model::record::{INTERVALS_MAX, Interval, Tally};
use model::units::Span;

/// The intervals of one window.
#[derive(Debug)]
pub(super) struct Intervals {
    /// All there will ever be. They do not move until the end.
    kept: Vec<Interval>,
    /// Those in use, the oldest first.
    order: Vec<u16>,
    /// Those not in use.
    unused: Vec<u16>,
    /// How long an interval that opens now is.
    length: Span,
    /// How many pairs have merged since intervals became longer, and how many will.
    merged: usize,
    to_merge: usize,
}

impl Intervals {
    /// For a window of `window`, cut into intervals of `length` if they are not too many.
    pub(super) fn new(window: Span, length: Span) -> Self {
        let wanted = window.as_ns().div_ceil(length.as_ns());
        let count = usize::try_from(wanted).map_or(INTERVALS_MAX, |n| n.clamp(1, INTERVALS_MAX));
        let numbers = 0..u16::try_from(count).expect("at most 600");
        Self {
            kept: (0..count)
                .map(|_| Interval::new(Span::ZERO, Span::ZERO))
                .collect(),
            order: Vec::with_capacity(count),
            unused: numbers.rev().collect(),
            length,
            merged: 0,
            to_merge: 0,
        }
    }

    /// The next interval begins, at `start` from the window's.
    pub(super) fn open(&mut self, start: Span) {
        let next = match self.unused.pop() {
            Some(next) => next,
            None if self.order.len() > 1 => self.merge_a_pair(),
            None => return,
        };
        self.order.push(next);
        self.current().start = start;
    }

    /// The interval that began last.
    #[inline]
    pub(super) fn current(&mut self) -> &mut Interval {
        let last = self.order[self.order.len() - 1];
        &mut self.kept[usize::from(last)]
    }

    /// How long an interval that opens now is.
    pub(super) const fn length(&self) -> Span {
        self.length
    }

    /// Merges the oldest two that have not merged yet; the one of them that is free now.
    fn merge_a_pair(&mut self) -> u16 {
        if self.merged == self.to_merge {
            self.merged = 0;
            self.to_merge = self.order.len() / 2;
            self.length = self.length * 2;
        }
        let (first, second) = (self.order[self.merged], self.order.remove(self.merged + 1));
        self.merged += 1;
        let [one, other] = self
            .kept
            .get_disjoint_mut([usize::from(first), usize::from(second)])
            .expect("two different ones");
        one.length += other.length;
        one.tally.merge(&other.tally);
        one.response_time.merge(&other.response_time);
        other.tally = Tally::default();
        other.response_time.clear();
        other.length = Span::ZERO;
        second
    }

    /// All of them in order, those that are over of one length.
    pub(super) fn finish(mut self) -> Vec<Interval> {
        while self.merged < self.to_merge {
            let _free = self.merge_a_pair();
        }
        let mut kept: Vec<Option<Interval>> = self.kept.into_iter().map(Some).collect();
        let in_order = self.order.iter();
        in_order
            .filter_map(|number| kept[usize::from(*number)].take())
            .collect()
    }
}
