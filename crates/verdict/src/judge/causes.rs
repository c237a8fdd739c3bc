//! Causes before symptoms: what a cause explains is not told again by the rules that see only what
//! follows from it.
//!
//! The reason changes, the verdict does not: a cause takes over the severity of what it explains.

use std::collections::BTreeMap;

use model::finding::{Claim, Finding, Severity, Verdict};
use serde_json::json;

use crate::check::Judgement;
use crate::checks;

/// Rules that know why, each with the rules that see what comes of it, from the most certain to the
/// least: where several found something, the first one explains.
const CAUSES: &[(&str, &[&str])] = &[
    ("CPU-08", FOLLOWS),
    ("CPU-01", FOLLOWS),
    ("GEN-07", FOLLOWS),
];

/// What follows where somebody else has the CPUs for a while: requests that leave late, answers
/// that wait in the generator, batches that take long, limits without a reason, rates that drift,
/// and rounds that differ.
const FOLLOWS: &[&str] = &[
    "GEN-03", "GEN-05", "GEN-16", "SRV-05", "STA-03", "STA-05", "STA-06",
];

/// Takes out of `findings` what a cause among them explains, and says which by which.
pub(super) fn explain(findings: &mut Vec<Finding>) -> BTreeMap<String, String> {
    let mut explained = BTreeMap::new();
    for (cause, follows) in CAUSES {
        let of_it: Vec<Finding> = findings
            .extract_if(.., |finding| follows.contains(&finding.rule.as_str()))
            .collect();
        let Some(found) = findings.iter_mut().find(|finding| finding.rule == *cause) else {
            findings.extend(of_it);
            continue;
        };
        let (told, left) = take_over(found, of_it);
        findings.extend(left);
        explained.extend(told.into_iter().map(|rule| (rule, (*cause).to_owned())));
    }
    explained
}

/// Lets `cause` speak for the findings of `of_it` as far as it touches their claims; what is left
/// of them comes back.
fn take_over(cause: &mut Finding, of_it: Vec<Finding>) -> (Vec<String>, Vec<Finding>) {
    let (mut told, mut back) = (Vec::new(), Vec::new());
    for mut finding in of_it {
        finding.severity.retain(|claim, severity| {
            match cause.severity.get_mut(claim) {
                // A note explains nothing.
                Some(ours) if *ours > Severity::Note => {
                    *ours = (*ours).max(*severity);
                    false
                }
                _ => true,
            }
        });
        if finding.severity.is_empty() {
            told.push(finding.rule);
        } else {
            back.push(finding);
        }
    }
    if !told.is_empty() {
        cause.evidence.insert("explains".to_owned(), json!(told));
    }
    (told, back)
}

/// Whether `rule` tells who else had the CPUs: what it forbids is forbidden for that reason alone.
pub fn is_disturbance(rule: &str) -> bool {
    CAUSES.iter().any(|(cause, _)| *cause == rule)
}

/// Rules about what the generator, its machine or the way to the server did while a trial was made.
/// What is so in every trial, such as CPUs that both sides share, is not among them: a repetition
/// would not help, and the verdict of the answer says it.
const NOT_THE_SERVER: [&str; 14] = [
    "GEN-01", "GEN-02", "GEN-03", "GEN-04", "GEN-05", "GEN-07", "GEN-12", "GEN-17", "TCP-01",
    "LNK-01", "CPU-01", "CPU-08", "MEM-01", "MEM-02",
];

/// Whether `verdict` forbids to say what the server can do, because of what something other than
/// the server did: a missed objective then says nothing of the server.
pub fn is_spoilt(verdict: &Verdict) -> bool {
    let forbids = |finding: &Finding| {
        let mut claims = [Claim::Capacity, Claim::Latency].iter();
        claims.any(|claim| finding.severity.get(claim) == Some(&Severity::Invalid))
    };
    let mut findings = verdict.findings.iter();
    findings.any(|finding| NOT_THE_SERVER.contains(&finding.rule.as_str()) && forbids(finding))
}

/// Whether something that is neither generator nor server disturbed a trial that makes `claims`:
/// whether a rule that knows why objected to one of them, beyond a note.
pub(crate) fn is_disturbed(claims: &[Claim], answers: &[Option<Judgement>]) -> bool {
    let mut found = checks::ALL.iter().zip(answers);
    found.any(|(check, answer)| match answer {
        Some(Judgement::Found(found)) if is_disturbance(check.id) => {
            let touches = |claim: &Claim| found.severity_of(*claim) > Some(Severity::Note);
            claims.iter().any(touches)
        }
        _ => false,
    })
}
