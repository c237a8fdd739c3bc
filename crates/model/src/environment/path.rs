//! One end of the way between generator and server.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::units::Span;

/// The link by which a machine takes part in a trial, as it was set then.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct PathEnd {
    /// Its name: on the generator's machine that of the route to the server's address, on the
    /// server's machine the link that has this address. `lo` where both are one machine.
    pub link: String,
    /// What drives it, or its kind where the kernel alone is behind it: `veth`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Its speed in megabits per second; none where its driver does not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub speed_mbit: Option<u64>,
    /// Its largest packet in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u64>,
    /// How many queues its received packets are spread over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub queues: Option<u32>,
    /// How many CPUs the kernel hands received packets on to by itself, whatever queue they came by
    /// (RPS); 0 where it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rps_cpus: Option<u32>,
    /// Work on segments and checksums that is saved or left to the card, each with whether it is
    /// on: `gro`, `gso`, `lro`, `rx-checksum`, `tso`, `tx-checksum`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<String, bool>,
    /// The shortest time in which a connection of the load was made, in nanoseconds: a round trip
    /// takes no longer. None at the server's end, and where none was made.
    #[serde(
        default,
        rename = "round_trip_at_most_ns",
        skip_serializing_if = "Option::is_none"
    )]
    pub round_trip_at_most: Option<Span>,
}

impl PathEnd {
    /// Whether packets stay on this machine.
    pub fn is_loopback(&self) -> bool {
        self.link == LOOPBACK
    }

    /// Whether no wire begins there: packets stay on this machine, or in its kernel.
    pub fn is_virtual(&self) -> bool {
        self.is_loopback() || self.driver.as_deref() == Some(VETH)
    }
}

/// The link that every network namespace has.
const LOOPBACK: &str = "lo";
/// A pair of virtual Ethernet devices.
const VETH: &str = "veth";
