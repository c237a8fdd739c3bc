//! The one histogram: fixed bounds, clamps and counts what it clamps, merges exactly.
//!
//! Its buckets are laid out as HdrHistogram lays them out, so that its file form (HDR V2, zlib,
//! base64) is read by any HdrHistogram tool. Recording is a shift, a subtraction and four adds;
//! with [`Shape::TOTAL`] an array is 265 KiB, of which only touched pages cost memory.

mod hdr;
mod pair;
mod support;
mod thin;
pub mod zigzag;

use std::fmt;
use std::ops::Range;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use pair::{Pair, Which};
pub use support::{Support, support, values_needed};
pub use thin::Exact;

use crate::units::Span;

/// The bounds and the resolution of a distribution.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Shape {
    /// Values are resolved to 2 to this power nanoseconds at best.
    unit_magnitude: u8,
    /// Significant decimal digits: 2 or 3.
    digits: u8,
}

impl Shape {
    /// For per-interval distributions: 1.024 us at best, within 0.8 %.
    pub const INTERVAL: Self = Self {
        unit_magnitude: 10,
        digits: 2,
    };
    /// For totals: 1 ns at best, within 0.1 %.
    pub const TOTAL: Self = Self {
        unit_magnitude: 0,
        digits: 3,
    };

    /// The highest value kept apart; a higher one is clamped to it and counted. One hour.
    pub const HIGHEST: Span = Span::from_s(3600);

    /// log2 of half the number of sub-buckets: 10 for three digits, 7 for two.
    const fn half_magnitude(self) -> u32 {
        if self.digits == 3 { 10 } else { 7 }
    }

    /// Where `ns` is counted.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "at most 33 x 1024, by the clamp"
    )]
    const fn index_of(self, ns: u64) -> usize {
        let half = self.half_magnitude();
        let unit = self.unit_magnitude as u32;
        let mask = ((2u64 << half) - 1) << unit;
        let bucket = (64 - unit - half - 1) - (ns | mask).leading_zeros();
        let sub_bucket = ns >> (bucket + unit);
        (((bucket as u64 + 1) << half) + sub_bucket - (1 << half)) as usize
    }

    /// The lowest value counted at `index` and the width of what is counted there.
    #[expect(clippy::cast_possible_truncation, reason = "an index is below 2^16")]
    const fn range_of(self, index: usize) -> (u64, u64) {
        let half = self.half_magnitude();
        let unit = self.unit_magnitude as u32;
        let row = (index >> half) as u32;
        let (bucket, sub_bucket) = if row == 0 {
            (0, index as u64)
        } else {
            (row - 1, (index as u64 & ((1 << half) - 1)) + (1 << half))
        };
        (sub_bucket << (bucket + unit), 1 << (bucket + unit))
    }

    /// The lowest value that is told from zero.
    const fn lowest(self) -> u64 {
        1 << self.unit_magnitude
    }

    const fn len(self) -> usize {
        self.index_of(Self::HIGHEST.as_ns()) + 1
    }
}

/// How often each length of time was seen.
#[derive(Clone, PartialEq)]
pub struct Distribution {
    shape: Shape,
    counts: Box<[u64]>,
    count: u64,
    sum_ns: u64,
    min_ns: u64,
    max_ns: u64,
    clamped: u64,
    censored: u64,
}

impl fmt::Debug for Distribution {
    /// Without its thousands of buckets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Distribution")
            .field("count", &self.count)
            .field("min", &self.min())
            .field("p50", &self.quantile(0.5))
            .field("max", &self.max())
            .field("clamped", &self.clamped)
            .field("censored", &self.censored)
            .finish_non_exhaustive()
    }
}

impl Default for Distribution {
    fn default() -> Self {
        Self::new(Shape::TOTAL)
    }
}

impl Distribution {
    /// An empty one.
    pub fn new(shape: Shape) -> Self {
        Self {
            shape,
            counts: vec![0; shape.len()].into_boxed_slice(),
            count: 0,
            sum_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            clamped: 0,
            censored: 0,
        }
    }

    /// Counts one value.
    #[inline]
    pub fn record(&mut self, value: Span) {
        self.record_n(value, 1);
    }

    /// Counts the same value `times` times.
    #[inline]
    pub fn record_n(&mut self, value: Span, times: u64) {
        let index = self.note(value, times);
        self.counts[index] += times;
    }

    /// Takes note of a value but for its bucket, which is left to the caller.
    #[inline]
    fn note(&mut self, value: Span, times: u64) -> usize {
        let mut ns = value.as_ns();
        if ns > Shape::HIGHEST.as_ns() {
            ns = Shape::HIGHEST.as_ns();
            self.clamped += times;
        }
        self.count += times;
        self.sum_ns = self.sum_ns.saturating_add(ns.saturating_mul(times));
        self.min_ns = self.min_ns.min(ns);
        self.max_ns = self.max_ns.max(ns);
        self.shape.index_of(ns)
    }

