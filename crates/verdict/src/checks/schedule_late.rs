//! GEN-03: requests that left late for our own reasons make the server look slow.
//!
//! A response time counts from the moment at which its request was due, so lateness is part of it.
//! At most half of the slowest 1 in 100 can be the latest 1 in 200; the others were less late. So
//! the lateness of 1 in 200 bounds the generator's part of the 99th percentile. For the median, it
//! is the lateness of 1 in 4. Where users come at a rate, a request is late from when its user was
//! ready to ask and had a connection; and where one was to be made first, also from when there was
//! a place for the user until the generator began to make it.

use model::Span;
use model::finding::Claim::Latency;
use model::finding::Severity;

use crate::check::{Check, Facts, Found, Judge, Judgement, part};
use crate::summary::{Support, support};
use crate::thresholds::{LATE_FLOOR_US, LATE_OF_RESPONSE};

pub(crate) static CHECK: Check = Check {
    id: "GEN-03",
    name: "schedule-late",
    claims: &[Latency],
    mandatory: true,
    source: "zrk README (max_schedule_lag_us); YCSB's no-op error when sleeping, 146 µs",
    judge: Judge::Alone(judge),
};

/// What is judged: a quantile of response time, and the one of late time that can be part of it.
const JUDGED: [Part; 2] = [
    Part {
        label: "p50",
        q: 0.5,
        late: 0.75,
        so_many: "1 in 4",
    },
    Part {
        label: "p99",
        q: 0.99,
        late: 0.995,
        so_many: "1 in 200",
    },
];

struct Part {
    label: &'static str,
    q: f64,
    late: f64,
    so_many: &'static str,
}

fn judge(facts: &Facts<'_>) -> Judgement {
    if !facts.is_open_loop() && !facts.do_users_come() {
        return Judgement::NotApplicable;
    }
    let late = &facts.record.late_time;
    if support(late.count(), 0.99) == Support::TooFew {
        return Judgement::unknown("late time: fewer than 1,000 requests have one");
    }
    let worst = JUDGED
        .iter()
        .filter_map(|judged| found(facts, judged))
        .max_by_key(|(severity, _)| *severity);
    worst.map_or(Judgement::Silent, |(_, found)| found.into())
}

fn found(facts: &Facts<'_>, judged: &Part) -> Option<(Severity, Found)> {
    let Part { label, so_many, .. } = judged;
    let late_times = &facts.record.late_time;
    let late = late_times.quantile(judged.late)?;
    // What lies among the unanswered is longer than the timeout.
    let response = facts
        .record
        .response_time
        .quantile(judged.q)
        .unwrap_or(facts.trial.plan.timeout);
    let share = part(late, response);
    let over_floor = LATE_FLOOR_US.severity(late.as_us_f64()).is_some();
    let severity = LATE_OF_RESPONSE
        .severity(share)
        .filter(|severity| over_floor || *severity == Severity::Invalid)?;
    let longest: Span = late_times.max().unwrap_or_default();
    let found = Found::new(
        &[(Latency, severity)],
        format!(
            "The generator sent {so_many} requests {late} late or more, and the latest \
             {longest} late: the {label} of response time, {response}, can include that."
        ),
    )
    .evidence("quantile", *label)
    .evidence("late_time_us", late.as_us_f64())
    .evidence("late_time_max_us", longest.as_us_f64())
    .evidence("response_time_us", response.as_us_f64())
    .limit(&LATE_FLOOR_US)
    .limit(&LATE_OF_RESPONSE)
    .fix(
        "Give each generator thread a CPU of its own and let it spin (load: --cpus, --spin \
         always), or ask for a lower rate",
    );
    Some((severity, found))
}
