//! Where an author makes the requests: how they begin, several at once if it hands over several.

use model::units::Instant;
use sys::reactor::Reactor;
use wire::Client;

use super::{Arrival, Worker};
use crate::exchange::Cause;
use crate::flight::Flight;
use crate::users::Users;

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Begins an exchange whose request the author makes now. An author that has failed makes none:
    /// the run ends.
    pub(super) fn begin_dictated(
        &mut self,
        place: u32,
        arrival: Arrival,
        ready: Instant,
        now: Instant,
    ) {
        let hooks = self.hooks.as_mut();
        let Some(dictation) = hooks.and_then(|hooks| hooks.dictation.as_mut()) else {
            return;
        };
        let hears = dictation.hears();
        let Some(next) = dictation.next(place) else {
            self.heed_author(now);
            return self.never_sent(arrival, now, Cause::Unfinished);
        };
        let Some((open, flights)) = self.pool.open_and_flights(place) else {
            return;
        };
        open.requests += 1;
        let begun = open.client.begin_as(next.form, next.bytes);
        let stream = begun.expect("it had room");
        let behind = next.behind;
        let id = next.form.id();
        let mut flight = Flight::new(arrival.due, ready, id, hears, open.making.take());
        if let Some(hooks) = &mut self.hooks {
            flight.hook(hooks, place);
        }
        let before = flights[stream.0 as usize].replace(flight);
        debug_assert!(before.is_none(), "a stream is free when its exchange ended");
        open.in_flight += 1;
        if behind > 0
            && let Some(users) = &mut self.users
        {
            users.hand(place, arrival.due, behind);
        }
        self.pool.alarms.arm(place, ready + self.share.timeout);
        self.send(place, now);
    }

    /// An author that wants nothing more to be asked, or has failed, is heeded.
    pub(super) fn heed_author(&mut self, now: Instant) {
        if self.hooks.as_ref().is_some_and(|hooks| hooks.is_over()) {
            self.remaining = 0;
            self.schedule.cut(now);
        }
    }

    /// The rest of what the user in `place` asks together goes out with the first of it, as far as
    /// the connection has room.
    pub(super) fn feed_batch(&mut self, place: u32, now: Instant) {
        if self.users.as_ref().is_some_and(Users::ask_together) {
            self.feed(place, now);
        }
    }
}
