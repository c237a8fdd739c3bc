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
    /// Who found all places taken when they came, whether or not they got one later; none in records
    /// that were made before this was counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waited: Option<u64>,
    /// Who went through the script to its end.
    pub left: u64,
    /// The most who had a place at once; of several workers, that of each, added up.
    pub there_most: u64,
    /// The most who waited for a place at once; of several workers, that of each, added up.
    pub waiting_most: u64,
    /// How long those waited who found a place, until there was one. How late the generator then was
    /// to let them in is in the late time of what they asked first.
    pub wait: Distribution,
}

impl UsersRecord {
    /// Who found all places taken, also where a record of before tells it; none where none does.
    pub fn found_no_place(&self) -> Option<u64> {
        self.waited
            .or_else(|| (self.waiting_most == 0).then_some(0))
    }

    /// Adds those of another worker.
    pub fn merge(&mut self, other: Self) {
        self.came += other.came;
        self.seated += other.seated;
        let waited = [self.waited, other.waited].into_iter().flatten();
        self.waited = waited.reduce(|one, other| one + other);
        self.left += other.left;
        self.there_most += other.there_most;
        self.waiting_most += other.waiting_most;
        self.wait.merge(&other.wait);
    }
}
