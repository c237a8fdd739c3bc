//! How sharp a number is: a word for the width of its interval, apart from whether it is valid.

use serde::Serialize;

use crate::check::number;
use crate::summary::{Interval, Rounds};

/// A number is sharp where its interval reaches at most so far to either side. Policy.
pub const SHARP: f64 = 0.03;
/// And fair up to here. Policy.
pub const FAIR: f64 = 0.10;
/// Beyond this a width says nothing: one side had nothing in some round.
const FACTOR_MAX: f64 = 10.0;
/// More rounds than this nobody runs: then it is not said how many it would take.
pub(super) const ROUNDS_MAX: u64 = 1_000;

/// How sharp a number is.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sharpness {
    /// Within 3 %.
    Sharp,
    /// Within 10 %.
    Fair,
    /// Wider, or nobody knows how wide.
    Rough,
}

impl Sharpness {
    /// The word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Sharp => "sharp",
            Self::Fair => "fair",
            Self::Rough => "rough",
        }
    }
}

/// How sharp a number is, by its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Precision {
    /// In a word.
    pub sharpness: Sharpness,
    /// How far the interval reaches to either side, as a part of the number; none without one.
    pub half_width: Option<f64>,
    /// How many rounds it would take in all for it to be sharp, if the spread stays as it is; none
    /// where it is sharp, where nobody would run so many, or where one round tells nothing of it.
    pub rounds_to_be_sharp: Option<u64>,
}

impl Precision {
    /// Of a number of whose interval one end is not known.
    pub const fn unknown() -> Self {
        Self {
            sharpness: Sharpness::Rough,
            half_width: Some(f64::INFINITY),
            rounds_to_be_sharp: None,
        }
    }

    /// Of a median over rounds.
    pub fn of(rounds: &Rounds) -> Self {
        let width = match rounds.half_width() {
            Some(width) => Width::Known(width),
            None => Width::unknown(&rounds.values),
        };
        Self::new(width, rounds.values.len())
    }

    /// Of a ratio with its interval over so many rounds; `spread` is the standard deviation of the
    /// log ratio of one round.
    pub fn of_ratio(interval: Option<&Interval>, spread: Option<f64>, rounds: usize) -> Self {
        let width = match (interval, spread) {
            // Half the width in logs, as a part of the number.
            (Some(interval), _) => {
                Width::Known(((interval.high.ln() - interval.low.ln()) / 2.0).exp_m1())
            }
            (None, Some(spread)) => Width::Spread(spread),
            (None, None) => Width::Nothing,
        };
        Self::new(width, rounds)
    }

    fn new(width: Width, rounds: usize) -> Self {
        let (half_width, expected) = match width {
            // An interval over k rounds narrows with the square root of k.
            Width::Known(width) => {
                let times = (width / SHARP).powi(2);
                (Some(width), Some(number(rounds as u64) * times))
            }
            // k = (z sigma / h)^2 (measurement of a mean to a half-width), half as many again for
            // a median.
            Width::Spread(spread) => (None, Some(1.57 * (1.96 * spread / SHARP).powi(2))),
            Width::Nothing => (None, None),
        };
        let sharpness = match half_width {
            Some(width) if width <= SHARP => Sharpness::Sharp,
            Some(width) if width <= FAIR => Sharpness::Fair,
            _ => Sharpness::Rough,
        };
        let is_sharp = sharpness == Sharpness::Sharp;
        Self {
            sharpness,
            half_width,
            rounds_to_be_sharp: expected
                .filter(|_| !is_sharp)
                .and_then(whole_rounds)
                .map(|rounds| rounds.max(crate::thresholds::ROUNDS_SUSPECT)),
        }
    }

    /// As a sentence has it: `sharp (within 1.2 %)`, `rough (within 24 %; about 380 rounds would
    /// make it sharp)`.
    pub fn text(&self) -> String {
        let within = self.within();
        let word = self.sharpness.word();
        match (self.sharpness, self.rounds_to_be_sharp) {
            (Sharpness::Sharp, _) | (_, None) => format!("{word} ({within})"),
            (_, Some(rounds)) => {
                let rounds = crate::words::count(rounds);
                format!("{word} ({within}; about {rounds} rounds would make it sharp)")
            }
        }
    }

    fn within(&self) -> String {
        match self.half_width {
            Some(width) if width.is_infinite() => "nobody knows where its interval ends".to_owned(),
            Some(width) if width > FACTOR_MAX => "not known within a factor of ten".to_owned(),
            Some(width) => {
                // Closer than anyone reads is not worth its digits.
                format!("within {}", crate::words::share(width.max(1e-4)))
            }
            None => "too few rounds for an interval".to_owned(),
        }
    }
}

/// What is known of the width of an interval.
enum Width {
    Known(f64),
    Spread(f64),
    Nothing,
}

impl Width {
    fn unknown(values: &[f64]) -> Self {
        let count = number(values.len() as u64);
        let mean = values.iter().sum::<f64>() / count;
        if values.len() < 2 || mean <= 0.0 {
            return Self::Nothing;
        }
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        Self::Spread((squares / (count - 1.0)).sqrt() / mean)
    }
}

/// So many rounds, if anyone would run them.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "bounded by what anyone would run"
)]
pub(super) fn whole_rounds(expected: f64) -> Option<u64> {
    let bound = number(ROUNDS_MAX);
    (expected.is_finite() && expected <= bound).then(|| expected.max(0.0).ceil() as u64)
}
