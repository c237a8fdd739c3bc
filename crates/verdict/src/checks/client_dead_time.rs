//! GEN-05: in a closed loop, a connection that is neither asking nor being answered is our fault.
//!
//! Each worker integrates its exchanges in flight; what is missing to all connections all the time,
//! less the time in which a connection had to be made anew or waited after a refusal, is the
//! generator's own dead time: Z = C/X − R by Little's law.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity;
use model::plan::Stop;
use model::units::Span;

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::DEAD_TIME;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "GEN-05",
    name: "client-dead-time",
    claims: &[Capacity, Latency],
    mandatory: true,
    source: "Little's law; wrk issue 116: 20 % of time lost between answer and next request",
    judge: Judge::Alone(judge),
};

/// A run that ends by count leaves connections without work at its end; with so many exchanges on
/// each connection that is less than 1 %.
const EXCHANGES_PER_CONNECTION: u64 = 100;

fn judge(facts: &Facts<'_>) -> Judgement {
    let plan = &facts.trial.plan;
    let few = matches!(plan.stop, Stop::Count(count)
        if count < u64::from(plan.connections) * EXCHANGES_PER_CONNECTION);
    if facts.is_open_loop() || facts.is_ceiling() || few {
        return Judgement::NotApplicable;
    }
    let workers = &facts.record.workers;
    let available: f64 = workers
        .iter()
        .map(|worker| f64::from(worker.connections) * worker.window.as_s_f64())
        .sum();
    let in_flight: f64 = workers
        .iter()
        .map(|worker| Span::from_ns(worker.outstanding_integral_ns).as_s_f64())
        .sum();
    if available <= 0.0 || (in_flight <= 0.0 && facts.ended() > 0) {
        return Judgement::unknown("the integral of exchanges in flight");
    }
    let blocked = facts.record.blocked_time.sum().as_s_f64();
    // Who was refused waits before it asks again: that is the server's time.
    let backed_off: f64 = workers
        .iter()
        .map(|worker| worker.backed_off.as_s_f64())
        .sum();
    let idle = (available - in_flight - blocked - backed_off).max(0.0);
    let share = idle / available;
    let Some(severity) = DEAD_TIME.severity(share) else {
        return Judgement::Silent;
    };
    let each = |seconds: f64| span(seconds / number(facts.ended().max(1)));
    Found::new(
        &[(Capacity, severity), (Latency, Severity::Suspect)],
        format!(
            "Each connection idled {} of every {} in the generator ({}).",
            each(idle),
            each(available),
            words::share(share)
        ),
    )
    .evidence("dead_share", share)
    .evidence("in_flight_mean", in_flight / facts.record.window.as_s_f64())
    .evidence("connections", plan.connections)
    .limit(&DEAD_TIME)
    .fix("Give the generator more CPUs (-t, --cpus), or fewer connections per thread (-c)")
    .into()
}

/// For reading.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive part of the window"
)]
fn span(seconds: f64) -> Span {
    Span::from_ns((seconds * 1e9) as u64)
}
