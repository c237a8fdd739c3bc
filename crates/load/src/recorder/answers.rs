//! The exchanges of one request in the window.

use std::mem::offset_of;

use model::coding::{Coded, Coding, Codings};
use model::distribution::{Pair, Which};
use model::outcome::{Outcome, OutcomeCounts};
use model::record::Class;
use model::units::{Bytes, Span};

use crate::exchange::Exchange;

/// What the distributions of a request take from an exchange.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ended {
    outcome: Outcome,
    is_sent: bool,
    /// It came in an open loop's window, in which it was due, too.
    has_passed: bool,
    coding: Option<Coding>,
    content: Bytes,
    response_time: Span,
    service_time: Option<Span>,
    first_byte_time: Option<Span>,
}

impl Ended {
    #[inline]
    pub(super) fn of(exchange: &Exchange, outcome: Outcome, has_passed: bool) -> Self {
        Self {
            outcome,
            has_passed,
            is_sent: exchange.sent.is_some(),
            coding: exchange.coding,
            content: exchange.content,
            response_time: exchange.response_time(),
            service_time: exchange.service_time(),
            first_byte_time: exchange.first_byte_time(),
        }
    }

    /// How long the rest of a right answer took that came in more than one piece.
    #[inline]
    pub(super) fn transfer_time(&self) -> Option<Span> {
        let (service, first) = (self.service_time?, self.first_byte_time?);
        (self.outcome == Outcome::Ok && service != first).then(|| service.saturating_sub(first))
    }
}

/// The exchanges of one request in the window.
///
/// Of a thousand requests hardly anything stays in the nearest caches of a CPU. What a right answer
/// that came whole writes here stands first, in two lines of a cache; the others are for what is
/// not usual.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(super) struct Answers {
    /// Response times of right answers, and the service times of those that came whole with their
    /// first byte: those of their first bytes, too.
    response_and_whole: Pair,
    /// Right answers that came in an open loop's window, whenever they were due.
    passed: u64,
    content: Bytes,
    /// Those that are complete and have the expected status, by how they are encoded.
    codings: [Coded; Coding::ALL.len()],
    /// How many of the others were sent; a right answer always was.
    wrong_sent: u64,
    /// How they ended, but for right answers.
    wrong: OutcomeCounts,
    /// Service times of right answers that came in pieces, and until their first bytes.
    service_and_first: Pair,
}

// Its coding is the last of what a right answer writes.
const _: () = assert!(offset_of!(Answers, codings) + size_of::<Coded>() <= 128);

const RESPONSE: Which = Which::First;
const WHOLE: Which = Which::Second;
const SERVICE: Which = Which::First;
const FIRST_BYTE: Which = Which::Second;

impl Answers {
    /// One of them has ended.
    #[inline]
    pub(super) fn end(&mut self, ended: &Ended) {
        if ended.outcome == Outcome::Ok {
            debug_assert!(ended.is_sent, "nobody answers what was not asked");
            self.passed += u64::from(ended.has_passed);
            self.response_and_whole
                .record(RESPONSE, ended.response_time);
            self.content += ended.content;
            self.count_coding(ended);
            self.count_times(ended);
        } else {
            self.wrong[ended.outcome] += 1;
            self.wrong_sent += u64::from(ended.is_sent);
            self.response_and_whole.record_censored(RESPONSE);
            if ended.is_sent {
                self.service_and_first.record_censored(SERVICE);
                self.service_and_first.record_censored(FIRST_BYTE);
            }
            if ended.outcome == Outcome::Content {
                self.count_coding(ended);
            }
        }
    }

    /// A right answer came in an open loop's window, and was due before it.
    pub(super) const fn pass(&mut self) {
        self.passed += 1;
    }

    /// Reads what [`Answers::end`] will write for a right answer, so that it is in the caches then.
    #[inline]
    pub(super) fn touch(&self, ended: &Ended) -> u64 {
        self.response_and_whole.touch(ended.response_time) ^ self.codings[0].answers
    }

    #[inline]
    fn count_times(&mut self, ended: &Ended) {
        match (ended.service_time, ended.first_byte_time) {
            (Some(service), Some(first)) if service == first => {
                self.response_and_whole.record(WHOLE, service);
            }
            (service, first) => {
                if let Some(service) = service {
                    self.service_and_first.record(SERVICE, service);
                }
                if let Some(first) = first {
                    self.service_and_first.record(FIRST_BYTE, first);
                }
            }
        }
    }

    #[inline]
    fn count_coding(&mut self, ended: &Ended) {
        if let Some(coding) = ended.coding {
            let coded = &mut self.codings[coding as usize];
            coded.answers += 1;
            coded.bytes += ended.content;
        }
    }

    /// How many were encoded in which way, where any were.
    pub(super) fn codings(&self) -> Codings {
        let counted = Coding::ALL.into_iter().zip(self.codings);
        counted.filter(|(_, coded)| coded.answers > 0).collect()
    }

    /// As the record tells it; `by_due` in an open loop.
    pub(super) fn tell(self, name: &str, by_due: bool) -> Class {
        let codings = self.codings();
        let right = self.response_and_whole.count(RESPONSE);
        let mut outcomes = self.wrong;
        outcomes[Outcome::Ok] = right;
        let [response_time, whole_time] = self.response_and_whole.widen();
        let [service_time, first_byte_time] = self.service_and_first.widen().map(|mut time| {
            time.merge(&whole_time);
            time
        });
        Class {
            name: name.to_owned(),
            outcomes,
            sent: self.wrong_sent + right,
            right_in_window: by_due.then_some(self.passed),
            bytes_content: self.content,
            codings,
            response_time,
            service_time,
            first_byte_time,
            reference: None,
        }
    }
}
