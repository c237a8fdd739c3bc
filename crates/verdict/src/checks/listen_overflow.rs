//! TCP-03: a full accept queue drops connection requests, and each comes again a second later.
//!
//! The kernel counts for all programs of a network namespace together, so a count alone does not
//! say whose requests were dropped. This server's queue was full where the trial made as many
//! connects as there were drops, and some of its connects or exchanges waited or failed.

use model::Outcome;
use model::finding::Claim::{Capacity, Latency};
use model::finding::Severity::{Invalid, Note, Suspect};

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
    let struck = dropped.min(super::retransmits::waited(facts) + failed(facts));
    let mut found = if struck > 0 && dropped <= asked {
        of_server(facts, dropped, struck, asked)
    } else {
        of_machine(dropped, struck, asked)
    };
    found = found
        .evidence("connects_struck_at_most", struck)
        .limit(&DROPPED_CONNECTS);
    for (name, count) in seen {
        found = found.evidence(name, count);
    }
    found.into()
}

/// Connects that failed, and exchanges that were given up or never sent: a request that is dropped
/// again and again ends so.
fn failed(facts: &Facts<'_>) -> u64 {
    let total = &facts.record.total;
    total.connections.failed + total.outcomes[Outcome::Timeout] + total.outcomes[Outcome::Read]
}

/// Connects of the trial waited, and it made as many as there were drops.
fn of_server(facts: &Facts<'_>, dropped: u64, struck: u64, asked: u64) -> Found {
    let share = number(struck) / number(asked.max(1));
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
    Found::new(
        &[(Latency, Invalid), (Capacity, capacity)],
        format!(
            "{queue} overflowed: {} {} dropped while {} {} made. The client sends each dropped \
             request again a second later.",
            words::plural(dropped, "connection request"),
            words::was(dropped),
            words::plural(asked, "connect"),
            words::was(asked)
        ),
    )
    .fix("Raise the server's listen backlog and net.core.somaxconn, or open connections slowly")
}

/// The drops may be those of any program that listens.
fn of_machine(dropped: u64, struck: u64, asked: u64) -> Found {
    let severity = if struck > 0 { Suspect } else { Note };
    Found::all(
        CHECK.claims,
        severity,
        format!(
            "{} {} dropped because an accept queue was full, counted over all programs of this \
             machine. This trial made {}; {}.",
            words::plural(dropped, "connection request"),
            words::was(dropped),
            words::plural(asked, "connect"),
            if struck == 0 {
                "none of its connects and exchanges failed or took as long as a connect whose \
                 request was dropped"
                    .to_owned()
            } else {
                format!(
                    "at most {} of its connects and exchanges failed or waited because of that",
                    words::count(struck)
                )
            }
        ),
    )
    .fix("See whose queue is full: ss -ltn shows Recv-Q as large as Send-Q")
}
