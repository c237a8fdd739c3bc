//! The rules, one per file, and the one table of them.

mod gen_thread_saturated;

use crate::check::{Check, Facts};

/// Every rule, in the order of the catalogue.
pub(crate) static ALL: &[&Check] = &[&gen_thread_saturated::CHECK];

/// The larger of ceiling / rate and 1 / busy share: how far the generator was from its own limit.
pub(crate) fn headroom(facts: &Facts<'_>) -> Option<f64> {
    facts.busiest_worker().map(|(_, busy)| 1.0 / busy)
}
