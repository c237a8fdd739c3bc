//! HTTP-12: GOAWAY and RST_STREAM end connections and exchanges in mid-run, and what comes after
//! them is another load.

use model::finding::Claim::{Capacity, Comparison, Latency};
use model::finding::Severity::Suspect;
use model::plan::Protocol;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-12",
    name: "h2-goaway",
    claims: &[Capacity, Latency, Comparison],
    mandatory: false,
    source: "RFC 9113 section 6.8; nginx counts streams for keepalive_requests (1000)",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.trial.plan.protocol != Protocol::Http2 {
        return Judgement::NotApplicable;
    }
    let Some(http2) = &facts.record.http2 else {
        return Judgement::unknown("what HTTP/2 did");
    };
    let mut parts = Vec::new();
    for (what, counts) in [("GOAWAY", &http2.go_aways), ("RST_STREAM", &http2.resets)] {
        for (code, count) in counts.iter().filter(|(_, count)| **count > 0) {
            parts.push(format!("{what} {code} {}", words::plural(*count, "time")));
        }
    }
    if parts.is_empty() {
        return Judgement::Silent;
    }
    Found::all(
        CHECK.claims,
        Suspect,
        format!("The server sent {}.", words::list(&parts)),
    )
    .evidence("go_aways", http2.go_aways.values().sum::<u64>())
    .evidence("resets", http2.resets.values().sum::<u64>())
    .evidence("unprocessed", http2.unprocessed)
    .fix("Let connections last: keepalive_requests (nginx), MaxKeepAliveRequests 0 (Apache)")
    .into()
}
