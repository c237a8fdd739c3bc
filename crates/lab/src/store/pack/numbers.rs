//! Whole numbers in few bits: a binary range coder with models that learn from what they have seen
//! (ADR 0047).
//!
//! The coder is that of LZMA, with probabilities of 16 bits. A number is whether it is zero, its
//! sign, the count of its bits and those bits from the highest on; the first of them have models,
//! the others cost a bit each. Writing and reading are one function, so that both always agree.

use std::iter::Copied;
use std::slice::Iter;

/// Below this, the range takes another byte.
const TOP: u32 = 1 << 24;
/// A probability stays this far from never and always.
const EDGE: u32 = 48;
/// What a model has learned from so many bits is forgotten for what comes.
const SEEN_MAX: u32 = 60;
/// So many of the highest bits of a number have models.
const MODELLED: u32 = 7;
/// Kinds of places that numbers of one stream may have.
pub(super) const PLACES: usize = 4;

/// How likely a zero is, as far from a half as the lower 16 bits say, and how many bits it has
/// seen. One that has seen nothing is zero, which costs nothing to make by the thousand.
type Model = u32;

fn zero_of(model: Model) -> u32 {
    (model & 0xffff) ^ 0x8000
}

fn learn(model: &mut Model, bit: bool) {
    let (zero, seen) = (zero_of(*model), *model >> 16);
    let zero = match bit {
        true => zero - zero / (seen + 2),
        false => zero + (0x1_0000 - zero) / (seen + 2),
    };
    let zero = zero.clamp(EDGE, 0x1_0000 - EDGE);
    *model = (seen + 1).min(SEEN_MAX) << 16 | (zero ^ 0x8000);
}

/// What writes bits, or reads them: then it returns what it read, and not what it was given. Both
/// narrow their range alike, and go on by a byte at the same bits.
pub(super) trait Coder {
    fn range(&mut self) -> &mut u32;

    /// Goes on by a byte.
    fn shift(&mut self);

    /// Takes what lies from `bound` on for a one, and what lies below it for a zero; returns which
    /// it was.
    fn side(&mut self, bound: u32, bit: bool) -> bool;

    /// A bit that `model` tells something of.
    fn bit(&mut self, model: &mut Model, bit: bool) -> bool {
        let range = *self.range();
        let bound = (range >> 16) * zero_of(*model);
        let bit = self.side(bound, bit);
        *self.range() = if bit { range - bound } else { bound };
        learn(model, bit);
        self.grow();
        bit
    }

    /// A bit that nobody knows anything of.
    fn plain(&mut self, bit: bool) -> bool {
        let half = *self.range() >> 1;
        let bit = self.side(half, bit);
        *self.range() = half;
        self.grow();
        bit
    }

    fn grow(&mut self) {
        while *self.range() < TOP {
            *self.range() <<= 8;
            self.shift();
        }
    }
}

/// Writes bits.
#[derive(Debug)]
pub(super) struct Encoder {
    low: u64,
    range: u32,
    /// The byte that a carry may still reach, and how many bytes of ones are behind it.
    held: u8,
    pending: u64,
    bytes: Vec<u8>,
}

impl Encoder {
    pub(super) fn new() -> Self {
        Self {
            low: 0,
            range: u32::MAX,
            held: 0,
            pending: 0,
            bytes: Vec::new(),
        }
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// All bytes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        for _ in 0..5 {
            self.shift();
        }
        self.bytes
    }
}

impl Coder for Encoder {
    fn range(&mut self) -> &mut u32 {
        &mut self.range
    }

    fn shift(&mut self) {
        let [_, _, _, _, carry, ..] = self.low.to_le_bytes();
        if self.low < 0xff00_0000 || carry > 0 {
            self.bytes.push(self.held.wrapping_add(carry));
            for _ in 0..self.pending {
                self.bytes.push(0xff_u8.wrapping_add(carry));
            }
            self.pending = 0;
            self.held = self.low.to_le_bytes()[3];
        } else {
            self.pending += 1;
        }
        self.low = (self.low & 0x00ff_ffff) << 8;
    }

    fn side(&mut self, bound: u32, bit: bool) -> bool {
        if bit {
            self.low += u64::from(bound);
        }
        bit
    }
}

/// Reads bits.
#[derive(Debug)]
pub(super) struct Decoder<'a> {
    code: u32,
    range: u32,
    rest: Copied<Iter<'a, u8>>,
    is_over: bool,
}

impl<'a> Decoder<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let mut decoder = Self {
            code: 0,
            range: u32::MAX,
            rest: bytes.iter().copied(),
            is_over: false,
        };
        for _ in 0..5 {
            decoder.shift();
        }
        decoder
    }

    /// Whether more was read than was there.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }
}

