//! The exchanges of one request in the window.

use model::coding::{Coded, Coding, Codings};
use model::distribution::{Distribution, Pair, Which};
use model::outcome::{Outcome, OutcomeCounts};
use model::record::Class;
use model::units::{Bytes, Span};

use crate::exchange::Exchange;

/// The exchanges of one request in the window.
#[derive(Debug, Default)]
pub(super) struct Answers {
    outcomes: OutcomeCounts,
    sent: u64,
    content: Bytes,
    /// Those that are complete and have the expected status, by how they are encoded.
    codings: [Coded; Coding::ALL.len()],
    /// Response times, and the service times of answers that came whole with their first byte:
    /// those of their first bytes, too.
    response_and_whole: Pair,
    /// Service times of the others, and until their first bytes.
    service_and_first: Pair,
}

const RESPONSE: Which = Which::First;
const WHOLE: Which = Which::Second;
const SERVICE: Which = Which::First;
const FIRST_BYTE: Which = Which::Second;

impl Answers {
    /// One of them has ended, in an interval with these response times. If a right answer came in
    /// more than one piece: how long the rest of it took.
    #[inline]
    pub(super) fn end(
        &mut self,
        exchange: &Exchange,
        outcome: Outcome,
        in_interval: &mut Distribution,
    ) -> Option<Span> {
        self.outcomes[outcome] += 1;
        self.sent += u64::from(exchange.sent.is_some());
        if outcome == Outcome::Ok {
            let response_time = exchange.response_time();
            self.response_and_whole.record(RESPONSE, response_time);
            in_interval.record(response_time);
            self.content += exchange.content;
            self.count_coding(exchange);
            self.count_times(exchange)
        } else {
            self.response_and_whole.record_censored(RESPONSE);
            in_interval.record_censored();
            if exchange.sent.is_some() {
                self.service_and_first.record_censored(SERVICE);
                self.service_and_first.record_censored(FIRST_BYTE);
            }
            if outcome == Outcome::Content {
                self.count_coding(exchange);
            }
            None
        }
    }

    #[inline]
    fn count_times(&mut self, exchange: &Exchange) -> Option<Span> {
        match (exchange.service_time(), exchange.first_byte_time()) {
            (Some(service), Some(first)) if service == first => {
                self.response_and_whole.record(WHOLE, service);
                None
            }
            (service, first) => {
                if let Some(service) = service {
                    self.service_and_first.record(SERVICE, service);
                }
                if let Some(first) = first {
                    self.service_and_first.record(FIRST_BYTE, first);
                }
                Some(service?.saturating_sub(first?))
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
        let [response_time, whole_time] = self.response_and_whole.widen();
        let [service_time, first_byte_time] = self.service_and_first.widen().map(|mut time| {
            time.merge(&whole_time);
            time
        });
        Class {
            name: name.to_owned(),
            outcomes: self.outcomes,
            sent: self.sent,
            bytes_content: self.content,
            codings,
            response_time,
            service_time,
            first_byte_time,
            reference: None,
        }
    }
}
