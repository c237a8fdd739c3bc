//! Integers and strings as HPACK and QPACK write them (RFC 7541 §5, RFC 9204 §4.1).

use crate::h2::huffman;

/// A block of fields breaks the coding: the connection is of no more use (RFC 7541 §2.3.3 and §3.2,
/// RFC 9204 §6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct BadBlock;

/// Reads an integer whose first byte has `prefix` bits of it (RFC 7541 §5.1).
#[inline]
pub(crate) fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, BadBlock> {
    let (&first, after) = rest.split_first().ok_or(BadBlock)?;
    *rest = after;
    let mask = usize::from(0xff_u8 >> (8 - prefix));
    let mut value = usize::from(first) & mask;
    if value < mask {
        return Ok(value);
    }
    for shift in [0, 7, 14, 21] {
        let (&byte, after) = rest.split_first().ok_or(BadBlock)?;
        *rest = after;
        value += usize::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
    }
    // No length and no index is that large.
    Err(BadBlock)
}

/// Reads a string whose length has `prefix` bits in its first byte, and appends it to `out` (RFC
/// 7541 §5.2).
#[inline]
pub(crate) fn string(rest: &mut &[u8], prefix: u32, out: &mut Vec<u8>) -> Result<(), BadBlock> {
    let is_coded = rest.first().ok_or(BadBlock)? & (1 << prefix) != 0;
    let length = integer(rest, prefix)?;
    let (text, after) = rest.split_at_checked(length).ok_or(BadBlock)?;
    *rest = after;
    if is_coded {
        huffman::decode(text, out).map_err(|_| BadBlock)
    } else {
        out.extend_from_slice(text);
        Ok(())
    }
}

/// Appends an integer whose first byte has `prefix` bits for it, beside `marks`.
pub(crate) fn put_integer(out: &mut Vec<u8>, marks: u8, prefix: u32, value: usize) {
    let mask = (1usize << prefix) - 1;
    let low = |value: usize| value.to_le_bytes()[0];
    if value < mask {
        return out.push(marks | low(value));
    }
    out.push(marks | low(mask));
    let mut rest = value - mask;
    while rest >= 0x80 {
        out.push(low(rest) | 0x80);
        rest >>= 7;
    }
    out.push(low(rest));
}

/// Appends a string whose length has `prefix` bits in its first byte, beside `marks`; in the
/// Huffman code where that is shorter and `may_code`.
pub(crate) fn put_string(out: &mut Vec<u8>, marks: u8, prefix: u32, text: &[u8], may_code: bool) {
    let coded = match may_code {
        true => huffman::encoded_length(text),
        false => text.len(),
    };
    if coded < text.len() {
        put_integer(out, marks | 1 << prefix, prefix, coded);
        huffman::encode(text, out);
    } else {
        put_integer(out, marks, prefix, text.len());
        out.extend_from_slice(text);
    }
}