impl Coder for Decoder<'_> {
    fn range(&mut self) -> &mut u32 {
        &mut self.range
    }

    fn shift(&mut self) {
        let byte = self.rest.next();
        self.is_over |= byte.is_none();
        self.code = self.code << 8 | u32::from(byte.unwrap_or(0));
    }

    fn side(&mut self, bound: u32, _: bool) -> bool {
        let bit = self.code >= bound;
        if bit {
            self.code -= bound;
        }
        bit
    }
}

/// What is known of the numbers of one stream.
#[derive(Debug)]
pub(super) struct Numbers {
    other: Vec<Model>,
    sign: Vec<Model>,
    bits: Vec<Model>,
    value: Vec<Model>,
    /// Of each place, which of its last numbers were not zero, and how many bits the last had.
    last: [(usize, usize); PLACES],
}

impl Numbers {
    pub(super) fn new() -> Self {
        Self {
            other: vec![0; PLACES << 3],
            sign: vec![0; PLACES << 6],
            bits: vec![0; PLACES << 13],
            value: vec![0; PLACES << (6 + MODELLED)],
            last: [(0, 0); PLACES],
        }
    }

    /// Writes `value`, or reads one and returns it.
    pub(super) fn code(&mut self, coder: &mut impl Coder, value: i64, place: usize) -> i64 {
        let (recent, last) = self.last[place];
        let is_other = coder.bit(&mut self.other[place << 3 | recent], value != 0);
        self.last[place].0 = (recent << 1 | usize::from(is_other)) & 7;
        if !is_other {
            return 0;
        }
        let is_negative = coder.bit(&mut self.sign[place << 6 | last], value < 0);
        let size = value.unsigned_abs();
        let count = 63_u32.saturating_sub(size.leading_zeros());
        let mut node = 1;
        for at in (0..6).rev() {
            let model = &mut self.bits[(place << 6 | last) << 7 | node];
            node = node << 1 | usize::from(coder.bit(model, count >> at & 1 == 1));
        }
        let count = node & 63;
        self.last[place].1 = count;
        let models = (place << 6 | count) << MODELLED;
        let (mut read, mut node) = (1_u64, 1);
        for at in (0..count).rev() {
            let bit = size >> at & 1 == 1;
            let bit = match node >> MODELLED {
                0 => {
                    let bit = coder.bit(&mut self.value[models | node], bit);
                    node = node << 1 | usize::from(bit);
                    bit
                }
                _ => coder.plain(bit),
            };
            read = read << 1 | u64::from(bit);
        }
        // A negative number may be the least of all, which has no positive one.
        let signed = read.cast_signed();
        match is_negative {
            true => signed.wrapping_neg(),
            false => signed,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(numbers: &[(i64, usize)]) -> usize {
        let (mut encoder, mut models) = (Encoder::new(), Numbers::new());
        for &(number, place) in numbers {
            models.code(&mut encoder, number, place);
        }
        let bytes = encoder.finish();
        let (mut decoder, mut models) = (Decoder::new(&bytes), Numbers::new());
        for &(number, place) in numbers {
            assert_eq!(models.code(&mut decoder, 0, place), number);
        }
        assert!(!decoder.is_over());
        bytes.len()
    }

    #[test]
    fn numbers_of_all_sizes_are_read_as_they_were_written() {
        let mut all = vec![(0, 0), (i64::MAX, 1), (i64::MIN, 2), (i64::MIN + 1, 3)];
        for bits in 0..63 {
            all.extend([-1, 0, 1].map(|more| ((1_i64 << bits) + more, 0)));
            all.extend([-1, 0, 1].map(|more| (-(1_i64 << bits) + more, 1)));
        }
        check(&all);
        check(&[]);
    }

    #[test]
    fn what_repeats_costs_next_to_nothing() {
        let size = check(&vec![(0, 0); 100_000]);
        assert!(size < 200, "{size}");
    }

    #[test]
    fn what_is_cut_off_is_noticed() {
        let bytes = {
            let (mut encoder, mut models) = (Encoder::new(), Numbers::new());
            for n in 0..1_000 {
                models.code(&mut encoder, n * 77_777, 0);
            }
            encoder.finish()
        };
        let (mut decoder, mut models) = (Decoder::new(&bytes[..bytes.len() / 2]), Numbers::new());
        for _ in 0..1_000 {
            models.code(&mut decoder, 0, 0);
        }
        assert!(decoder.is_over());
    }

    proptest! {
        #[test]
        fn any_numbers_are_read_as_they_were_written(
            numbers in prop::collection::vec((any::<i64>(), 0_u32..64, 0..PLACES), 0..200)
        ) {
            let shifted = numbers.iter().map(|&(number, by, place)| (number >> by, place));
            check(&shifted.collect::<Vec<_>>());
        }
    }
}
