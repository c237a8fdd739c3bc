//! Times of a trial, or what they are at least.

use model::{Distribution, Span};
use verdict::summary::read;

use super::QUANTILES;

/// A time in microseconds, or what it is at least.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Time {
    /// That many.
    pub us: f64,
    /// Whether too few requests got an answer to say more than that it is longer.
    pub is_bound: bool,
}

impl Time {
    /// In microseconds; none of what is only a bound.
    pub(super) fn exact(self) -> Option<f64> {
        (!self.is_bound).then_some(self.us)
    }
}

/// A time at each of [`QUANTILES`] that the sample supports.
pub(super) type Quantiles = [Option<Time>; QUANTILES.len()];

/// The quantiles that the sample supports, where nobody waited longer than `timeout`.
pub(super) fn quantiles(times: &Distribution, timeout: Span) -> Quantiles {
    QUANTILES.map(|(q, _)| {
        let (span, is_bound) = read(times, q).at_least(times, timeout)?;
        let us = span.as_us_f64();
        Some(Time { us, is_bound })
    })
}
