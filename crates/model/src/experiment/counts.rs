//! An axis of whole numbers, as a file gives it.

use serde::{Deserialize, Serialize};

use super::OneOrMany;

/// An axis of whole numbers.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(
    untagged,
    expecting = "write a number, a list of numbers, or { from = 10, to = 1000, step = 10 }"
)]
pub enum Counts {
    /// A single point.
    One(u32),
    /// Given points.
    List(Vec<u32>),
    /// Evenly spaced points, both ends included where the step allows, and further ones.
    Steps {
        /// The first.
        from: u32,
        /// The last.
        to: u32,
        /// From one to the next.
        step: u32,
        /// Points beside these.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        also: Option<OneOrMany<u32>>,
    },
}

impl Counts {
    /// Nothing was said.
    pub(super) const fn none() -> Self {
        Self::List(Vec::new())
    }

    pub(super) const fn is_none(&self) -> bool {
        matches!(self, Self::List(list) if list.is_empty())
    }
}
