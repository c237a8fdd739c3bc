//! `rate:-3%`: how far a metric may move before a comparison fails.

use std::fmt;
use std::str::FromStr;

use super::metric::{METRICS, Metric, metric_named};
use super::{Compared, Row};
use crate::pairs::Answer;
use crate::words;

/// A change that must not happen.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Limit {
    /// Of what.
    pub metric: &'static Metric,
    /// The change: -0.03 fails where the second result has more than 3 % less.
    pub change: f64,
}

/// What a limit says of a row.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Crossed {
    /// The whole interval lies beyond it.
    Beyond,
    /// The interval has both sides of it, or there is no interval.
    Inconclusive,
    /// The whole interval lies before it.
    Within,
}

/// A limit that is none.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error(
    "{why}; write METRIC:CHANGE% with the sign of the change that fails, as in rate:-3% or \
         p99:+10%; metrics: {}",
    names()
)]
pub struct LimitError {
    why: String,
}

fn names() -> String {
    METRICS.map(|metric| metric.name).join(", ")
}

impl FromStr for Limit {
    type Err = LimitError;

    fn from_str(text: &str) -> Result<Self, LimitError> {
        let error = |why: String| LimitError { why };
        let (name, change) = text
            .split_once(':')
            .ok_or_else(|| error(format!("'{text}' has no ':'")))?;
        let metric =
            metric_named(name).ok_or_else(|| error(format!("'{name}' is not a metric")))?;
        let percent = change
            .strip_suffix('%')
            .ok_or_else(|| error(format!("'{change}' does not end in %")))?;
        if !percent.starts_with(['+', '-']) {
            return Err(error(format!("'{change}' has no sign")));
        }
        let percent: f64 = percent
            .parse()
            .ok()
            .filter(|percent: &f64| percent.is_finite() && *percent > -100.0)
            .ok_or_else(|| error(format!("'{change}' is not a change above -100%")))?;
        Ok(Self {
            metric,
            change: percent / 100.0,
        })
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // As it was written: a part of 1 is seldom a hundredth of it, bit for bit.
        let percent = (self.change * 1e8).round() / 1e6;
        write!(f, "{}:{percent:+}%", self.metric.name)
    }
}

impl Limit {
    /// What it says of `row`, which has its metric.
    pub fn of(&self, row: &Row) -> Crossed {
        let (low, high) = row.ends();
        let limit = 1.0 + self.change;
        let (beyond, within) = if self.change.is_sign_negative() {
            (
                high.is_some_and(|high| high < limit),
                low.is_some_and(|low| low >= limit),
            )
        } else {
            (
                low.is_some_and(|low| low > limit),
                high.is_some_and(|high| high <= limit),
            )
        };
        match (beyond, within) {
            (true, _) => Crossed::Beyond,
            (_, true) => Crossed::Within,
            _ => Crossed::Inconclusive,
        }
    }

    /// What it says of all rows that have its metric, each with its place; empty where none has.
    pub fn of_all<'a>(&self, compared: &'a Compared) -> Vec<(&'a Row, Crossed)> {
        compared
            .rows
            .iter()
            .filter(|row| row.metric == self.metric)
            .map(|row| (row, self.of(row)))
            .collect()
    }

    /// The sentence about a row.
    pub fn text(&self, row: &Row, crossed: Crossed) -> String {
        let place = &row.place;
        let label = row.metric.label;
        let change = words::share(self.change.abs());
        let way = if self.change.is_sign_negative() {
            "less"
        } else {
            "more"
        };
        match crossed {
            Crossed::Beyond => format!(
                "{self} failed: {label}, {place}: the whole interval is {change} {way} or worse"
            ),
            Crossed::Within => format!("{self} holds: {label}, {place}"),
            Crossed::Inconclusive => {
                let why = match row.estimate.as_ref().and_then(|found| found.interval) {
                    Some(_) if row.bound().is_some() => "a value is only a bound",
                    Some(_) => "the interval reaches to both sides of it",
                    None if row.answer == Answer::Single => {
                        "one trial each has no interval; give folders of several"
                    }
                    None => row.forbidden.as_deref().unwrap_or("there is no interval"),
                };
                format!("{self} is inconclusive: {label}, {place}: {why}")
            }
        }
    }
}
