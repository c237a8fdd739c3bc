//! HTTP-13: another version of TLS, cipher suite, key-exchange group or certificate is other work:
//! a point that asks for one must get it, and servers that differ are not compared.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::{Kind, Peers};
use crate::thresholds::CHAIN_BYTES_UNLIKE;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-13",
    name: "tls-params",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "RFC 8446 section 4.1: client and server agree on them; a signature by RSA 2048 costs \
             about ten times one by ECDSA P-256",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let Some(ours) = &peers.entry.tls else {
        return Judgement::NotApplicable;
    };
    if ours.negotiated.is_empty() {
        return Judgement::unknown("what was negotiated");
    }
    if let Some((wanted, negotiated)) = &ours.unlike {
        return Found::all(
            CHECK.claims,
            Invalid,
            format!("This point asks for {wanted}, and its connections had {negotiated}."),
        )
        .evidence("wanted", wanted.clone())
        .evidence("negotiated", negotiated.clone())
        .fix("Configure the server for what the plan asks, or ask for what it offers")
        .into();
    }
    let mut rivals = peers.rivals();
    let unlike = rivals.find_map(|(entry, point)| {
        let theirs = entry.tls.as_ref()?.negotiated.as_slice();
        let is_unlike = !theirs.is_empty() && !are_like(theirs, &ours.negotiated);
        is_unlike.then_some((theirs, point))
    });
    let Some((theirs, point)) = unlike else {
        return Judgement::Silent;
    };
    Found::all(
        &[Comparison],
        Invalid,
        format!(
            "{} had {}; this server had {}.",
            point.id.server,
            words(theirs),
            words(&ours.negotiated)
        ),
    )
    .evidence("negotiated", words(&ours.negotiated))
    .evidence("negotiated_unlike", words(theirs))
    .limit(&CHAIN_BYTES_UNLIKE)
    .fix("Give all servers one certificate, and offer one version, suite and group")
    .into()
}

/// Whether each kind of the one is as much work as that of the other.
fn are_like(ours: &[Kind], theirs: &[Kind]) -> bool {
    let mut pairs = ours.iter().zip(theirs);
    ours.len() == theirs.len() && pairs.all(|(ours, theirs)| ours.is_like(theirs))
}

fn words(kinds: &[Kind]) -> String {
    let words: Vec<String> = kinds.iter().map(ToString::to_string).collect();
    words.join("; ")
}
