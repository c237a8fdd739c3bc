//! The exchanges of one request in the window.

use model::coding::{Coded, Coding, Codings};
use model::distribution::Distribution;
use model::outcome::{Outcome, OutcomeCounts};
use model::record::Class;
use model::units::Bytes;

use crate::exchange::Exchange;

/// The exchanges of one request in the window.
#[derive(Debug, Default)]
pub(super) struct Answers {
    outcomes: OutcomeCounts,
    sent: u64,
    content: Bytes,
    /// Those that are complete and have the expected status, by how they are encoded.
    codings: [Coded; Coding::ALL.len()],
    pub(super) response_time: Distribution,
    pub(super) service_time: Distribution,
    pub(super) first_byte_time: Distribution,
}

impl Answers {
    /// One of them has ended, in an interval with these response times.
    #[inline]
    pub(super) fn end(
        &mut self,
        exchange: &Exchange,
        outcome: Outcome,
        in_interval: &mut Distribution,
    ) {
        self.outcomes[outcome] += 1;
        self.sent += u64::from(exchange.sent.is_some());
        if outcome == Outcome::Ok {
            let response_time = exchange.response_time();
            self.response_time.record(response_time);
            in_interval.record(response_time);
            if let Some(service_time) = exchange.service_time() {
                self.service_time.record(service_time);
            }
            if let Some(first_byte_time) = exchange.first_byte_time() {
                self.first_byte_time.record(first_byte_time);
            }
            self.content += exchange.content;
            self.count_coding(exchange);
        } else {
            self.response_time.record_censored();
            in_interval.record_censored();
            if exchange.sent.is_some() {
                self.service_time.record_censored();
                self.first_byte_time.record_censored();
            }
            if outcome == Outcome::Content {
                self.count_coding(exchange);
            }
        }
    }

    #[inline]
    fn count_coding(&mut self, exchange: &Exchange) {
        if let Some(coding) = exchange.coding {
            let coded = &mut self.codings[coding as usize];
            coded.answers += 1;
            coded.bytes += exchange.content;
        }
    }

    /// How many were encoded in which way, where any were.
    pub(super) fn codings(&self) -> Codings {
        let counted = Coding::ALL.into_iter().zip(self.codings);
        counted.filter(|(_, coded)| coded.answers > 0).collect()
    }

    /// As the record tells it.
    pub(super) fn tell(self, name: &str) -> Class {
        Class {
            name: name.to_owned(),
            outcomes: self.outcomes,
            sent: self.sent,
            bytes_content: self.content,
            codings: self.codings(),
            response_time: self.response_time,
            service_time: self.service_time,
            first_byte_time: self.first_byte_time,
            reference: None,
        }
    }
}
