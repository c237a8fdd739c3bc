//! GEN-05: in a closed loop, a connection that is neither asking nor being answered is our fault.
//!
//! Each worker integrates its exchanges in flight; the time that is missing for all connections to
//! be in use throughout, less the time in which a connection had to be made anew or waited after a
//! refusal, is the generator's own dead time: Z = C/X − R by Little's law. A connection with
//! several exchanges in flight counts once for each. Users who think wait of their own accord, and
//! so do connections that a script in Lua lets wait: only the time between the end of the thinking
//! and the sending is dead.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity;
use model::plan::Protocol;
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
    let each = u64::from(plan.connections) * EXCHANGES_PER_CONNECTION;
    let few = plan.count().is_some_and(|count| count < each);
    if facts.is_open_loop() || facts.is_ceiling() || few {
        return Judgement::NotApplicable;
    }
    let workers = &facts.record.workers;
    // On HTTP/3 the server may allow fewer streams than the plan wants, and nothing tells.
    let each = match plan.protocol {
        Protocol::Http3 => 1,
        Protocol::Http1 | Protocol::Http2 => {
            facts.trial.places() / u64::from(plan.connections.max(1))
        }
    };
    let available: f64 = workers
        .iter()
        .map(|worker| f64::from(worker.connections) * worker.window.as_s_f64())
        .sum::<f64>()
        * number(each);
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
        .sum::<f64>()
        * number(each);
    let waits = plan.lua.as_ref().is_some_and(|lua| lua.waits);
    let idle = if facts.trial.has_users() || waits {
        facts.record.late_time.sum().as_s_f64()
    } else {
        (available - in_flight - blocked - backed_off).max(0.0)
    };
    let share = idle / available;
    let Some(severity) = DEAD_TIME.severity(share) else {
        return Judgement::Silent;
    };
    let of_one = |seconds: f64| span(seconds / number(facts.ended().max(1)));
    let who = match each {
        1 => "Each connection",
        _ => "Each slot for an exchange in flight",
    };
    Found::new(
        &[(Capacity, severity), (Latency, Severity::Suspect)],
        format!(
            "{who} was idle for {} of every {} on average ({}), because the generator had not \
             sent the next request.",
            of_one(idle),
            of_one(available),
            words::share(share)
        ),
    )
    .evidence("dead_share", share)
    .evidence("in_flight_mean", in_flight / facts.record.window.as_s_f64())
    .evidence("connections", plan.connections)
    .limit(&DEAD_TIME)
    .fix(
        "Give the generator more CPUs (load: -t, --cpus; lab: servers with fewer cores), or fewer \
          connections",
    )
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
