//! What was negotiated on the connections of a run.

use model::Trial;
use model::tls::Negotiated;
use verdict::words;

use super::Style;
use crate::handshakes;

/// Handshakes of each kind, and what went wrong with TLS. Nothing where connections are in clear.
pub(super) fn tls(trial: &Trial, style: Style) -> String {
    let Some(tls) = &trial.record.tls else {
        return String::new();
    };
    let (full, resumed) = tls.full_and_resumed();
    let mut text = format!(
        "{} full, {} resumed",
        words::plural(full, "handshake"),
        words::count(resumed)
    );
    if tls.early() > 0 {
        text.push_str(&format!(
            ", {} of these with a request before their end (0-RTT)",
            words::count(tls.early())
        ));
    }
    if let Some(mix) = trial.plan.tls.as_ref().and_then(|tls| tls.handshakes) {
        text.push_str(&format!(" (drawn by {mix}"));
        for part in handshakes::not_as_drawn(tls) {
            text.push_str(&format!("; {part}"));
        }
        text.push(')');
    }
    if tls.failed > 0 {
        text.push_str(&format!(", {} failed", words::count(tls.failed)));
    }
    if let Some(part) = handshakes::cut(tls) {
        text.push_str(&format!("; {part}"));
    }
    if trial.plan.tls.as_ref().is_some_and(|tls| tls.insecure) {
        text.push_str("; certificates were not verified");
    }
    let mut out = style.labelled("TLS", &text);
    if let Some(line) = handshakes::by_certificate(tls) {
        out.push_str(&style.labelled("", &line));
    }
    for kind in &tls.negotiated {
        let line = format!(
            "{} of {}",
            words::count(kind.count),
            kind_of(&kind.negotiated)
        );
        out.push_str(&style.labelled("", &line));
    }
    out
}

/// What a handshake came to.
fn kind_of(negotiated: &Negotiated) -> String {
    let Negotiated {
        version,
        suite,
        group,
        application,
        resumed,
        early,
        key_type,
        chain_bytes,
    } = negotiated;
    let mut text = format!("TLS {version}, {suite}");
    if let Some(group) = group {
        text.push_str(&format!(", {group}"));
    }
    if let Some(key) = key_type {
        text.push_str(&format!(
            ", certificate {key} in {} bytes",
            words::count(*chain_bytes)
        ));
    }
    if *resumed {
        text.push_str(", resumed");
    }
    if *early {
        text.push_str(", begun with a request");
    }
    if application.is_none() {
        text.push_str(", no ALPN");
    }
    text
}
