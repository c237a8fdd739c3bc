//! MEM-01: a machine that swaps measures its disk.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "MEM-01",
    name: "swap",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "/proc/vmstat",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let (Some(pages_in), Some(pages_out)) = (
        facts.counter("vmstat.pswpin"),
        facts.counter("vmstat.pswpout"),
    ) else {
        return Judgement::unknown("how many pages were swapped");
    };
    if pages_in + pages_out == 0 {
        return Judgement::Silent;
    }
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "The machine swapped {} pages in and {} out during the window.",
            words::count(pages_in),
            words::count(pages_out)
        ),
    )
    .evidence("vmstat.pswpin", pages_in)
    .evidence("vmstat.pswpout", pages_out)
    .fix("Free memory, or swapoff -a")
    .into()
}
