//! Numbers that cannot be mixed up: instants, spans, rates, bytes and ratios.
//!
//! Inside, time is whole nanoseconds and rates are whole thousandths per second, so that what is
//! recorded adds up exactly. Floating point begins where numbers are judged.

use std::fmt;
use std::iter::Sum;
use std::ops::{Add, AddAssign, Div, Mul, Sub};
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A point on the trial's monotonic clock, in nanoseconds since an origin that only the clock
/// knows.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[serde(transparent)]
pub struct Instant {
    ns: u64,
}

impl Instant {
    /// The latest instant there is: "never", for a deadline.
    pub const FAR_FUTURE: Self = Self { ns: u64::MAX };
    /// The origin of the clock.
    pub const ZERO: Self = Self { ns: 0 };

    /// The instant `ns` nanoseconds after the clock's origin.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// The span since `earlier`, or nothing at all if `earlier` is in fact later.
    pub const fn saturating_since(self, earlier: Self) -> Span {
        Span::from_ns(self.ns.saturating_sub(earlier.ns))
    }
}

impl Add<Span> for Instant {
    type Output = Self;

    fn add(self, span: Span) -> Self {
        Self {
            ns: self.ns.saturating_add(span.ns),
        }
    }
}

impl AddAssign<Span> for Instant {
    fn add_assign(&mut self, span: Span) {
        *self = *self + span;
    }
}

impl Sub for Instant {
    type Output = Span;

    fn sub(self, earlier: Self) -> Span {
        debug_assert!(earlier <= self, "{} ns is after {} ns", earlier.ns, self.ns);
        self.saturating_since(earlier)
    }
}

impl Sub<Span> for Instant {
    type Output = Self;

    fn sub(self, span: Span) -> Self {
        Self {
            ns: self.ns.saturating_sub(span.ns),
        }
    }
}

/// A length of time, in nanoseconds. At most 584 years.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Span {
    ns: u64,
}

impl Span {
    /// No time at all.
    pub const ZERO: Self = Self { ns: 0 };

    /// `ns` nanoseconds.
    pub const fn from_ns(ns: u64) -> Self {
        Self { ns }
    }

    /// `us` microseconds.
    pub const fn from_us(us: u64) -> Self {
        Self {
            ns: us.saturating_mul(1_000),
        }
    }

    /// `ms` milliseconds.
    pub const fn from_ms(ms: u64) -> Self {
        Self {
            ns: ms.saturating_mul(1_000_000),
        }
    }

    /// `s` seconds.
    pub const fn from_s(s: u64) -> Self {
        Self {
            ns: s.saturating_mul(1_000_000_000),
        }
    }

    /// Whole nanoseconds.
    pub const fn as_ns(self) -> u64 {
        self.ns
    }

    /// Microseconds, for reading; not for recording.
    #[expect(clippy::cast_precision_loss, reason = "a number for people")]
    pub fn as_us_f64(self) -> f64 {
        self.ns as f64 / 1e3
    }

    /// Seconds, for reading; not for recording.
    #[expect(clippy::cast_precision_loss, reason = "a number for people")]
    pub fn as_s_f64(self) -> f64 {
        self.ns as f64 / 1e9
    }

    /// As people say it: `22 s`, `2 min 13 s`, `1 h 5 min`; below a second with its unit, without
    /// digits that say nothing: `1 ns`, `2.5 ms`.
    pub fn people(self) -> String {
        let seconds = self.ns.saturating_add(500_000_000) / 1_000_000_000;
        match seconds {
            _ if self.ns < 1_000_000_000 => {
                let text = self.to_string();
                let (number, unit) = text.split_once(' ').unwrap_or((&text, ""));
                let number = match number.contains('.') {
                    true => number.trim_end_matches('0').trim_end_matches('.'),
                    false => number,
                };
                format!("{number} {unit}")
            }
            0..=119 => format!("{seconds} s"),
            120..=3_599 if seconds.is_multiple_of(60) => format!("{} min", seconds / 60),
            120..=3_599 => format!("{} min {} s", seconds / 60, seconds % 60),
            _ if seconds % 3_600 < 60 => format!("{} h", seconds / 3_600),
            _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
        }
    }

