//! HTTP-11: a server that allows fewer streams than the plan wants is asked less at once, and its
//! rivals are asked more.

use model::finding::Claim::{Capacity, Comparison};
use model::finding::Severity::{Invalid, Suspect};

use crate::check::{Check, Found, Judge, Judgement};
use crate::set::{Entry, Peers};
use crate::words;

pub(crate) static CHECK: Check = Check {
    id: "HTTP-11",
    name: "h2-streams",
    claims: &[Capacity, Comparison],
    mandatory: false,
    source: "RFC 9113 section 5.1.2; defaults: nginx 128, Apache 100, h2o 100, lighttpd 8",
    judge: Judge::Across(judge),
};

fn judge(peers: &Peers<'_>) -> Judgement {
    let Some(wanted) = peers.entry.streams else {
        return Judgement::NotApplicable;
    };
    let Some(http2) = &peers.entry.http2 else {
        return Judgement::unknown("what the server said about streams");
    };
    let refused = http2.resets.get("REFUSED_STREAM").copied().unwrap_or(0);
    let allowed = at_once(peers.entry).unwrap_or(wanted);
    let mut rivals = peers.rivals();
    let unlike = rivals.find(|(entry, _)| at_once(entry).is_some_and(|theirs| theirs != allowed));
    let mut severity = Vec::new();
    if allowed < wanted || refused > 0 {
        severity.push((Capacity, Suspect));
    }
    if unlike.is_some() {
        severity.push((Comparison, Invalid));
    }
    if severity.is_empty() {
        return Judgement::Silent;
    }
    let mut say = format!(
        "The plan wants {} at once on a connection, but the server allows only {}.",
        words::plural(u64::from(wanted), "stream"),
        words::count(u64::from(allowed))
    );
    if refused > 0 {
        let refused = words::plural(refused, "stream");
        say.push_str(&format!(" It refused {refused}."));
    }
    if let Some((entry, point)) = unlike {
        let theirs = u64::from(at_once(entry).unwrap_or(wanted));
        let theirs = words::count(theirs);
        say.push_str(&format!(" {} had {theirs} in flight.", point.id.server));
    }
    Found::new(&severity, say)
        .evidence("streams_wanted", wanted)
        .evidence("streams_at_once", allowed)
        .evidence("streams_refused", refused)
        .fix("Ask for no more streams than every server allows")
        .into()
}

/// Streams in flight at once: as many as the plan wants and the server allows; none in HTTP/1.1.
fn at_once(entry: &Entry) -> Option<u32> {
    let (wanted, http2) = (entry.streams?, entry.http2.as_ref()?);
    Some(
        http2
            .streams_allowed
            .map_or(wanted, |allowed| allowed.min(wanted)),
    )
}
