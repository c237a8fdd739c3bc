//! The head of an answer, from its block: what a check needs, and the rest as text.

use std::io::Write as _;

use model::Coding;

use crate::client::ProtocolError;
use crate::h1::parse::one_more_coding;
use crate::h2::Code;
use crate::h2::hpack::Decoder;

/// What is read from a head.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Fields {
    pub(crate) status: u16,
    pub(crate) length: Option<u64>,
    pub(crate) coding: Option<Coding>,
}

/// The last head that can come again with the same meaning.
#[derive(Debug, Default)]
pub(super) struct Known {
    block: Vec<u8>,
    /// The table that it was read with.
    generation: u64,
    fields: Fields,
}

impl Known {
    /// The next head is read whatever it is.
    pub(super) fn forget(&mut self) {
        self.block.clear();
    }

    /// Reads `block`, and writes it to `text` as HTTP/1.1 would have it, unless it is the one of
    /// before: then `text` is empty.
    pub(super) fn read(
        &mut self,
        block: &[u8],
        decoder: &mut Decoder,
        most: usize,
        text: &mut Vec<u8>,
    ) -> Result<Fields, ProtocolError> {
        text.clear();
        let generation = decoder.generation();
        if generation == self.generation && block == self.block && !block.is_empty() {
            return Ok(self.fields);
        }
        let mut reading = Reading::new(most, text);
        let decoded = decoder.decode(block, |name, value| reading.take(name, value));
        decoded.map_err(|_| ProtocolError::Http2(Code::COMPRESSION))?;
        let fields = reading.finish()?;
        if decoder.generation() == generation {
            self.block.clear();
            self.block.extend_from_slice(block);
            (self.generation, self.fields) = (generation, fields);
        }
        Ok(fields)
    }
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
