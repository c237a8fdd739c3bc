//! The columns of TLS, HTTP/2 and QUIC, of searches for the capacity, and of the
//! access log.

use std::collections::BTreeSet;

use model::Rate;
use model::tls::Negotiated;

use crate::digests::Digest;

/// Each with what it holds.
pub(super) const COLUMNS: [(&str, &str); 23] = [
    (
        "tls_version",
        "TLS versions that the full handshakes of the run negotiated, one after the other where \
         there are several; empty without TLS, like all TLS columns after it",
    ),
    ("tls_suite", "the same for cipher suites"),
    ("tls_group", "the same for key-exchange groups"),
    ("tls_key", "the same for keys in the server's certificate"),
    ("tls_chain_bytes", "the same for bytes of its certificates"),
    ("tls_full", "handshakes that were full"),
    ("tls_resumed", "handshakes that resumed a session"),
    (
        "tls_early",
        "of those, how many began with a request that the server accepted (0-RTT)",
    ),
    ("tls_failed", "handshakes that failed"),
    (
        "http2_streams_allowed",
        "the fewest streams that the server allowed at once; empty where it set no limit, or \
         connections speak HTTP/1.1",
    ),
    ("http2_go_aways", "GOAWAY frames of the server"),
    (
        "http2_resets",
        "exchanges that the server ended by RST_STREAM",
    ),
    (
        "quic_version",
        "the version of QUIC that connections spoke; empty where they spoke none, like all QUIC \
         columns after it",
    ),
    ("quic_datagrams_sent", "datagrams that were sent"),
    ("quic_datagrams_received", "datagrams that came"),
    (
        "quic_packets_lost",
        "packets of ours that were declared lost",
    ),
    (
        "search",
        "how the capacity search ended at whose result the trial was made: between, \
         generator_limit or undecided; empty where there was none, like the columns after it",
    ),
    ("search_objective", "what had to hold"),
    (
        "search_met_per_s",
        "the highest intended rate that met the objective",
    ),
    (
        "search_missed_per_s",
        "the lowest that is known not to; empty where none is known",
    ),
    (
        "server_log_lines",
        "lines in the server's access log, those of the warm-up of the trial included; empty where \
         it writes none",
    ),
    ("server_log_bytes", "their bytes"),
    (
        "waited_s",
        "how long the lab waited before it until what earlier trials had left was gone, in seconds",
    ),
];

pub(super) fn cells(digest: &Digest) -> Vec<String> {
    let mut cells = Vec::new();
    match &digest.tls {
        None => cells.resize(9, String::new()),
        Some(tls) => {
            let each = |of: fn(&Negotiated) -> Option<String>| {
                let kinds = tls.negotiated.iter().map(|one| &one.negotiated);
                let full = kinds.filter(|one| !one.resumed);
                let words: BTreeSet<String> = full.filter_map(of).collect();
                words.into_iter().collect::<Vec<_>>().join(" ")
            };
            let (full, resumed) = tls.full_and_resumed();
            cells.extend([
                each(|one| Some(one.version.clone())),
                each(|one| Some(one.suite.clone())),
                each(|one| one.group.clone()),
                each(|one| one.key_type.clone()),
                each(|one| Some(one.chain_bytes.to_string())),
                full.to_string(),
                resumed.to_string(),
                tls.early().to_string(),
                tls.failed.to_string(),
            ]);
        }
    }
    let count = |of: fn(&model::http2::Http2Record) -> Option<u64>| {
        let count = digest.http2.as_ref().and_then(of);
        count.map_or_else(String::new, |count| count.to_string())
    };
    cells.extend([
        count(|http2| http2.streams_allowed.map(u64::from)),
        count(|http2| Some(http2.go_aways.values().sum())),
        count(|http2| Some(http2.resets.values().sum())),
    ]);
    let count = |of: fn(&model::quic::QuicRecord) -> u64| {
        let quic = digest.quic.as_ref().map(of);
        quic.map_or_else(String::new, |count| count.to_string())
    };
    cells.extend([
        count(|quic| u64::from(quic.version)),
        count(|quic| quic.datagrams_sent),
        count(|quic| quic.datagrams_received),
        count(|quic| quic.packets_lost),
    ]);
    match &digest.search {
        None => cells.resize(COLUMNS.len() - 3, String::new()),
        Some((objective, answer)) => {
            let rate = |rate: Option<Rate>| {
                rate.map_or_else(String::new, |rate| rate.as_per_second_f64().to_string())
            };
            cells.extend([
                answer.name().to_owned(),
                objective.clone(),
                rate(answer.lower()),
                rate(answer.upper()),
            ]);
        }
    }
    let (lines, bytes) = digest.logged.unzip();
    cells.push(lines.map_or_else(String::new, |lines| lines.to_string()));
    cells.push(bytes.map_or_else(String::new, |bytes| bytes.count().to_string()));
    cells.push(digest.waited_s.map_or_else(String::new, |s| s.to_string()));
    cells
}
