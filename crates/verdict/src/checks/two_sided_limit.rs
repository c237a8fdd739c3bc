//! SRV-11: generator and server were both near their limits.
//!
//! Reads how busy the busiest thread of each side was (the server's busiest CPU, too). Above 85 %
//! on both sides the server's own limit is estimated and stands beside the rate. Where the server
//! was busy for more than 95 % of the time, the rate is that limit within the error of the
//! estimate, and GEN-01 and GEN-02 do not object to it.

use model::finding::Claim::Capacity;
use model::finding::Severity::Note;

use crate::check::{Check, Facts, Found, Judge, Judgement};
use crate::limit;
use crate::thresholds::{BOTH_BUSY, LIMIT_ERROR, LIMIT_ERROR_BELOW, SERVER_FULL};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "SRV-11",
    name: "two-sided-limit",
    claims: &[Capacity],
    mandatory: false,
    source: "The utilisation law: rate = busy share / service demand",
    judge: Judge::Alone(judge),
};

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.is_ceiling() {
        return Judgement::NotApplicable;
    }
    if facts.record.busiest_worker().is_none() || limit::server_busy(facts).is_none() {
        return Judgement::unknown("how busy the busiest threads of server and generator were");
    }
    let Some(both) = limit::of_trial(facts) else {
        return Judgement::Silent;
    };
    let meaning = if both.is_server_limit {
        "the rate is that limit within the error of this estimate"
    } else {
        "the measured rate may be less than that"
    };
    Found::new(
        &[(Capacity, Note)],
        format!(
            "Server and generator were both near their limits ({} and {} busy). The server's \
             own limit is about {}/s ({} to {}): {meaning}.",
            words::share(both.server_busy),
            words::share(both.generator_busy),
            words::rate(both.estimate),
            words::rate(both.low),
            words::rate(both.high)
        ),
    )
    .evidence("server_busy_share", both.server_busy)
    .evidence("generator_busy_share", both.generator_busy)
    .evidence("own_limit", both.estimate)
    .evidence("own_limit_low", both.low)
    .evidence("own_limit_high", both.high)
    .limit(&BOTH_BUSY)
    .limit(&SERVER_FULL)
    .limit(if both.is_server_limit {
        &LIMIT_ERROR
    } else {
        &LIMIT_ERROR_BELOW
    })
    .fix(
        "Give the generator more CPUs (load: -t, --cpus; lab: servers with fewer cores) or \
         another machine",
    )
    .into()
}
