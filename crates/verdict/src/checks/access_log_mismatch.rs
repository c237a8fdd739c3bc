//! SRV-06: a server that logs each request does more than one that does not.
//!
//! Where an experiment lets a server log in several ways, it asks what a log costs: only one of
//! these is the way of the others, and that is not a mismatch. Nor is it one for the others, as
//! long as the product of that server takes part in their way, too. Entries are such a server where
//! they differ in nothing else: what they are tells that, and not how they are called.

use model::finding::Claim::Comparison;
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::{Logging, Peers};

pub(crate) static CHECK: Check = Check {
    id: "SRV-06",
    name: "access-log-mismatch",
    claims: &[Comparison],
    mandatory: false,
    source: "Policy; a line of a log is about 90 bytes and, unbuffered, a system call",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let Some(ours) = &peers.entry.logging else {
        return match peers.entry.point {
            Some(_) => Judgement::unknown("how the server logs"),
            None => Judgement::NotApplicable,
        };
    };
    let rivals = peers.rivals();
    let others: Vec<&Logging> = rivals
        .filter_map(|(entry, _)| entry.logging.as_ref())
        .collect();
    let any = |is_it: &dyn Fn(&Logging) -> bool| others.iter().any(|other| is_it(other));
    let unlike = others.iter().find(|theirs| {
        theirs.product != ours.product
            && !any(&|other| other.product == theirs.product && other.log == ours.log)
            && !any(&|other| other.alike == ours.alike && other.log == theirs.log)
    });
    let Some(theirs) = unlike else {
        return Judgement::Silent;
    };
    let is_off = |logs: &str| logs == "off";
    let severity = if is_off(&ours.log) == is_off(&theirs.log) {
        Suspect
    } else {
        Invalid
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "The access log of {} is {}, that of {} is {}.",
            ours.product, ours.log, theirs.product, theirs.log
        ),
    )
    .evidence("access_log", ours.log.clone())
    .evidence("access_log_unlike", theirs.log.clone())
    .fix("Give all servers the same access_log (a key of each [[server]] of the experiment)")
    .into()
}
