//! How well the clock of a machine is kept, by the kernel's own account.

use serde::{Deserialize, Serialize};

use crate::units::Span;

/// The state of the clock of the day (`CLOCK_REALTIME`), by which agents begin together. Nothing is
/// measured with it.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Timekeeping {
    /// Whether the kernel takes it for synchronised: some program has said so, and has corrected
    /// the clock within the last hours.
    pub synchronised: bool,
    /// How wrong it is at most. It grows by half a millisecond a second until the next correction.
    #[serde(rename = "error_at_most_ns")]
    pub error_at_most: Span,
    /// How wrong it is by the estimate of whoever keeps it.
    #[serde(rename = "error_estimated_ns")]
    pub error_estimated: Span,
    /// What is left of the last correction, where the kernel makes it.
    pub correction_left_ns: i64,
    /// Programs that keep clocks, of those that run here: `chronyd`. None where nobody may be seen,
    /// as in a container.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept_by: Vec<String>,
}
