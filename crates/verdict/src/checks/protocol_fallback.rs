//! HTTP-10: another version of the protocol than the plan asks for is another benchmark.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;
use model::plan::Protocol;

use crate::check::{Check, Facts, Found, Judge, Judgement};

pub(crate) static CHECK: Check = Check {
    id: "HTTP-10",
    name: "protocol-fallback",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "RFC 9110 section 2.5: an answer tells the version that its server conforms to",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let reference = facts.record.reference.as_ref();
    let Some(version) = reference
        .map(|reference| reference.version.as_str())
        .filter(|version| !version.is_empty())
    else {
        return Judgement::unknown("the version of the reference answer");
    };
    let wanted = match facts.trial.plan.protocol {
        Protocol::Http1 => "HTTP/1.1",
        Protocol::Http2 => "HTTP/2",
        Protocol::Http3 => "HTTP/3",
    };
    if version == wanted {
        return Judgement::Silent;
    }
    Found::all(
        CHECK.claims,
        Invalid,
        format!("The plan asks in {wanted}, and the server answers in {version}."),
    )
    .evidence("version", version)
    .fix("Configure the server to speak the version that the plan asks for")
    .into()
}
