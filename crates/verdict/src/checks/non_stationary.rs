//! STA-03: a rate that drifts has no single value.
//!
//! Reads the rate of each interval of the window, whatever its length; fewer than ten tell no
//! trend, and then the claim is partial. The slope is Theil and Sen's (the median of all pairwise
//! slopes), its significance Mann and Kendall's, so that one odd second is neither.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::record::Interval;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::summary::median;
use crate::thresholds::DRIFT;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-03",
    name: "non-stationary",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "Theil-Sen and Mann-Kendall; Uta et al., NSDI 2020: clouds shape by token buckets",
    judge: Judge::Alone(judge),
};

/// Fewer intervals show no trend.
const INTERVALS_MIN: usize = 10;
/// The 99 % point of the normal distribution, two-sided.
const Z_99: f64 = 2.575_829;

fn judge(facts: &Facts<'_>) -> Judgement {
    if !facts.trial.plan.stages.is_empty() {
        // The plan itself is not steady.
        return Judgement::NotApplicable;
    }
    let open = facts.is_open_loop();
    let intervals = &facts.record.intervals;
    let usual = intervals.first().map(|interval| interval.length);
    let values: Vec<f64> = intervals
        .iter()
        // The last one may be cut too short to count.
        .filter(|interval| usual.is_some_and(|usual| interval.length * 2 >= usual))
        .filter_map(|interval| value(interval, open))
        .collect();
    if facts.record.intervals.is_empty() {
        return Judgement::unknown("rates per interval");
    }
    if values.len() < INTERVALS_MIN {
        return Judgement::CannotApply(format!(
            "a trend takes {INTERVALS_MIN} intervals, and this window has {}",
            values.len()
        ));
    }
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let middle = median(&sorted).unwrap_or(0.0);
    let (slope, significant) = trend(&values);
    let drift = slope * number(values.len() as u64) / middle.max(1e-9);
    let severity = DRIFT.severity(drift.abs()).filter(|_| significant);
    let Some(severity) = severity else {
        return Judgement::Silent;
    };
    let what = if open {
        "The median response time"
    } else {
        "The rate"
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "{what} {} by {} over the window: it was not steady.",
            if drift > 0.0 { "rose" } else { "fell" },
            words::share(drift.abs())
        ),
    )
    .evidence("drift", drift)
    .evidence("intervals", values.len())
    .limit(&DRIFT)
    .fix("Warm up longer (--warmup); look for thermal limits, token buckets, growing logs")
    .into()
}

/// Closed loop: right answers per second. Open loop, where the plan sets the rate: the median
/// response time.
fn value(interval: &Interval, open: bool) -> Option<f64> {
    let seconds = interval.length.as_s_f64();
    if seconds <= 0.0 {
        return None;
    }
    if open {
        return interval
            .response_time
            .quantile(0.5)
            .map(|span| span.as_us_f64());
    }
    Some(number(interval.tally.right_in_it()) / seconds)
}

/// Theil and Sen's slope per step, and whether Mann and Kendall's test finds it at 99 %.
fn trend(values: &[f64]) -> (f64, bool) {
    let n = number(values.len() as u64);
    let mut slopes = Vec::with_capacity(values.len() * values.len() / 2);
    let mut score = 0.0;
    for (later, value) in values.iter().enumerate() {
        for (earlier, before) in values[..later].iter().enumerate() {
            slopes.push((value - before) / number((later - earlier) as u64));
            score += match value.total_cmp(before) {
                std::cmp::Ordering::Greater => 1.0,
                std::cmp::Ordering::Less => -1.0,
                std::cmp::Ordering::Equal => 0.0,
            };
        }
    }
    slopes.sort_by(f64::total_cmp);
    let deviation = (n * (n - 1.0) * (2.0 * n + 5.0) / 18.0).sqrt();
    let significant = (f64::abs(score) - 1.0) / deviation > Z_99;
    (median(&slopes).unwrap_or(0.0), significant)
}
