//! SRV-06: a server that logs each request does more than one that does not.
//!
//! A product that takes part with several ways to log is a question about logging, and no mismatch
//! as long as each other product takes part in the same way.

use model::finding::Claim::Comparison;
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;

pub(crate) static CHECK: Check = Check {
    id: "SRV-06",
    name: "access-log-mismatch",
    claims: &[Comparison],
    mandatory: false,
    source: "Policy; a line of a log is about 90 bytes and, unbuffered, a system call",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let Some((product, ours)) = &peers.entry.logging else {
        return match peers.entry.point {
            Some(_) => Judgement::unknown("how the server logs"),
            None => Judgement::NotApplicable,
        };
    };
    let others: Vec<(&String, &String)> = peers
        .rivals()
        .filter_map(|(entry, _)| entry.logging.as_ref())
        .filter(|(other, _)| other != product)
        .map(|(other, theirs)| (other, theirs))
        .collect();
    let unlike = others.iter().find(|(other, _)| {
        let same = |(product, theirs): &(&String, &String)| product == other && *theirs == ours;
        !others.iter().any(same)
    });
    let Some((other, theirs)) = unlike else {
        return Judgement::Silent;
    };
    let is_off = |logs: &str| logs == "off";
    let severity = if is_off(ours) == is_off(theirs) {
        Suspect
    } else {
        Invalid
    };
    Found::all(
        CHECK.claims,
        severity,
        format!("The access log of {product} is {ours}, that of {other} is {theirs}."),
    )
    .evidence("access_log", ours.clone())
    .evidence("access_log_unlike", (*theirs).clone())
    .fix("Give all servers the same access_log (a key of each [[server]] of the experiment)")
    .into()
}
