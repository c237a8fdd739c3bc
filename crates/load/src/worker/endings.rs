//! How exchanges end when it is not with an answer: their connection goes, their time is up, the
//! run is over. Each of them ends in exactly one outcome, or asks again.
//!
//! The exchange that brings its connection down has the outcome of what happened to it. Those that
//! share the connection have lost it (`read`), unless it is certain that the server did not process
//! them: what was never handed in, and what stands behind an answer that announced the close
//! (RFC 9112 §9.6), asks again on another connection, and is sent when it is sent there.

use model::outcome::Outcome;
use model::units::{Bytes, Instant, Span};
use sys::reactor::Reactor;
use wire::{Client, ProtocolError};

use super::{Again, Arrival, TURN, Worker};
use crate::exchange::{Cause, Exchange};
use crate::flight::{Flight, Seen};
use crate::hooks::Hooks;
use crate::recorder::Recorder;

impl<C: Client, R: Reactor> Worker<C, R> {
    /// The connection is of no more use: what was handed in on it has failed for `cause`, what the
    /// server has certainly not processed asks elsewhere.
    #[cold]
    pub(super) fn break_off(&mut self, place: u32, at: Instant, cause: impl Fn(&Flight) -> Cause) {
        self.take_back(place, at);
        self.end_flights(place, at, cause);
        self.count_close(place, at, true, false);
        self.say_farewell(place, at);
        let (reactor, recorder) = (&mut self.reactor, &mut self.recorder);
        self.pool.close(place, at, reactor, recorder);
        self.hand_over(at);
        if !self.stopping {
            self.pool.back_off(place, at, &mut self.recorder);
            self.look_elsewhere(place);
        }
    }

    /// Exchanges on the connection in `place` that the server has certainly not processed are taken
    /// back: they wait, before all others. Each remains the request that it is.
    #[cold]
    pub(super) fn take_back(&mut self, place: u32, at: Instant) {
        let mut is_too_often = None;
        while let Some((open, flights)) = self.pool.open_and_flights(place) {
            let is_closing = open.close_announced;
            // RFC 9112 §9.6. In HTTP/2 the server says which those are (RFC 9113 §6.8).
            let is_behind = |flight: &Flight| match C::MULTIPLEXES {
                true => flight.is_unprocessed,
                false => is_closing && flight.is_unanswered(),
            };
            let unprocessed = |flight: &Flight| flight.is_untouched() || is_behind(flight);
            // The youngest first, so that the oldest stands before it in the end.
            let of_those = flights
                .iter_mut()
                .filter(|flight| flight.is_some_and(|flight| unprocessed(&flight)));
            let youngest =
                of_those.max_by_key(|flight| flight.map(|flight| (flight.due, flight.sent)));
            let Some(mut flight) = youngest.and_then(Option::take) else {
                return;
            };
            open.in_flight -= 1;
            open.requests -= 1;
            if self.stopping {
                flight.cause = Some(Cause::Unfinished);
                end(&mut self.recorder, &mut self.hooks, place, &flight.end(at));
                self.last_end = self.last_end.max(at);
                continue;
            }
            let pool = &mut self.pool;
            let is_refused = flight.is_unprocessed && flight.sent.is_some();
            if is_refused && *is_too_often.get_or_insert_with(|| pool.refuses(place)) {
                flight.cause = Some(Cause::Unprocessed);
                end(&mut self.recorder, &mut self.hooks, place, &flight.end(at));
                self.last_end = self.last_end.max(at);
                continue;
            }
            if let Some(sent) = flight.sent {
                self.recorder.take_back(sent, at);
            }
            if !self.give_back(place, flight.due, flight.class()) {
                self.again.push_front(Again {
                    due: flight.due,
                    class: flight.class(),
                });
            }
        }
    }

    /// What waits begins on connections that have room.
    pub(super) fn hand_over(&mut self, at: Instant) {
        for host in 0..self.pool.hosts() {
            while !self.stopping
                && self.is_waited_for(host)
                && let Some(place) = self.pool.take_with_room(host)
            {
                self.feed(place, at);
            }
        }
    }

    /// Ends all exchanges on the connection in `place`.
    fn end_flights(&mut self, place: u32, at: Instant, cause: impl Fn(&Flight) -> Cause) {
        let Some((open, flights)) = self.pool.open_and_flights(place) else {
            return;
        };
        for mut flight in flights.iter_mut().filter_map(Option::take) {
            flight.cause = Some(cause(&flight));
            open.in_flight -= 1;
            end(&mut self.recorder, &mut self.hooks, place, &flight.end(at));
            self.last_end = at;
        }
    }

