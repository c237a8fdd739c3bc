//! What only happens where several exchanges share a connection as streams of HTTP/2 or HTTP/3: one
//! ends without an answer and the connection goes on, or room comes without the end of one.

use model::units::Instant;
use sys::reactor::Reactor;
use wire::{Client, StreamId};

use super::Worker;
use super::endings::end;
use crate::flight::{Flight, Seen};

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Streams that ended without an answer have left room; what the server did not process asks
    /// elsewhere.
    pub(super) fn follow_streams(&mut self, place: u32, at: Instant, was_full: bool, seen: Seen) {
        let Some(open) = self.pool.open(place) else {
            return;
        };
        open.in_flight -= seen.broken;
        if seen.broken > 0 {
            self.last_end = at;
        }
        if was_full && open.client.free() > 0 {
            open.free_since = at;
        }
        if seen.unprocessed > 0 {
            self.take_back(place, at);
            self.hand_over(at);
        }
        // Answered ones are followed after this, and give their places on.
        if seen.answered == 0 {
            self.feed_streams(place, at);
        }
    }

    /// Exchanges on the connection in `place` have taken too long: they are cancelled, and it goes
    /// on. False: one of them is still there, because it cannot be cancelled, or because nothing
    /// was heard since it was sent, so that nobody may be at the other end.
    pub(super) fn cancel_late(&mut self, place: u32, now: Instant) -> bool {
        let timeout = self.share.timeout;
        let Some((open, flights)) = self.pool.open_and_flights(place) else {
            return false;
        };
        let is_late = |flight: &Flight| flight.deadline(timeout) <= now;
        let heard = open.heard;
        let is_before = |flight: &Flight| flight.sent.is_some_and(|sent| sent < heard);
        let mut late = flights.iter().flatten().filter(|flight| is_late(flight));
        if !late.all(is_before) {
            return false;
        }
        let was_full = open.client.free() == 0;
        for (number, flight) in (0..).zip(flights.iter_mut()) {
            let Some(mut late) = flight.filter(is_late) else {
                continue;
            };
            if !open.client.cancel(StreamId(number)) {
                return false;
            }
            late.cause = Some(late.timed_out(timeout));
            *flight = None;
            open.in_flight -= 1;
            end(&mut self.recorder, &mut self.hooks, place, &late.end(now));
            self.recorder.cancelled(late.due);
            self.last_end = now;
        }
        if was_full && open.client.free() > 0 {
            open.free_since = now;
        }
        // Those that go on have their own time.
        let deadline = self.deadline(place);
        self.pool.alarms.arm(place, deadline);
        self.feed_streams(place, now);
        self.poll_protocol(place, now);
        true
    }

    /// As for a connection with room of its own: the peer may have allowed more.
    fn feed_streams(&mut self, place: u32, at: Instant) {
        let has_room = |open: &mut crate::pool::Open<C>| open.client.free() > 0;
        if self.pool.open(place).is_some_and(has_room) {
            self.feed(place, at);
        }
    }
}
