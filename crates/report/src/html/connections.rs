//! What connections spoke, where that is more than HTTP/1.1 in clear: as it was negotiated, and not
//! as it was configured.

use model::Distribution;
use model::http2::Http2Record;
use model::quic::QuicRecord;
use model::tls::TlsRecord;
use verdict::summary::{Reading, read};
use verdict::words;

use super::table::Table;
use crate::digests::{Digest, Run};
use crate::{handshakes, number};

/// What connections of one server came to, over all its trials.
#[derive(Default)]
struct Spoken {
    tls: Option<TlsRecord>,
    http2: Option<Http2Record>,
    quic: Option<QuicRecord>,
}

/// The section; nothing where all is HTTP/1.1 in clear.
pub(super) fn section(run: &Run) -> String {
    let mut servers: Vec<(&str, Spoken)> = Vec::new();
    let spoken = run.digests().iter();
    let is_more = |one: &&Digest| one.tls.is_some() || one.http2.is_some() || one.quic.is_some();
    let spoken = spoken.filter(|one| !one.ceiling).filter(is_more);
    for digest in spoken {
        let label = digest.id.server.as_str();
        let place = servers.iter().position(|(server, _)| *server == label);
        let place = place.unwrap_or_else(|| {
            servers.push((label, Spoken::default()));
            servers.len() - 1
        });
        servers[place].1.add(digest);
    }
    if servers.is_empty() {
        return String::new();
    }
    servers.sort_by_key(|(label, _)| *label);
    let has_early = servers.iter().any(|(_, spoken)| spoken.has_early());
    let has_notes = servers.iter().any(|(_, spoken)| !spoken.notes().is_empty());
    let mut columns = vec![
        "server",
        "protocol",
        "TLS",
        "#handshakes",
        "#full: median",
        "#p99",
        "#resumed",
        "#resumed: median",
        "#p99",
    ];
    if has_early {
        columns.extend(["#early (0-RTT)", "#early: median", "#p99"]);
    }
    columns.push("#failed");
    if has_notes {
        columns.push("notes on handshakes");
    }
    columns.push("streams and QUIC");
    let mut table = Table::new("What was negotiated, over all trials of a server", &columns);
    for (label, spoken) in &servers {
        let tls = spoken.tls.as_ref();
        let (full, resumed) = tls.map_or((0, 0), TlsRecord::full_and_resumed);
        let row = table
            .row()
            .text(label)
            .text(spoken.protocol())
            .text(&spoken.kinds())
            .number(&number::count(full + resumed))
            .number(&time_of(tls.map(|tls| &tls.full_time), 0.5))
            .number(&time_of(tls.map(|tls| &tls.full_time), 0.99))
            .number(&number::count(resumed))
            .number(&time_of(tls.map(|tls| &tls.resumed_time), 0.5))
            .number(&time_of(tls.map(|tls| &tls.resumed_time), 0.99));
        if has_early {
            row.number(&number::count(tls.map_or(0, TlsRecord::early)))
                .number(&time_of(tls.map(|tls| &tls.early_time), 0.5))
                .number(&time_of(tls.map(|tls| &tls.early_time), 0.99));
        }
        row.number(&number::count(tls.map_or(0, |tls| tls.failed)));
        if has_notes {
            row.text(&spoken.notes());
        }
        row.text(&match (&spoken.http2, &spoken.quic) {
            (Some(http2), _) => streams(http2),
            (None, Some(quic)) => datagrams(quic),
            (None, None) => String::new(),
        });
    }
    table.finish()
}

/// A quantile of how long handshakes took from the established connection on; a dash where there
/// were too few.
fn time_of(times: Option<&Distribution>, q: f64) -> String {
    match times.map(|times| read(times, q)) {
        Some(Reading::Value(span)) => span.to_string(),
        _ => "-".to_owned(),
    }
}

impl Spoken {
    fn add(&mut self, digest: &Digest) {
        if let Some(tls) = &digest.tls {
            self.tls.get_or_insert_default().merge(tls.clone());
        }
        if let Some(http2) = &digest.http2 {
            self.http2.get_or_insert_default().merge(http2.clone());
        }
        if let Some(quic) = &digest.quic {
            self.quic.get_or_insert_default().merge(quic.clone());
        }
    }

    /// Whether requests went out before the end of handshakes, or were to.
    fn has_early(&self) -> bool {
        let tls = self.tls.as_ref();
        tls.is_some_and(|tls| tls.early() + tls.not_early + tls.early_refused > 0)
    }

    /// What handshakes and ends of connections did not come to.
    fn notes(&self) -> String {
        let Some(tls) = &self.tls else {
            return String::new();
        };
        let mut notes = handshakes::not_as_drawn(tls);
        notes.extend(handshakes::cut(tls));
        notes.extend(handshakes::by_certificate(tls));
        notes.join("; ")
    }

    const fn protocol(&self) -> &'static str {
        match (&self.http2, &self.quic) {
            (_, Some(_)) => "HTTP/3",
            (Some(_), None) => "HTTP/2",
            (None, None) => "HTTP/1.1",
        }
    }

    /// What full handshakes came to.
    fn kinds(&self) -> String {
        let Some(tls) = &self.tls else {
            return "in clear".to_owned();
        };
        let full = tls.negotiated.iter().map(|one| &one.negotiated);
        let mut kinds = Vec::new();
        for one in full.filter(|one| !one.resumed) {
            let mut text = format!("TLS {}, {}", one.version, one.suite);
            for part in one.group.iter().chain(&one.key_type) {
                text.push_str(&format!(", {part}"));
            }
            text.push_str(&format!(", {} B of certificates", one.chain_bytes));
            if !kinds.contains(&text) {
                kinds.push(text);
            }
        }
        match kinds.is_empty() {
            true => "no full handshake".to_owned(),
            false => kinds.join("; "),
        }
    }
}

