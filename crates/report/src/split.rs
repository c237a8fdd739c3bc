//! Where response times went, in parts of all time: those add up, as quantiles do not.

use model::record::TimeSplit;

/// What the parts are called, in the order of time.
pub(crate) const PARTS: [&str; 5] = [
    "blocked",
    "late",
    "sending here",
    "network and server",
    "waking up here",
];

/// What each of [`PARTS`] is of the time of all exchanges together; none where there is no time.
pub(crate) fn shares(split: &TimeSplit) -> [Option<f64>; PARTS.len()] {
    let all = split.response.sum().as_s_f64();
    [
        &split.blocked,
        &split.late,
        &split.client_send,
        &split.outside,
        &split.client_wakeup,
    ]
    .map(|times| (all > 0.0).then(|| times.sum().as_s_f64() / all))
}
