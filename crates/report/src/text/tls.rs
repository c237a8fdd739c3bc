//! What was negotiated on the connections of a run.

use model::Trial;
use model::tls::Negotiated;
use verdict::words;

use super::Style;

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
        if tls.not_resumed > 0 {
            text.push_str(&format!(
                "; {} full for want of a session",
                words::count(tls.not_resumed)
            ));
        }
        if tls.not_early > 0 {
            text.push_str(&format!(
                "; {} without an early request, for want of a session that allows one",
                words::count(tls.not_early)
            ));
        }
        if tls.early_refused > 0 {
            text.push_str(&format!(
                "; {} whose early request the server did not take, and which was sent again",
                words::count(tls.early_refused)
            ));
        }
        text.push(')');
    }
    if tls.failed > 0 {
        text.push_str(&format!(", {} failed", words::count(tls.failed)));
    }
    if tls.closed_without_notify > 0 {
        text.push_str(&format!(
            "; {} closed by the server without close_notify",
            words::plural(tls.closed_without_notify, "connection")
        ));
    }
    if trial.plan.tls.as_ref().is_some_and(|tls| tls.insecure) {
        text.push_str("; certificates were not verified");
    }
    let mut out = style.labelled("TLS", &text);
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
