//! What agents tell of intervals that are over, put together for whoever watches, decided without a
//! network or a clock.
//!
//! It is for display. A message that is late, comes twice or never comes changes nothing else, and
//! what is held does not grow with the length of a load.

use std::collections::BTreeMap;

use model::{Bytes, Span};

use crate::message::{Name, Passed};

/// So many intervals long one that is over is waited for.
const PATIENCE: u64 = 2;

/// What all agents told of an interval.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Interval {
    /// From the start of the window.
    pub start: Span,
    /// How long it was.
    pub length: Span,
    /// Right answers.
    pub right: u64,
    /// Exchanges that failed.
    pub failed: u64,
    /// Connections open at its end.
    pub connections: u64,
    /// Bytes that came.
    pub bytes_received: Bytes,
    /// 99 % of the right answers took no longer: the largest of what agents told of their own.
    pub response_time_p99_at_most: Option<Span>,
    /// The agents that told nothing of it in time: all else is of the others.
    pub missing: Vec<Name>,
}

/// Those of one load that have not been told on.
#[derive(Debug)]
pub(super) struct Intervals {
    crew: Vec<Name>,
    /// How long each is by the plan.
    length: Span,
    /// What was told, by number and by position in the crew.
    open: BTreeMap<u64, Vec<Option<Passed>>>,
    /// The number of the next one to be told on.
    next: u64,
    /// Who tells nothing any more.
    have_ended: Vec<bool>,
}

impl Intervals {
    pub(super) fn new(crew: Vec<Name>, length: Span) -> Self {
        Self {
            have_ended: vec![false; crew.len()],
            crew,
            length: length.max(Span::from_ns(1)),
            open: BTreeMap::new(),
            next: 0,
        }
    }

    /// The agent in this position tells what passed, when the window has been open for `age`. What
    /// was told on stands, and so does what this agent told first.
    pub(super) fn hear(&mut self, position: usize, passed: Passed, age: Span) {
        // Clocks differ: one that is ending there may be ending here soon.
        let known = self.next..=self.over(age);
        if position >= self.crew.len() || !known.contains(&passed.number) {
            return;
        }
        let nobody = || vec![None; self.crew.len()];
        let told = self.open.entry(passed.number).or_insert_with(nobody);
        told[position].get_or_insert(passed);
    }

    /// The agent in this position has told its record.
    pub(super) fn ended(&mut self, position: usize) {
        if let Some(has_ended) = self.have_ended.get_mut(position) {
            *has_ended = true;
        }
    }

    /// The next interval that all have told, or that has been over for some time: without those who
    /// told nothing of it.
    pub(super) fn next(&mut self, age: Span) -> Option<Interval> {
        let number = self.next;
        let told = self.open.get(&number);
        let tells = |position: usize| told.is_some_and(|told| told[position].is_some());
        let lacks = |position: &usize| !tells(*position) && !self.have_ended[*position];
        let missing: Vec<usize> = (0..self.crew.len()).filter(lacks).collect();
        let is_over = number.saturating_add(PATIENCE) < self.over(age);
        if told.is_none() && missing.is_empty() || !missing.is_empty() && !is_over {
            return None;
        }
        let told = self.open.remove(&number).unwrap_or_default();
        self.next += 1;
        let missing = missing.into_iter();
        let missing = missing.map(|position| self.crew[position].clone());
        Some(self.sum(number, told.into_iter().flatten(), missing.collect()))
    }

    /// How many are over at that age of the window.
    const fn over(&self, age: Span) -> u64 {
        age.as_ns() / self.length.as_ns()
    }

