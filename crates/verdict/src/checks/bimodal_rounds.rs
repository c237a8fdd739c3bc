//! STA-05: rounds that fall into two camps have no middle (ADR 0015).
//!
//! An interval that reaches into both camps tells the truth about them, and is as wide as they are
//! apart: that is precision, and the camps are a note. One that leaves a camp out, as that of many
//! rounds does, claims to know a number that every fourth or fifth round contradicts: that is a
//! doubt.
//!
//! Reads the rates of the rounds in which nothing else took the CPUs: what a disturbance did to the
//! others has its cause. Camps are recognised by the gap between them relative to the wider camp:
//! the more rounds there are, the less likely noise leaves such a gap. A gap relative to other gaps
//! would do the opposite.

use model::finding::Claim::{Capacity, Comparison};
use model::finding::Severity::{Note, Suspect};

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;
use crate::summary::median;
use crate::thresholds::{GAP_OF_CAMP, GAP_OF_MEDIAN};
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
        return peers.without_point("the other rounds of this point");
    };
    let mut values: Vec<f64> = peers
        .undisturbed(&point.trials)
        .map(|entry| entry.rate)
        .collect();
    values.sort_by(f64::total_cmp);
    if point.trials.len() >= ROUNDS_MIN && values.len() < ROUNDS_MIN {
        return Judgement::too_disturbed(values.len(), point.trials.len());
    }
    let Some((place, gap, of_camp)) = camps(&values).filter(|_| values.len() >= ROUNDS_MIN) else {
        return Judgement::NotApplicable;
    };
    let of_median = gap / median(&values).unwrap_or(0.0).max(1e-9);
    if GAP_OF_MEDIAN.severity(of_median).is_none() || GAP_OF_CAMP.severity(of_camp).is_none() {
        return Judgement::Silent;
    }
    let holds_both = point.rate.interval.is_some_and(|interval| {
        interval.low <= values[place] && interval.high >= values[place + 1]
    });
    let (severity, consequence) = if holds_both {
        (Note, "the interval reaches into both")
    } else {
        (Suspect, "the interval leaves one of them out")
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "The rounds fall into two camps, {} at {} to {}/s and {} at {} to {}/s: their median \
             describes neither, and {consequence}.",
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
    .evidence("gap_of_median", of_median)
    .evidence("gap_of_camp", of_camp)
    .limit(&GAP_OF_CAMP)
    .fix("Compare a round of each camp: what differed between these starts of the server?")
    .into()
}

/// Where sorted values part most clearly, each camp of two or more: the place before the gap, the
/// gap, and the gap in terms of the wider camp. A single straggler is no camp.
fn camps(sorted: &[f64]) -> Option<(usize, f64, f64)> {
    let last = sorted.len().checked_sub(1)?;
    (1..last.saturating_sub(1))
        .map(|place| {
            let gap = sorted[place + 1] - sorted[place];
            let wider = (sorted[place] - sorted[0]).max(sorted[last] - sorted[place + 1]);
            (place, gap, gap / wider.max(1e-9))
        })
        .max_by(|one, other| one.2.total_cmp(&other.2))
}

#[cfg(test)]
mod tests {
    use statrs::distribution::{ContinuousCDF as _, Normal};

    use super::*;

    /// The share of 20,000 points that the rule accuses, where `shift` is added to every second of
    /// `rounds` rounds with normal noise of deviation 1.
    fn accused(rounds: u32, shift: f64) -> f64 {
        let normal = Normal::new(0.0, 1.0).unwrap();
        let mut random = model::Random::new(1);
        let mut draw = || {
            let high = u32::try_from(random.next_u64() >> 32).unwrap();
            normal.inverse_cdf((f64::from(high) + 0.5) / 4_294_967_296.0)
        };
        let mut count = 0_u32;
        for _ in 0..20_000 {
            let mut values: Vec<f64> = (0..rounds)
                .map(|round| draw() + if round % 2 == 0 { shift } else { 0.0 })
                .collect();
            values.sort_by(f64::total_cmp);
            let of_camp = camps(&values).unwrap().2;
            count += u32::from(GAP_OF_CAMP.severity(of_camp).is_some());
        }
        f64::from(count) / 20_000.0
    }

    #[test]
    fn noise_is_not_taken_for_camps() {
        assert!(accused(6, 0.0) < 0.05);
        assert!(accused(10, 0.0) < 0.005);
        assert!(accused(30, 0.0) < 0.0005);
    }

    #[test]
    fn camps_well_apart_are_seen() {
        assert!(accused(6, 10.0) > 0.9);
        assert!(accused(10, 12.0) > 0.9);
    }
}
