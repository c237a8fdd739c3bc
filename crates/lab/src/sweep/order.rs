//! Random order from a seed: SplitMix64, whose outputs are the same everywhere and for ever.

/// A source of random orders.
#[derive(Clone, Debug)]
pub struct Order {
    state: u64,
}

impl Order {
    /// The same seed gives the same orders.
    pub const fn from_seed(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014.
    pub const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, which is not 0. The bias of the product is below 2^-32 here.
    pub fn below(&mut self, bound: usize) -> usize {
        assert!(bound > 0, "there is no number below 0");
        let product = u128::from(self.next()) * (bound as u128);
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
