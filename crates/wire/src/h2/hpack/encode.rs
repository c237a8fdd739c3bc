//! Writing fields in HPACK.

use super::huffman;
use super::table::STATIC;

/// How a field is written that no table has whole.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Form {
    /// The peer puts it into its table.
    Kept,
    /// The peer forgets it.
    Passing,
    /// The same, without the Huffman code: longer, and cheaper to write and to read.
    Plain,
}

/// Appends a field whose name is in lower case: by its index if the static table has it.
pub(crate) fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8], form: Form) {
    let mut named = 0;
    for (position, (known, its)) in STATIC.iter().enumerate() {
        if known.as_bytes() == name {
            if its.as_bytes() == value {
                return indexed(out, position + 1);
            }
            if named == 0 {
                named = position + 1;
            }
        }
    }
    match form {
        Form::Kept => integer(out, 0x40, 6, named),
        Form::Passing | Form::Plain => integer(out, 0x00, 4, named),
    }
    if named == 0 {
        string(out, name, form);
    }
    string(out, value, form);
}

/// Appends the field at `index`.
pub(crate) fn indexed(out: &mut Vec<u8>, index: usize) {
    integer(out, 0x80, 7, index);
}

/// Appends that the table is so large from here on.
pub(crate) fn resize(out: &mut Vec<u8>, size: usize) {
    integer(out, 0x20, 5, size);
}

/// Whether every peer has that field in a table.
pub(crate) fn is_static(name: &[u8], value: &[u8]) -> bool {
    let is_it = |(known, its): &(&str, &str)| known.as_bytes() == name && its.as_bytes() == value;
    STATIC.iter().any(is_it)
}

fn string(out: &mut Vec<u8>, text: &[u8], form: Form) {
    let coded = match form {
        Form::Kept | Form::Passing => huffman::encoded_length(text),
        Form::Plain => text.len(),
    };
    if coded < text.len() {
        integer(out, 0x80, 7, coded);
        huffman::encode(text, out);
    } else {
        integer(out, 0x00, 7, text.len());
        out.extend_from_slice(text);
    }
}

/// Appends an integer whose first byte has `prefix` bits for it, beside `marks`.
fn integer(out: &mut Vec<u8>, marks: u8, prefix: u32, value: usize) {
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
