//! Draws that a load needs, from the numbers that a seed determines.

use model::random::Random as Bits;

/// Seeded randomness.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    bits: Bits,
}

impl Random {
    /// The numbers of `stream` under `seed`; streams do not resemble each other.
    pub(crate) const fn new(seed: u64, stream: u64) -> Self {
        Self {
            bits: Bits::stream(seed, stream),
        }
    }

    /// Above 0, at most 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    fn unit(&mut self) -> f64 {
        ((self.bits.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// From 0 up to but not including 1.
    pub(crate) const fn below_one(&mut self) -> f64 {
        self.bits.unit()
    }

    /// Below `bound`, which is not 0.
    #[inline]
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        let product = u128::from(self.bits.next_u64()) * u128::from(bound);
        u64::try_from(product >> 64).unwrap_or(0)
    }

    /// Normally distributed with mean 0 and variance 1 (Box and Muller 1958).
    pub(crate) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        radius * (std::f64::consts::TAU * self.unit()).cos()
    }

    /// Exponentially distributed with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}
