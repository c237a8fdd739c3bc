//! HTTP-05: servers that encode their content differently do not send the same bytes.

use model::finding::Claim::Comparison;
use model::finding::Severity::Invalid;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-05",
    name: "content-coding",
    claims: &[Comparison],
    mandatory: false,
    source: "RFC 9110 section 8.4; a cache may store one coding and undo it for each client",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let Some(ours) = &peers.entry.content_coding else {
        return Judgement::unknown("the coding of the reference answer");
    };
    let unlike = peers.rivals().find_map(|(entry, point)| {
        let theirs = entry.content_coding.as_ref()?;
        (theirs != ours).then_some((theirs, &point.id.server))
    });
    let Some((theirs, server)) = unlike else {
        return Judgement::Silent;
    };
    let word = |coding: &str| if coding.is_empty() { "none" } else { coding }.to_owned();
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "The content comes with Content-Encoding {} from this server and {} from {server}: \
             they do not send the same bytes.",
            word(ours),
            word(theirs)
        ),
    )
    .evidence("content_coding", word(ours))
    .evidence("content_coding_unlike", word(theirs))
    .fix("Turn compression off everywhere, or on everywhere with the same coding and level")
    .into()
}
