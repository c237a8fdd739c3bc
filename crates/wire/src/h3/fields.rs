//! The head of an answer, from its block: what a check needs, and the rest as text.

use super::Code;
use super::qpack::Decoder;
use crate::client::ProtocolError;
use crate::h2::client::answer::{Fields, Reading};

/// The last head that was read on a connection: the same block means the same.
#[derive(Debug, Default)]
pub(super) struct Known {
    block: Vec<u8>,
    fields: Fields,
    decoder: Decoder,
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
        most: usize,
        text: &mut Vec<u8>,
    ) -> Result<Fields, ProtocolError> {
        text.clear();
        if block == self.block && !block.is_empty() {
            return Ok(self.fields);
        }
        let mut reading = Reading::new(most, text);
        let decoder = &mut self.decoder;
        let decoded = decoder.decode(block, |name, value| reading.take(name, value));
        decoded.map_err(|_| ProtocolError::Http3(Code::DECOMPRESSION))?;
        let fields = reading.finish()?;
        self.block.clear();
        self.block.extend_from_slice(block);
        self.fields = fields;
        Ok(fields)
    }

    /// Reads what follows the content: it has no meaning here, and has to be well formed.
    pub(super) fn read_trailer(&mut self, block: &[u8]) -> Result<(), ProtocolError> {
        let decoded = self.decoder.decode(block, |_, _| {});
        decoded.map_err(|_| ProtocolError::Http3(Code::DECOMPRESSION))
    }
}
