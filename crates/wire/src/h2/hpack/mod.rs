//! HPACK, the compression of heads (RFC 7541).
//!
//! What we send is made of the table that never changes and of entries that we put into the other
//! one ourselves; what we receive may be anything.

mod encode;
pub(crate) mod huffman;
mod table;

pub(crate) use self::encode::{Form, field, indexed, is_static, resize};
pub(crate) use self::table::{ENTRIES, SIZE as TABLE_SIZE, size_of};

pub(crate) use crate::prefixed::BadBlock;

use self::table::{STATIC, Table};
use crate::prefixed::{integer, string};

/// The index of what was put into the table last.
pub(crate) const DYNAMIC: usize = STATIC.len() + 1;

/// What a peer compressed.
#[derive(Debug, Default)]
pub(crate) struct Decoder {
    table: Table,
    name: Vec<u8>,
    value: Vec<u8>,
    generation: u64,
}

/// What a block has to do with the table.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Bond {
    /// It names entries of the table, or sets its size: with another table it means something else.
    pub(crate) is_bound: bool,
    /// How many fields it puts into the table.
    pub(crate) kept: usize,
}

/// How a field is written.
struct Literal {
    /// Bits of the first byte that the index has.
    prefix: u32,
    is_kept: bool,
}

impl Decoder {
    /// Reads `block`; `each` gets name and value of each field, in order. Returns what the block
    /// has to do with the table.
    ///
    /// # Errors
    ///
    /// The block breaks the coding.
    pub(crate) fn decode(
        &mut self,
        block: &[u8],
        mut each: impl FnMut(&[u8], &[u8]),
    ) -> Result<Bond, BadBlock> {
        let mut bond = Bond::default();
        let mut rest = block;
        let mut is_first = true;
        while let Some(&first) = rest.first() {
            if first & 0x80 != 0 {
                let index = integer(&mut rest, 7)?;
                let (name, value) = self.table.at(index).ok_or(BadBlock)?;
                each(name, value);
                bond.is_bound |= index >= DYNAMIC;
            } else if first & 0xe0 == 0x20 {
                // RFC 7541 §4.2: a change of the size stands before all fields.
                let size = integer(&mut rest, 5)?;
                if size > TABLE_SIZE || !is_first {
                    return Err(BadBlock);
                }
                self.table.set_limit(size);
                self.generation += 1;
                bond.is_bound = true;
                continue;
            } else {
                let is_kept = first & 0x40 != 0;
                let prefix = if is_kept { 6 } else { 4 };
                let index = self.literal(&mut rest, &Literal { prefix, is_kept }, &mut each)?;
                bond.is_bound |= index >= DYNAMIC;
                bond.kept += usize::from(is_kept);
            }
            is_first = false;
        }
        Ok(bond)
    }

    /// The index of the name, 0 if it stands there itself.
    fn literal(
        &mut self,
        rest: &mut &[u8],
        how: &Literal,
        each: &mut impl FnMut(&[u8], &[u8]),
    ) -> Result<usize, BadBlock> {
        let index = integer(rest, how.prefix)?;
        self.name.clear();
        if index == 0 {
            string(rest, 7, &mut self.name)?;
        } else {
            let (name, _) = self.table.at(index).ok_or(BadBlock)?;
            self.name.extend_from_slice(name);
        }
        self.value.clear();
        string(rest, 7, &mut self.value)?;
        each(&self.name, &self.value);
        if how.is_kept {
            self.table.insert(&self.name, &self.value);
            self.generation += 1;
        }
        Ok(index)
    }

    /// Changes with the table: as long as it does not, a block means what it meant.
    pub(crate) const fn generation(&self) -> u64 {
        self.generation
    }

    /// Keeps no memory for a connection on which nothing is under way.
    pub(crate) fn release(&mut self) {
        self.name = Vec::new();
        self.value = Vec::new();
    }
}

#[cfg(test)]
mod tests;
