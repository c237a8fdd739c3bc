//! LNK-06: a machine that cuts or joins segments one by one pays for each packet of a large answer.
//!
//! At the generator's end it reads whether received segments are joined (GRO), at the servers' end,
//! where agents make the load, whether segments to be sent are left to the card to cut (TSO). Over
//! loopback and between virtual devices large segments pass as they are.

use model::Outcome;
use model::finding::Claim::{Capacity, Resources};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::LARGE_ANSWER;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "LNK-06",
    name: "offloads",
    claims: &[Capacity, Resources],
    mandatory: false,
    source: "Linux Documentation/networking/segmentation-offloads.rst",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let is_elsewhere = facts.is_asked_from_elsewhere();
    let is_here = facts.is_local() == Some(true) && !is_elsewhere;
    if is_here || facts.is_loopback() == Some(true) {
        return Judgement::NotApplicable;
    }
    let Some(path) = facts.path() else {
        return Judgement::unknown("which link carried the answers, and how it is set");
    };
    if path.is_virtual() {
        return Judgement::NotApplicable;
    }
    let link = &path.link;
    let (offload, lacking) = match is_elsewhere {
        true => (
            "tso",
            "does not let its card cut what it sends into segments (TSO is off)",
        ),
        false => (
            "gro",
            "does not join the segments that it receives (GRO is off)",
        ),
    };
    let Some(is_on) = path.offloads.get(offload) else {
        return Judgement::unknown(format!("whether {offload} of {link} is on"));
    };
    let total = &facts.record.total;
    let answers = total.outcomes[Outcome::Ok].max(1);
    let bytes = total.bytes_received.count() / answers;
    let severity = LARGE_ANSWER.severity(number(bytes));
    let Some(severity) = severity.filter(|_| !is_on) else {
        return Judgement::Silent;
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "{link} {lacking}, and an answer has {} bytes: each packet costs CPU time that this \
             would save.",
            words::count(bytes)
        ),
    )
    .evidence("link", link.as_str())
    .evidence("offload", offload)
    .evidence("answer_bytes", bytes)
    .limit(&LARGE_ANSWER)
    .fix(format!("Turn it on: ethtool -K {link} {offload} on"))
    .into()
}
