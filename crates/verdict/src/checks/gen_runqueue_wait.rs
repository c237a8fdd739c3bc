//! GEN-07: a generator thread that had to wait for its CPU stamped its instants late, and had less
//! than a CPU to load the server with.
//!
//! Reads `run_delay` of each worker's schedstat, in nanoseconds. Latency suffers, whichever thread
//! had the CPU meanwhile. Capacity and comparisons suffer only where others had it: waiting for
//! threads of one's own is how a machine with few CPUs works. A wait is for others where the worker
//! is alone on its CPU, and at most as long as others ran.

use model::finding::Claim::{Capacity, Comparison, Latency};

use crate::cause;
use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::thresholds::{KEPT, RUNQUEUE_WAIT};

pub(crate) static CHECK: Check = Check {
    id: "GEN-07",
    name: "gen-runqueue-wait",
    claims: &[Capacity, Latency, Comparison],
    mandatory: false,
    source: "Linux scheduler/sched-stats.rst: time spent waiting to run",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let Some(kept) = cause::kept(facts) else {
        return Judgement::unknown("how long generator threads waited for their CPU");
    };
    let late = RUNQUEUE_WAIT.severity(kept.share);
    let taken = KEPT.severity(kept.by_others);
    let severity: Vec<_> = [(Latency, late), (Capacity, taken), (Comparison, taken)]
        .into_iter()
        .filter_map(|(claim, severity)| Some((claim, severity?)))
        .collect();
    if severity.is_empty() {
        return Judgement::Silent;
    }
    Found::new(&severity, kept.say(facts))
        .evidence("worker", kept.worker)
        .evidence("runqueue_wait_share", kept.share)
        .evidence("kept_by_others_share", kept.by_others)
        .limit(&RUNQUEUE_WAIT)
        .limit(&KEPT)
        .fix("End what else runs, or pin the generator to CPUs that it leaves alone (load: --cpus)")
        .into()
}
