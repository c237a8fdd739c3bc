//! What HTTP/2 did on the connections of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What HTTP/2 did on the connections of a run, the fetches before it not counted.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Http2Record {
    /// Connections that spoke it.
    pub connections: u64,
    /// GOAWAY frames of servers, by the name of their code (RFC 9113 §7).
    #[serde(default)]
    pub go_aways: BTreeMap<String, u64>,
    /// Exchanges that the server ended by RST_STREAM, by the name of the code.
    #[serde(default)]
    pub resets: BTreeMap<String, u64>,
    /// Exchanges that stood behind a GOAWAY, were not processed, and asked again elsewhere.
    #[serde(default)]
    pub unprocessed: u64,
    /// Times that a server changed its settings later than at the start of a connection.
    #[serde(default)]
    pub settings_changes: u64,
    /// The fewest streams that a server allowed at once; none: it set no limit.
    #[serde(default)]
    pub streams_allowed: Option<u32>,
    /// Times that a connection was allowed fewer streams than the plan wants.
    #[serde(default)]
    pub connections_limited: u64,
    /// Times that content waited because the server's windows were closed.
    #[serde(default)]
    pub window_stalls: u64,
}

impl Http2Record {
    /// Adds what another worker counted.
    pub fn merge(&mut self, other: Self) {
        self.connections += other.connections;
        for (code, count) in other.go_aways {
            *self.go_aways.entry(code).or_default() += count;
        }
        for (code, count) in other.resets {
            *self.resets.entry(code).or_default() += count;
        }
        self.unprocessed += other.unprocessed;
        self.settings_changes += other.settings_changes;
        self.streams_allowed = match (self.streams_allowed, other.streams_allowed) {
            (Some(mine), Some(theirs)) => Some(mine.min(theirs)),
            (mine, theirs) => mine.or(theirs),
        };
        self.connections_limited += other.connections_limited;
        self.window_stalls += other.window_stalls;
    }
}
