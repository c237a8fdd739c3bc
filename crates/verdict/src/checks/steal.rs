//! CPU-01: time that the hypervisor gave to somebody else.
//!
//! Reads `steal` of `/proc/stat` for each CPU that takes part. The kernel reports it in steps of 10
//! ms: what is judged is what remains if the reading is a step too high, and a window in which a
//! step is more than 5 % is too short to be judged.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};

use crate::cause;
use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::thresholds::STEAL;

pub(crate) static CHECK: Check = Check {
    id: "CPU-01",
    name: "steal",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "KVM's steal-time clock; not every hypervisor reports it",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let steal = match cause::steal(facts) {
        Ok(steal) => steal,
        Err(blind) => return blind.into(),
    };
    let Some(severity) = STEAL.severity(steal.sure) else {
        return Judgement::Silent;
    };
    Found::all(CHECK.claims, severity, steal.say())
        .evidence("cpu", steal.cpu)
        .evidence("steal_share", steal.share)
        .evidence("steal_share_at_least", steal.sure)
        .limit(&STEAL)
        .fix("Measure at another time, or on a machine whose CPUs are your own")
        .into()
}
