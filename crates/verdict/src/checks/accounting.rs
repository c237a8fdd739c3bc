//! GEN-13: counts that do not add up, or more than physics allows, are a bug of ours.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;
use model::plan::{Level, PlanFile, RequestFile};
use model::record::{Reference, Tally};
use model::units::Bytes;
use model::{Outcome, Record};

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-13",
    name: "accounting",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "What was sent has ended or is under way; better than physics is a bug",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let wrong: Vec<String> = [sums(facts), samples(facts.record), bytes(facts)]
        .into_iter()
        .flatten()
        .collect();
    if wrong.is_empty() {
        return Judgement::Silent;
    }
    Found::all(
        CHECK.claims,
        Invalid,
        format!(
            "The generator's own counts contradict each other: {}.",
            wrong.join("; ")
        ),
    )
    .evidence("contradictions", wrong)
    .fix("Report this as a bug with the stored trial: no number of this run can be trusted")
    .into()
}

/// How an exchange may end without having been sent. A timeout may come before that, where an
/// earlier request keeps the connection busy, and an answer, which breaks the protocol; TLS fails
/// mostly before, and sometimes after.
const PERHAPS_SENT: [Outcome; 5] = [
    Outcome::Protocol,
    Outcome::Timeout,
    Outcome::Tls,
    Outcome::Unfinished,
    Outcome::Write,
];

/// Exchanges that ended and were certainly sent.
fn sent_and_ended(tally: &Tally) -> u64 {
    tally
        .outcomes
        .iter()
        .filter(|(outcome, _)| {
            !matches!(outcome, Outcome::Connect | Outcome::Shed) && !PERHAPS_SENT.contains(outcome)
        })
        .map(|(_, count)| count)
        .sum()
}

/// Over all phases, at most as many ended as were sent, and at most as many are still under way as
/// there are places for them.
fn sums(facts: &Facts<'_>) -> Option<String> {
    let record = facts.record;
    let phases = [
        &record.reference_phase,
        &record.warmup_phase,
        &record.total,
        &record.drain_phase,
    ];
    let sent: u64 = phases.iter().map(|tally| tally.sent).sum();
    let ended: u64 = phases.iter().map(|tally| sent_and_ended(tally)).sum();
    let unsure: u64 = phases
        .iter()
        .flat_map(|tally| PERHAPS_SENT.map(|outcome| tally.outcomes[outcome]))
        .sum();
    let plan = &facts.trial.plan;
    let places = u64::from(plan.connections) * u64::from(plan.at_once());
    if ended > sent {
        return Some(format!(
            "{} exchanges ended but only {} were sent",
            words::count(ended),
            words::count(sent)
        ));
    }
    (sent - ended > places + unsure).then(|| {
        format!(
            "{} were sent, {} ended, and at most {} can be under way",
            words::count(sent),
            words::count(ended),
            words::count(places + unsure)
        )
    })
}

/// Every right answer is in every distribution that takes right answers, and in one interval.
fn samples(record: &Record) -> Option<String> {
    let right = record.total.outcomes[Outcome::Ok];
    let in_intervals: u64 = record
        .intervals
        .iter()
        .map(|interval| interval.tally.outcomes[Outcome::Ok])
        .sum();
    [
        ("response times", record.response_time.count()),
        ("service times", record.service_time.count()),
        ("answers in the intervals", in_intervals),
    ]
    .into_iter()
    .find(|(name, count)| {
        *count != right && !(name.ends_with("intervals") && record.intervals.is_empty())
    })
    .map(|(name, count)| {
        format!(
            "{} {name} for {} right answers",
            words::count(count),
            words::count(right)
        )
    })
}

/// Right answers carry exactly the reference's content, within what was received.
fn bytes(facts: &Facts<'_>) -> Option<String> {
    let total = &facts.record.total;
    // The content counts when its answer ends, which may have come in part before the window.
    let mut until_now = Tally::default();
    for phase in [
        &facts.record.reference_phase,
        &facts.record.warmup_phase,
        total,
    ] {
        until_now.merge(phase);
    }
    if until_now.bytes_content > until_now.bytes_received {
        return Some(format!(
            "{} of content in {} received",
            until_now.bytes_content, until_now.bytes_received
        ));
    }
    let plan = &facts.trial.plan;
    if facts.record.classes.is_empty() {
        let reference = facts.record.reference.as_ref();
        let right = total.outcomes[Outcome::Ok];
        return content(
            plan,
            plan.requests.first()?,
            reference,
            right,
            total.bytes_content,
        );
    }
    let classes = plan.requests.iter().zip(&facts.record.classes);
    classes
        .filter_map(|(request, class)| {
            let right = class.outcomes[Outcome::Ok];
            let reference = class.reference.as_ref();
            let wrong = content(plan, request, reference, right, class.bytes_content)?;
            Some(format!("{}: {wrong}", class.name))
        })
        .next()
}

/// What is wrong with the content of `right` answers to `request`.
fn content(
    plan: &PlanFile,
    request: &RequestFile,
    reference: Option<&Reference>,
    right: u64,
    content: Bytes,
) -> Option<String> {
    let reference = reference?;
    let expect = request.expect.as_ref().unwrap_or(&plan.expect);
    if reference.dynamic || expect.level < Level::Length || request.method == "HEAD" {
        return None;
    }
    let expected = right.checked_mul(reference.length)?;
    (content.count() != expected).then(|| {
        format!(
            "{} bytes of content where right answers have {}",
            words::count(content.count()),
            words::count(expected)
        )
    })
}
