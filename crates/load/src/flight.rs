//! An exchange under way: it carries its own facts, and what the protocol tells of it is held
//! against what is expected.

use model::Coding;
use model::units::{Bytes, Instant, Span};
use sys::Errno;
use sys::reactor::Refused;
use wire::{Broken, Head, ProtocolError, RequestId, Sink, StreamId};

use crate::exchange::{Cause, Exchange};
use crate::hooks::Hooks;
use crate::pool::Making;
use crate::recorder::Recorder;
use crate::redirect::is_redirect;
use crate::request::Requests;

/// An exchange under way.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    pub(crate) due: Instant,
    pub(crate) ready: Instant,
    /// Just before the call that handed its first byte to the kernel; none as long as it was not.
    pub(crate) sent: Option<Instant>,
    first_byte: Option<Instant>,
    connect: Option<Span>,
    /// As an exchange has it.
    pub(crate) begun_late: Span,
    content: u64,
    /// How that is encoded, once the head of the answer has come.
    coding: Option<Coding>,
    pub(crate) request: RequestId,
    compares: bool,
    /// Its answer is kept and decoded, should it be encoded.
    decodes: bool,
    /// Bytes of its answer came before its own first byte was handed in.
    is_early: bool,
    pub(crate) cause: Option<Cause>,
    /// The server has said that it did not process it, and will not.
    pub(crate) is_unprocessed: bool,
    /// Its answer is a redirect that is followed.
    leads: bool,
    /// It goes out together with this exchange, which is before it, once that comes to the front.
    pub(crate) behind: Option<StreamId>,
}

impl Flight {
    /// One that begins now; `making` is how its connection was made, if it is the first on it.
    pub(crate) const fn new(
        due: Instant,
        ready: Instant,
        request: RequestId,
        compares: bool,
        making: Option<Making>,
    ) -> Self {
        let (connect, begun_late) = match making {
            Some(Making { took, late }) => (Some(took), late),
            None => (None, Span::ZERO),
        };
        Self {
            due,
            ready,
            sent: None,
            first_byte: None,
            connect,
            begun_late,
            content: 0,
            coding: None,
            request,
            compares,
            decodes: false,
            is_early: false,
            cause: None,
            is_unprocessed: false,
            leads: false,
            behind: None,
        }
    }

    /// It begins in `place` with `hooks`, who may want its content, and for whom it may go on where
    /// a redirect led.
    pub(crate) fn hook(&mut self, hooks: &mut Hooks, place: u32) {
        self.compares |= hooks.reads_content(self.class());
        self.decodes = hooks.decodes(self.class());
        if let Some(since) = hooks.since(place) {
            self.ready = since.ready;
            self.sent = Some(since.sent);
            self.begun_late = since.begun_late;
        }
    }

    /// Which request of the plan it is.
    #[inline]
    pub(crate) const fn class(&self) -> u16 {
        self.request.0 / 2
    }

    /// When it has taken too long.
    pub(crate) fn deadline(&self, timeout: Span) -> Instant {
        self.sent.unwrap_or(self.ready) + timeout
    }

    /// Whether it was begun and not handed in, so that another connection can take it.
    pub(crate) const fn is_untouched(&self) -> bool {
        self.sent.is_none() && self.cause.is_none()
    }

    /// Whether nothing of its answer has come, and nothing else has happened to it.
    pub(crate) const fn is_unanswered(&self) -> bool {
        self.first_byte.is_none() && self.cause.is_none()
    }

    /// Whether its answer began before it was handed in.
    pub(crate) const fn is_early(&self) -> bool {
        self.is_early
    }

    /// Whether its content is held against the expected one.
    pub(crate) const fn compares(&self) -> bool {
        self.compares || self.decodes
    }

    /// As an exchange that ended at `ended`.
    #[inline]
    pub(crate) const fn end(&self, ended: Instant) -> Exchange {
        Exchange {
            due: self.due,
            ready: self.ready,
            sent: self.sent,
            first_byte: self.first_byte,
            ended,
            content: Bytes::new(self.content),
            coding: self.coding,
            connect: self.connect,
            begun_late: self.begun_late,
            class: Some(self.class()),
            cause: self.cause,
        }
    }

    /// Why it has timed out after `after`.
    pub(crate) const fn timed_out(&self, after: Span) -> Cause {
        Cause::Timeout {
            after,
            content: self.content,
            begun: self.first_byte.is_some(),
        }
    }
}