    /// Counts one that ended without the answer it waited for: it is longer than anything seen,
    /// nobody knows by how much.
    #[inline]
    pub const fn record_censored(&mut self) {
        self.censored += 1;
    }

    /// Counts so many of them.
    pub const fn record_censored_n(&mut self, times: u64) {
        self.censored += times;
    }

    /// Adds all that `other` has seen. Associative and commutative.
    ///
    /// # Panics
    ///
    /// If the shapes differ.
    pub fn merge(&mut self, other: &Self) {
        assert_eq!(self.shape, other.shape, "distributions of one shape merge");
        let used = other.used();
        for (mine, theirs) in self.counts[used.clone()]
            .iter_mut()
            .zip(&other.counts[used])
        {
            *mine += theirs;
        }
        self.count += other.count;
        self.sum_ns = self.sum_ns.saturating_add(other.sum_ns);
        self.min_ns = self.min_ns.min(other.min_ns);
        self.max_ns = self.max_ns.max(other.max_ns);
        self.clamped += other.clamped;
        self.censored += other.censored;
    }

    /// Forgets everything, keeping the memory.
    pub fn clear(&mut self) {
        let used = self.used();
        self.counts[used].fill(0);
        self.count = 0;
        self.sum_ns = 0;
        self.min_ns = u64::MAX;
        self.max_ns = 0;
        self.clamped = 0;
        self.censored = 0;
    }

    /// The bounds and the resolution.
    pub const fn shape(&self) -> Shape {
        self.shape
    }

    /// Whether nothing was recorded.
    pub const fn is_empty(&self) -> bool {
        self.count() == 0 && self.censored() == 0
    }

    /// How many values were recorded, without the censored ones.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// How many ended without a value.
    pub const fn censored(&self) -> u64 {
        self.censored
    }

    /// How many were above [`Shape::HIGHEST`].
    pub const fn clamped(&self) -> u64 {
        self.clamped
    }

    /// All values added up: exact, not from the buckets.
    pub const fn sum(&self) -> Span {
        Span::from_ns(self.sum_ns)
    }

    /// The mean of the recorded values, exact.
    pub fn mean(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_ns(self.sum_ns / self.count))
    }

    /// The smallest recorded value, exact.
    pub fn min(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_ns(self.min_ns))
    }

    /// The largest recorded value, exact.
    pub fn max(&self) -> Option<Span> {
        (self.count > 0).then(|| Span::from_ns(self.max_ns))
    }

    /// The value at quantile `q` (0 to 1) of all, the censored ones counting as longer than any:
    /// none when it falls among those or nothing was seen.
    pub fn quantile(&self, q: f64) -> Option<Span> {
        self.value_at_rank(self.rank(q))
    }

    /// Which value stands at quantile `q`, counted from 1.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a rank below 2^53"
    )]
    fn rank(&self, q: f64) -> u64 {
        debug_assert!((0.0..=1.0).contains(&q), "{q} is not a quantile");
        let all = self.count + self.censored;
        // HdrHistogram's rule: the smallest value at or below which that share of all lies; a
        // product like 0.9 x 10 must not round up to the next rank.
        ((q * all as f64) - 1e-9 * all as f64).ceil().max(1.0) as u64
    }

    /// The `rank`-th smallest value (from 1): the highest that its bucket stands for.
    pub fn value_at_rank(&self, rank: u64) -> Option<Span> {
        if rank == 0 || rank > self.count {
            return None;
        }
        let mut seen = 0;
        for index in self.used() {
            seen += self.counts[index];
            if seen >= rank {
                let (lowest, width) = self.shape.range_of(index);
                return Some(Span::from_ns(
                    (lowest + width - 1).clamp(self.min_ns, self.max_ns),
                ));
            }
        }
        unreachable!("the buckets hold {} values", self.count)
    }

    /// How many values lie wholly above `bound`, the censored ones included.
    pub fn count_above(&self, bound: Span) -> u64 {
        let from = self
            .shape
            .index_of(bound.as_ns().min(Shape::HIGHEST.as_ns()))
            + 1;
        let used = self.used();
        let above = from.clamp(used.start, used.end)..used.end;
        self.counts[above].iter().sum::<u64>() + self.censored
    }

    /// Each non-empty bucket: its lowest value, its width and its count, in order.
    pub fn buckets(&self) -> impl Iterator<Item = (Span, Span, u64)> + '_ {
        let used = self.used().map(|index| (index, self.counts[index]));
        used.filter(|(_, n)| *n > 0).map(|(index, n)| {
            let (lowest, width) = self.shape.range_of(index);
            (Span::from_ns(lowest), Span::from_ns(width), n)
        })
    }

    /// The indices between which all is that was counted: a few hundred of tens of thousands.
    fn used(&self) -> Range<usize> {
        if self.count == 0 {
            return 0..0;
        }
        self.shape.index_of(self.min_ns)..self.shape.index_of(self.max_ns) + 1
    }

    /// HDR V2, zlib, base64: the form that HdrHistogram tools exchange.
    pub fn to_base64(&self) -> String {
        BASE64.encode(hdr::write(self))
    }
}

