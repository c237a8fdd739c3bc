//! HTTP-01: exchanges that failed, times in which no connection was accepted, and runs in which
//! nothing was measured.

use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;
use model::record::Tally;
use model::{Outcome, Record, Span};

use crate::check::{Check, Facts, Found, Judge, Judgement, number, part};
use crate::thresholds::{FAILED_SHARE, OUTAGE_SHARE};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-01",
    name: "errors",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "Policy; the rate counts right answers alone",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let record = facts.record;
    let ended = facts.ended();
    if record.total.outcomes[Outcome::Ok] == 0 && record.total.right_in_it() == 0 {
        return nothing(facts).into();
    }
    let failures = record.total.outcomes.failures();
    let later = failed_later(facts);
    // An overloaded server's answers may all be to arrivals from before the window.
    let share = number(failures + later) / number((ended + later).max(1));
    let outages = record.outages();
    let down: Span = outages.iter().map(|outage| outage.length).sum();
    let down = part(down, record.window);
    let worst = FAILED_SHARE
        .severity(share)
        .max(OUTAGE_SHARE.severity(down));
    let Some(severity) = worst else {
        return Judgement::Silent;
    };
    let mut say = Vec::new();
    if failures > 0 {
        say.push(format!(
            "{} of {} exchanges failed ({}): {}.",
            words::count(failures),
            words::count(ended),
            words::share(number(failures) / number(ended.max(1))),
            ways(&record.total)
        ));
    }
    if later > 0 {
        say.push(format!(
            "{} sent within the window failed after it: {}.",
            words::plural(later, "exchange"),
            ways(&record.drain_phase)
        ));
    }
    if !outages.is_empty() {
        say.push(format!("{}.", words::outages(&outages)));
    }
    let mut found = Found::all(CHECK.claims, severity, say.join(" "))
        .evidence("failed_share", share)
        .limit(&FAILED_SHARE);
    if later > 0 {
        found = found.evidence("failed_later", later);
    }
    if !outages.is_empty() {
        found = found.evidence("outage_share", down).limit(&OUTAGE_SHARE);
    }
    let found = found.fix(
        "The first example of each kind is listed under failures; mend the cause or lower the load",
    );
    with_outcomes(found, record).into()
}

/// How many exchanges that were under way when the window ended failed afterwards. A schedule
/// counts what was due within the window whenever it ends; a closed loop, what ends within it.
fn failed_later(facts: &Facts<'_>) -> u64 {
    match facts.is_open_loop() {
        true => 0,
        false => facts.record.drain_phase.outcomes.failures(),
    }
}

/// Without a right answer there is no rate and no time, whatever else came.
fn nothing(facts: &Facts<'_>) -> Found {
    let record = facts.record;
    let passed = record.total.passed.map_or(0, |passed| passed.ended);
    let ended = facts.ended().max(passed);
    let say = if ended == 0 {
        format!(
            "No exchange ended within the window of {}: nothing was measured.",
            record.window
        )
    } else {
        let ways = ways(&record.total);
        let ways = if ways.is_empty() {
            ways
        } else {
            format!(" (failures: {ways})")
        };
        format!(
            "None of the {} that ended brought a right answer{ways}: nothing was measured.",
            words::plural(ended, "exchange")
        )
    };
    let remedy = if record.total.outcomes[Outcome::Status] > 0 {
        "Ask for something that the server has, or say which status is right (--expect-status)"
    } else if record.total.outcomes.failures() > 0 {
        "The first failure of each kind is listed under failures: mend its cause, and ask for one \
         page with curl first"
    } else {
        "Ask for one page with curl first; measure longer than the server needs to answer"
    };
    let found = Found::all(CHECK.claims, Invalid, say)
        .evidence("sent", record.total.sent_in_it())
        .evidence("timeout_s", facts.trial.plan.timeout.as_s_f64())
        .fix(remedy);
    with_outcomes(found, record)
}

/// How many failed in each way: `read 9,000, timeout 12`.
fn ways(tally: &Tally) -> String {
    let ways: Vec<String> = tally
        .outcomes
        .iter()
        .filter(|(outcome, count)| outcome.is_failure() && *count > 0)
        .map(|(outcome, count)| format!("{} {}", outcome.name(), words::count(count)))
        .collect();
    ways.join(", ")
}

fn with_outcomes(mut found: Found, record: &Record) -> Found {
    for (outcome, count) in record.total.outcomes.iter() {
        if outcome != Outcome::Ok && count > 0 {
            found = found.evidence(outcome.name(), count);
        }
    }
    found
}
