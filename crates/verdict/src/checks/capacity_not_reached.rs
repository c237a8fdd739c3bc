//! STA-11: a sweep that ends while the rate still rises has not found the capacity.
//!
//! Every healthy server answers more with 64 connections than with one, so the last step of the
//! sweep must be short enough to tell a rise that ended in between from one that goes on. And the
//! rounds must carry it: the two points are compared within rounds, and the whole interval has to
//! lie beyond what counts as flat. Spread alone is not a rise.

use std::collections::BTreeMap;

use model::finding::Claim::Capacity;
use model::finding::Severity::Suspect;

use crate::check::{Check, Found, Judge, Judgement};
use crate::pairs::paired;
use crate::set::{Peers, PointSummary};
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

/// Over a longer step nobody knows where a rise ended. Policy.
const STEP_MAX: f64 = 4.0;

fn judge(peers: &Peers<'_>) -> Judgement {
    if peers.entry.is_scheduled || peers.entry.point.is_none() || peers.entry.is_ceiling() {
        return Judgement::NotApplicable;
    }
    let Some(point) = peers.point() else {
        return peers.without_point("the same server with other numbers of connections");
    };
    let [.., before, last] = peers.line() else {
        return Judgement::NotApplicable;
    };
    if last.id != point.id {
        return Judgement::NotApplicable;
    }
    let (fewer, most) = (before.id.connections().max(1), last.id.connections());
    let factor = f64::from(most) / f64::from(fewer);
    if factor > STEP_MAX {
        return Judgement::CannotApply(format!(
            "nothing between {fewer} and {} was tried, where the rise may have ended",
            words::plural(u64::from(most), "connection")
        ));
    }
    let step = paired(&by_round(peers, last), &by_round(peers, before));
    let step = step.and_then(|step| Some((step.ratio - 1.0, step.interval?)));
    let Some((growth, interval)) = step else {
        return Judgement::CannotApply(
            "too few rounds have both of the largest numbers of connections".to_owned(),
        );
    };
    let per_doubling = interval.low.powf(1.0 / factor.log2()) - 1.0;
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
    .evidence("growth_low", interval.low - 1.0)
    .evidence("growth_per_doubling_low", per_doubling)
    .limit(&FLAT)
    .fix("Add larger numbers to connections (a key of [load])")
    .into()
}

/// The rates of a point by round.
fn by_round(peers: &Peers<'_>, point: &PointSummary) -> BTreeMap<u32, f64> {
    let entries = point.trials.iter().map(|trial| &peers.entries()[*trial]);
    entries
        .filter_map(|entry| Some((entry.point.as_ref()?.round, entry.rate)))
        .collect()
}
