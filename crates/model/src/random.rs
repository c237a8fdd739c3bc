//! Random numbers that a seed determines: the same on every machine and for ever, so that a stored
//! seed tells what was done.

/// SplitMix64 (Steele, Lea and Flood 2014, "Fast splittable pseudorandom number generators"):
/// passes BigCrush, and has eight bytes of state.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The numbers of `seed`.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of `stream` under `seed`; streams do not resemble each other.
    pub const fn stream(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed ^ stream.wrapping_mul(0xd134_2543_de82_ef95));
        random.0 = random.next_u64();
        random
    }

    /// 64 random bits.
    pub const fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// From 0 up to but not including 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are exact")]
    pub const fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// A number below `bound`, which is not 0. The bias of the product is below 2^-32 for a bound
    /// that fits 32 bits.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no number below 0");
        let product = u128::from(self.next_u64()) * (bound as u128);
        usize::try_from(product >> 64).expect("it is below a usize")
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            let other = self.below(last + 1);
            items.swap(last, other);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_the_paper() {
        let mut random = Random::new(1_234_567);
        let first = [random.next_u64(), random.next_u64(), random.next_u64()];
        assert_eq!(
            first,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn streams_differ_and_repeat() {
        let draws = |seed, stream| Random::stream(seed, stream).next_u64();
        assert_eq!(draws(5, 0), draws(5, 0));
        assert_ne!(draws(5, 0), draws(5, 1));
        assert_ne!(draws(5, 0), draws(6, 0));
    }

    #[test]
    fn units_are_below_one_and_evenly_spread() {
        let mut random = Random::new(1);
        let units: Vec<f64> = (0..100_000).map(|_| random.unit()).collect();
        assert!(units.iter().all(|unit| (0.0..1.0).contains(unit)));
        let mean = units.iter().sum::<f64>() / 100_000.0;
        assert!((mean - 0.5).abs() < 0.005, "{mean}");
    }

    #[test]
    fn shuffles_are_fair_enough_to_reach_every_order() {
        let mut random = Random::new(42);
        let mut seen = std::collections::BTreeSet::new();
        for _ in 0..1_000 {
            let mut items = [0, 1, 2, 3];
            random.shuffle(&mut items);
            seen.insert(items);
        }
        assert_eq!(seen.len(), 24);
    }
}
