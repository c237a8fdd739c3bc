//! The head of an answer, from its block: what a check needs, and the rest as text.

use std::io::Write as _;

use model::Coding;

use crate::client::ProtocolError;
use crate::h1::parse::one_more_coding;
use crate::h2::Code;
use crate::h2::hpack::{BadBlock, Bond, Decoder, ENTRIES};
use crate::message::{Framing, Head, Version};

/// What is read from a head.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Fields {
    pub(crate) status: u16,
    pub(crate) length: Option<u64>,
    pub(crate) coding: Option<Coding>,
}

impl Fields {
    /// The head of an answer whose content comes in frames, to a request for the head alone or not.
    #[inline]
    pub(crate) fn head<'t>(&self, version: Version, is_head: bool, text: &'t [u8]) -> Head<'t> {
        let is_bare = is_head || matches!(self.status, 204 | 304);
        Head {
            status: self.status,
            version,
            framing: match self.length {
                _ if is_bare => Framing::None,
                Some(length) => Framing::Length(length),
                None => Framing::Frames,
            },
            coding: self.coding.unwrap_or_default(),
            keep_alive: true,
            bytes: text,
        }
    }
}

/// Reads heads, and knows the last one again: servers that never change what they say of a file put
/// the same bytes in front of each answer.
///
/// A head that comes again is compared and not decoded. What it puts into the table is owed to the
/// table, and paid before anything else is decoded.
#[derive(Debug, Default)]
pub(super) struct Heads {
    decoder: Decoder,
    /// The last head that can come again with the same meaning.
    block: Vec<u8>,
    /// The table that it was read with.
    generation: u64,
    bond: Bond,
    fields: Fields,
    /// How often it came again and put its fields into no table.
    owed: usize,
}

impl Heads {
    /// Reads `block`, and writes it to `text` as HTTP/1.1 would have it, unless it is the one of
    /// before and nobody wants the text: then `text` is empty.
    pub(super) fn read(
        &mut self,
        block: &[u8],
        most: usize,
        wants_text: bool,
        text: &mut Vec<u8>,
    ) -> Result<Fields, ProtocolError> {
        text.clear();
        if !wants_text && self.is_known(block) {
            self.owed += usize::from(self.bond.kept > 0);
            return Ok(self.fields);
        }
        self.pay()?;
        let generation = self.decoder.generation();
        let mut reading = Reading::new(most, text);
        let each = |name: &[u8], value: &[u8]| reading.take(name, value);
        let bond = self.decoder.decode(block, each).map_err(bad)?;
        let fields = reading.finish()?;
        if !bond.is_bound || self.decoder.generation() == generation {
            self.block.clear();
            self.block.extend_from_slice(block);
            (self.generation, self.bond, self.fields) = (generation, bond, fields);
        }
        Ok(fields)
    }

    /// Follows a block that nobody reads.
    pub(super) fn skip(&mut self, block: &[u8]) -> Result<(), ProtocolError> {
        self.pay()?;
        self.decoder.decode(block, |_, _| {}).map_err(bad)?;
        Ok(())
    }

    /// Whether `block` is the last head, and means what it meant.
    #[inline]
    fn is_known(&self, block: &[u8]) -> bool {
        let means_the_same = !self.bond.is_bound || self.generation == self.decoder.generation();
        means_the_same && block == self.block && !block.is_empty()
    }

    /// Gives the table what it is owed. Fields that fill it over and over leave the same table each
    /// time, so that more of them than it holds change nothing.
    fn pay(&mut self) -> Result<(), ProtocolError> {
        let owed = std::mem::take(&mut self.owed);
        for _ in 0..owed.min(ENTRIES.div_ceil(self.bond.kept.max(1))) {
            self.decoder.decode(&self.block, |_, _| {}).map_err(bad)?;
        }
        Ok(())
    }
}

fn bad(_: BadBlock) -> ProtocolError {
    ProtocolError::Http2(Code::COMPRESSION)
}

/// A head whose fields are being read.
#[derive(Debug)]
pub(crate) struct Reading<'a> {
    fields: Fields,
    wrong: Option<ProtocolError>,
    size: usize,
    /// Bytes of names and values that a head may have.
    most: usize,
    text: &'a mut Vec<u8>,
}

impl<'a> Reading<'a> {
    pub(crate) fn new(most: usize, text: &'a mut Vec<u8>) -> Self {
        Self {
            fields: Fields::default(),
            wrong: None,
            size: 0,
            most,
            text,
        }
    }

    /// Takes the next field.
    pub(crate) fn take(&mut self, name: &[u8], value: &[u8]) {
        self.size += name.len() + value.len() + 4;
        if self.size > self.most {
            self.wrong = Some(ProtocolError::HeadTooLong(self.most));
        } else if let Err(error) = self.fields.take(name, value, self.text) {
            self.wrong.get_or_insert(error);
        }
    }

    /// What was read, once there are no more fields.
    pub(crate) fn finish(self) -> Result<Fields, ProtocolError> {
        self.text.extend_from_slice(b"\r\n");
        self.wrong.map_or(Ok(self.fields), Err)
    }
}

