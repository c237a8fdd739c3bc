//! What QUIC did on the connections of a run.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::Span;

/// What QUIC did on the connections of a run, the fetches before it not counted.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct QuicRecord {
    /// The version of QUIC that connections spoke (RFC 9000 is version 1); 0 if there was none.
    #[serde(default)]
    pub version: u32,
    /// Connections whose handshake was finished.
    pub connections: u64,
    /// Datagrams that were sent.
    #[serde(default)]
    pub datagrams_sent: u64,
    /// Datagrams that were received.
    #[serde(default)]
    pub datagrams_received: u64,
    /// Datagrams that came with the mark of a queue that grew too long (ECN).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub datagrams_marked: u64,
    /// Packets that were sent; a datagram may hold several.
    #[serde(default)]
    pub packets_sent: u64,
    /// Packets of ours that were taken for lost.
    #[serde(default)]
    pub packets_lost: u64,
    /// Times that our congestion window was made smaller.
    #[serde(default)]
    pub congestion_events: u64,
    /// The shortest round trip of all connections, in nanoseconds.
    #[serde(default, rename = "rtt_least_ns")]
    pub rtt_least: Option<Span>,
    /// The longest smoothed round trip that a connection had at its end, in nanoseconds.
    #[serde(default, rename = "rtt_most_ns")]
    pub rtt_most: Option<Span>,
    /// The smallest congestion window that a connection had at its end, in bytes.
    #[serde(default, rename = "window_least_bytes")]
    pub window_least: Option<u64>,
    /// GOAWAY frames of servers.
    #[serde(default)]
    pub go_aways: u64,
    /// Exchanges that the server ended by a reset of their stream, by the name of the code
    /// (RFC 9114 §8.1).
    #[serde(default)]
    pub resets: BTreeMap<String, u64>,
    /// Exchanges that stood behind a GOAWAY, were not processed, and asked again elsewhere.
    #[serde(default)]
    pub unprocessed: u64,
}

impl QuicRecord {
    /// Adds what another worker counted.
    pub fn merge(&mut self, other: Self) {
        self.version = self.version.max(other.version);
        self.connections += other.connections;
        self.datagrams_sent += other.datagrams_sent;
        self.datagrams_received += other.datagrams_received;
        self.datagrams_marked += other.datagrams_marked;
        self.packets_sent += other.packets_sent;
        self.packets_lost += other.packets_lost;
        self.congestion_events += other.congestion_events;
        self.rtt_least = least(self.rtt_least, other.rtt_least);
        self.rtt_most = self.rtt_most.max(other.rtt_most);
        self.window_least = least(self.window_least, other.window_least);
        self.go_aways += other.go_aways;
        for (code, count) in other.resets {
            *self.resets.entry(code).or_default() += count;
        }
        self.unprocessed += other.unprocessed;
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde gives a reference")]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}
