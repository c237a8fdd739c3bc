//! Random numbers that a seed repeats.

use model::units::Span;

/// The project's random numbers, as the simulation draws them.
#[derive(Clone, Debug)]
pub(super) struct Random(model::random::Random);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(model::random::Random::new(seed))
    }

    pub(super) const fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `bound`, which is above 0 and so small that the remainder is fair.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        debug_assert!(bound > 0, "there is no number below 0");
        self.bits() % bound
    }

    /// A span of at most `most`.
    pub(super) fn span(&mut self, most: Span) -> Span {
        Span::from_ns(self.below(most.as_ns().saturating_add(1).max(1)))
    }

    /// True in so many of a thousand cases.
    pub(super) fn happens(&mut self, per_thousand: u16) -> bool {
        per_thousand > 0 && self.below(1_000) < u64::from(per_thousand)
    }

    /// Above 0 and up to 1, in 53 bits.
    #[expect(
        clippy::cast_precision_loss,
        reason = "both are at most 2^53, which a float holds exactly"
    )]
    pub(super) const fn uniform(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}