    fn sum(&self, number: u64, told: impl Iterator<Item = Passed>, missing: Vec<Name>) -> Interval {
        let mut interval = Interval {
            start: Span::from_ns(self.length.as_ns().saturating_mul(number)),
            length: Span::ZERO,
            right: 0,
            failed: 0,
            connections: 0,
            bytes_received: Bytes::ZERO,
            response_time_p99_at_most: None,
            missing,
        };
        for one in told {
            let sum = |one: &mut u64, other: u64| *one = one.saturating_add(other);
            interval.length = interval.length.max(one.length).min(self.length);
            sum(&mut interval.right, one.right);
            sum(&mut interval.failed, one.failed);
            sum(&mut interval.connections, one.connections);
            let bytes = interval.bytes_received.count();
            let bytes = bytes.saturating_add(one.bytes_received.count());
            interval.bytes_received = Bytes::new(bytes);
            let p99 = &mut interval.response_time_p99_at_most;
            *p99 = (*p99).max(one.response_time_p99);
        }
        if interval.length.is_zero() {
            interval.length = self.length;
        }
        interval
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_two() -> Intervals {
        let crew = ["a", "b"].map(|name| name.parse().unwrap());
        Intervals::new(crew.to_vec(), Span::from_s(1))
    }

    fn passed(number: u64, right: u64) -> Passed {
        Passed {
            number,
            length: Span::from_s(1),
            right,
            failed: 1,
            connections: 4,
            bytes_received: Bytes::new(10 * right),
            response_time_p99: (right > 0).then(|| Span::from_us(right)),
        }
    }

    /// The starts in seconds, the sums and the missing of all that are told on at that age.
    fn told(intervals: &mut Intervals, age_ms: u64) -> Vec<(u64, u64, String)> {
        let next = || intervals.next(Span::from_ms(age_ms));
        let told = std::iter::from_fn(next).map(|one| {
            let missing: Vec<&str> = one.missing.iter().map(Name::as_str).collect();
            (
                one.start.as_ns() / 1_000_000_000,
                one.right,
                missing.join(" "),
            )
        });
        told.collect()
    }

    fn whole(start: u64, right: u64) -> (u64, u64, String) {
        (start, right, String::new())
    }

    #[test]
    fn what_all_have_told_is_a_sum() {
        let mut intervals = of_two();
        let age = Span::from_ms(1_010);
        intervals.hear(1, passed(0, 5), age);
        assert_eq!(intervals.next(age), None, "one is missing");
        intervals.hear(0, passed(0, 7), age);
        let sum = intervals.next(age).unwrap();
        let expected = Interval {
            start: Span::ZERO,
            length: Span::from_s(1),
            right: 12,
            failed: 2,
            connections: 8,
            bytes_received: Bytes::new(120),
            response_time_p99_at_most: Some(Span::from_us(7)),
            missing: Vec::new(),
        };
        assert_eq!(sum, expected);
        assert_eq!(intervals.next(age), None);
    }

    #[test]
    fn what_comes_twice_late_or_too_early_changes_nothing() {
        let mut intervals = of_two();
        let age = Span::from_ms(1_010);
        for (position, passed) in [
            (0, passed(0, 7)),
            (0, passed(0, 9)),
            (0, passed(2, 9)),
            (0, passed(u64::MAX, 9)),
            (2, passed(0, 9)),
            (1, passed(0, 5)),
        ] {
            intervals.hear(position, passed, age);
        }
        assert_eq!(told(&mut intervals, 1_010), [whole(0, 12)]);
        intervals.hear(1, passed(0, 5), age);
        assert_eq!(told(&mut intervals, 1_010), []);
        assert!(intervals.open.is_empty(), "{intervals:?}");
    }

    #[test]
    fn who_tells_nothing_in_time_is_missing() {
        let mut intervals = of_two();
        intervals.hear(0, passed(0, 7), Span::from_ms(1_010));
        assert_eq!(told(&mut intervals, 2_900), [], "it may come yet");
        let only = |start, right, who: &str| (start, right, who.to_owned());
        assert_eq!(told(&mut intervals, 3_000), [only(0, 7, "b")]);
        // It is late, and the other one is silent now.
        intervals.hear(1, passed(0, 5), Span::from_ms(3_010));
        intervals.hear(1, passed(1, 5), Span::from_ms(3_010));
        assert_eq!(told(&mut intervals, 4_000), [only(1, 5, "a")]);
        assert_eq!(told(&mut intervals, 5_000), [only(2, 0, "a b")]);
        for position in [0, 1] {
            intervals.hear(position, passed(4, 1), Span::from_ms(5_000));
        }
        assert_eq!(
            told(&mut intervals, 6_000),
            [only(3, 0, "a b"), whole(4, 2)]
        );
    }

    #[test]
    fn who_has_ended_is_not_missing() {
        let mut intervals = of_two();
        for number in 0..2 {
            intervals.hear(0, passed(number, 7), Span::from_s(2));
        }
        intervals.hear(1, passed(0, 5), Span::from_s(2));
        intervals.ended(1);
        assert_eq!(told(&mut intervals, 2_000), [whole(0, 12), whole(1, 7)]);
        intervals.ended(0);
        assert_eq!(told(&mut intervals, 60_000), []);
    }

    #[test]
    fn however_much_is_told_little_is_held() {
        let mut intervals = of_two();
        for number in 0..100_000 {
            intervals.hear(0, passed(number, u64::MAX / 10), Span::from_s(number));
            while intervals.next(Span::from_s(number)).is_some() {}
            assert!(intervals.open.len() <= 4, "{}", intervals.open.len());
        }
    }
}
