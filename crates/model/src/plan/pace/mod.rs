//! Rates that change and users who think: how they are written, and the arithmetic of both.
//!
//! A [`Stage`] is written `30s:1k` (the rate changes evenly to 1,000/s within 30 s), `30s:=1k` (it
//! jumps there and stays) or `30s:!9k/5s` (a flash crowd: it jumps to 9,000/s, and of what is more
//! than before, half has gone every 5 s). A [`Curve`] is what stages mean: how many arrivals until
//! when, and when the n-th of them.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::units::{Rate, Span};

/// How long a user waits between an answer and the next request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Think {
    /// Always as long.
    Constant {
        /// So long.
        #[serde(rename = "time_ns")]
        time: Span,
    },
    /// At random, without memory.
    Exponential {
        /// On average.
        #[serde(rename = "mean_ns")]
        mean: Span,
    },
    /// At random, its logarithm normally distributed: most short, some very long.
    LogNormal {
        /// Half are shorter.
        #[serde(rename = "median_ns")]
        median: Span,
        /// The standard deviation of the natural logarithm, in thousandths.
        sigma_per_1000: u32,
    },
    /// At random, each length between two as probable.
    Uniform {
        /// The shortest.
        #[serde(rename = "from_ns")]
        from: Span,
        /// The longest.
        #[serde(rename = "to_ns")]
        to: Span,
    },
}

impl FromStr for Think {
    type Err = String;

    /// `100ms`, `exp:100ms`, `uniform:50ms-150ms` or `lognormal:100ms/1.2` (median and sigma).
    fn from_str(text: &str) -> Result<Self, String> {
        let span = |text: &str| text.parse::<Span>().map_err(|error| error.to_string());
        match text.split_once(':') {
            None => Ok(Self::Constant { time: span(text)? }),
            Some(("exp", mean)) => Ok(Self::Exponential { mean: span(mean)? }),
            Some(("uniform", both)) => {
                let (from, to) = both
                    .split_once('-')
                    .ok_or("write uniform:SHORTEST-LONGEST, as in uniform:50ms-150ms")?;
                let (from, to) = (span(from)?, span(to)?);
                if from > to {
                    return Err(format!("the shortest, {from}, is longer than {to}"));
                }
                Ok(Self::Uniform { from, to })
            }
            Some(("lognormal", both)) => {
                let form = "write lognormal:MEDIAN/SIGMA, as in lognormal:100ms/1.2";
                let (median, sigma) = both.split_once('/').ok_or(form)?;
                let sigma: f64 = sigma.parse().map_err(|_| form)?;
                if !(0.0..=5.0).contains(&sigma) {
                    return Err("sigma is 0 to 5".to_owned());
                }
                Ok(Self::LogNormal {
                    median: span(median)?,
                    sigma_per_1000: thousandths(sigma),
                })
            }
            Some((law, _)) => Err(format!(
                "'{law}' is not a law of think times: write 100ms, exp:100ms, uniform:50ms-150ms \
                 or lognormal:100ms/1.2"
            )),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "0 to 5,000"
)]
fn thousandths(sigma: f64) -> u32 {
    (sigma * 1e3).round() as u32
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant { time } => write!(f, "{}", Exact(*time)),
            Self::Exponential { mean } => write!(f, "exp:{}", Exact(*mean)),
            Self::LogNormal {
                median,
                sigma_per_1000,
            } => {
                let sigma = f64::from(*sigma_per_1000) / 1e3;
                write!(f, "lognormal:{}/{sigma}", Exact(*median))
            }
            Self::Uniform { from, to } => write!(f, "uniform:{}-{}", Exact(*from), Exact(*to)),
        }
    }
}

/// One stretch of a schedule whose rate changes.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Stage {
    /// How long it lasts.
    #[serde(rename = "length_ns")]
    pub length: Span,
    /// What the rate does in it.
    #[serde(flatten)]
    pub form: Form,
}

/// What a rate does in a stage.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Form {
    /// It jumps, and what is more than before decays.
    Flash {
        /// Where it jumps to.
        peak_per_1000_s: Rate,
        /// Within this time half of what is more than before has gone.
        #[serde(rename = "half_life_ns")]
        half_life: Span,
    },
    /// It jumps and stays.
    Hold {
        /// Where it jumps to.
        rate_per_1000_s: Rate,
    },
    /// It changes evenly from where it was, at first from 0.
    Ramp {
        /// Where it ends.
        rate_per_1000_s: Rate,
    },
}

impl FromStr for Stage {
    type Err = String;

