//! CPU-01: time that the hypervisor gave to somebody else.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::thresholds::STEAL;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "CPU-01",
    name: "steal",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "KVM's steal-time clock; not every hypervisor reports it",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let Some(system) = facts.trial.usage.system.as_ref() else {
        return Judgement::unknown("how busy each CPU was");
    };
    let mut part = facts.generator_cpus();
    part.extend(facts.server_cpus().unwrap_or_default());
    let worst = system
        .cpus
        .iter()
        .filter(|usage| part.is_empty() || part.contains(&usage.cpu))
        .max_by(|one, other| one.steal.total_cmp(&other.steal));
    let Some(worst) = worst else {
        return Judgement::unknown("how busy each CPU was");
    };
    let Some(severity) = STEAL.severity(worst.steal) else {
        return Judgement::Silent;
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "The hypervisor gave {} of CPU {} to other guests.",
            words::share(worst.steal),
            worst.cpu
        ),
    )
    .evidence("cpu", worst.cpu)
    .evidence("steal_share", worst.steal)
    .limit(&STEAL)
    .fix("Measure at another time, or on a machine whose CPUs are your own")
    .into()
}
