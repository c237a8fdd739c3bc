//! What became of connections, and how many exchanges needed a new one.

use model::{Outcome, Record, Trial};

use super::digest::{Digest, size};

/// The share of exchanges that needed no new connection, over the whole run: what was sent before
/// the window and after it, too. In a run every connection carries at most as many exchanges as it
/// may, so this is at most 1 − 1/N where a connection is for N requests. Within the window alone it
/// would not be: of connections that were open when it began, the first exchange lies before it.
pub(super) fn kept_alive(record: &Record) -> Option<f64> {
    let phases = [&record.warmup_phase, &record.total, &record.drain_phase];
    let ended: u64 = phases.iter().map(|phase| phase.ended_in_it()).sum();
    let opened: u64 = phases
        .iter()
        .map(|phase| phase.connections.established)
        .sum();
    (ended > 0).then(|| (1.0 - count(opened) / count(ended)).max(0.0))
}

/// Content bytes of a right answer, on average.
pub(super) fn content(trial: &Trial) -> Option<f64> {
    let total = &trial.record.total;
    let right = total.outcomes[Outcome::Ok];
    (right > 0).then(|| size(total.bytes_content) / count(right))
}

impl Digest {
    /// Of the connections that ended in the window, the share that the server closed after a
    /// complete answer.
    pub fn closed_by_server(&self) -> Option<f64> {
        let counts = &self.connections;
        let ended = counts.closed_by_client + counts.closed_by_server + counts.broken;
        (ended > 0).then(|| count(counts.closed_by_server) / count(ended))
    }
}

#[expect(
    clippy::cast_precision_loss,
    reason = "counts of exchanges and connections"
)]
const fn count(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use model::record::{ConnectionCounts, Tally};
    use model::{Bytes, fixture};

    use super::*;

    /// A phase in which so many connections were opened and so many exchanges ended.
    fn phase(established: u64, ended: u64) -> Tally {
        let mut phase = Tally {
            sent: ended,
            connections: ConnectionCounts {
                established,
                ..ConnectionCounts::default()
            },
            ..Tally::default()
        };
        phase.outcomes[Outcome::Ok] = ended;
        phase
    }

    #[test]
    fn what_was_opened_before_the_window_counts_with_its_exchanges() {
        let mut record = Record {
            warmup_phase: phase(100, 100),
            total: phase(50, 1_000),
            drain_phase: phase(0, 100),
            ..Record::default()
        };
        // 150 connections of 8 requests each; of the window alone it would be 0.95.
        assert!((kept_alive(&record).expect("exchanges") - 0.875).abs() < 1e-9);
        record.reference_phase = phase(9, 9);
        assert!((kept_alive(&record).expect("exchanges") - 0.875).abs() < 1e-9);
        assert_eq!(kept_alive(&Record::default()), None);
        // Connections that carried nothing make it none and not less.
        record.total.connections.established = 5_000;
        assert!(kept_alive(&record).expect("exchanges").abs() < 1e-9);
    }

    #[test]
    fn who_closed_and_how_much_an_answer_has_are_told() {
        let mut trial = fixture::closed();
        trial.record.total.outcomes[Outcome::Ok] = 200;
        trial.record.total.bytes_content = Bytes::new(3_100_000);
        trial.record.total.connections = ConnectionCounts {
            closed_by_client: 30,
            closed_by_server: 60,
            broken: 10,
            ..ConnectionCounts::default()
        };
        assert!((content(&trial).expect("answers") - 15_500.0).abs() < 1e-9);
        let closed = Digest::of(&trial, 0).closed_by_server();
        assert!((closed.expect("connections") - 0.6).abs() < 1e-9);
        trial.record.total = Tally::default();
        assert_eq!(content(&trial), None);
        assert_eq!(Digest::of(&trial, 0).closed_by_server(), None);
    }
}
