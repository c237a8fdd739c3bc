//! What answers are compared with.

use serde::{Deserialize, Serialize};

use crate::tls::Negotiated;

/// The answer that all others are compared with, fetched before the run.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Reference {
    /// Its status.
    pub status: u16,
    /// Its protocol version as received: `HTTP/1.1`.
    pub version: String,
    /// Bytes of the head.
    pub head_bytes: u64,
    /// Bytes of the content.
    pub length: u64,
    /// SHA-256 of the content, hexadecimal.
    pub sha256: String,
    /// The same of what it is decoded, where that was asked for and it is encoded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decoded: Option<DecodedContent>,
    /// The Server field.
    pub server: Option<String>,
    /// Fields in the order received, without their values where those change.
    pub headers: Vec<(String, String)>,
    /// How the content is framed: `length`, `chunked`, `close` or `none`.
    pub framing: String,
    /// Whether two fetches differed, or each user asks for something else; the check then falls back
    /// to what is stable.
    pub dynamic: bool,
    /// What is checked in the end, in words.
    pub checked: String,
    /// The address that answered.
    pub address: String,
    /// What was negotiated with it; none in clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Negotiated>,
}

/// What encoded content is when it is decoded.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DecodedContent {
    /// Its bytes.
    pub length: u64,
    /// Its SHA-256, hexadecimal.
    pub sha256: String,
}
