//! What the two sides of a connection tell each other at its start (RFC 9113 §6.5).

use super::frame::Code;

/// Numbers of settings.
pub(crate) const TABLE_SIZE: u16 = 1;
pub(crate) const PUSH: u16 = 2;
pub(crate) const STREAMS: u16 = 3;
pub(crate) const WINDOW: u16 = 4;
pub(crate) const FRAME_SIZE: u16 = 5;
pub(crate) const HEAD_SIZE: u16 = 6;

/// The size of a table of fields unless told otherwise (RFC 9113 §6.5.2).
pub(crate) const TABLE_AT_FIRST: u32 = 4_096;
/// The window of a stream and of a connection unless told otherwise (RFC 9113 §6.9.2).
pub(crate) const WINDOW_AT_FIRST: u32 = 65_535;
/// The largest.
pub(crate) const WINDOW_LARGEST: u32 = 0x7fff_ffff;

/// What the peer told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Settings {
    /// The least that the table of our encoder was ever allowed to have.
    pub(crate) table_size: u32,
    /// Streams that may be open at once.
    pub(crate) streams: u32,
    /// The window of a new stream.
    pub(crate) window: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            table_size: TABLE_AT_FIRST,
            streams: u32::MAX,
            window: WINDOW_AT_FIRST,
        }
    }
}

impl Settings {
    /// Takes what came.
    pub(crate) fn take(&mut self, payload: &[u8]) -> Result<(), Code> {
        if !payload.len().is_multiple_of(6) {
            return Err(Code::FRAME_SIZE);
        }
        for setting in payload.chunks_exact(6) {
            let &[a, b, c, d, e, f] = setting else {
                continue;
            };
            let value = u32::from_be_bytes([c, d, e, f]);
            match u16::from_be_bytes([a, b]) {
                TABLE_SIZE => self.table_size = self.table_size.min(value),
                PUSH if value > 1 => return Err(Code::PROTOCOL),
                STREAMS => self.streams = value,
                WINDOW if value > WINDOW_LARGEST => return Err(Code::FLOW_CONTROL),
                WINDOW => self.window = value,
                FRAME_SIZE if !(16_384..=16_777_215).contains(&value) => {
                    return Err(Code::PROTOCOL);
                }
                // We send no longer frames than anybody takes; what we do not know means nothing.
                _ => {}
            }
        }
        Ok(())
    }
}
