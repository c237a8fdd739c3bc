//! STA-02: below six rounds no interval of a median reaches 95 %.

use model::finding::Claim::Comparison;
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;
use crate::thresholds::{ROUNDS_MIN, ROUNDS_SUSPECT};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-02",
    name: "too-few-rounds",
    claims: &[Comparison],
    mandatory: true,
    source: "Binomial distribution: the range of n values covers their median with 1 - 2^(1-n)",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    if peers.entry.is_ceiling() {
        return Judgement::NotApplicable;
    }
    let Some(point) = peers.point() else {
        return peers.without_point("the other rounds of this point");
    };
    let rounds = point.rate.values.len() as u64;
    let severity = if rounds < ROUNDS_MIN {
        Invalid
    } else if rounds < ROUNDS_SUSPECT {
        Suspect
    } else {
        return Judgement::Silent;
    };
    Found::new(
        &[(Comparison, severity)],
        format!(
            "{} cannot give an interval of 95 %: that needs {ROUNDS_SUSPECT} rounds.",
            words::plural(rounds, "round")
        ),
    )
    .evidence("rounds", rounds)
    .fix("Measure again with rounds = 6 or more (a key of [experiment])")
    .into()
}
