//! STA-05: rounds that fall into two camps have no middle.

use model::finding::Claim::{Capacity, Comparison};
use model::finding::Severity::Suspect;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;
use crate::summary::median;
use crate::thresholds::{GAP_OF_GAPS, GAP_OF_MEDIAN};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-05",
    name: "bimodal-rounds",
    claims: &[Capacity, Comparison],
    mandatory: false,
    source: "Policy; von Leitner 2003: Linux 2.4 fork jumped between two branches",
    judge: Judge::Across(judge),
};

/// Fewer rounds show no camps.
const ROUNDS_MIN: usize = 6;

fn judge(peers: &Peers<'_>) -> Judgement {
    if peers.entry.point.is_none() || peers.entry.is_ceiling() {
        return Judgement::NotApplicable;
    }
    let Some(point) = peers.point() else {
        return Judgement::unknown("the other rounds of this point");
    };
    let values = &point.rate.values;
    if values.len() < ROUNDS_MIN {
        return Judgement::NotApplicable;
    }
    let mut gaps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // A single straggler is no camp: the gap must have two rounds on each side.
    let inner = gaps
        .iter()
        .enumerate()
        .skip(1)
        .take(gaps.len().saturating_sub(2));
    let Some((place, widest)) = inner.max_by(|one, other| one.1.total_cmp(other.1)) else {
        return Judgement::NotApplicable;
    };
    let (place, widest) = (place, *widest);
    gaps.remove(place);
    gaps.sort_by(f64::total_cmp);
    let others = median(&gaps).unwrap_or(0.0);
    if GAP_OF_MEDIAN
        .severity(widest / point.rate.median.max(1e-9))
        .is_none()
        || GAP_OF_GAPS.severity(widest / others.max(1e-9)).is_none()
    {
        return Judgement::Silent;
    }
    Found::new(
        &[(Capacity, Suspect), (Comparison, Suspect)],
        format!(
            "The rounds fall into two camps, {} at {} to {}/s and {} at {} to {}/s: their median \
             describes neither.",
            place + 1,
            words::rate(values[0]),
            words::rate(values[place]),
            values.len() - place - 1,
            words::rate(values[place + 1]),
            words::rate(values[values.len() - 1])
        ),
    )
    .evidence("rates", values.clone())
    .limit(&GAP_OF_MEDIAN)
    .limit(&GAP_OF_GAPS)
    .fix("Look at both: what differs between those starts of the server?")
    .into()
}
