//! What numbers a sample can carry: quantiles with support, intervals over rounds.
//!
//! Requests inside a round are not independent samples of a server; rounds are. So intervals for
//! headline numbers come from rounds, by order statistics, which assume no shape of distribution.

mod trend;

pub use model::distribution::{Support, support};
use model::units::Span;
use model::usage::GroupUsage;
use model::{Distribution, Record, Trial};

pub(crate) use trend::{Drift, INTERVALS_MIN, Trend};

/// A quantile that reports know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantile {
    /// As in files: `p99_9`.
    pub name: &'static str,
    /// As for people: `p99.9`.
    pub label: &'static str,
    /// From 0 to 1.
    pub q: f64,
}

/// All of them, from the median up.
pub const QUANTILES: [Quantile; 6] = [
    quantile("p50", "p50", 0.5),
    quantile("p75", "p75", 0.75),
    quantile("p90", "p90", 0.9),
    quantile("p99", "p99", 0.99),
    quantile("p99_9", "p99.9", 0.999),
    quantile("p99_99", "p99.99", 0.9999),
];

const fn quantile(name: &'static str, label: &'static str, q: f64) -> Quantile {
    Quantile { name, label, q }
}

/// What can be said about a quantile of a distribution.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Reading {
    /// Too few values to say anything.
    TooFew,
    /// It lies among those that ended unanswered: longer than any value seen.
    Censored,
    /// Its value.
    Value(Span),
}

impl Reading {
    /// What it was read as, or what it is at least, and whether it is that: a request that got no
    /// answer would have had to wait longer than the `timeout`, and longer than any that got one.
    pub fn at_least(self, of: &Distribution, timeout: Span) -> Option<(Span, bool)> {
        match self {
            Self::TooFew => None,
            Self::Value(span) => Some((span, false)),
            Self::Censored => Some((of.max().unwrap_or_default().max(timeout), true)),
        }
    }
}

/// Reads quantile `q` of `distribution`, if the sample carries it.
pub fn read(distribution: &Distribution, q: f64) -> Reading {
    let all = distribution.count() + distribution.censored();
    if support(all, q) == Support::TooFew {
        return Reading::TooFew;
    }
    distribution
        .quantile(q)
        .map_or(Reading::Censored, Reading::Value)
}

/// A 95 % interval of quantile `q` by order statistics; the end that falls outside what was seen is
/// none. None at all where the quantile itself is not shown.
///
/// It takes the values as independent, which those of one run are not quite: it is a lower bound
/// of the doubt.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "ranks below 2^53"
)]
pub fn quantile_interval(
    distribution: &Distribution,
    q: f64,
) -> Option<(Option<Span>, Option<Span>)> {
    let count = distribution.count() + distribution.censored();
    if support(count, q) == Support::TooFew {
        return None;
    }
    let n = count as f64;
    let reach = Z_95 * (n * q * (1.0 - q)).sqrt();
    let low = (n * q - reach).floor().max(0.0) as u64;
    let high = (n * q + reach).ceil() as u64 + 1;
    Some((
        distribution.value_at_rank(low),
        distribution.value_at_rank(high),
    ))
}

/// The 97.5 % point of the normal distribution.
const Z_95: f64 = 1.959_963_985;

/// Two numbers between which the truth lies with a probability.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
    /// With this probability at least.
    pub coverage: f64,
}

impl Interval {
    /// Whether `value` lies inside or on an end.
    pub fn contains(&self, value: f64) -> bool {
        (self.low..=self.high).contains(&value)
    }
}

/// One number over the rounds of a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Rounds {
    /// Each round's value, sorted.
    pub values: Vec<f64>,
    /// Their median.
    pub median: f64,
    /// A 95 % interval of the median; none below 6 rounds, where none exists.
    pub interval: Option<Interval>,
}

impl Rounds {
    /// The median of `values` with its interval; none if there are no values.
    pub fn of(values: impl IntoIterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.into_iter().filter(|v| v.is_finite()).collect();
        values.sort_by(f64::total_cmp);
        Some(Self {
            median: median(&values)?,
            interval: median_interval(&values),
            values,
        })
    }

