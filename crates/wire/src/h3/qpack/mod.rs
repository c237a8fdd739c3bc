//! QPACK, the compression of heads (RFC 9204), without a dynamic table: a peer that may not use one
//! sends nothing that depends on what came before.

mod table;

use self::table::STATIC;
use crate::h2::huffman;

/// A block of fields breaks the coding: the connection is of no more use (RFC 9204 §6).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct BadBlock;

/// Whether strings are written in the Huffman code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Form {
    /// Where that is shorter.
    Coded,
    /// They are not: longer, and cheaper to write and to read.
    Plain,
}

/// Room for strings that have to be decoded.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    name: Vec<u8>,
    value: Vec<u8>,
}

impl Decoder {
    /// Reads `block`; `each` gets name and value of each field, in order.
    pub(super) fn decode(
        &mut self,
        block: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<(), BadBlock> {
        let mut rest = block;
        // RFC 9204 §4.5.1: that it depends on nothing, and a base, which then has no meaning.
        if integer(&mut rest, 8)? != 0 {
            return Err(BadBlock);
        }
        integer(&mut rest, 7)?;
        while let Some(&first) = rest.first() {
            if first & 0x80 != 0 {
                let is_static = first & 0x40 != 0;
                let (name, value) = entry(integer(&mut rest, 6)?, is_static)?;
                each(name.as_bytes(), value.as_bytes());
            } else if first & 0x40 != 0 {
                let is_static = first & 0x10 != 0;
                let (name, _) = entry(integer(&mut rest, 4)?, is_static)?;
                self.value.clear();
                string(&mut rest, 7, &mut self.value)?;
                each(name.as_bytes(), &self.value);
            } else if first & 0x20 != 0 {
                self.name.clear();
                self.value.clear();
                string(&mut rest, 3, &mut self.name)?;
                string(&mut rest, 7, &mut self.value)?;
                each(&self.name, &self.value);
            } else {
                // It names an entry of the dynamic table.
                return Err(BadBlock);
            }
        }
        Ok(())
    }
}

fn entry(index: usize, is_static: bool) -> Result<(&'static str, &'static str), BadBlock> {
    let found = STATIC.get(index).filter(|_| is_static);
    found.copied().ok_or(BadBlock)
}

/// Reads an integer whose first byte has `prefix` bits of it (RFC 7541 §5.1).
fn integer(rest: &mut &[u8], prefix: u32) -> Result<usize, BadBlock> {
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

/// Reads a string whose length has `prefix` bits in its first byte, and appends it to `out`.
fn string(rest: &mut &[u8], prefix: u32, out: &mut Vec<u8>) -> Result<(), BadBlock> {
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

/// Appends what stands before all fields of a block.
pub(super) fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends a field whose name is in lower case: by its index if the static table has it.
pub(super) fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8], form: Form) {
    let mut named = None;
    for (position, (known, its)) in STATIC.iter().enumerate() {
        if known.as_bytes() == name {
            if its.as_bytes() == value {
                return put_integer(out, 0xc0, 6, position);
            }
            named = named.or(Some(position));
        }
    }
    match named {
        Some(position) => put_integer(out, 0x50, 4, position),
        None => put_string(out, 0x20, 3, name, form),
    }
    put_string(out, 0x00, 7, value, form);
}

fn put_string(out: &mut Vec<u8>, marks: u8, prefix: u32, text: &[u8], form: Form) {
    let coded = match form {
        Form::Coded => huffman::encoded_length(text),
        Form::Plain => text.len(),
    };
    if coded < text.len() {
        put_integer(out, marks | 1 << prefix, prefix, coded);
        huffman::encode(text, out);
    } else {
        put_integer(out, marks, prefix, text.len());
        out.extend_from_slice(text);
    }
}

/// Appends an integer whose first byte has `prefix` bits for it, beside `marks`.
fn put_integer(out: &mut Vec<u8>, marks: u8, prefix: u32, value: usize) {
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

#[cfg(test)]
mod tests;
