//! How values become places on an axis, and where its marks stand.

use crate::number::{Unit, byte_scale};

/// How values become places.
#[derive(Clone, Debug, PartialEq)]
pub enum Scale {
    /// Named places side by side.
    Category(Vec<String>),
    /// Equal steps are equal distances; begins at zero.
    Linear,
    /// Equal ratios are equal distances.
    Log,
    /// Quantiles from 0 to 1, as they are kept: the place of q is log10 of 1 ÷ (1 − q), so that
    /// 90, 99 and 99.9 per cent are equally far apart.
    Quantile,
}

/// The highest quantile that is drawn; one itself has no place.
const QUANTILE_HIGHEST: f64 = 0.999_999;

impl Scale {
    /// A logarithmic scale where the values span more than a decade and grow by ratio rather
    /// than by step; a linear one otherwise.
    pub fn suited(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        sorted.dedup();
        let [first, .., last] = sorted.as_slice() else {
            return Self::Linear;
        };
        if *first <= 0.0 || last / first < 10.0 {
            return Self::Linear;
        }
        let below_middle = sorted
            .iter()
            .filter(|value| **value <= f64::midpoint(*first, *last))
            .count();
        // Evenly spaced values have half of theirs below the middle of the range; two are no steps.
        if sorted.len() == 2 || below_middle * 5 >= sorted.len() * 3 {
            Self::Log
        } else {
            Self::Linear
        }
    }

    /// A value as the scale counts it.
    pub fn count(&self, value: f64) -> f64 {
        match self {
            Self::Category(_) | Self::Linear => value,
            Self::Log => value.log10(),
            Self::Quantile => -(1.0 - value.min(QUANTILE_HIGHEST)).log10(),
        }
    }

    /// Where values between `low` and `high`, counted in `unit`, stand.
    pub fn placing(&self, unit: Unit, low: f64, high: f64) -> Placing<'_> {
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let size = high.max(0.0) - low.min(0.0);
        let step = step(unit, size);
        let (from, to) = match self {
            Self::Category(names) => (-0.5, index(names.len()) - 0.5),
            Self::Linear => {
                let down = (low.min(0.0) / step).floor() * step;
                (down, (high / step - 1e-9).ceil() * step)
            }
            Self::Log => {
                let low = if low > 0.0 { low } else { high.max(1.0) / 1e3 };
                (low.log10() - 0.02, high.max(low).log10() + 0.02)
            }
            Self::Quantile => (self.count(low.min(0.5)), self.count(high)),
        };
        let to = if to > from { to } else { from + 1.0 };
        Placing {
            scale: self,
            unit,
            from,
            to,
            step,
            size,
        }
    }
}

/// A scale with its ends: values become places from 0 to 1.
#[derive(Clone, Debug)]
pub struct Placing<'a> {
    scale: &'a Scale,
    unit: Unit,
    from: f64,
    to: f64,
    /// From mark to mark where steps are equal.
    step: f64,
    /// How far the values reach.
    size: f64,
}

/// Where marks stand within a decade.
const WITHIN_DECADE: &[f64] = &[1.0, 2.0, 5.0, 10.0];

