//! CPU-03: a virtual machine shares what it cannot see.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Note;

use crate::check::{Check, Facts, Found, Judge, Judgement};

pub(crate) static CHECK: Check = Check {
    id: "CPU-03",
    name: "virtualised",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "The hypervisor flag of the CPU",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    match facts.trial.environment.virtualised {
        None => Judgement::unknown("whether this machine is a virtual one"),
        Some(false) => Judgement::Silent,
        Some(true) => Found::all(
            CHECK.claims,
            Note,
            format!(
                "This is a virtual machine{}: other guests and the hypervisor may use its CPUs \
                 without being seen.",
                facts
                    .trial
                    .environment
                    .product
                    .as_ref()
                    .map_or_else(String::new, |product| format!(" ({product})"))
            ),
        )
        .evidence("product", facts.trial.environment.product.clone())
        .fix("Pin its virtual CPUs and keep other guests away, or measure on a physical machine")
        .into(),
    }
}