    /// Whether this is no time at all.
    pub const fn is_zero(self) -> bool {
        self.ns == 0
    }

    /// This span less `other`, at least zero.
    pub const fn saturating_sub(self, other: Self) -> Self {
        Self {
            ns: self.ns.saturating_sub(other.ns),
        }
    }
}

impl Add for Span {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            ns: self.ns.saturating_add(other.ns),
        }
    }
}

impl AddAssign for Span {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sub for Span {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        debug_assert!(other <= self, "{} ns is more than {} ns", other.ns, self.ns);
        self.saturating_sub(other)
    }
}

impl Mul<u64> for Span {
    type Output = Self;

    fn mul(self, count: u64) -> Self {
        Self {
            ns: self.ns.saturating_mul(count),
        }
    }
}

impl Div<u64> for Span {
    type Output = Self;

    fn div(self, count: u64) -> Self {
        Self {
            ns: self.ns / count,
        }
    }
}

impl Sum for Span {
    fn sum<I: Iterator<Item = Self>>(spans: I) -> Self {
        spans.fold(Self::ZERO, Add::add)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (value, unit) = match self.ns {
            0..1_000 => return write!(f, "{} ns", self.ns),
            1_000..1_000_000 => (self.as_us_f64(), "µs"),
            1_000_000..1_000_000_000 => (self.as_us_f64() / 1e3, "ms"),
            1_000_000_000..120_000_000_000 => (self.as_s_f64(), "s"),
            _ => (self.as_s_f64() / 60.0, "min"),
        };
        if value < 10.0 {
            write!(f, "{value:.2} {unit}")
        } else if value < 100.0 {
            write!(f, "{value:.1} {unit}")
        } else {
            write!(f, "{value:.0} {unit}")
        }
    }
}

/// Why a quantity on the command line or in a file could not be read.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("'{given}' is not {what}: write {example}")]
pub struct ParseQuantityError {
    given: String,
    what: &'static str,
    example: &'static str,
}

/// Splits "12.5ms" into its number and its unit.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_'))
        .unwrap_or(text.len());
    let number: f64 = text[..end].replace('_', "").parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

/// A non-negative float as a whole number, if it fits.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "the range is checked first"
)]
fn whole(value: f64) -> Option<u64> {
    (value >= 0.0 && value < u64::MAX as f64).then(|| value.round() as u64)
}

impl FromStr for Span {
    type Err = ParseQuantityError;

    /// A number with a unit: `ns us ms s m h`; a bare number is seconds.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (number, unit) = split_number(text)?;
            let scale = match unit {
                "ns" => 1.0,
                "us" | "µs" => 1e3,
                "ms" => 1e6,
                "" | "s" => 1e9,
                "m" | "min" => 6e10,
                "h" => 3.6e12,
                _ => return None,
            };
            whole(number * scale).map(Self::from_ns)
        };
        parse().ok_or_else(|| ParseQuantityError {
            given: text.to_owned(),
            what: "a time",
            example: "500us, 20ms, 10s or 2m",
        })
    }
}

/// So many per second, in thousandths: from one in 17 minutes to 18 thousand million million.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Rate {
    per_1000_s: u64,
}

impl Rate {
    /// `count` per second.
    pub const fn per_second(count: u64) -> Self {
        Self {
            per_1000_s: count.saturating_mul(1_000),
        }
    }

    /// `count` per thousand seconds: the unit it is kept in.
    pub const fn per_1000_s(count: u64) -> Self {
        Self { per_1000_s: count }
    }

