//! HTTP-18: servers that are asked differently are not compared.

use model::finding::Claim::Comparison;
use model::finding::Severity::Invalid;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-18",
    name: "request-parity",
    claims: &[Comparison],
    mandatory: false,
    source: "Policy; a longer path or another field is other work",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let ours = &peers.entry.request;
    let unlike = peers.rivals().find(|(entry, _)| entry.request != *ours);
    let Some((entry, point)) = unlike else {
        return Judgement::Silent;
    };
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "This server and {} were asked for different things.",
            point.id.server
        ),
    )
    .evidence("request", ours.clone())
    .evidence("request_unlike", entry.request.clone())
    .fix("Ask all servers for the same path, with the same fields")
    .into()
}
