//! SRV-04: the server said that it had no place for more.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement};

pub(crate) static CHECK: Check = Check {
    id: "SRV-04",
    name: "connection-capacity",
    claims: &[Capacity, Latency],
    mandatory: false,
    source: "Error logs of nginx, Apache, lighttpd and HAProxy",
    judge: Judge::Alone(judge),
};

/// What servers write when a limit of theirs is reached, in lower case.
const LINES: [&str; 6] = [
    "worker_connections are not enough",
    "reached maxrequestworkers",
    "scoreboard is full",
    "accept() failed",
    "resource temporarily unavailable",
    "connection limit reached",
];

fn judge(facts: &Facts<'_>) -> Judgement {
    let Some(server) = facts.trial.context.server.as_ref() else {
        return if facts.trial.point.is_some() {
            Judgement::unknown("the server's error log")
        } else {
            Judgement::NotApplicable
        };
    };
    let line = server.error_log.iter().find(|line| {
        let line = line.to_ascii_lowercase();
        LINES.iter().any(|words| line.contains(words))
    });
    let Some(line) = line else {
        return Judgement::Silent;
    };
    Found::new(
        &[(Capacity, Invalid), (Latency, Suspect)],
        format!(
            "{} ran into a limit of its own: \"{line}\".",
            server.product
        ),
    )
    .evidence("line", line.clone())
    .fix("Raise that limit in its configuration above the number of connections")
    .into()
}
