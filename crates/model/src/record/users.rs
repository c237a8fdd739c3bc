//! What became of users who came, went through their script and left.

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;

/// Users who came over the whole run, where the plan says at which rate they do.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct UsersRecord {
    /// Who came.
    pub came: u64,
    /// Who found a place, at once or later.
    pub seated: u64,
    /// Who went through the script to its end.
    pub left: u64,
    /// The most who had a place at once; of several workers, that of each, added up.
    pub there_most: u64,
    /// The most who waited for a place at once; of several workers, that of each, added up.
    pub waiting_most: u64,
    /// How long those waited for a place who found one.
    pub wait: Distribution,
}

impl UsersRecord {
    /// Adds those of another worker.
    pub fn merge(&mut self, other: Self) {
        self.came += other.came;
        self.seated += other.seated;
        self.left += other.left;
        self.there_most += other.there_most;
        self.waiting_most += other.waiting_most;
        self.wait.merge(&other.wait);
    }
}
