//! Whether a rate rises or falls within a window.

use std::cmp::Ordering;

use model::Trial;
use model::record::Interval;

use super::median;

/// Fewer intervals show no trend.
pub(crate) const INTERVALS_MIN: usize = 10;
/// The 99 % point of the normal distribution, two-sided.
const Z_99: f64 = 2.575_829;

/// How the intervals of a window follow each other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Trend {
    /// The plan itself is not steady.
    Staged,
    /// There are no intervals.
    Unread,
    /// Too few intervals: how many.
    TooFew(usize),
    /// What they show.
    Seen(Drift),
}

/// How far a rate drifts within a window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Drift {
    /// From the first interval to the last, in terms of the median: 0.1 is a rise by a tenth.
    pub(crate) share: f64,
    /// Whether noise without a trend shows this at most once in a hundred windows.
    pub(crate) is_significant: bool,
    /// Intervals that were read.
    pub(crate) intervals: usize,
}

impl Trend {
    /// Reads each interval of the window. In a closed loop that is right answers per second; where
    /// the plan says when requests or users come, the median response time.
    pub(crate) fn of(trial: &Trial, is_scheduled: bool) -> Self {
        if !trial.plan.stages.is_empty() {
            return Self::Staged;
        }
        let intervals = &trial.record.intervals;
        let Some(usual) = intervals.first().map(|interval| interval.length) else {
            return Self::Unread;
        };
        let values: Vec<f64> = intervals
            .iter()
            // The last one may be cut too short to count.
            .filter(|interval| interval.length * 2 >= usual)
            .filter_map(|interval| value(interval, is_scheduled))
            .collect();
        if values.len() < INTERVALS_MIN {
            return Self::TooFew(values.len());
        }
        Self::Seen(Drift::over(&values))
    }
}

impl Drift {
    /// Theil and Sen's slope (the median of all pairwise slopes), and whether Mann and Kendall's
    /// test finds it at 99 %: one odd second moves neither.
    pub(crate) fn over(values: &[f64]) -> Self {
        let n = number(values.len());
        let mut slopes = Vec::with_capacity(values.len() * values.len() / 2);
        let mut score = 0.0;
        for (later, value) in values.iter().enumerate() {
            for (earlier, before) in values[..later].iter().enumerate() {
                slopes.push((value - before) / number(later - earlier));
                score += match value.total_cmp(before) {
                    Ordering::Greater => 1.0,
                    Ordering::Less => -1.0,
                    Ordering::Equal => 0.0,
                };
            }
        }
        slopes.sort_by(f64::total_cmp);
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = median(&sorted).unwrap_or(0.0);
        let slope = median(&slopes).unwrap_or(0.0);
        let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
        Self {
            share: slope * n / middle.max(1e-9),
            is_significant: (f64::abs(score) - 1.0) / deviation > Z_99,
            intervals: values.len(),
        }
    }
}

fn value(interval: &Interval, is_scheduled: bool) -> Option<f64> {
    let seconds = interval.length.as_s_f64();
    if seconds <= 0.0 {
        return None;
    }
    if is_scheduled {
        let middle = interval.response_time.quantile(0.5)?;
        return Some(middle.as_us_f64());
    }
    Some(crate::check::number(interval.tally.right_in_it()) / seconds)
}

fn number(count: usize) -> f64 {
    crate::check::number(count as u64)
}
