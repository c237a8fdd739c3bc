//! How the name of the host was looked up.

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
}

impl Lookup {
    /// One that `took` so long and found so many.
    pub fn of(took: Span, addresses: u64) -> Self {
        let mut time = Distribution::default();
        time.record(took);
        Self { time, addresses }
    }

    /// Adds that of another process.
    pub fn merge(&mut self, other: Self) {
        self.time.merge(&other.time);
        self.addresses = self.addresses.max(other.addresses);
    }
}
