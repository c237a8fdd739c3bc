//! HTTP-14: a resumed handshake costs a fraction of a full one. Where connections are made again
//! and again, a mix of both that nobody declared measures how often tickets were found, in rates
//! and in the server's CPU time. Over TLS 1.3 a ticket is used once: a server that gives two with a
//! full handshake and none with a resumed one, as h2o 2.2 does, has two of three resumed.

use model::experiment::Handshake;
use model::finding::Claim::{Capacity, Comparison, Resources};
use model::finding::Severity::Invalid;

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::Peers;
use crate::thresholds::RESUMED_SHARE;
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-14",
    name: "resumption",
    claims: &[Capacity, Resources, Comparison],
    mandatory: false,
    source: "RFC 8446 section 2.2: a resumed handshake has no certificate and no signature",
    judge: Judge::Across(judge),
};

/// What makes more handshakes resume a session.
const TICKETS: &str = "Let the server give tickets, with resumed handshakes too, and warm it up: \
                       first handshakes are full";

fn judge(peers: &Peers<'_>) -> Judgement {
    let entry = peers.entry;
    let Some(tls) = &entry.tls else {
        return Judgement::NotApplicable;
    };
    // Connections that last were made before the window.
    let lasts = entry.requests_per_connection.is_none() && !entry.renews;
    if lasts && tls.declared.is_none() {
        return Judgement::NotApplicable;
    }
    let Some(share) = tls.resumed_share() else {
        return Judgement::unknown("how many handshakes were resumed");
    };
    let undrawn = tls.undrawn_share();
    let from_declared = match tls.declared {
        _ if undrawn.is_some() => undrawn.unwrap_or(0.0),
        Some(Handshake::Full) => share,
        Some(Handshake::Resumed) => 1.0 - share,
        None => share.min(1.0 - share),
    };
    let is_off = RESUMED_SHARE.severity(from_declared).is_some();
    let mut rivals = peers.rivals();
    let unlike = rivals.find_map(|(other, point)| {
        if tls.declared.is_some() || undrawn.is_some() {
            // Then whoever does not do so is the one to blame.
            return None;
        }
        let theirs = other.tls.as_ref()?.resumed_share()?;
        let severity = RESUMED_SHARE.severity((theirs - share).abs());
        severity.map(|_| (theirs, point))
    });
    let mut severity = Vec::new();
    if is_off {
        severity.extend([(Capacity, Invalid), (Resources, Invalid)]);
    }
    if is_off || unlike.is_some() {
        severity.push((Comparison, Invalid));
    }
    if severity.is_empty() {
        return Judgement::Silent;
    }
    let mut say = format!("{} of the handshakes were resumed.", words::share(share));
    let wants = match tls.declared.filter(|_| is_off) {
        Some(Handshake::Full) => " The plan wants full ones only.",
        Some(Handshake::Resumed) => " The plan wants all of them to be.",
        None if undrawn.is_some() => " The plan wants more of them to be.",
        None => "",
    };
    say.push_str(wants);
    if let Some((theirs, point)) = unlike {
        let theirs = words::share(theirs);
        say.push_str(&format!(
            " Of those with {}, {theirs} were.",
            point.id.server
        ));
    }
    Found::new(&severity, say)
        .evidence("resumed_share", share)
        .limit(&RESUMED_SHARE)
        .fix(match tls.declared {
            _ if undrawn.is_some() => TICKETS,
            Some(Handshake::Resumed) => TICKETS,
            _ => "Measure full handshakes (--no-resumption), or servers that resume all of them",
        })
        .into()
}
