//! What is counted of the connections of one worker.

use std::collections::BTreeMap;
use std::time::Duration;

use model::Span;
use model::quic::QuicRecord;
use quinn_proto::ConnectionStats;

use super::link::VERSION;
use crate::h3::Code;

/// Of codes that come, so many are told apart.
const CODES: usize = 64;

/// Events by their code.
#[derive(Debug, Default)]
pub(super) struct Codes(Vec<(Code, u64)>);

impl Codes {
    pub(super) fn add(&mut self, code: Code) {
        if let Some((_, count)) = self.0.iter_mut().find(|(known, _)| *known == code) {
            *count += 1;
        } else if self.0.len() < CODES {
            self.0.push((code, 1));
        }
    }

    fn tell(&self) -> BTreeMap<String, u64> {
        let named = self.0.iter();
        named
            .map(|(code, count)| (code.to_string(), *count))
            .collect()
    }
}

#[derive(Debug, Default)]
pub(super) struct Tally {
    record: QuicRecord,
    pub(super) go_aways: u64,
    pub(super) unprocessed: u64,
    pub(super) resets: Codes,
}

impl Tally {
    /// Adds what a connection did, which is over.
    pub(super) fn add(&mut self, stats: &ConnectionStats, marked: u64, is_established: bool) {
        let record = QuicRecord {
            version: u32::from(is_established) * VERSION,
            connections: u64::from(is_established),
            datagrams_sent: stats.udp_tx.datagrams,
            datagrams_received: stats.udp_rx.datagrams,
            datagrams_marked: marked,
            packets_sent: stats.path.sent_packets,
            packets_lost: stats.path.lost_packets,
            congestion_events: stats.path.congestion_events,
            rtt_least: is_established.then(|| span(stats.path.min_rtt)),
            rtt_most: is_established.then(|| span(stats.path.rtt)),
            window_least: is_established.then_some(stats.path.cwnd),
            ..QuicRecord::default()
        };
        self.record.merge(record);
    }

    pub(super) fn tell(&self) -> QuicRecord {
        QuicRecord {
            go_aways: self.go_aways,
            unprocessed: self.unprocessed,
            resets: self.resets.tell(),
            ..self.record.clone()
        }
    }
}

fn span(duration: Duration) -> Span {
    Span::from_ns(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}