    /// `30s:1k`, `30s:=1k` or `30s:!9k/5s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (length, rest) = text
            .split_once(':')
            .ok_or_else(|| format!("'{text}' is not a stage: write TIME:RATE, as in 30s:1k"))?;
        let span = |text: &str| text.parse::<Span>().map_err(|error| error.to_string());
        let length = span(length)?;
        if length.is_zero() {
            return Err(format!("'{text}': a stage must last more than 0"));
        }
        let form = if let Some(held) = rest.strip_prefix('=') {
            Form::Hold {
                rate_per_1000_s: rate(held)?,
            }
        } else if let Some(flash) = rest.strip_prefix('!') {
            let (peak, half_life) = flash.split_once('/').ok_or_else(|| {
                format!(
                    "'{text}' is not a flash crowd: write TIME:!PEAK/HALF-LIFE, as in \
                         60s:!9k/5s"
                )
            })?;
            let half_life = span(half_life)?;
            if half_life.is_zero() {
                return Err(format!("'{text}': the half-life must be more than 0"));
            }
            Form::Flash {
                peak_per_1000_s: rate(peak)?,
                half_life,
            }
        } else {
            Form::Ramp {
                rate_per_1000_s: rate(rest)?,
            }
        };
        Ok(Self { length, form })
    }
}

/// A rate that may be 0.
fn rate(text: &str) -> Result<Rate, String> {
    if text.trim().parse() == Ok(0.0) {
        return Ok(Rate::per_1000_s(0));
    }
    text.parse::<Rate>().map_err(|error| error.to_string())
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", Exact(self.length))?;
        match self.form {
            Form::Flash {
                peak_per_1000_s,
                half_life,
            } => {
                let peak = peak_per_1000_s.as_per_second_f64();
                write!(f, "!{peak}/{}", Exact(half_life))
            }
            Form::Hold { rate_per_1000_s } => write!(f, "={}", rate_per_1000_s.as_per_second_f64()),
            Form::Ramp { rate_per_1000_s } => write!(f, "{}", rate_per_1000_s.as_per_second_f64()),
        }
    }
}

/// A span as a flag takes it, nothing rounded.
struct Exact(Span);

impl fmt::Display for Exact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_ns();
        for (unit, name) in [(1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "us")] {
            if ns.is_multiple_of(unit) {
                return write!(f, "{}{name}", ns / unit);
            }
        }
        write!(f, "{ns}ns")
    }
}

impl Stage {
    /// Whether it takes no time, or decays in none.
    pub(super) fn is_instant(&self) -> bool {
        let half_life = match self.form {
            Form::Flash { half_life, .. } => half_life,
            Form::Hold { .. } | Form::Ramp { .. } => self.length,
        };
        self.length.is_zero() || half_life.is_zero()
    }
}

/// How long all of them last.
pub fn length(stages: &[Stage]) -> Span {
    stages.iter().map(|stage| stage.length).sum()
}

