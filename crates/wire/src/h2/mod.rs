//! HTTP/2 (RFC 9113) as state machines, over any stream of bytes: prior knowledge in clear, or what
//! ALPN agreed inside TLS.
//!
//! [`server`] answers, [`client`] asks. Frames, HPACK and flow control are our own (ADR 0024).

pub mod client;
mod frame;
mod hpack;
mod reader;
pub mod server;
mod settings;

pub use self::frame::Code;
pub(crate) use self::hpack::huffman;

/// What a client says first (RFC 9113 §3.4).
pub const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
