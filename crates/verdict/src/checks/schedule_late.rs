//! GEN-03: requests that left late for our own reasons make the server look slow.

use model::finding::Claim::Latency;
use model::finding::Severity;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::summary::{Support, support};
use crate::thresholds::{LATE_FLOOR_US, LATE_OF_MEDIAN};

pub(crate) static CHECK: Check = Check {
    id: "GEN-03",
    name: "schedule-late",
    claims: &[Latency],
    mandatory: true,
    source: "zrk README (max_schedule_lag_us); YCSB's no-op error when sleeping, 146 µs",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if !facts.is_open_loop() {
        return Judgement::NotApplicable;
    }
    let late = &facts.record.late_time;
    let Some(late_p99) = late
        .quantile(0.99)
        .filter(|_| support(late.count(), 0.99) > Support::TooFew)
    else {
        return Judgement::unknown("late time: fewer than 1,000 requests were sent");
    };
    // A median that lies among the unanswered is longer than the timeout.
    let response_p50 = facts
        .record
        .response_time
        .quantile(0.5)
        .unwrap_or(facts.trial.plan.timeout);
    let (late_us, median_us) = (late_p99.as_us_f64(), response_p50.as_us_f64());
    let share = late_us / median_us;
    let over_floor = LATE_FLOOR_US.severity(late_us).is_some();
    let Some(severity) = LATE_OF_MEDIAN
        .severity(share)
        .filter(|severity| over_floor || *severity == Severity::Invalid)
    else {
        return Judgement::Silent;
    };
    let longest = late.max().unwrap_or_default();
    Found::new(
        &[(Latency, severity)],
        format!(
            "Requests left up to {longest} late for the generator's own reasons; 1 in 100 left \
             {late_p99} or more after it could have, where the median response took \
             {response_p50}."
        ),
    )
    .evidence("late_time_p99_us", late_us)
    .evidence("late_time_max_us", longest.as_us_f64())
    .evidence("response_time_p50_us", median_us)
    .limit(&LATE_FLOOR_US)
    .limit(&LATE_OF_MEDIAN)
    .fix(
        "Give each generator thread a CPU of its own and let it spin (load: --cpus, --spin always)",
    )
    .into()
}
