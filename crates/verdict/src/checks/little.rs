//! STA-10: exchanges in flight = rate × service time, or something was lost or invented.
//!
//! Workers integrate their exchanges in flight independently of the distributions; the
//! distributions must agree with that. The law holds exactly over any window once its edges are
//! taken into account: an exchange counts whole where it ends, so the time that those at the start
//! had been in flight is subtracted, and the time of those in flight at the end is added.

use model::Outcome;
use model::finding::Claim::{Capacity, Comparison, Latency, Resources};
use model::finding::Severity::Invalid;
use model::record::Worker;
use model::units::Span;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::LITTLE;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "STA-10",
    name: "little",
    claims: &[Capacity, Latency, Resources, Comparison],
    mandatory: true,
    source: "Little 1961: N = X R, whatever the distribution",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    let record = facts.record;
    let seconds = record.window.as_s_f64();
    let integral: f64 = record
        .workers
        .iter()
        .map(|worker| Span::from_ns(worker.outstanding_integral_ns).as_s_f64())
        .sum();
    let (service, ended, unseen) = service_times(facts);
    if ended == 0 || seconds <= 0.0 {
        return Judgement::unknown("service times: no answer ended in the window");
    }
    if integral <= 0.0 {
        return Judgement::unknown("the integral of exchanges in flight");
    }
    let plan = &facts.trial.plan;
    let places = f64::from(plan.connections) * f64::from(plan.at_once());
    let (expected, edges) = match between_the_edges(facts) {
        Some(moved) => (service + moved, 0.0),
        None => (service, over_an_edge(facts)),
    };
    let fail = |say: String, severity, deviation: f64| {
        Found::all(CHECK.claims, severity, say)
            .evidence("in_flight_mean", integral / seconds)
            .evidence("rate_times_service_time", service / seconds)
            .evidence("with_the_edges", expected / seconds)
            .evidence("places", places)
            .evidence("straddling_s", edges)
            .evidence("deviation", deviation)
            .limit(&LITTLE)
            .fix("Report this as a bug with the stored trial: exchanges were lost or counted twice")
            .into()
    };
    if integral / seconds > places * 1.001 {
        return fail(
            format!(
                "{} exchanges were in flight on average, more than {places} connections have room \
                 for.",
                words::rate(integral / seconds)
            ),
            Invalid,
            integral / seconds / places - 1.0,
        );
    }
    let failed = number(unseen) * plan.longest_wait().as_s_f64();
    let (least, most) = (expected - edges, expected + edges + failed);
    let outside = (least - integral).max(integral - most).max(0.0);
    let deviation = outside / integral;
    match LITTLE.severity(deviation) {
        None => Judgement::Silent,
        Some(severity) => fail(
            format!(
                "{} exchanges were in flight on average, but rate × service time gives {}, with \
                 the edges of the window allowed for.",
                words::rate(integral / seconds),
                words::rate(expected / seconds)
            ),
            severity,
            deviation,
        ),
    }
}

/// The service times of those that ended in the window, summed up in seconds; how many those are;
/// and how many are in flight for as long as the timeout at most, and not among them. What passed
/// in an open loop includes failures; the distributions do not.
fn service_times(facts: &Facts<'_>) -> (f64, u64, u64) {
    let (total, times) = (&facts.record.total, &facts.record.service_time);
    match &total.passed {
        Some(passed) => (passed.service.as_s_f64(), passed.ended, 0),
        None => (
            times.sum().as_s_f64(),
            times.count(),
            facts.ended().saturating_sub(times.count()) + total.outcomes[Outcome::Unfinished],
        ),
    }
}

/// What the exchanges in flight at the end had been so, less what those at the start had, in
/// seconds: exact, where it was recorded. A server that keeps some clients waiting for the whole
/// window has them in flight, and in no distribution.
fn between_the_edges(facts: &Facts<'_>) -> Option<f64> {
    // An open loop's distributions have what was due in the window, not what ended in it.
    if facts.is_open_loop() && facts.record.total.passed.is_none() {
        return None;
    }
    let sum = |age: fn(&Worker) -> Option<Span>| {
        let ages = facts.record.workers.iter().map(age);
        ages.sum::<Option<Span>>().map(Span::as_s_f64)
    };
    Some(sum(|worker| worker.age_at_end)? - sum(|worker| worker.age_at_start)?)
}

/// The most that exchanges which straddle an edge of the window can move, in seconds.
///
/// One that was in flight when the window began counts whole among the service times, and in the
/// integral only from there on; at the end it is the other way round. At either edge each place
/// holds one at most, and together they took no longer than as many of the longest that were seen.
/// In a window of 350 ms a single stall of 60 ms makes this a sixth: there the law proves less.
fn over_an_edge(facts: &Facts<'_>) -> f64 {
    let plan = &facts.trial.plan;
    let times = &facts.record.service_time;
    let places = u64::from(plan.connections) * u64::from(plan.at_once());
    let mut below = times.count().saturating_sub(places);
    let longest = times.max().map_or(0.0, Span::as_s_f64);
    times
        .buckets()
        .map(|(lowest, width, count)| {
            let shorter = count.min(below);
            below -= shorter;
            let time = (lowest + width).as_s_f64().min(longest);
            time * number(count - shorter)
        })
        .sum()
}
