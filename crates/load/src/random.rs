//! Seeded randomness: the same seed and stream give the same numbers on every machine.

/// `SplitMix64` (Steele, Lea, Flood 2014): passes `BigCrush`, and eight bytes of state.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    state: u64,
}

impl Random {
    /// The numbers of `stream` under `seed`; streams do not resemble each other.
    pub(crate) fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self {
            state: seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95),
        };
        random.state = random.next_u64();
        random
    }

    /// 64 random bits.
    pub(crate) const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0, at most 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit exactly")]
    pub(crate) fn unit(&mut self) -> f64 {
        ((self.next_u64() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Exponentially distributed with mean 1.
    pub(crate) fn exponential(&mut self) -> f64 {
        -self.unit().ln()
    }
}