/// What the server said of streams.
fn streams(http2: &Http2Record) -> String {
    let mut parts = vec![match http2.streams_allowed {
        Some(allowed) => format!("{} at once", words::plural(u64::from(allowed), "stream")),
        None => "any number of streams".to_owned(),
    }];
    for (what, counts) in [("GOAWAY", &http2.go_aways), ("RST_STREAM", &http2.resets)] {
        for (code, count) in counts {
            parts.push(format!("{} {what} {code}", number::count(*count)));
        }
    }
    parts.join(", ")
}

/// What QUIC did with datagrams.
fn datagrams(quic: &QuicRecord) -> String {
    format!(
        "QUIC version {}, {} sent, {} received, {} of ours lost",
        quic.version,
        words::plural(quic.datagrams_sent, "datagram"),
        number::count(quic.datagrams_received),
        words::plural(quic.packets_lost, "packet"),
    )
}

#[cfg(test)]
mod tests {
    use model::tls::Negotiated;

    use super::*;

    /// The section of a run of one trial with those facts.
    fn told(tls: Option<TlsRecord>, http2: Option<Http2Record>) -> String {
        let mut trial = model::fixture::closed();
        (trial.record.tls, trial.record.http2) = (tls, http2);
        let mut run = Run::default();
        run.add(&trial);
        section(&run)
    }

    fn check(html: &str, cells: &[&str]) {
        for cell in cells {
            assert!(html.contains(&format!(">{cell}</td>")), "{cell}: {html}");
        }
    }

    #[test]
    fn it_tells_what_was_negotiated_and_is_not_there_without_need() {
        assert_eq!(told(None, None), "");
        let mut tls = TlsRecord::default();
        let full = Negotiated {
            version: "1.3".to_owned(),
            suite: "TLS_AES_128_GCM_SHA256".to_owned(),
            group: Some("X25519".to_owned()),
            key_type: Some("RSA 2048".to_owned()),
            chain_bytes: 700,
            ..Negotiated::default()
        };
        let resumed = Negotiated {
            resumed: true,
            ..full.clone()
        };
        tls.add(full, 40);
        tls.add(resumed, 2);
        let html = told(Some(tls), None);
        let kind = "TLS 1.3, TLS_AES_128_GCM_SHA256, X25519, RSA 2048, 700 B of certificates";
        check(&html, &["HTTP/1.1", kind, "42", "2"]);
    }

    #[test]
    fn it_tells_how_long_handshakes_of_each_kind_took() {
        let mut tls = TlsRecord::default();
        tls.full_time.record_n(model::Span::from_us(512), 2_000);
        tls.resumed_time.record_n(model::Span::from_us(128), 2_000);
        let [full, resumed] =
            [&tls.full_time, &tls.resumed_time].map(|times| time_of(Some(times), 0.5));
        assert_ne!(full, resumed);
        check(&told(Some(tls), None), &[&full, &resumed]);
    }

    /// A trial that drew kinds of handshakes, and what they came to.
    #[test]
    fn it_tells_of_early_requests_and_of_what_did_not_come_as_drawn() {
        let mut tls = TlsRecord {
            not_resumed: 5,
            not_early: 3,
            early_refused: 2,
            closed_without_notify: 1,
            ..TlsRecord::default()
        };
        let resumed = Negotiated {
            version: "1.3".to_owned(),
            resumed: true,
            ..Negotiated::default()
        };
        let early = Negotiated {
            early: true,
            ..resumed.clone()
        };
        tls.add(resumed, 40);
        tls.add(early, 7);
        tls.early_time.record_n(model::Span::from_us(300), 2_000);
        let time = time_of(Some(&tls.early_time), 0.5);
        let notes = "5 full for lack of a session; 3 without an early request, for lack of a \
                     session that allows one; 2 whose early request the server rejected, and \
                     which was sent again; 1 connection closed by the server without close_notify";
        let html = told(Some(tls), None);
        check(&html, &["47", "7", &time, notes]);
        let heads = |html: &str, words: &[&str], expected: bool| {
            for head in words {
                let is_there = html.contains(&format!(">{head}</th>"));
                assert_eq!(is_there, expected, "{head}: {html}");
            }
        };
        let words = ["early (0-RTT)", "early: median", "notes on handshakes"];
        heads(&html, &words, true);
        // Where there is nothing of the kind, there are no columns for it.
        heads(&told(Some(TlsRecord::default()), None), &words, false);
    }

    #[test]
    fn connections_whose_handshakes_failed_are_not_in_clear() {
        let tls = TlsRecord {
            failed: 9,
            ..TlsRecord::default()
        };
        check(&told(Some(tls), None), &["no full handshake", "9"]);
        let http2 = Http2Record {
            streams_allowed: Some(8),
            go_aways: [("NO_ERROR".to_owned(), 3)].into(),
            ..Http2Record::default()
        };
        let said = "8 streams at once, 3 GOAWAY NO_ERROR";
        check(&told(None, Some(http2)), &["HTTP/2", "in clear", said]);
    }

    #[test]
    fn http3_is_named_with_what_quic_did() {
        let mut trial = model::fixture::closed();
        trial.record.quic = Some(QuicRecord {
            version: 1,
            datagrams_sent: 2_000,
            datagrams_received: 1,
            packets_lost: 1,
            ..QuicRecord::default()
        });
        let mut run = Run::default();
        run.add(&trial);
        let said = "QUIC version 1, 2,000 datagrams sent, 1 received, 1 packet of ours lost";
        check(&section(&run), &["HTTP/3", said]);
    }
}
