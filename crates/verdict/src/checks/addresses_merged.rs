//! SRV-12: the server saw fewer clients than the load came from.
//!
//! Where something on the way replaces the addresses of clients with its own (a router that
//! translates addresses, a proxy), what a server does for many clients is not what was measured.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::ADDRESSES_UNSEEN;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "SRV-12",
    name: "addresses-merged",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "The client addresses in the server's access log",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let server = facts.trial.context.server.as_ref();
    let Some(seen) = server.and_then(|server| server.client_addresses) else {
        return Judgement::NotApplicable;
    };
    if facts.trial.plan.sources.is_empty() {
        return Judgement::NotApplicable;
    }
    let Some(used) = facts.record.sources_used() else {
        return Judgement::unknown("how many source addresses the connections came from");
    };
    let unseen = number(used.saturating_sub(seen)) / number(used.max(1));
    let Some(severity) = ADDRESSES_UNSEEN.severity(unseen) else {
        return Judgement::Silent;
    };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "Connections came from {}, but the server's access log names only {}.",
            words::plural(used, "source address"),
            words::plural(seen, "client")
        ),
    )
    .evidence("addresses_used", used)
    .evidence("addresses_seen", seen)
    .limit(&ADDRESSES_UNSEEN)
    .fix("Remove proxies and routers that translate addresses from the path")
    .into()
}
