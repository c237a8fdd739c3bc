//! HTTP-15: a request that goes out before the end of a handshake (early data, 0-RTT) is answered a
//! round trip sooner, and whoever saw it can send it again. A run that has such requests without
//! saying so is not what it says.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-15",
    name: "early-data",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: false,
    source: "RFC 8446 section 8: early data can be replayed; section 2.3: it saves a round trip",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let trial = facts.trial;
    if !trial.is_secure() {
        return Judgement::NotApplicable;
    }
    let Some(tls) = &facts.record.tls else {
        return Judgement::unknown("how many handshakes had a request before their end");
    };
    let mix = trial.plan.tls.as_ref().and_then(|tls| tls.handshakes);
    let is_declared = mix.is_some_and(|mix| mix.early > 0);
    let early = tls.early();
    if is_declared || early == 0 {
        return Judgement::Silent;
    }
    let (full, resumed) = tls.full_and_resumed();
    let share = number(early) / number(full + resumed);
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "In {} of the handshakes a request was sent before the handshake had ended (0-RTT), \
             but the plan declares none.",
            words::share(share)
        ),
    )
    .evidence("early", early)
    .evidence("handshakes", full + resumed)
    .fix("Declare them (--handshakes full:60,early:40), or measure without early data")
    .into()
}