impl Fields {
    /// Takes the next field, and appends it to `text` as HTTP/1.1 would have it.
    fn take(&mut self, name: &[u8], value: &[u8], text: &mut Vec<u8>) -> Result<(), ProtocolError> {
        let number = |value: &[u8]| {
            let digits = std::str::from_utf8(value).ok();
            digits
                .filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?
                .parse()
                .ok()
        };
        match name {
            b":status" => {
                let status = number(value).and_then(|status: u64| u16::try_from(status).ok());
                let status = status.filter(|status| (100..1_000).contains(status));
                if self.status != 0 || status.is_none() {
                    return Err(ProtocolError::BadHead("its :status"));
                }
                self.status = status.unwrap_or(0);
                // Writing to memory does not fail.
                let _written = write!(text, "HTTP/1.1 {} \r\n", self.status);
                return Ok(());
            }
            [b':', ..] => return Err(ProtocolError::BadHead("a field that only requests have")),
            b"content-length" => {
                let length = number(value).ok_or(ProtocolError::BadLength)?;
                if self.length.is_some_and(|before| before != length) {
                    return Err(ProtocolError::BadLength);
                }
                self.length = Some(length);
            }
            b"content-encoding" => self.coding = Some(one_more_coding(self.coding, value)),
            _ => {}
        }
        for part in [name, b": ", value, b"\r\n"] {
            text.extend_from_slice(part);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::h2::hpack::{DYNAMIC, Form, field, indexed, resize};

    const MOST: usize = 16_384;

    /// Heads of answers, of which some put fields into the table and some name what is there.
    fn blocks() -> Vec<Vec<u8>> {
        let head = |fields: &[(&str, &str)], form| {
            let mut block = Vec::new();
            for (name, value) in fields {
                field(&mut block, name.as_bytes(), value.as_bytes(), form);
            }
            block
        };
        let dated = |date, length| {
            [
                (":status", "200"),
                ("server", "some/1.2"),
                ("date", date),
                ("content-length", length),
            ]
        };
        let long = "x".repeat(3_000);
        let mut naming = head(&[(":status", "404")], Form::Passing);
        indexed(&mut naming, DYNAMIC);
        let mut naming_old = head(&[(":status", "200")], Form::Passing);
        indexed(&mut naming_old, DYNAMIC + 40);
        let mut resized = Vec::new();
        resize(&mut resized, 300);
        resized.extend(head(&dated("Sun", "9"), Form::Kept));
        vec![
            head(&dated("Mon", "7"), Form::Kept),
            head(&dated("Tue", "7"), Form::Kept),
            head(&dated("Mon", "8"), Form::Plain),
            head(&[(":status", "200"), ("x", &long)], Form::Kept),
            head(
                &[(":status", "200"), ("x", &long), ("y", &long)],
                Form::Kept,
            ),
            naming,
            naming_old,
            resized,
            head(&[(":status", "200"), ("content-length", "x")], Form::Kept),
        ]
    }

    /// Everything that the table has, newest first.
    fn table(decoder: &mut Decoder) -> Vec<(Vec<u8>, Vec<u8>)> {
        let mut all = Vec::new();
        for index in DYNAMIC.. {
            let mut block = Vec::new();
            indexed(&mut block, index);
            let each = |name: &[u8], value: &[u8]| all.push((name.to_vec(), value.to_vec()));
            if decoder.decode(&block, each).is_err() {
                break;
            }
        }
        all
    }

    proptest! {
        #[test]
        fn a_head_that_comes_again_means_what_it_would_if_it_were_decoded(
            order in prop::collection::vec((0..9_usize, 1..60_usize, 0..8_u8), 1..12),
        ) {
            let blocks = blocks();
            let (mut heads, mut plain) = (Heads::default(), Decoder::default());
            let mut text = Vec::new();
            for (block, times, how) in order {
                for _ in 0..times {
                    let mut whole = Vec::new();
                    let mut reading = Reading::new(MOST, &mut whole);
                    let decoded = plain.decode(&blocks[block], |name, value| {
                        reading.take(name, value);
                    });
                    let expected = decoded.map_err(bad).and_then(|_| reading.finish());
                    let read = match how {
                        0 if expected.is_ok() => {
                            heads.skip(&blocks[block])?;
                            continue;
                        }
                        how => heads.read(&blocks[block], MOST, how == 1, &mut text),
                    };
                    prop_assert_eq!(&read, &expected);
                    if read.is_err() {
                        // The connection is closed.
                        return Ok(());
                    }
                    prop_assert!(text == whole || (how != 1 && text.is_empty()));
                }
            }
            heads.pay()?;
            prop_assert_eq!(table(&mut heads.decoder), table(&mut plain));
        }
    }

    /// What an answer of nginx costs: its fields go into the table with each answer.
    #[test]
    fn what_puts_fields_into_the_table_is_decoded_once() {
        let blocks = blocks();
        let mut heads = Heads::default();
        let mut text = Vec::new();
        for _ in 0..1_000 {
            let fields = heads.read(&blocks[0], MOST, false, &mut text).unwrap();
            assert_eq!((fields.status, fields.length), (200, Some(7)));
        }
        assert_eq!((heads.owed, heads.decoder.generation()), (999, 3));
        heads.skip(&blocks[1]).unwrap();
        // Three fields each: the one before, 43 times more, and the other.
        assert_eq!(
            (heads.owed, heads.decoder.generation()),
            (0, 3 + 3 * 43 + 3)
        );
    }
}
