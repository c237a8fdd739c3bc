//! MEM-02: the kernel killed a process for memory.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "MEM-02",
    name: "out-of-memory",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "/proc/vmstat",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    match facts.counter("vmstat.oom_kill") {
        None => Judgement::unknown("how many processes were killed for memory"),
        Some(0) => Judgement::Silent,
        Some(killed) => Found::all(
            CHECK.claims,
            Invalid,
            format!(
                "The kernel killed {} for lack of memory during the window.",
                words::plural(killed, "process")
            ),
        )
        .evidence("vmstat.oom_kill", killed)
        .fix("Free memory, or use fewer connections")
        .into(),
    }
}
