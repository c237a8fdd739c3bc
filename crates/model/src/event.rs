//! The lines that a generator writes while it works: one JSON object each, the trial last.

use serde::{Deserialize, Serialize};

use crate::trial::Trial;
use crate::units::Instant;

/// Where in a trial a generator is.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Phase {
    /// Fetching what answers will be compared with.
    Reference,
    /// The load runs, nothing counts.
    Warmup,
    /// The measured window.
    Measurement,
    /// Waiting for what is still under way; nothing new begins.
    Drain,
    /// Over.
    Done,
}

/// One line. [`Json`](crate::Json) reads and writes all of them; what is derived, all but the
/// trial: with a tag among its fields it would be read and written by way of a tree.
#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A phase began.
    Phase {
        /// Which.
        phase: Phase,
        /// On the machine's monotonic clock, so that meters in other processes line up.
        monotonic_ns: Instant,
    },
    /// The workers of a part of a plan have all they need, and wait to be told when to begin.
    Ready,
    /// What is seen so far of an interval that just ended: for live display, not for the record.
    Interval {
        /// Seconds since the window began.
        second: f64,
        /// Right answers per second.
        achieved_rate: f64,
        /// Right answers.
        right: u64,
        /// Exchanges that failed.
        failures: u64,
        /// Connections open.
        connections: u64,
        /// Bytes that came; none where the load is made in several processes, which do not say.
        bytes_received: Option<u64>,
        /// Median response time in microseconds.
        response_time_p50_us: Option<f64>,
        /// 99th percentile.
        response_time_p99_us: Option<f64>,
    },
    /// The result; nothing follows.
    #[serde(skip)]
    Trial(Box<Trial>),
    /// The run could not be made; nothing follows.
    Failed {
        /// One sentence: cause and remedy.
        error: String,
    },
}
