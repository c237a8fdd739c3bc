//! GEN-07: a generator thread that had to wait for its CPU stamped its instants late.

use model::finding::Claim::Latency;

use crate::check::{Check, Facts, Found, Judge, Judgement, part};
use crate::thresholds::RUNQUEUE_WAIT;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-07",
    name: "gen-runqueue-wait",
    claims: &[Latency],
    mandatory: false,
    source: "Linux scheduler/sched-stats.rst: time spent waiting to run",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let waits: Option<Vec<(u32, f64)>> = facts
        .record
        .workers
        .iter()
        .map(|worker| Some((worker.index, part(worker.runqueue_wait?, worker.window))))
        .collect();
    let worst = waits
        .unwrap_or_default()
        .into_iter()
        .max_by(|one, other| one.1.total_cmp(&other.1));
    let Some((worker, share)) = worst else {
        return Judgement::unknown("how long generator threads waited for their CPU");
    };
    let Some(severity) = RUNQUEUE_WAIT.severity(share) else {
        return Judgement::Silent;
    };
    Found::new(
        &[(Latency, severity)],
        format!(
            "{} was ready to run but had no CPU for {} of the window.",
            words::worker(worker, facts.record),
            words::share(share)
        ),
    )
    .evidence("worker", worker)
    .evidence("runqueue_wait_share", share)
    .limit(&RUNQUEUE_WAIT)
    .fix("Pin the generator to CPUs that nothing else uses (--cpus)")
    .into()
}
