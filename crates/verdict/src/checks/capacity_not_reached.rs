//! STA-11: a sweep that ends while the rate still rises has not found the capacity.

use model::finding::Claim::Capacity;
use model::finding::Severity::Suspect;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;
use crate::thresholds::FLAT;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-11",
    name: "capacity-not-reached",
    claims: &[Capacity],
    mandatory: false,
    source: "Policy; the knee lies where more connections bring no more",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    if peers.entry.is_open_loop || peers.entry.point.is_none() || peers.entry.is_ceiling() {
        return Judgement::NotApplicable;
    }
    let Some(point) = peers.point() else {
        return Judgement::unknown("the same server with other numbers of connections");
    };
    let [.., before, last] = peers.line() else {
        return Judgement::NotApplicable;
    };
    if last.id != point.id {
        return Judgement::NotApplicable;
    }
    let growth = last.rate.median / before.rate.median.max(1e-9) - 1.0;
    let factor = f64::from(last.id.connections()) / f64::from(before.id.connections().max(1));
    let per_doubling = (1.0 + growth).powf(1.0 / factor.log2()) - 1.0;
    if FLAT.severity(per_doubling).is_none() {
        return Judgement::Silent;
    }
    Found::new(
        &[(Capacity, Suspect)],
        format!(
            "The rate still rose by {} from {} to {} connections, the most that were tried.",
            words::share(growth),
            words::count(u64::from(before.id.connections())),
            words::count(u64::from(last.id.connections()))
        ),
    )
    .evidence("growth", growth)
    .evidence("growth_per_doubling", per_doubling)
    .limit(&FLAT)
    .fix("Extend the sweep to more connections")
    .into()
}
