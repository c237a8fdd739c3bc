//! The exchanges of one request in the window.

use model::coding::{Coded, Coding, Codings};
use model::distribution::{Distribution, Narrow};
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
    response_time: Narrow,
    /// The service times of answers that came whole with their first byte: those of their first
    /// bytes, too.
    whole_time: Narrow,
    /// Those of the others.
    service_time: Narrow,
    first_byte_time: Narrow,
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
            self.count_times(exchange);
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
    fn count_times(&mut self, exchange: &Exchange) {
        match (exchange.service_time(), exchange.first_byte_time()) {
            (Some(service), Some(first)) if service == first => self.whole_time.record(service),
            (service, first) => {
                if let Some(service) = service {
                    self.service_time.record(service);
                }
                if let Some(first) = first {
                    self.first_byte_time.record(first);
                }
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
        let codings = self.codings();
        let whole_time = self.whole_time.widen();
        let [service_time, first_byte_time] =
            [self.service_time, self.first_byte_time].map(|time| {
                let mut time = time.widen();
                time.merge(&whole_time);
                time
            });
        Class {
            name: name.to_owned(),
            outcomes: self.outcomes,
            sent: self.sent,
            bytes_content: self.content,
            codings,
            response_time: self.response_time.widen(),
            service_time,
            first_byte_time,
            reference: None,
        }
    }
}
