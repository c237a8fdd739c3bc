//! What was negotiated on the connections of a run.

use std::net::SocketAddr;

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
    if let Some(line) = kernel_tls(trial) {
        out.push_str(&style.labelled("", line));
    }
    out
}

/// Whether a server on this machine could leave its encryption to the kernel; none over QUIC, where
/// the kernel has no part in it, and where the server is not known to be here.
fn kernel_tls(trial: &Trial) -> Option<&'static str> {
    let reference = trial.record.reference.as_ref()?;
    let address: SocketAddr = reference.address.parse().ok()?;
    if trial.record.quic.is_some() || !address.ip().to_canonical().is_loopback() {
        return None;
    }
    Some(match trial.environment.kernel_tls? {
        true => "the kernel has kTLS: servers may leave the encryption to it",
        false => "the kernel has no kTLS: servers encrypt in their own processes",
    })
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

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::quic::QuicRecord;
    use model::tls::TlsRecord;

    use super::*;

    fn told(change: impl FnOnce(&mut Trial)) -> String {
        let mut trial = fixture::open();
        trial.record.tls = Some(TlsRecord::default());
        change(&mut trial);
        let style = Style {
            colour: false,
            width: super::super::WIDTH,
        };
        tls(&trial, style)
    }

    #[test]
    fn whether_the_kernel_could_encrypt_is_told_of_servers_on_this_machine() {
        let has = "the kernel has kTLS: servers may leave the encryption to it";
        let lacks = "the kernel has no kTLS: servers encrypt in their own processes";
        for (kernel_tls, expected) in [(Some(true), has), (Some(false), lacks)] {
            let text = told(|trial| trial.environment.kernel_tls = kernel_tls);
            assert!(text.contains(expected), "{text}");
        }
        let nothing: [fn(&mut Trial); 4] = [
            |trial| trial.environment.kernel_tls = None,
            |trial| trial.record.quic = Some(QuicRecord::default()),
            |trial| trial.record.tls = None,
            |trial| {
                let reference = trial.record.reference.as_mut().expect("a reference");
                reference.address = "192.0.2.1:443".to_owned();
            },
        ];
        for change in nothing {
            let text = told(|trial| {
                trial.environment.kernel_tls = Some(false);
                change(trial);
            });
            assert!(!text.contains("kTLS"), "{text}");
        }
    }
}
