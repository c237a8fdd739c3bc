//! How well the clock of a machine is kept, by the kernel's account and that of chronyd.

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
    /// What chronyd says; none where it does not run, or does not answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chrony: Option<Chrony>,
    /// Clocks that network cards or a hypervisor offer (PTP hardware clocks), by the names that
    /// drivers give them: `ptp_kvm`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ptp_clocks: Vec<String>,
}

/// What chronyd says of the clock that it keeps (`chronyc tracking`), without whom it asks.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Chrony {
    /// What it follows; none where it is not synchronised.
    pub source: Option<TimeSource>,
    /// Steps between it and a reference clock; 0 where it is not synchronised.
    pub stratum: u32,
    /// How far the clock is ahead of what it takes for the time.
    pub offset_ns: i64,
    /// How long the way to the reference clock is, there and back.
    #[serde(rename = "root_delay_ns")]
    pub root_delay: Span,
    /// How wrong the clocks on that way may be together.
    #[serde(rename = "root_dispersion_ns")]
    pub root_dispersion: Span,
}

/// What a machine's clock follows.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum TimeSource {
    /// A reference clock at this machine.
    Device,
    /// A server on the network.
    Network,
    /// Nothing else: the machine's own clock is taken for right.
    Own,
    /// The clock of a network card or of the hypervisor (PTP).
    Ptp,
}
