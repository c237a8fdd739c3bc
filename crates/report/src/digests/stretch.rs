//! What happened in stretches of a trial's window.

use model::distribution::Shape;
use model::record::Interval;
use model::{Distribution, Outcome, Span, Trial};
use verdict::summary::{Reading, read};

use super::digest::QUANTILES;

/// The position of the 99th percentile in the list of quantiles.
const P99: usize = 4;

/// At most so many stretches of a trial are drawn; neighbours are added up.
const STRETCHES_MAX: usize = 60;

/// A stretch of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stretch {
    /// Its middle, in seconds from the start of the window.
    pub middle_s: f64,
    /// Right answers per second.
    pub rate: f64,
    /// Requests per second that failed.
    pub failed: f64,
    /// Requests per second that were never sent.
    pub never_sent: f64,
    /// The rate that was asked for, where the plan changes it.
    pub scheduled: Option<f64>,
    /// The median response time of its right answers, in microseconds.
    pub p50_us: Option<f64>,
    /// The 99th percentile, where there are answers enough.
    pub p99_us: Option<f64>,
}

pub(super) fn stretches(trial: &Trial) -> Vec<Stretch> {
    let intervals = &trial.record.intervals;
    let together = intervals.len().div_ceil(STRETCHES_MAX).max(1);
    let mut chunks: Vec<&[Interval]> = intervals.chunks(together).collect();
    // What the end of the window left of the last one is too short for a rate of its own.
    if let [.., before, last] = chunks.as_slice()
        && length(last) < length(before) / 2.0
    {
        let rest = intervals.len() - before.len() - last.len();
        chunks.truncate(chunks.len() - 2);
        chunks.push(&intervals[rest..]);
    }
    chunks.into_iter().filter_map(stretch).collect()
}

fn length(chunk: &[Interval]) -> f64 {
    chunk.iter().map(|one| one.length.as_s_f64()).sum()
}

/// What happened in these intervals, which follow each other; nothing where there are none.
#[expect(clippy::cast_precision_loss, reason = "a count of answers")]
pub(super) fn stretch(chunk: &[Interval]) -> Option<Stretch> {
    let start = chunk.first()?.start.as_s_f64();
    let length = length(chunk);
    let per_second = |count: fn(&Interval) -> u64| {
        let count: u64 = chunk.iter().map(count).sum();
        count as f64 / length
    };
    let scheduled: Option<f64> = chunk.iter().map(scheduled).sum();
    let mut times = Distribution::new(Shape::INTERVAL);
    for interval in chunk {
        times.merge(&interval.response_time);
    }
    (length > 0.0).then(|| Stretch {
        middle_s: start + length / 2.0,
        rate: per_second(|one| one.tally.right_in_it()),
        failed: per_second(|one| one.tally.outcomes.failures()),
        never_sent: per_second(|one| one.tally.outcomes[Outcome::Shed]),
        scheduled: scheduled.map(|requests| requests / length),
        p50_us: times.quantile(0.5).map(Span::as_us_f64),
        p99_us: match read(&times, QUANTILES[P99].0) {
            Reading::Value(span) => Some(span.as_us_f64()),
            Reading::Censored | Reading::TooFew => None,
        },
    })
}

/// How many requests were to be sent in it.
fn scheduled(interval: &Interval) -> Option<f64> {
    let rate = interval.scheduled?.as_per_second_f64();
    Some(rate * interval.length.as_s_f64())
}
