//! How long answers take as they did before, once a crowd has gone.

use serde::{Deserialize, Serialize};

use super::Interval;
use crate::distribution::{Distribution, Shape};
use crate::units::Span;

/// So many times the rate of the beginning is a crowd; and so many times the time that answers took
/// before it is no longer as before.
const TWICE: u64 = 2;
/// Fewer answers before the crowd do not tell how long they take.
const ANSWERS_MIN: u64 = 20;
/// The part of all requests that must be answered as before.
const PART: f64 = 0.9;

/// What became of response times after a crowd: of a plan whose rate is that of the beginning, then
/// more than twice that, and then that of the beginning again.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Recovery {
    /// When the crowd had gone by schedule, from the start of the measured window.
    #[serde(rename = "gone_ns")]
    pub gone: Span,
    /// What 9 of 10 answers took at most before the crowd came.
    #[serde(rename = "before_ns")]
    pub before: Span,
    /// From when it had gone to the end of the first interval in which 9 of 10 requests were
    /// answered rightly within twice that; none: not within the window.
    #[serde(rename = "took_ns", default, skip_serializing_if = "Option::is_none")]
    pub took: Option<Span>,
    /// From when it had gone to the end of the window.
    #[serde(rename = "watched_ns")]
    pub watched: Span,
}

impl Recovery {
    /// That of a window; none where no crowd came and went, or too little was known before it.
    pub fn of(intervals: &[Interval]) -> Option<Self> {
        let quiet = intervals.first()?.scheduled?;
        let is_crowd = |interval: &Interval| {
            let rate = interval.scheduled;
            rate.is_some_and(|rate| {
                rate.as_per_1000_s() > quiet.as_per_1000_s().saturating_mul(TWICE)
            })
        };
        let first = intervals.iter().position(is_crowd)?;
        let last = intervals.iter().rposition(is_crowd)?;
        let (before, after) = (&intervals[..first], &intervals[last + 1..]);
        let mut times = Distribution::new(Shape::INTERVAL);
        for interval in before {
            times.merge(&interval.response_time);
        }
        if times.count() < ANSWERS_MIN || after.is_empty() {
            return None;
        }
        let before = times.quantile(PART)?;
        let bound = before * TWICE;
        let end = |interval: &Interval| interval.start + interval.length;
        let gone = end(&intervals[last]);
        let recovered = after.iter().find(|interval| is_within(interval, bound));
        Some(Self {
            gone,
            before,
            took: recovered.map(|interval| end(interval).saturating_sub(gone)),
            watched: after.last().map(end)?.saturating_sub(gone),
        })
    }
}

/// Whether 9 of 10 requests that ended in it were answered rightly within `bound`.
#[expect(clippy::cast_precision_loss, reason = "a count of exchanges")]
fn is_within(interval: &Interval, bound: Span) -> bool {
    let times = &interval.response_time;
    let outcomes = &interval.tally.outcomes;
    let lost = outcomes.lost();
    let all = times.count() + lost;
    // What had no answer counts as above, and not as a time.
    let above = times.count_above(bound) - times.censored();
    let within = times.count() - above;
    all > 0 && within as f64 >= PART * all as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outcome::Outcome;
    use crate::units::Rate;

    /// Intervals of a second: the rate, and milliseconds of each of 100 answers; of those that are
    /// 0 only five came, at once.
    fn intervals(seconds: &[(u64, u64)]) -> Vec<Interval> {
        let each = seconds.iter().zip(0..);
        let each = each.map(|((rate, ms), second)| {
            let mut interval = Interval::new(Span::from_s(second), Span::from_s(1));
            interval.scheduled = Some(Rate::per_second(*rate));
            match ms {
                0 => {
                    interval.response_time.record_n(Span::from_ms(1), 5);
                    interval.response_time.record_censored_n(95);
                    interval.tally.outcomes[Outcome::Shed] = 95;
                }
                ms => interval.response_time.record_n(Span::from_ms(*ms), 100),
            }
            interval
        });
        each.collect()
    }

    fn took(seconds: &[(u64, u64)]) -> Option<Option<u64>> {
        let found = Recovery::of(&intervals(seconds))?;
        assert_eq!(found.gone, Span::from_s(4));
        let length = u64::try_from(seconds.len()).unwrap();
        assert_eq!(found.watched, Span::from_s(length - 4));
        Some(found.took.map(|took| took.as_ns() / 1_000_000_000))
    }

    #[test]
    fn it_ends_where_answers_are_as_before() {
        let quiet = [(200, 10), (200, 10)];
        let crowd = [(20_000, 500), (5_000, 900)];
        let with = |after: &[(u64, u64)]| took(&[&quiet, &crowd, after].concat());
        assert_eq!(with(&[(200, 19), (200, 10)]), Some(Some(1)));
        assert_eq!(with(&[(200, 400), (200, 25), (200, 12)]), Some(Some(3)));
        assert_eq!(with(&[(200, 400), (200, 300)]), Some(None));
        // Where hardly anything is answered nothing is as before.
        assert_eq!(with(&[(200, 0), (200, 10)]), Some(Some(2)));
    }

    #[test]
    fn without_a_crowd_that_came_and_went_there_is_none() {
        let none = |seconds: &[(u64, u64)]| assert_eq!(Recovery::of(&intervals(seconds)), None);
        none(&[]);
        none(&[(200, 10), (200, 10), (400, 10)]);
        none(&[(200, 10), (200, 10), (20_000, 10)]);
        none(&[(20_000, 10), (20_000, 10), (200, 10)]);
        // Nothing is known of how it was before.
        none(&[(200, 0), (20_000, 10), (200, 10)]);
        let mut constant = intervals(&[(200, 10), (20_000, 10), (200, 10)]);
        constant[0].scheduled = None;
        assert_eq!(Recovery::of(&constant), None);
    }
}
