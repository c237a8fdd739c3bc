//! What QUIC did, in a line.

use model::Trial;
use verdict::words;

use super::Style;

pub(super) fn quic(trial: &Trial, style: Style) -> String {
    let Some(quic) = &trial.record.quic else {
        return String::new();
    };
    let mut parts = Vec::new();
    if quic.version > 0 {
        parts.push(format!("version {}", quic.version));
    }
    parts.push(format!(
        "{} sent, {} received",
        words::plural(quic.datagrams_sent, "datagram"),
        words::count(quic.datagrams_received)
    ));
    if let (Some(least), Some(most)) = (quic.rtt_least, quic.rtt_most) {
        parts.push(format!("round trips of {least} to {most}"));
    }
    if quic.packets_lost > 0 {
        let lost = words::plural(quic.packets_lost, "packet");
        parts.push(format!("{lost} of ours lost"));
    }
    if quic.go_aways > 0 {
        parts.push(format!("{} GOAWAY", words::count(quic.go_aways)));
    }
    for (code, count) in &quic.resets {
        parts.push(format!("{} reset {code}", words::count(*count)));
    }
    if quic.unprocessed > 0 {
        let count = words::plural(quic.unprocessed, "exchange");
        parts.push(format!("{count} sent again"));
    }
    style.labelled("QUIC", &parts.join(", "))
}