impl Placing<'_> {
    /// The same with ends at marks, where ratios are equal: below and above all values stands what
    /// they are held against.
    #[must_use]
    pub fn to_marks(mut self) -> Self {
        if *self.scale != Scale::Log {
            return self;
        }
        let marks = |decade: f64| -> Vec<f64> {
            match self.unit {
                Unit::Bytes => (0..64).map(|power| 2f64.powi(power).log10()).collect(),
                _ => {
                    let digits = WITHIN_DECADE.iter();
                    digits.map(|digit| decade + digit.log10()).collect()
                }
            }
        };
        // What was left of room at the ends is not worth another mark.
        let (low, high) = (self.from + 0.02, self.to - 0.02);
        let mut below = marks(low.floor()).into_iter().rev();
        let mut above = marks(high.floor()).into_iter();
        self.from = below.find(|mark| *mark <= low + 1e-9).unwrap_or(self.from);
        self.to = above.find(|mark| *mark >= high - 1e-9).unwrap_or(self.to);
        if self.to <= self.from {
            self.to = self.from + 1.0;
        }
        self
    }

    /// The place of `value`: 0 at the low end, 1 at the high end.
    pub fn place(&self, value: f64) -> f64 {
        (self.scale.count(value) - self.from) / (self.to - self.from)
    }

    /// The ends, as values.
    pub fn ends(&self) -> (f64, f64) {
        match self.scale {
            Scale::Category(_) | Scale::Linear => (self.from, self.to),
            Scale::Log => (10f64.powf(self.from), 10f64.powf(self.to)),
            Scale::Quantile => (1.0 - 10f64.powf(-self.from), 1.0 - 10f64.powf(-self.to)),
        }
    }

    /// The values that get a mark, in order.
    pub fn ticks(&self) -> Vec<f64> {
        match self.scale {
            Scale::Category(names) => (0..names.len()).map(index).collect(),
            Scale::Linear => {
                let step = self.step;
                (0..=12)
                    .map(|n| self.from + step * f64::from(n))
                    .filter(|value| *value <= self.to + step / 1e3)
                    .map(|value| if value.abs() < step / 1e3 { 0.0 } else { value })
                    .collect()
            }
            Scale::Log if self.unit == Unit::Bytes => self.binary_ticks(),
            Scale::Log => self.log_ticks(),
            Scale::Quantile => [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999]
                .into_iter()
                .filter(|q| (-1e-9..=1.0 + 1e-9).contains(&self.place(*q)))
                .collect(),
        }
    }

    /// What is written at a mark: with equal steps all marks have one unit.
    pub fn label(&self, mark: f64) -> String {
        match self.scale {
            Scale::Category(names) => names
                .iter()
                .enumerate()
                .find(|(position, _)| (index(*position) - mark).abs() < 0.5)
                .map_or_else(String::new, |(_, name)| name.clone()),
            Scale::Linear => self.unit.tick_beside(mark, self.size),
            Scale::Log => self.unit.tick(mark),
            Scale::Quantile => quantile_name(mark),
        }
    }

    /// Marks at 1, 2 and 5 times each power of ten where there is room, else at the powers.
    fn log_ticks(&self) -> Vec<f64> {
        let decades = self.to - self.from;
        let within = match decades < 2.6 {
            true => &WITHIN_DECADE[..3],
            false => &WITHIN_DECADE[..1],
        };
        let mut ticks = Vec::new();
        let mut power = self.from.floor();
        while power <= self.to {
            for digit in within {
                let value = digit * 10f64.powf(power);
                if (-1e-9..=1.0 + 1e-9).contains(&self.place(value)) {
                    ticks.push(value);
                }
            }
            power += 1.0;
        }
        // Ten decades and more: every other one.
        if ticks.len() > 10 {
            ticks = ticks.into_iter().step_by(2).collect();
        }
        ticks
    }
}

impl Placing<'_> {
    /// Marks at powers of two, as few as there is room for.
    fn binary_ticks(&self) -> Vec<f64> {
        let (low, high) = self.ends();
        let powers: Vec<f64> = (0..64)
            .map(|power| 2f64.powi(power))
            .filter(|value| (low * (1.0 - 1e-9)..=high * (1.0 + 1e-9)).contains(value))
            .collect();
        let every = powers.len().div_ceil(8).max(1);
        powers.into_iter().step_by(every).collect()
    }
}

/// A round step of a unit that cuts `range` into four to eight: bytes go by powers of 1024.
fn step(unit: Unit, range: f64) -> f64 {
    let whole = if unit == Unit::Bytes {
        byte_scale(range).0
    } else {
        1.0
    };
    whole * round_step(range / whole)
}

/// A round step that cuts `range` into four to eight.
fn round_step(range: f64) -> f64 {
    if range.is_nan() || range <= 0.0 {
        return 1.0;
    }
    let raw = range / 5.0;
    let power = 10f64.powf(raw.log10().floor());
    let digit = match raw / power {
        d if d <= 1.0 => 1.0,
        d if d <= 2.0 => 2.0,
        d if d <= 5.0 => 5.0,
        _ => 10.0,
    };
    digit * power
}

/// `p99.9` for 0.999.
pub fn quantile_name(q: f64) -> String {
    let percent = format!("{:.4}", q * 100.0);
    format!("p{}", percent.trim_end_matches('0').trim_end_matches('.'))
}

/// A position as a number on an axis.
#[expect(clippy::cast_precision_loss, reason = "a handful of categories")]
pub fn index(position: usize) -> f64 {
    position as f64
}
