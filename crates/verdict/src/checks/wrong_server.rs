//! SRV-01: the port was answered by somebody we did not start.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;

use crate::check::{Check, Facts, Found, Judge, Judgement};

pub(crate) static CHECK: Check = Check {
    id: "SRV-01",
    name: "wrong-server",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "The owner of the listening socket, by its inode",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.trial.point.is_none() {
        return Judgement::NotApplicable;
    }
    let server = facts.trial.context.server.as_ref();
    let Some((server, ours)) = server.and_then(|server| Some((server, server.listener_is_ours?)))
    else {
        return Judgement::unknown("the process that owns the listening socket");
    };
    if ours {
        return Judgement::Silent;
    }
    let owner = server
        .listener_owner
        .as_deref()
        .unwrap_or("another process");
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "The measured port belongs to {owner}, not to the {} that was started.",
            server.product
        ),
    )
    .evidence("listener_owner", server.listener_owner.clone())
    .fix("Stop what listens there (ss -ltnp), or choose another port")
    .into()
}
