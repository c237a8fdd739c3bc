//! GEN-16: answers that arrived together are stamped together, late by as long as a batch takes.

use model::finding::Claim::Latency;
use model::finding::Severity::{Note, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::summary::{Support, support};
use crate::thresholds::BATCH_OF_MEDIAN;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-16",
    name: "batch-time",
    claims: &[Latency],
    mandatory: false,
    source: "Policy; one clock reading serves all events of a batch",
    judge: Judge::Alone(judge),
};

/// With fewer events in a batch than this, hardly any of them waits for another to be handled.
const EVENTS_TOGETHER: f64 = 2.0;

fn judge(facts: &Facts<'_>) -> Judgement {
    let record = facts.record;
    let worst = record
        .workers
        .iter()
        .filter_map(|worker| Some((worker, worker.batch_time.as_ref()?)))
        .filter(|(_, times)| support(times.count(), 0.99) > Support::TooFew)
        .filter_map(|(worker, times)| Some((worker, times.quantile(0.99)?)))
        .max_by_key(|(_, p99)| *p99);
    let (Some((worker, batch)), Some(median)) = (worst, record.service_time.quantile(0.5)) else {
        let is_known = record.workers.iter().any(|one| one.batch_time.is_some());
        return Judgement::unknown(match is_known {
            true => "the slowest in 100 batches of events: fewer than 1,000 were handled",
            false => "how long the generator's batches of events took",
        });
    };
    let share = batch.as_us_f64() / median.as_us_f64().max(1e-3);
    if BATCH_OF_MEDIAN.severity(share).is_none() {
        return Judgement::Silent;
    }
    let events = number(worker.events) / number(worker.batches.max(1));
    let severity = if events < EVENTS_TOGETHER {
        Note
    } else {
        Suspect
    };
    Found::new(
        &[(Latency, severity)],
        format!(
            "{} took {batch} or more for 1 in 100 of its batches of events ({} events each on \
             average). That is {} of the median service time, {median}. All answers of a batch \
             get one time stamp, so their times may be too long by as much as the batch took.",
            words::worker(worker.index, record),
            words::rate(events),
            words::share(share)
        ),
    )
    .evidence("batch_time_p99_us", batch.as_us_f64())
    .evidence("events_per_batch", events)
    .evidence("service_time_p50_us", median.as_us_f64())
    .limit(&BATCH_OF_MEDIAN)
    .fix("Spread the load over more generator threads (-t)")
    .into()
}
