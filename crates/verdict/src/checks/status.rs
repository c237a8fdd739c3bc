//! HTTP-02: answers with another status than expected, 3xx included.

use model::Outcome;
use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;
use model::plan::Level;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-02",
    name: "status",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "Policy; wrk counts only 400 and above as errors",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let wrong = facts.record.total.outcomes[Outcome::Status];
    if wrong == 0 {
        return if facts.trial.plan.expect.level < Level::Status {
            Judgement::unknown("whether statuses were right: --expect none does not look")
        } else {
            Judgement::Silent
        };
    }
    let examples = &facts.record.examples;
    let example = examples.iter().find(|e| e.outcome == Outcome::Status);
    let first = example.map_or_else(String::new, |e| format!(", the first: {}", e.told()));
    // So servers answer who asks for HTTP where they speak TLS.
    let counts = facts.record.wrong_statuses.iter();
    let refused = match counts.max_by_key(|(_, count)| **count) {
        Some((status, _)) => *status == 400,
        // Earlier versions did not count them: the words of the example are all there is.
        None => example.is_some_and(|e| e.text.starts_with("status 400 ")),
    };
    let hint = match refused && !facts.trial.is_secure() {
        true => " (if that is an https:// port, ask it with https://)",
        false => "",
    };
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "{} of {} answers had another status than expected{first}.",
            words::count(wrong),
            words::count(facts.ended())
        ),
    )
    .evidence("status", wrong)
    .evidence("example", example.map(|e| e.text.clone()))
    .fix(format!(
        "Mend what the server refuses{hint}, or declare the status you expect (--expect-status)"
    ))
    .into()
}
