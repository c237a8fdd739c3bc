//! STA-09: past saturation more connections only wait longer: response time is C/X, not latency.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{Invalid, Note};

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::{Peers, PointSummary};
use crate::thresholds::{FLAT, WAITS_GROW};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-09",
    name: "saturated-flat",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "Little's law in a closed loop: R = C/X - Z",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    if peers.entry.is_scheduled || peers.entry.point.is_none() || peers.entry.is_ceiling() {
        return Judgement::NotApplicable;
    }
    let Some(point) = peers.point() else {
        return peers.without_point("the same server with fewer connections");
    };
    let connections = point.id.connections();
    // The fewest connections from which on the rate does not grow any more.
    let knee = peers.line().iter().find(|other| {
        other.id.connections() * 2 <= connections
            && FLAT
                .severity(point.rate.median / other.rate.median.max(1e-9) - 1.0)
                .is_none()
            && waits_grow(other, point)
    });
    let Some(knee) = knee else {
        return Judgement::Silent;
    };
    Found::new(
        &[(Latency, Invalid), (Capacity, Note)],
        format!(
            "The rate no longer grew from {} on, where it was {}/s. With {} the response \
             times are exchanges in flight ÷ rate and say nothing about latency.",
            words::plural(u64::from(knee.id.connections()), "connection"),
            words::rate(knee.rate.median),
            words::count(u64::from(connections))
        ),
    )
    .evidence("saturated_from_connections", knee.id.connections())
    .evidence("saturated_rate", knee.rate.median)
    .evidence("rate", point.rate.median)
    .limit(&FLAT)
    .limit(&WAITS_GROW)
    .fix("For latency, ask for a fixed rate below this one (-R)")
    .into()
}

/// Whether mean response times grow nearly as connections do.
fn waits_grow(fewer: &PointSummary, more: &PointSummary) -> bool {
    let (Some(before), Some(after)) = (&fewer.response_mean_us, &more.response_mean_us) else {
        return false;
    };
    let factor = f64::from(more.id.connections()) / f64::from(fewer.id.connections());
    let growth = after.median / before.median.max(1e-9);
    WAITS_GROW.severity(growth / factor).is_some()
}