/// The mean rate of all of them.
pub fn mean_rate(stages: &[Stage]) -> Rate {
    Curve::new(Span::ZERO, stages).mean_rate(Span::ZERO, length(stages))
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rate is not negative, and far below 2^63"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

/// What the sums and products that an integral is made of may have added to a whole number: some
/// thousand times the spacing of such numbers, and far less than one arrival of 2^38.
const ROUNDING: f64 = 2e-12;

/// The number of arrivals as a function of time, and its inverse.
#[derive(Clone, Debug, PartialEq)]
pub struct Curve {
    pieces: Box<[Piece]>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Piece {
    start_s: f64,
    length_s: f64,
    /// Arrivals before it.
    before: f64,
    shape: Shape,
}

/// The rate, in arrivals per second, as a function of the seconds since the piece began.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// What is more than `base` decays.
    Decay {
        base: f64,
        excess: f64,
        tau_s: f64,
    },
    Linear {
        rate: f64,
        slope: f64,
    },
}

impl Curve {
    /// That of `stages`, and before them for `warmup` that of the rate with which they begin.
    pub fn new(warmup: Span, stages: &[Stage]) -> Self {
        let mut pieces: Vec<Piece> = Vec::with_capacity(stages.len() + 1);
        let (mut start_s, mut before, mut rate) = (0.0, 0.0, 0.0);
        let first = stages.first().map_or(0.0, |stage| match stage.form {
            Form::Flash {
                peak_per_1000_s, ..
            } => peak_per_1000_s.as_per_second_f64(),
            Form::Hold { rate_per_1000_s } => rate_per_1000_s.as_per_second_f64(),
            Form::Ramp { .. } => 0.0,
        });
        let mut push = |length_s: f64, shape: Shape| {
            pieces.push(Piece {
                start_s,
                length_s,
                before,
                shape,
            });
            start_s += length_s;
            before += shape.count(length_s);
        };
        if !warmup.is_zero() {
            let constant = Shape::Linear {
                rate: first,
                slope: 0.0,
            };
            push(warmup.as_s_f64(), constant);
        }
        for stage in stages {
            let length_s = stage.length.as_s_f64();
            let shape = stage.form.shape(rate, length_s);
            rate = match stage.form {
                // What decays is on its way back to where it was.
                Form::Flash { .. } => shape.rate(length_s),
                Form::Hold { rate_per_1000_s } | Form::Ramp { rate_per_1000_s } => {
                    rate_per_1000_s.as_per_second_f64()
                }
            };
            push(length_s, shape);
        }
        Self {
            pieces: pieces.into(),
        }
    }

    /// That of a rate that never changes.
    pub fn constant(rate: Rate) -> Self {
        let shape = Shape::Linear {
            rate: rate.as_per_second_f64(),
            slope: 0.0,
        };
        Self {
            pieces: [Piece {
                start_s: 0.0,
                length_s: f64::INFINITY,
                before: 0.0,
                shape,
            }]
            .into(),
        }
    }

    /// The integral of the rate from the beginning until `span` later.
    pub fn count_until(&self, span: Span) -> f64 {
        let at_s = span.as_s_f64();
        let number = self.pieces.partition_point(|piece| piece.start_s <= at_s);
        let piece = &self.pieces[number.saturating_sub(1)];
        let within_s = (at_s - piece.start_s).clamp(0.0, piece.length_s);
        piece.before + piece.shape.count(within_s)
    }

    /// The mean of the rate between two times; 0 if that is no time.
    pub fn mean_rate(&self, from: Span, to: Span) -> Rate {
        let count = self.count_until(to) - self.count_until(from);
        let seconds = to.saturating_sub(from).as_s_f64().max(1e-9);
        Rate::per_1000_s(whole(count * 1e3 / seconds))
    }

    /// When the integral of the rate reaches `count`; none if it never does.
    pub fn instant_of(&self, count: f64) -> Option<Span> {
        let number = self.pieces.partition_point(|piece| piece.before <= count);
        let piece = &self.pieces[number.saturating_sub(1)];
        let within_s = match piece.shape.inverse(count - piece.before, piece.length_s) {
            // Rounding has taken away the last one of a piece.
            None if number < self.pieces.len() => piece.length_s,
            within_s => within_s?,
        };
        Some(Span::from_ns(whole_ns((piece.start_s + within_s) * 1e9)))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "not negative, and below 2^53 for a hundred days"
)]
const fn whole_ns(ns: f64) -> u64 {
    ns as u64
}

impl Form {
    /// The rate in a stage of `length_s`, where it was `before`.
    fn shape(self, before: f64, length_s: f64) -> Shape {
        match self {
            Self::Flash {
                peak_per_1000_s,
                half_life,
            } => Shape::Decay {
                base: before,
                excess: peak_per_1000_s.as_per_second_f64() - before,
                tau_s: half_life.as_s_f64() / std::f64::consts::LN_2,
            },
            Self::Hold { rate_per_1000_s } => Shape::Linear {
                rate: rate_per_1000_s.as_per_second_f64(),
                slope: 0.0,
            },
            Self::Ramp { rate_per_1000_s } => Shape::Linear {
                rate: before,
                slope: (rate_per_1000_s.as_per_second_f64() - before) / length_s,
            },
        }
    }
}

impl Shape {
    fn rate(self, at_s: f64) -> f64 {
        match self {
            Self::Decay {
                base,
                excess,
                tau_s,
            } => base + excess * (-at_s / tau_s).exp(),
            Self::Linear { rate, slope } => rate + slope * at_s,
        }
    }

    /// Arrivals until `at_s`.
    fn count(self, at_s: f64) -> f64 {
        match self {
            Self::Decay {
                base,
                excess,
                tau_s,
            } => base * at_s - excess * tau_s * (-at_s / tau_s).exp_m1(),
            Self::Linear { rate, slope } => at_s * (rate + slope * at_s / 2.0),
        }
    }

    /// When so many have arrived; none if that is not within `length_s`.
    fn inverse(self, count: f64, length_s: f64) -> Option<f64> {
        if count <= 0.0 {
            return (self.count(length_s) > 0.0).then_some(0.0);
        }
        if length_s.is_finite() && count >= self.count(length_s) * (1.0 - ROUNDING) {
            return None;
        }
        match self {
            Self::Decay { .. } => Some(self.search(count, length_s)),
            Self::Linear { rate, slope } => {
                let root = (rate * rate + 2.0 * slope * count).max(0.0).sqrt();
                // This form of the solution keeps its digits where the slope is small.
                Some((2.0 * count / (rate + root)).min(length_s))
            }
        }
    }

    /// Newton's method within bounds that halve where it leaves them.
    fn search(self, count: f64, length_s: f64) -> f64 {
        let (mut low, mut high) = (0.0, length_s);
        let mut at_s = 0.0;
        for _ in 0..100 {
            let missing = count - self.count(at_s);
            if missing > 0.0 {
                low = at_s;
            } else {
                high = at_s;
            }
            let step = at_s + missing / self.rate(at_s);
            let next = if step > low && step < high {
                step
            } else {
                f64::midpoint(low, high)
            };
            if (next - at_s).abs() < 1e-11 {
                return next;
            }
            at_s = next;
        }
        at_s
    }
}

#[cfg(test)]
mod tests;
