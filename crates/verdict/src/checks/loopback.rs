//! LNK-02: over loopback no wire takes part, and CPU time is charged to the wrong side.
//!
//! A note, not a doubt: servers on one machine are charged alike, so they compare; their costs are
//! not those over a network.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Note;

use crate::check::{Check, Facts, Found, Judge, Judgement};

pub(crate) static CHECK: Check = Check {
    id: "LNK-02",
    name: "loopback",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "Linux loopback: the receiver's TCP input runs within the sender's send call",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    match facts.is_loopback() {
        None => Judgement::unknown("the address that answered"),
        Some(false) => Judgement::Silent,
        Some(true) => Found::all(
            CHECK.claims,
            Note,
            "Measured over loopback: no network takes part, and the kernel's work for the receiver \
             is charged to the sender."
                .to_owned(),
        )
        .fix("Measure from another machine for figures of a network")
        .into(),
    }
}
