//! What was measured of one request of several.

use serde::{Deserialize, Serialize};

use super::Reference;
use crate::coding::{self, Codings};
use crate::distribution::Distribution;
use crate::outcome::{Outcome, OutcomeCounts};
use crate::units::Bytes;

/// The exchanges of one request of a plan. An exchange that never began belongs to none.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Class {
    /// What reports call the request.
    pub name: String,
    /// Its exchanges in the window, by how they ended.
    pub outcomes: OutcomeCounts,
    /// How many of them were handed to the kernel.
    pub sent: u64,
    /// Right answers that came in the window, whenever they were due; only in an open loop, where
    /// an exchange belongs to the window in which it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub right_in_window: Option<u64>,
    /// Content bytes of right answers.
    pub bytes_content: Bytes,
    /// Its complete answers with the expected status in the window, by how they were encoded.
    #[serde(default, skip_serializing_if = "Codings::is_empty")]
    pub codings: Codings,
    /// Ended − due, of right answers.
    pub response_time: Distribution,
    /// Ended − sent, of right answers.
    pub service_time: Distribution,
    /// First byte − sent, of right answers.
    pub first_byte_time: Distribution,
    /// What answers were compared with.
    pub reference: Option<Reference>,
}

impl Class {
    /// Right answers that came in the window: what rates are of.
    pub fn right_in_it(&self) -> u64 {
        self.right_in_window
            .unwrap_or_else(|| self.outcomes[Outcome::Ok])
    }

    /// Adds what another worker measured of the same request.
    pub fn merge(&mut self, other: Self) {
        debug_assert_eq!(self.name, other.name, "classes of one plan merge in order");
        self.outcomes.merge(&other.outcomes);
        self.sent += other.sent;
        self.right_in_window = match (self.right_in_window, other.right_in_window) {
            (Some(ours), Some(theirs)) => Some(ours + theirs),
            (ours, theirs) => ours.or(theirs),
        };
        self.bytes_content += other.bytes_content;
        coding::merge(&mut self.codings, &other.codings);
        self.response_time.merge(&other.response_time);
        self.service_time.merge(&other.service_time);
        self.first_byte_time.merge(&other.first_byte_time);
        self.reference = self.reference.take().or(other.reference);
    }
}
