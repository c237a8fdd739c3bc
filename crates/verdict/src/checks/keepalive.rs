//! HTTP-09: a server that closes connections makes the client pay for new ones.

use std::collections::BTreeMap;

use model::finding::Claim::{Capacity, Comparison, Latency};
use model::finding::Severity::{self, Note, Suspect};

use crate::check::{Check, Found, Judge, Judgement, number};
use crate::set::{Entry, Peers};
use crate::summary::{QUANTILES, Support, support};
use crate::thresholds::{CLOSED_SHARE, CLOSED_UNLIKE};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-09",
    name: "keepalive-not-honoured",
    claims: &[Capacity, Latency, Comparison],
    mandatory: true,
    source: "nginx keepalive_requests 1000, Apache MaxKeepAliveRequests 100, lighttpd 1000",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let entry = peers.entry;
    if entry.ended == 0 {
        return Judgement::unknown("closes per request: no exchange ended");
    }
    let share = closed_share(entry);
    let capacity = CLOSED_SHARE.severity(share);
    let latency = first_reconnect_quantile(entry, share);
    let unlike = unlike(peers, share);
    let mut severity: BTreeMap<_, Severity> = BTreeMap::new();
    if let Some(capacity) = capacity {
        severity.insert(Capacity, capacity);
        severity.insert(Latency, if latency.is_some() { Suspect } else { Note });
        severity.insert(Comparison, Note);
    }
    if let Some((_, _, unlike)) = &unlike {
        severity.insert(Comparison, *unlike);
    }
    if severity.is_empty() {
        return Judgement::Silent;
    }
    let severity: Vec<_> = severity.into_iter().collect();
    let mut say = if capacity.is_some() {
        format!(
            "The server closed {}, {}.",
            words::plural(entry.connections.closed_by_server, "connection"),
            how_often(share)
        )
    } else {
        "This server kept its connections open.".to_owned()
    };
    if let Some(label) = latency {
        say += &format!(
            " From {label} on, response times can include the cost of a new \
                         connection."
        );
    }
    if let Some((server, other, _)) = &unlike {
        say += &format!(
            " {server} closed {}: the two do not do the same work.",
            if *other > 0.0 {
                format!("connections, {}", how_often(*other))
            } else {
                "none".to_owned()
            }
        );
    }
    Found::new(&severity, say)
        .evidence("closed_share", share)
        .evidence("closed_by_server", entry.connections.closed_by_server)
        .evidence("close_announced", entry.close_announced)
        .limit(&CLOSED_SHARE)
        .limit(&CLOSED_UNLIKE)
        .fix(
            "Give all servers the same number of requests per connection: keepalive_requests \
             (nginx), MaxKeepAliveRequests 0 (Apache), server.max-keep-alive-requests (lighttpd)",
        )
        .into()
}

/// `one for every 100 requests`, `one for each request` or `3.5 for each request`, where `share`
/// connections close for each request.
fn how_often(share: f64) -> String {
    if share >= 1.5 {
        return format!("{} for each request", words::rate(share));
    }
    match words::rate((1.0 / share).round()).trim_end_matches(".0") {
        "1.00" => "one for each request".to_owned(),
        each => format!("one for every {} requests", each.trim_end_matches(".00")),
    }
}

/// Closes by the server per exchange, beyond those that the plan itself asks for.
fn closed_share(entry: &Entry) -> f64 {
    let ended = number(entry.ended).max(1.0);
    let closed = number(entry.connections.closed_by_server);
    let planned = entry
        .requests_per_connection
        .map_or(0.0, |each| ended / f64::from(each.max(1)));
    let all = closed + number(entry.connections.closed_by_client);
    // Where both sides close after the same request, who was first does not matter.
    let beyond = if planned > 0.0 && all <= planned * 1.01 + 1.0 {
        0.0
    } else {
        closed
    };
    beyond / ended
}

/// The first shown quantile that lies among exchanges on new connections.
fn first_reconnect_quantile(entry: &Entry, share: f64) -> Option<&'static str> {
    QUANTILES
        .iter()
        .filter(|quantile| support(entry.responses, quantile.q) > Support::TooFew)
        .find(|quantile| share > 0.0 && share >= (1.0 - quantile.q) / 2.0)
        .map(|quantile| quantile.label)
}

/// A server of the same round, workload and connections that closes very differently, unless most
/// servers close as this one does: then the others are the ones that do other work.
fn unlike(peers: &Peers<'_>, share: f64) -> Option<(String, f64, Severity)> {
    let mut alike = 1; // itself
    let mut unlike = Vec::new();
    for (entry, other) in peers.rivals() {
        let theirs = closed_share(entry);
        match difference(share, theirs) {
            Some(severity) => unlike.push((other.id.server.clone(), theirs, severity)),
            None => alike += 1,
        }
    }
    if alike > unlike.len() {
        return None;
    }
    unlike.into_iter().max_by_key(|(_, _, severity)| *severity)
}

/// How bad it is that two servers close as often as that.
fn difference(ours: f64, theirs: f64) -> Option<Severity> {
    let (more, less) = (ours.max(theirs), ours.min(theirs));
    let is_alike = less > 0.0 && more / less < 1.1;
    CLOSED_UNLIKE.severity(more).filter(|_| !is_alike)
}
