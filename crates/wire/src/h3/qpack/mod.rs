//! QPACK, the compression of heads (RFC 9204), without a dynamic table: a peer that may not use one
//! sends nothing that depends on what came before.

mod table;

use self::table::{KNOWN, STATIC};
use crate::prefixed::{BadBlock, integer, put_integer, put_string, string};
use crate::static_table::Found;

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

/// Appends what stands before all fields of a block.
pub(super) fn begin(out: &mut Vec<u8>) {
    out.extend_from_slice(&[0, 0]);
}

/// Appends a field whose name is in lower case: by its index if the static table has it.
pub(super) fn field(out: &mut Vec<u8>, name: &[u8], value: &[u8], form: Form) {
    let may_code = form == Form::Coded;
    match KNOWN.find(name, value) {
        Found::Field(position) => return put_integer(out, 0xc0, 6, position),
        Found::Name(position) => put_integer(out, 0x50, 4, position),
        Found::Nothing => put_string(out, 0x20, 3, name, may_code),
    }
    put_string(out, 0x00, 7, value, may_code);
}

#[cfg(test)]
mod tests;
