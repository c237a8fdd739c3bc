//! The Huffman code of HPACK (RFC 7541 §5.2 and appendix B).
//!
//! The code is canonical: it follows from the lengths of its words alone, so only they stand here.
//!
//! Cost: words of up to eight bits, which nearly all bytes of a head have, are one look in a table.

/// Bits of the word for each byte, and last for the end of the string.
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];

/// The end of the string, which never stands in one.
const EOS: u16 = 256;
/// The longest word.
const LONGEST: usize = 30;
/// Words up to this length are found by a look in a table.
const SHORT: u32 = 8;

/// The string breaks the code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct BadCode;

/// All words of one length: they are consecutive numbers.
#[derive(Clone, Copy)]
struct Group {
    /// The first word.
    first: u32,
    /// How many there are.
    count: u32,
    /// Where its symbol stands among all, by length and then by value.
    position: u32,
}

struct Code {
    /// By symbol.
    words: [u32; 257],
    /// By length.
    groups: [Group; LONGEST + 1],
    symbols: [u16; 257],
    /// What the next eight bits begin with: a symbol and the length of its word, or length 0.
    short: [(u8, u8); 1 << SHORT],
}

static CODE: Code = build();

#[expect(
    clippy::cast_possible_truncation,
    reason = "lengths are at most 30, symbols at most 256"
)]
const fn build() -> Code {
    let mut code = Code {
        words: [0; 257],
        groups: [Group {
            first: 0,
            count: 0,
            position: 0,
        }; LONGEST + 1],
        symbols: [0; 257],
        short: [(0, 0); 1 << SHORT],
    };
    let (mut word, mut position, mut length) = (0u32, 0u32, 1);
    while length <= LONGEST {
        word <<= 1;
        code.groups[length].first = word;
        code.groups[length].position = position;
        let mut symbol = 0;
        while symbol < LENGTHS.len() {
            if LENGTHS[symbol] as usize == length {
                code.words[symbol] = word;
                code.symbols[position as usize] = symbol as u16;
                if length <= SHORT as usize {
                    let spare = SHORT as usize - length;
                    let mut tail = 0;
                    while tail < 1 << spare {
                        code.short[((word as usize) << spare) + tail] =
                            (symbol as u8, length as u8);
                        tail += 1;
                    }
                }
                word += 1;
                position += 1;
                code.groups[length].count += 1;
            }
            symbol += 1;
        }
        length += 1;
    }
    code
}

/// How many bytes `text` takes in the code.
pub(crate) fn encoded_length(text: &[u8]) -> usize {
    let bits: usize = text
        .iter()
        .map(|byte| usize::from(LENGTHS[usize::from(*byte)]))
        .sum();
    bits.div_ceil(8)
}

/// Appends `text` in the code to `out`.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let (mut bits, mut held) = (0u64, 0u32);
    for byte in text {
        let length = u32::from(LENGTHS[usize::from(*byte)]);
        bits = bits << length | u64::from(CODE.words[usize::from(*byte)]);
        held += length;
        while held >= 8 {
            held -= 8;
            out.push((bits >> held).to_le_bytes()[0]);
        }
    }
    if held > 0 {
        // What is left of the last byte is the beginning of the end of the string: ones.
        let last = bits << (8 - held) | ((1 << (8 - held)) - 1);
        out.push(last.to_le_bytes()[0]);
    }
}

/// Appends what `bytes` mean to `out`.
///
/// # Errors
///
/// They break the code: the end of the string stands in it, or what fills the last byte is too long
/// or not made of ones.
pub(crate) fn decode(bytes: &[u8], out: &mut Vec<u8>) -> Result<(), BadCode> {
    let (mut bits, mut held) = (0u64, 0u32);
    let mut rest = bytes.iter();
    loop {
        while held <= 56 {
            let Some(byte) = rest.next() else {
                break;
            };
            bits |= u64::from(*byte) << (56 - held);
            held += 8;
        }
        let [first, ..] = bits.to_be_bytes();
        let (symbol, length) = CODE.short[usize::from(first)];
        let length = if length > 0 && u32::from(length) <= held {
            out.push(symbol);
            u32::from(length)
        } else if length == 0
            && let Some((symbol, length)) = long_word(bits)
            && length <= held
        {
            out.push(symbol);
            length
        } else {
            break;
        };
        bits <<= length;
        held -= length;
    }
    let is_filled = held < 8 && bits.leading_ones() >= held;
    if is_filled { Ok(()) } else { Err(BadCode) }
}

/// The word of more than eight bits at the start of `bits`, unless it is the end of the string.
fn long_word(bits: u64) -> Option<(u8, u32)> {
    for length in SHORT + 1..=30 {
        let word = u32::try_from(bits >> (64 - length)).ok()?;
        let group = &CODE.groups[length as usize];
        if word >= group.first && word - group.first < group.count {
            let symbol = CODE.symbols[(group.position + word - group.first) as usize];
            debug_assert!(symbol <= EOS);
            return u8::try_from(symbol).ok().map(|symbol| (symbol, length));
        }
    }
    None
}
