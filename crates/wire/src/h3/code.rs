//! The codes with which HTTP/3 and QPACK say what was wrong (RFC 9114 §8.1, RFC 9204 §6).

use std::fmt;

/// Why a stream or a connection was ended.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Code(pub u64);

impl Code {
    /// Nothing is wrong.
    pub const NO_ERROR: Self = Self(0x100);
    /// The protocol was broken in a way that no other code tells.
    pub const PROTOCOL: Self = Self(0x101);
    /// An endpoint failed.
    pub const INTERNAL: Self = Self(0x102);
    /// A stream was opened that may not be.
    pub const STREAM_CREATION: Self = Self(0x103);
    /// A stream was closed that has to stay open.
    pub const CLOSED_CRITICAL_STREAM: Self = Self(0x104);
    /// A frame came where it may not.
    pub const FRAME_UNEXPECTED: Self = Self(0x105);
    /// A frame is malformed.
    pub const FRAME: Self = Self(0x106);
    /// The peer asks for more work than it is worth.
    pub const EXCESSIVE_LOAD: Self = Self(0x107);
    /// A number of a stream or of a push is wrong.
    pub const ID: Self = Self(0x108);
    /// The settings are wrong.
    pub const SETTINGS: Self = Self(0x109);
    /// The settings did not come first.
    pub const MISSING_SETTINGS: Self = Self(0x10a);
    /// The request was not processed, and may be asked again.
    pub const REQUEST_REJECTED: Self = Self(0x10b);
    /// The request is of no interest any more.
    pub const REQUEST_CANCELLED: Self = Self(0x10c);
    /// The stream ended within a message.
    pub const REQUEST_INCOMPLETE: Self = Self(0x10d);
    /// A message is malformed.
    pub const MESSAGE: Self = Self(0x10e);
    /// A block of fields cannot be read.
    pub const DECOMPRESSION: Self = Self(0x200);
    /// What came to fill the dynamic table is wrong.
    pub const ENCODER_STREAM: Self = Self(0x201);

    /// As the RFC calls it.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0x100 => "H3_NO_ERROR",
            0x101 => "H3_GENERAL_PROTOCOL_ERROR",
            0x102 => "H3_INTERNAL_ERROR",
            0x103 => "H3_STREAM_CREATION_ERROR",
            0x104 => "H3_CLOSED_CRITICAL_STREAM",
            0x105 => "H3_FRAME_UNEXPECTED",
            0x106 => "H3_FRAME_ERROR",
            0x107 => "H3_EXCESSIVE_LOAD",
            0x108 => "H3_ID_ERROR",
            0x109 => "H3_SETTINGS_ERROR",
            0x10a => "H3_MISSING_SETTINGS",
            0x10b => "H3_REQUEST_REJECTED",
            0x10c => "H3_REQUEST_CANCELLED",
            0x10d => "H3_REQUEST_INCOMPLETE",
            0x10e => "H3_MESSAGE_ERROR",
            0x10f => "H3_CONNECT_ERROR",
            0x110 => "H3_VERSION_FALLBACK",
            0x200 => "QPACK_DECOMPRESSION_FAILED",
            0x201 => "QPACK_ENCODER_STREAM_ERROR",
            0x202 => "QPACK_DECODER_STREAM_ERROR",
            _ => return None,
        })
    }

    pub(super) fn to_quic(self) -> quinn_proto::VarInt {
        quinn_proto::VarInt::from_u64(self.0).unwrap_or_default()
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "code {:#x}", self.0),
        }
    }
}