    /// How many per second, for reading and for schedules.
    #[expect(clippy::cast_precision_loss, reason = "exact up to 9e15")]
    pub fn as_per_second_f64(self) -> f64 {
        self.per_1000_s as f64 / 1e3
    }

    /// How many per thousand seconds: the unit it is kept in.
    pub const fn as_per_1000_s(self) -> u64 {
        self.per_1000_s
    }

    /// Whether nothing ever happens at this rate.
    pub const fn is_zero(self) -> bool {
        self.per_1000_s == 0
    }
}

impl Mul<Span> for Rate {
    type Output = u64;

    /// How many whole ones fall into `span`.
    fn mul(self, span: Span) -> u64 {
        let count = u128::from(self.per_1000_s) * u128::from(span.ns) / 1_000_000_000_000;
        u64::try_from(count).unwrap_or(u64::MAX)
    }
}

impl FromStr for Rate {
    type Err = ParseQuantityError;

    /// A number per second, with `k` for thousands and `M` for millions: `0.5`, `2000`, `12.5k`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (number, unit) = split_number(text)?;
            let scale = match unit.trim_end_matches("/s") {
                "" => 1e3,
                "k" | "K" => 1e6,
                "m" | "M" => 1e9,
                _ => return None,
            };
            whole(number * scale)
                .filter(|rate| *rate > 0)
                .map(Self::per_1000_s)
        };
        parse().ok_or_else(|| ParseQuantityError {
            given: text.to_owned(),
            what: "a rate per second",
            example: "500, 2k or 0.5",
        })
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/s", self.as_per_second_f64())
    }
}

/// A number of bytes.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Bytes {
    count: u64,
}

impl Bytes {
    /// None.
    pub const ZERO: Self = Self { count: 0 };

    /// `count` bytes.
    pub const fn new(count: u64) -> Self {
        Self { count }
    }

    /// How many.
    pub const fn count(self) -> u64 {
        self.count
    }
}

impl Add for Bytes {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
        }
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Sum for Bytes {
    fn sum<I: Iterator<Item = Self>>(bytes: I) -> Self {
        bytes.fold(Self::ZERO, Add::add)
    }
}

impl FromStr for Bytes {
    type Err = ParseQuantityError;

    /// A number of bytes, with `k`, `M` and `G` for powers of 1024: `7`, `64k`, `1.5M`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = || {
            let (number, unit) = split_number(text)?;
            let scale = match unit.trim_end_matches(['b', 'B']).trim_end_matches('i') {
                "" => 1.0,
                "k" | "K" => 1024.0,
                "m" | "M" => 1024.0 * 1024.0,
                "g" | "G" => 1024.0 * 1024.0 * 1024.0,
                _ => return None,
            };
            whole(number * scale).map(Self::new)
        };
        parse().ok_or_else(|| ParseQuantityError {
            given: text.to_owned(),
            what: "a number of bytes",
            example: "100, 64k or 1M",
        })
    }
}

impl fmt::Display for Bytes {
    #[expect(clippy::cast_precision_loss, reason = "a number for people")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let count = self.count as f64;
        match self.count {
            0..1_024 => write!(f, "{} B", self.count),
            1_024..1_048_576 => write!(f, "{:.1} KiB", count / 1024.0),
            1_048_576..1_073_741_824 => write!(f, "{:.1} MiB", count / 1_048_576.0),
            _ => write!(f, "{:.2} GiB", count / 1_073_741_824.0),
        }
    }
}

/// A part of a whole, or one number in terms of another.
#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, PartialOrd, Serialize)]
#[serde(transparent)]
pub struct Ratio(f64);

impl Ratio {
    /// `part` in terms of `whole`; none where there is no whole.
    pub fn of(part: f64, whole: f64) -> Option<Self> {
        (whole > 0.0).then_some(Self(part / whole))
    }

    /// As a number; 1 is the whole.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// As per cent.
    pub fn percent(self) -> f64 {
        self.0 * 100.0
    }
}

#[cfg(test)]
mod tests;