/// What was seen while the protocol told its news.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    /// Exchanges that ended with a complete answer.
    pub(crate) answered: u32,
    /// Exchanges that ended because the connection did.
    pub(crate) broken: u32,
    /// Exchanges that the server has certainly not processed.
    pub(crate) unprocessed: u32,
    /// The server has announced the close of the connection.
    pub(crate) close_announced: bool,
    /// Bytes came for an exchange whose own first byte was not handed in.
    pub(crate) early: bool,
    /// Those bytes were the goodbye of a server that closes an idle connection.
    pub(crate) goodbye: bool,
}

/// Follows what the protocol of one connection tells, and ends exchanges as they end.
pub(crate) struct Watch<'a> {
    /// Those of this connection, by their stream.
    pub(crate) flights: &'a mut [Option<Flight>],
    pub(crate) requests: &'a Requests,
    /// Who is told of them, if anybody is.
    hooks: Option<&'a mut Hooks>,
    pub(crate) place: u32,
    pub(crate) recorder: &'a mut Recorder,
    pub(crate) at: Instant,
    /// How the stream ended, and how a send failed, as far as they did.
    pub(crate) error: Option<Errno>,
    pub(crate) write_error: Option<Errno>,
    pub(crate) seen: Seen,
}

impl<'a> Watch<'a> {
    /// Follows those of the connection in `place`, at `at`.
    #[inline]
    pub(crate) fn new(
        flights: &'a mut [Option<Flight>],
        requests: &'a Requests,
        recorder: &'a mut Recorder,
        (place, at): (u32, Instant),
    ) -> Self {
        Self {
            flights,
            requests,
            hooks: None,
            place,
            recorder,
            at,
            error: None,
            write_error: None,
            seen: Seen::default(),
        }
    }

    /// The same, for those who take part in it.
    #[inline]
    pub(crate) fn telling(self, hooks: Option<&'a mut Hooks>) -> Self {
        Self { hooks, ..self }
    }
}

impl Watch<'_> {
    /// The head of a redirect has come: whether it is followed.
    #[cold]
    fn redirected(&mut self, stream: StreamId, head: &Head<'_>) -> bool {
        let Some(class) = self.flight(stream).map(|flight| flight.class()) else {
            return false;
        };
        let place = self.place;
        let hooks = self.hooks.as_mut();
        let leads = hooks.is_some_and(|hooks| hooks.redirected(place, class, head));
        self.recorder.redirected(self.at, leads);
        leads
    }

    /// A redirect that is followed is complete.
    #[cold]
    fn lead_on(&mut self, flight: &Flight) {
        if let Some(hooks) = &mut self.hooks {
            hooks.hold(self.place, flight);
        }
        self.seen.answered += 1;
    }

    /// An answer that was kept is complete: it is decoded, unless it is wrong already.
    #[cold]
    fn decode(&mut self, stream: StreamId, flight: &mut Flight) {
        let Some(hooks) = &mut self.hooks else {
            return;
        };
        let Some(decoder) = &mut hooks.decoder else {
            return;
        };
        let expectation = self.requests.expectation(flight.class());
        let plain = expectation
            .plain
            .as_ref()
            .filter(|_| flight.cause.is_none());
        let coding = flight.coding.unwrap_or_default();
        let cause = decoder.close(self.place, stream, coding, plain);
        flight.cause = flight.cause.or(cause);
    }

    /// Whether somebody is told the answers, right or wrong.
    #[inline]
    fn hears(&self) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| hooks.hears())
    }

    /// The exchange that the protocol tells of; none if it was taken back, because the connection
    /// ended before it was sent.
    #[inline]
    fn flight(&mut self, stream: StreamId) -> Option<&mut Flight> {
        self.flights.get_mut(stream.0 as usize)?.as_mut()
    }
}