    /// Half the width of the interval in terms of the median: how precisely it is known.
    pub fn half_width(&self) -> Option<f64> {
        let interval = self.interval?;
        (self.median > 0.0).then(|| (interval.high - interval.low) / 2.0 / self.median)
    }
}

/// The middle of sorted values.
pub fn median(sorted: &[f64]) -> Option<f64> {
    let middle = sorted.len() / 2;
    if sorted.is_empty() {
        None
    } else if sorted.len().is_multiple_of(2) {
        Some(f64::midpoint(sorted[middle - 1], sorted[middle]))
    } else {
        Some(sorted[middle])
    }
}

/// Half to the power of more than this is no longer exact.
const MANY: usize = 1_000;

/// The narrowest pair of order statistics that covers the median with 95 %: exact, by the
/// binomial distribution, whatever the values are distributed like. Below 6 values none does.
pub fn median_interval(sorted: &[f64]) -> Option<Interval> {
    let n = sorted.len();
    // below[k] = P(fewer than k + 1 of n values lie below the median)
    let mut below = Vec::with_capacity(n / 2 + 1);
    let count = i32::try_from(n).ok()?;
    let mut term = 0.5f64.powi(count);
    let mut logarithm = f64::from(count) * 0.5f64.ln();
    let mut sum = 0.0;
    for k in 0..=n / 2 {
        // The first terms of many values are less than any number but zero.
        sum += if n > MANY { logarithm.exp() } else { term };
        below.push(sum);
        #[expect(clippy::cast_precision_loss, reason = "fewer than 2^31")]
        let next = (n - k) as f64 / (k + 1) as f64;
        term *= next;
        logarithm += next.ln();
    }
    let depth = below.iter().take_while(|p| **p <= 0.025).count();
    (depth > 0).then(|| Interval {
        low: sorted[depth - 1],
        high: sorted[n - depth],
        coverage: 1.0 - 2.0 * below[depth - 1],
    })
}

/// CPU time per exchange that had been sent and ended, in microseconds: user and system together,
/// and each apart where the window was long enough to tell them apart.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuPerRequest {
    /// User and system time.
    pub total_us: f64,
    /// User and system time apart.
    pub split_us: Option<(f64, f64)>,
}

/// What a request cost the server of `trial`; none where its CPU time could not be read.
pub fn cpu_per_request(trial: &Trial) -> Option<CpuPerRequest> {
    cpu_of(trial.usage.server.as_ref()?, &trial.record)
}

/// How many exchanges ended between two readings of a group of processes. The readings come a
/// moment after the edges of the window, so those are the part of the window's that they cover;
/// none where none ended.
#[expect(clippy::cast_precision_loss, reason = "a count below 2^53")]
pub fn exchanges_between_readings(group: &GroupUsage, record: &Record) -> Option<f64> {
    let (ended, window) = (record.total.ended_in_it(), record.window.as_s_f64());
    let part = match group.covered {
        Some(covered) if !covered.is_zero() && window > 0.0 => covered.as_s_f64() / window,
        _ => 1.0,
    };
    (ended > 0).then_some(ended as f64 * part)
}

/// What a request cost a group of processes: their CPU time between two readings over the exchanges
/// that ended meanwhile.
pub fn cpu_of(group: &GroupUsage, record: &Record) -> Option<CpuPerRequest> {
    let exchanges = exchanges_between_readings(group, record)?;
    let each = |span: Span| span.as_us_f64() / exchanges;
    Some(CpuPerRequest {
        // Whoever answered had a CPU: a shorter time than its clock shows is unknown.
        total_us: each(group.cpu.filter(|cpu| !cpu.is_zero())?),
        split_us: group
            .user
            .zip(group.system)
            .map(|(u, s)| (each(u), each(s))),
    })
}

#[cfg(test)]
mod tests;
