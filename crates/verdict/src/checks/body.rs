//! HTTP-03: answers with another length or body than the reference.

use model::Outcome;
use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::{Invalid, Note};
use model::plan::Level;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-03",
    name: "body",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "Policy; an error page with status 200 is fast",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let wrong = facts.record.total.outcomes[Outcome::Content];
    if wrong == 0 {
        return unchecked(facts);
    }
    let examples = &facts.record.examples;
    let example = examples.iter().find(|e| e.outcome == Outcome::Content);
    let first = example.map_or_else(String::new, |e| format!(", the first: {}", e.told()));
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "{} of {} answers had another length or body than expected{first}.",
            words::count(wrong),
            words::count(facts.ended())
        ),
    )
    .evidence("content", wrong)
    .evidence("example", example.map(|e| e.text.clone()))
    .fix("If the page changes by design, check less (--expect length or --expect status)")
    .into()
}

/// What was not looked at.
fn unchecked(facts: &Facts<'_>) -> Judgement {
    let level = facts.trial.plan.expect.level;
    if level < Level::Length {
        return Judgement::unknown(format!(
            "whether bodies were right: --expect {} does not look",
            if level == Level::None {
                "none"
            } else {
                "status"
            }
        ));
    }
    // What one user is answered says nothing of what another one is answered.
    let is_shared = facts.trial.plan.is_fixed(0);
    let Some(reference) = facts.record.reference.as_ref().filter(|_| is_shared) else {
        return Judgement::unknown("a reference answer to compare with");
    };
    let say = if reference.dynamic {
        format!(
            "The page changes from fetch to fetch; only what stays the same was checked: {}.",
            reference.checked
        )
    } else if level == Level::Length {
        "Lengths were checked, bodies were not (--expect length).".to_owned()
    } else {
        return Judgement::Silent;
    };
    Found::all(CHECK.claims, Note, say)
        .evidence("checked", reference.checked.clone())
        .into()
}
