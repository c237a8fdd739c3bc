//! TCP-03: a full accept queue drops connection requests, and each comes again a second later.

use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Facts, Found, Judge, Judgement, number};
use crate::thresholds::DROPPED_CONNECTS;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "TCP-03",
    name: "listen-overflow",
    claims: &[Capacity, Latency],
    mandatory: true,
    source: "Linux networking/snmp_counter.rst",
    judge: Judge::Alone(judge),
};

const COUNTERS: [&str; 4] = [
    "TcpExt.ListenDrops",
    "TcpExt.ListenOverflows",
    "TcpExt.TCPBacklogDrop",
    "TcpExt.TCPReqQFullDrop",
];

fn judge(facts: &Facts<'_>) -> Judgement {
    if facts.is_local().is_none() {
        return Judgement::unknown("kernel counters of the server's machine");
    }
    let seen: Vec<(&str, u64)> = COUNTERS
        .iter()
        .filter_map(|name| Some((*name, facts.counter(name)?)))
        .collect();
    if seen.is_empty() {
        return Judgement::unknown("the kernel's counters of dropped connection requests");
    }
    // An overflow is counted as a drop too: the largest counter, not their sum.
    let dropped = seen.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if dropped == 0 {
        return Judgement::Silent;
    }
    let asked = facts.record.total.connections.asked;
    let share = number(dropped) / number(asked.max(1));
    let capacity = if DROPPED_CONNECTS.severity(share).is_some() {
        Invalid
    } else {
        Suspect
    };
    let server = facts.trial.context.server.as_ref();
    let queue = server.and_then(|server| server.listen_backlog).map_or_else(
        || "The accept queue".to_owned(),
        |n| format!("The accept queue ({n})"),
    );
    let mut found = Found::new(
        &[(Latency, Invalid), (Capacity, capacity)],
        format!(
            "{queue} overflowed: {} {} dropped while {} {} made. Each dropped one comes again a \
             second later.",
            words::plural(dropped, "connection request"),
            words::was(dropped),
            words::plural(asked, "connect"),
            words::was(asked)
        ),
    )
    .limit(&DROPPED_CONNECTS)
    .fix("Raise the server's listen backlog and net.core.somaxconn, or open connections slowly");
    for (name, count) in seen {
        found = found.evidence(name, count);
    }
    found.into()
}