#[cfg(test)]
impl schemars::JsonSchema for Distribution {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Distribution".into()
    }

    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        File::json_schema(generator)
    }
}

/// How often each length of time was seen. A quantile that falls among the censored, or with fewer
/// than ten values beyond it, is null.
#[derive(Deserialize, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct File {
    /// Of the quantiles, `max`, `mean` and `min`: always `us`.
    unit: String,
    p50: Option<f64>,
    p90: Option<f64>,
    p99: Option<f64>,
    p99_9: Option<f64>,
    p99_99: Option<f64>,
    max: Option<f64>,
    mean: Option<f64>,
    min: Option<f64>,
    /// Values recorded.
    count: u64,
    /// Exchanges that ended without a value: longer than any that was recorded.
    censored: u64,
    /// Values above one hour, recorded as one hour.
    clamped: u64,
    /// All values added up.
    sum_ns: u64,
    /// The smallest value; 0 where there is none.
    min_ns: u64,
    /// The largest value; 0 where there is none.
    max_ns: u64,
    /// Significant decimal digits of the histogram: 2 or 3.
    digits: u8,
    /// Of the values in the histogram: always `ns`.
    histogram_unit: String,
    /// HdrHistogram V2, zlib, base64.
    histogram: String,
}

impl From<&Distribution> for File {
    fn from(distribution: &Distribution) -> Self {
        let all = distribution.count + distribution.censored;
        let us = |q| {
            let value = distribution.quantile(q).map(Span::as_us_f64);
            value.filter(|_| support(all, q) > Support::TooFew)
        };
        Self {
            unit: "us".to_owned(),
            p50: us(0.5),
            p90: us(0.9),
            p99: us(0.99),
            p99_9: us(0.999),
            p99_99: us(0.9999),
            max: distribution
                .max()
                .filter(|_| distribution.censored == 0)
                .map(Span::as_us_f64),
            mean: distribution.mean().map(Span::as_us_f64),
            min: distribution.min().map(Span::as_us_f64),
            count: distribution.count,
            censored: distribution.censored,
            clamped: distribution.clamped,
            sum_ns: distribution.sum_ns,
            min_ns: distribution.min().map_or(0, Span::as_ns),
            max_ns: distribution.max_ns,
            digits: distribution.shape.digits,
            histogram_unit: "ns".to_owned(),
            histogram: distribution.to_base64(),
        }
    }
}

impl Serialize for Distribution {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        File::from(self).serialize(serializer)
    }
}

impl File {
    /// The distribution that it is the form of. Whoever reads one compiles none of this.
    fn read(self) -> Result<Distribution, String> {
        let shape = match self.digits {
            2 => Shape::INTERVAL,
            3 => Shape::TOTAL,
            other => return Err(format!("{other} digits: expected 2 or 3")),
        };
        let bytes = BASE64.decode(&self.histogram);
        let bytes = bytes.map_err(|error| error.to_string())?;
        let distribution = hdr::read(&bytes, shape);
        let mut distribution = distribution.map_err(|why| format!("histogram: {why}"))?;
        if distribution.count != self.count {
            return Err(format!(
                "the histogram holds {} values, the count says {}",
                distribution.count, self.count
            ));
        }
        if self.count > 0 {
            let used = distribution.used();
            distribution.sum_ns = self.sum_ns;
            distribution.min_ns = self.min_ns.min(Shape::HIGHEST.as_ns());
            distribution.max_ns = self.max_ns.min(Shape::HIGHEST.as_ns());
            let stated = distribution.used();
            if stated.start > used.start || stated.end < used.end {
                return Err(format!(
                    "the histogram holds values that are not between {} and {} ns",
                    self.min_ns, self.max_ns
                ));
            }
        }
        distribution.clamped = self.clamped;
        distribution.censored = self.censored;
        Ok(distribution)
    }
}

impl<'de> Deserialize<'de> for Distribution {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = File::deserialize(deserializer)?.read();
        read.map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests;
