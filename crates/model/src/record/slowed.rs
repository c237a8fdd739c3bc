//! What connections did that read and send slowly, as their plan wants.

use serde::{Deserialize, Serialize};

use crate::units::{Bytes, Span};

/// What slow connections did over the whole run.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Slowed {
    /// Connections that were to be slow, those made anew included.
    pub connections: u64,
    /// Bytes that they read slowly.
    pub bytes_read: Bytes,
    /// How long they did not read meanwhile, added up.
    #[serde(rename = "read_pauses_ns")]
    pub read_pauses: Span,
    /// Bytes that they sent slowly.
    pub bytes_sent: Bytes,
    /// The pieces that these were sent in.
    pub pieces_sent: u64,
}

impl Slowed {
    /// Adds what others did.
    pub fn merge(&mut self, other: Self) {
        self.connections += other.connections;
        self.bytes_read += other.bytes_read;
        self.read_pauses += other.read_pauses;
        self.bytes_sent += other.bytes_sent;
        self.pieces_sent += other.pieces_sent;
    }
}
