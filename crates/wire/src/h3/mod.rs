//! HTTP/3 (RFC 9114) as state machines: datagrams in, datagrams out.
//!
//! QUIC itself is `quinn-proto`; frames and QPACK are our own, with the Huffman code of HPACK. No
//! side uses QPACK's dynamic table, so a block of fields means the same on every stream (ADR 0028).
//! [`client`] asks, [`server`] answers.

pub mod client;
mod code;
mod fields;
mod frame;
mod one_way;
mod qpack;
pub mod server;
#[cfg(test)]
mod tests;
mod time;

pub use self::code::Code;

use model::Mark;
use quinn_proto::EcnCodepoint;

/// Its name in ALPN (RFC 9114 §3.1).
pub(crate) const APPLICATION: &[u8] = b"h3";

/// Kinds of streams that go one way (RFC 9114 §6.2, RFC 9204 §4.2).
mod kind {
    pub(super) const CONTROL: u64 = 0x00;
    pub(super) const PUSH: u64 = 0x01;
    pub(super) const ENCODER: u64 = 0x02;
    pub(super) const DECODER: u64 = 0x03;
}

/// One-way streams that a peer may open: three have a meaning, the others are dropped unread.
const ONE_WAY_STREAMS: u32 = 16;

/// A mark as the library has it.
fn ecn_of(mark: Mark) -> Option<EcnCodepoint> {
    EcnCodepoint::from_bits(mark.bits())
}

/// A mark as we have it.
fn mark_of(ecn: Option<EcnCodepoint>) -> Mark {
    Mark::from_bits(ecn.map_or(0, |ecn| ecn as u8))
}