impl Sink for Watch<'_> {
    #[inline]
    fn first_byte(&mut self, stream: StreamId) {
        let at = self.at;
        let Some(flight) = self.flight(stream) else {
            return;
        };
        if flight.first_byte.is_none() {
            flight.first_byte = Some(at);
            if flight.sent.is_none() {
                flight.is_early = true;
                flight.cause = Some(Cause::Protocol(ProtocolError::Unsolicited));
                self.seen.early = true;
            }
        }
    }

    #[inline]
    fn head(&mut self, stream: StreamId, head: &Head<'_>) {
        self.seen.close_announced |= !head.keep_alive;
        let requests = self.requests;
        let hears = self.hears();
        let leads = is_redirect(head.status) && self.redirected(stream, head);
        let Some(flight) = self.flight(stream) else {
            return;
        };
        let expectation = requests.expectation(flight.class());
        // What leads on is no answer yet.
        let cause = match leads {
            true => None,
            false => expectation
                .check_status(head.status)
                .or_else(|| expectation.check_coding(head.coding)),
        };
        flight.leads = leads;
        flight.coding = Some(head.coding);
        flight.cause = flight.cause.or(cause);
        flight.compares &= (cause.is_none() && !leads) || hears;
        // RFC 9110 §15.5.9: a server may say 408 before it closes a connection that was idle.
        if flight.is_early && head.status == 408 {
            flight.is_early = false;
            flight.cause = None;
            self.seen.goodbye = true;
            return;
        }
        flight.decodes &= flight.cause.is_none()
            && !leads
            && head.coding != Coding::Identity
            && expectation.plain.is_some();
        let (class, decodes) = (flight.class(), flight.decodes);
        if let Some(hooks) = &mut self.hooks {
            hooks.head(self.place, class, head);
            if let Some(decoder) = hooks.decoder.as_mut().filter(|_| decodes) {
                decoder.open(self.place, stream);
            }
        }
    }

    #[inline]
    fn content(&mut self, stream: StreamId, bytes: &[u8]) {
        let requests = self.requests;
        let hears = self.hears();
        if let Some(flight) = self.flight(stream) {
            if flight.compares {
                let expectation = requests.expectation(flight.class());
                let cause = expectation.check_content(flight.content, bytes);
                flight.cause = flight.cause.or(cause);
                flight.compares = cause.is_none() || hears;
            }
            flight.content += bytes.len() as u64;
            let (class, decodes) = (flight.class(), flight.decodes);
            if let Some(hooks) = &mut self.hooks {
                hooks.content(self.place, class, bytes);
                let decoder = hooks.decoder.as_mut().filter(|_| decodes);
                let is_kept = decoder.is_none_or(|one| one.keep(self.place, stream, bytes));
                if !is_kept && let Some(flight) = self.flight(stream) {
                    flight.decodes = false;
                }
            }
        }
    }

    fn skipped(&mut self, stream: StreamId, count: u64) {
        if let Some(flight) = self.flight(stream) {
            flight.content += count;
        }
    }

    #[inline]
    fn complete(&mut self, stream: StreamId) {
        let Some(place) = self.flights.get_mut(stream.0 as usize) else {
            return;
        };
        // What came before it was asked for is no answer.
        let Some(mut flight) = place.take_if(|flight| flight.sent.is_some()) else {
            return;
        };
        if flight.leads {
            return self.lead_on(&flight);
        }
        // The length of an answer with another status says nothing more.
        if flight.cause.is_none() {
            let expectation = self.requests.expectation(flight.class());
            flight.cause = expectation.check_length(flight.content);
        }
        if flight.decodes {
            self.decode(stream, &mut flight);
        }
        let class = flight.class();
        if let Some(hooks) = &mut self.hooks
            && flight.cause.is_none()
        {
            flight.cause = hooks.lacks(self.place, class);
        }
        let exchange = flight.end(self.at);
        self.recorder.end(&exchange);
        self.seen.answered += 1;
        if let Some(hooks) = &mut self.hooks {
            hooks.complete(self.place);
            hooks.ended(self.place, &exchange, self.recorder.phase());
        }
    }

    #[cold]
    fn broken(&mut self, stream: StreamId, how: Broken) {
        let Some(mut flight) = self
            .flights
            .get_mut(stream.0 as usize)
            .and_then(Option::take)
        else {
            return;
        };
        flight.cause = Some(match (how, self.write_error) {
            (Broken::Unanswered, Some(error)) => Cause::Write(Refused::Kernel(error)),
            _ => Cause::Ended {
                how,
                content: flight.content,
                error: self.error,
            },
        });
        let exchange = flight.end(self.at);
        self.recorder.end(&exchange);
        self.seen.broken += 1;
        if let Some(hooks) = &mut self.hooks {
            hooks.ended(self.place, &exchange, self.recorder.phase());
        }
    }

    fn closing(&mut self) {
        self.seen.close_announced = true;
    }

    #[cold]
    fn unprocessed(&mut self, stream: StreamId) {
        if let Some(flight) = self.flight(stream) {
            flight.is_unprocessed = true;
            self.seen.unprocessed += 1;
        }
    }
}
