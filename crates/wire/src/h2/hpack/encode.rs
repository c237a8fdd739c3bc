//! Writing fields in HPACK.

use super::table::KNOWN;
use crate::prefixed::{put_integer, put_string};
use crate::static_table::Found;

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
    let named = match KNOWN.find(name, value) {
        Found::Field(position) => return indexed(out, position + 1),
        Found::Name(position) => position + 1,
        Found::Nothing => 0,
    };
    match form {
        Form::Kept => put_integer(out, 0x40, 6, named),
        Form::Passing | Form::Plain => put_integer(out, 0x00, 4, named),
    }
    if named == 0 {
        string(out, name, form);
    }
    string(out, value, form);
}

/// Appends the field at `index`.
pub(crate) fn indexed(out: &mut Vec<u8>, index: usize) {
    put_integer(out, 0x80, 7, index);
}

/// Appends that the table is so large from here on.
pub(crate) fn resize(out: &mut Vec<u8>, size: usize) {
    put_integer(out, 0x20, 5, size);
}

/// Whether every peer has that field in a table.
pub(crate) fn is_static(name: &[u8], value: &[u8]) -> bool {
    matches!(KNOWN.find(name, value), Found::Field(_))
}

fn string(out: &mut Vec<u8>, text: &[u8], form: Form) {
    put_string(out, 0x00, 7, text, form != Form::Plain);
}
