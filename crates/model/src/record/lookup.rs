//! How the name of the host was looked up.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;
use crate::units::Span;

/// How the name of the host was looked up, before the run: once in each process that makes load.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Lookup {
    /// How long that took. A cache of the system may have answered.
    pub time: Distribution,
    /// How many addresses there were, each counted once; the most that a process found.
    pub addresses: u64,
    /// Which they were, sorted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub found: Vec<IpAddr>,
}

impl Lookup {
    /// One that `took` so long and found these.
    pub fn of(took: Span, mut found: Vec<IpAddr>) -> Self {
        let mut time = Distribution::default();
        time.record(took);
        found.sort_unstable();
        Self {
            time,
            addresses: found.len() as u64,
            found,
        }
    }

    /// Adds that of another process.
    pub fn merge(&mut self, other: Self) {
        self.time.merge(&other.time);
        self.addresses = self.addresses.max(other.addresses);
        self.found.extend(other.found);
        self.found.sort_unstable();
        self.found.dedup();
    }
}
