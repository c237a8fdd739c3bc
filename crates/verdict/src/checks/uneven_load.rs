//! GEN-09: threads that did very different amounts of work.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{Note, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::UNEVEN_WORKERS;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-09",
    name: "uneven-load",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "Policy; SO_REUSEPORT spreads connections by hash, not by load",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let per_connection: Vec<f64> = facts
        .record
        .workers
        .iter()
        .filter(|worker| worker.connections > 0)
        .map(|worker| number(worker.ok) / f64::from(worker.connections))
        .collect();
    if facts.record.workers.is_empty() {
        return Judgement::unknown("the workers' counts");
    }
    let most = per_connection.iter().copied().fold(0.0, f64::max);
    let least = per_connection.iter().copied().fold(f64::INFINITY, f64::min);
    if per_connection.len() < 2 || least <= 0.0 {
        return Judgement::NotApplicable;
    }
    let ratio = most / least;
    if UNEVEN_WORKERS.severity(ratio).is_none() {
        return Judgement::Silent;
    }
    Found::new(
        &[(Capacity, Suspect), (Latency, Note)],
        format!(
            "Connections of one generator thread got {} times as many answers as those of \
             another ({} against {} on each connection): part of the server may have had less to \
             do.",
            words::rate(ratio),
            words::rate(most),
            words::rate(least)
        ),
    )
    .evidence("most_per_connection", most)
    .evidence("least_per_connection", least)
    .limit(&UNEVEN_WORKERS)
    .fix("Use many more connections than server workers (-c)")
    .into()
}
