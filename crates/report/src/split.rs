//! Where response times went, in parts of all time: those add up, as quantiles do not.

use model::record::TimeSplit;
use verdict::words;

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
    split
        .parts()
        .map(|times| (all > 0.0).then(|| times.sum().as_s_f64() / all))
}

/// What the parts leave out, in sentences: exchanges and connections without times of the kernel.
pub(crate) fn left_out(split: &TimeSplit) -> Vec<String> {
    let mut told = Vec::new();
    if split.incomplete > 0 {
        let count = words::plural(split.incomplete, "more exchange");
        told.push(format!("{count} had no times of the kernel."));
    }
    if split.refused > 0 {
        let count = words::plural(split.refused, "connection");
        told.push(format!("The kernel would not note the times of {count}."));
    }
    told
}
