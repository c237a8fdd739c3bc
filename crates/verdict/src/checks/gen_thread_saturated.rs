//! GEN-01: a worker that is busy all the time measures itself.
//!
//! Reads busy time by the clock on the wall, less the time in which the thread was kept from its
//! CPU: a thread that had half a CPU was not saturated (GEN-07 reports that). Where the server's
//! busiest thread or CPU was busy for more than 95 % of the time, the rate is the server's own
//! limit (SRV-11).

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::Note;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::limit;
use crate::thresholds::BUSY_SHARE;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-01",
    name: "gen-thread-saturated",
    claims: &[Capacity, Latency],
    mandatory: true,
    source: "Kogias et al., Lancet, ATC 2019; Zhang et al., Treadmill, ISCA 2016",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.is_ceiling() {
        return Judgement::NotApplicable;
    }
    let Some((worker, busy)) = facts.record.busiest_worker() else {
        return Judgement::unknown("the busy share of the generator's workers");
    };
    let Some(severity) = BUSY_SHARE.severity(busy) else {
        return Judgement::Silent;
    };
    let capacity = match limit::is_server_full(facts) {
        true => Note,
        false => severity,
    };
    let together = facts.record.beside(worker).count();
    let who = match worker.cpu.filter(|_| together > 1) {
        Some(cpu) => format!("The generator's {together} threads on CPU {cpu} together were"),
        None => format!("{} was", words::worker(worker.index, facts.record)),
    };
    Found::new(
        &[(Capacity, capacity), (Latency, severity)],
        format!(
            "{who} {} busy: response times include the queue in the generator.",
            words::share(busy)
        ),
    )
    .evidence("worker", worker.index)
    .evidence("busy_share", busy)
    .limit(&BUSY_SHARE)
    .fix(
        "Give the generator more CPUs (load: -t, --cpus; lab: servers with fewer cores) or \
         another machine, or lower the load",
    )
    .into()
}