    /// The peer broke the protocol, or said something before it was asked.
    #[cold]
    pub(super) fn take_offence(
        &mut self,
        place: u32,
        at: Instant,
        error: Option<ProtocolError>,
        seen: Seen,
    ) {
        if let Some(open) = self.pool.open(place) {
            open.in_flight -= seen.answered + seen.broken;
            open.close_announced |= seen.close_announced;
        }
        let error = error.unwrap_or(ProtocolError::Unsolicited);
        if seen.goodbye {
            // The server closed an idle connection: what was to go out on it asks elsewhere.
            self.take_back(place, at);
            self.end_flights(place, at, |_| Cause::Protocol(error));
            self.count_close(place, at, false, false);
            self.say_farewell(place, at);
            let (reactor, recorder) = (&mut self.reactor, &mut self.recorder);
            self.pool.close(place, at, reactor, recorder);
            self.hand_over(at);
            self.reconnect(place, at);
        } else {
            // In HTTP/2 it is the connection's fault, and no single exchange's.
            let is_all = C::MULTIPLEXES || matches!(error, ProtocolError::Tls(_));
            self.break_off(place, at, |flight| match () {
                () if is_all => Cause::Protocol(error),
                () if flight.is_early() => Cause::Protocol(ProtocolError::Unsolicited),
                () if flight.is_unanswered() => Cause::GivenUp,
                () => Cause::Protocol(error),
            });
        }
    }

    /// An exchange has taken too long. Unless it can be cancelled alone, its connection is of no
    /// more use, and those behind it that had time left have lost their connection.
    #[cold]
    pub(super) fn time_out(&mut self, place: u32, now: Instant) {
        if C::MULTIPLEXES && self.cancel_late(place, now) {
            return;
        }
        let timeout = self.share.timeout;
        if let Some((_, flights)) = self.pool.open_and_flights(place) {
            for flight in flights.iter_mut().flatten() {
                // One that was never handed in has waited too long as well: it asks nobody else.
                let is_late = flight.deadline(timeout) <= now;
                flight.cause = is_late.then(|| flight.timed_out(timeout));
            }
        }
        self.break_off(place, now, |flight| flight.cause.unwrap_or(Cause::GivenUp));
    }

    /// Open loop: what was due for `deadline` or longer and was not sent is given up, that which
    /// waits as well as that which comes to be released now.
    #[cold]
    pub(super) fn shed_overdue(&mut self, now: Instant, deadline: Span) {
        let cause = Cause::ShedDeadline(deadline);
        let end = now - deadline + Span::from_ns(1);
        for _ in 0..TURN {
            let Some(arrival) = self.backlog.pop_before(end) else {
                break;
            };
            self.never_sent(arrival, now, cause);
        }
        self.shed_until(end, now, cause);
    }

    /// When the first of those that wait has been due for too long.
    pub(super) fn next_overdue(&self) -> Instant {
        match (self.share.deadline, self.backlog.oldest()) {
            (Some(deadline), Some(due)) => due + deadline,
            _ => Instant::FAR_FUTURE,
        }
    }

    /// Records an exchange that waited and was never sent, or that was to go on where a redirect
    /// led.
    pub(super) fn never_sent(&mut self, arrival: Arrival, now: Instant, cause: Cause) {
        let Arrival {
            due,
            class,
            goes_on,
            place,
            making,
        } = arrival;
        let hooks = self.hooks.as_mut().filter(|_| goes_on);
        let since = hooks.and_then(|hooks| hooks.give_up_led());
        self.last_end = self.last_end.max(now);
        let cause = match cause.outcome() {
            // It is under way.
            Outcome::Shed if since.is_some() => Cause::Unfinished,
            _ => cause,
        };
        let late = making.map_or(Span::ZERO, |making| making.late);
        let exchange = Exchange {
            due,
            ready: since.map_or_else(|| now.max(due), |since| since.ready),
            sent: since.map(|since| since.sent),
            first_byte: None,
            ended: now.max(due),
            content: Bytes::ZERO,
            coding: None,
            connect: making.map(|making| making.took),
            begun_late: since.map_or(late, |since| since.begun_late),
            class,
            cause: Some(cause),
        };
        match place {
            Some(place) => end(&mut self.recorder, &mut self.hooks, place, &exchange),
            None => self.recorder.end(&exchange),
        }
    }

    /// What is under way is given up, half a second after a signal, over all connections at once:
    /// the window ended with the signal, so that no exchange is waited for meanwhile, and the only
    /// one who waits is whoever gave the signal.
    pub(super) fn give_up(&mut self, now: Instant) {
        self.give_up = Instant::FAR_FUTURE;
        for place in 0..self.pool.len() {
            let open = self.pool.open(place);
            if open.is_some_and(|open| open.in_flight > 0) {
                self.break_off(place, now, |_| Cause::Unfinished);
            } else if self.is_bare() {
                self.give_up_handshake(place, now, Cause::Unfinished);
            }
        }
    }
}

/// An exchange of the connection in `place` has ended.
pub(super) fn end(
    recorder: &mut Recorder,
    hooks: &mut Option<Box<Hooks>>,
    place: u32,
    exchange: &Exchange,
) {
    recorder.end(exchange);
    if let Some(hooks) = hooks {
        hooks.ended(place, exchange, recorder.phase());
    }
}
