//! Users who think or follow a script: when they begin to, when they ask, and what becomes of them
//! where their connection is gone.

use model::units::{Instant, Span};
use sys::reactor::Reactor;
use wire::Client;

use super::{Arrival, Worker};
use crate::pool::Connection;
use crate::users::Users;

/// Waits that an author asks for end at whole ticks of the run, so that connections which wait
/// nearly equally long cost one awakening. Those of wrk end at whole milliseconds.
const TICK: Span = Span::from_us(500);

/// The first tick of a run since `start` that is not before `at`.
fn next_tick(start: Instant, at: Instant) -> Instant {
    let since = at.saturating_since(start).as_ns();
    start + Span::from_ns(since.next_multiple_of(TICK.as_ns()))
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Whether there are users who will ask for something.
    pub(super) fn has_users(&self) -> bool {
        self.users.is_some() && self.remaining > 0 && !self.stopping
    }

    /// The user in `place` begins to think at `at`, unless that is so already; when it asks.
    fn begin_to_think(&mut self, place: u32, at: Instant) -> Option<Instant> {
        let users = self.users.as_mut()?;
        if !users.are_dictated() || users.asks(place) < Instant::FAR_FUTURE {
            let asks = users.think(place, at);
            if asks.is_none() && !users.is_vacant(place) {
                self.to_leave.push(place);
            }
            return asks;
        }
        let wait = self.hooks.as_mut().map(|hooks| hooks.delay());
        let asks = match wait.filter(|wait| !wait.is_zero()) {
            Some(wait) => next_tick(self.start, at + wait),
            None => at,
        };
        Some(users.wait(place, asks))
    }

    /// What was due for `place`: the request that a script has for its user, if there is one.
    pub(super) fn arrival(&self, place: u32, due: Instant) -> Arrival {
        let users = self.users.as_ref();
        Arrival {
            class: users.and_then(|users| users.class(place)),
            place: users.is_some_and(Users::follow).then_some(place),
            ..Arrival::new(due)
        }
    }

    /// The user in `place` of a script begins with the run; false where there is no script. The
    /// connection is made when the user asks.
    pub(super) fn begin_script(&mut self, place: u32, now: Instant) -> bool {
        let Some(users) = self.users.as_ref().filter(|users| users.follow()) else {
            return false;
        };
        if users.places(place).start != place || users.is_vacant(place) {
            // Another connection of a user who has begun, or that of one who is still to come: it
            // is made when it is of use.
            return true;
        }
        let asks = self.begin_to_think(place, self.start);
        let asks = asks.unwrap_or(self.start);
        if asks <= now {
            let users = self.users.as_ref();
            let place = users.map_or(place, |users| users.place_to_ask(place));
            self.pool.want(place, None);
        } else {
            self.pool.alarms.arm(place, asks);
        }
        true
    }

    /// The request of `class` that was due at `due` and came back from the connection in `place` is
    /// asked again by its user, if a script says whose it is.
    pub(super) fn give_back(&mut self, place: u32, due: Instant, class: u16) -> bool {
        match self.users.as_mut().filter(|users| users.follow()) {
            Some(users) => {
                users.ask_again(place, due, class);
                if let Some(hooks) = &mut self.hooks {
                    hooks.rewind(place);
                }
                true
            }
            None => false,
        }
    }

    /// The user in `place`, if there is one, begins to think, unless that is so already.
    #[inline]
    pub(super) fn think(&mut self, place: u32, at: Instant) {
        if self.has_users()
            && !self.is_asking(place)
            && let Some(asks) = self.begin_to_think(place, at)
        {
            self.pool.alarms.arm(place, asks);
        }
    }

    /// What the user in `place` asks, if it is time and there is to be anything more. It is due
    /// when the user had thought.
    pub(super) fn claim_for_user(&mut self, place: u32, at: Instant) -> Option<Instant> {
        self.heed_author(at);
        let has_users = self.has_users();
        let users = self.users.as_mut()?;
        if !self.stopping
            && let Some(due) = users.take_again(place)
        {
            return Some(due);
        }
        if !has_users {
            return None;
        }
        let due = match users.take_more(place) {
            Some(due) => due,
            None if self.is_asking(place) => return None,
            None => {
                if self.users.as_ref().is_some_and(Users::follow) {
                    self.begin_to_think(place, at);
                }
                let users = self.users.as_mut()?;
                let Some(due) = users.take(place, at) else {
                    if users.asks_elsewhere(place, at) {
                        self.to_share.push(place);
                    }
                    return None;
                };
                if let Some(hooks) = &mut self.hooks
                    && let Some(pages) = &mut hooks.pages
                    && let Some(page) = users.page(place)
                {
                    pages.begin(place, page, due);
                }
                if users.has_any_more(place) {
                    self.to_share.push(place);
                }
                due
            }
        };
        self.remaining -= 1;
        self.recorder.arrive(due);
        Some(due)
    }

    /// Whether some of what the user with the connection in `place` asked together is not answered
    /// yet: the next step comes after it. Others have one thing under way, and ask when that has
    /// come.
    fn is_asking(&mut self, place: u32) -> bool {
        let Some(users) = self.users.as_ref().filter(|users| users.ask_together()) else {
            return false;
        };
        // Else what another server is to be asked would be left out.
        if users.ask_several() && (users.has_any_more(place) || users.has_again(place)) {
            return true;
        }
        let mut places = users.places(place);
        places.any(|place| self.pool.is_asking(place))
    }

    /// What users began to ask together in this turn goes to their other connections, too, and what
    /// they are to ask elsewhere goes there; then users leave and come.
    #[inline]
    pub(super) fn share_out(&mut self, now: Instant) {
        while let Some(place) = self.to_share.pop() {
            if self.users.as_ref().is_some_and(Users::ask_several) {
                self.go_on_elsewhere(place, now);
            }
            let places = self.users.as_ref().map(|users| users.places(place));
            for place in places.unwrap_or_default() {
                if self
                    .users
                    .as_ref()
                    .is_some_and(|users| users.has_more(place))
                {
                    self.ask_there(place, now);
                    self.feed_batch(place, now);
                }
            }
        }
        self.see_off(now);
    }

    /// The connection in `place` backs off: its user may have something to ask of another server.
    pub(super) fn look_elsewhere(&mut self, place: u32) {
        if self.users.as_ref().is_some_and(Users::ask_several) {
            self.to_share.push(place);
        }
    }

    /// The user in `place` goes on, if it can: what keeps it from one server keeps it from no other
    /// one.
    fn go_on_elsewhere(&mut self, place: u32, now: Instant) {
        if self.has_users() && !self.is_asking(place) && self.begin_to_think(place, now).is_some() {
            self.wake_user(place, now);
        }
    }

    /// Users who have been through the script leave, and close their connections; those who come
    /// take their places.
    #[inline]
    fn see_off(&mut self, now: Instant) {
        while let Some(place) = self.to_leave.pop() {
            let Some(users) = &mut self.users else {
                return;
            };
            users.leave(place, now);
            for place in users.places(place) {
                if let Some(open) = self.pool.open(place) {
                    // It is we who close it.
                    open.last = Some(open.requests);
                    open.client.finish();
                    self.wind_up(place, now);
                }
            }
        }
        if self.users.as_ref().is_some_and(Users::come) && self.has_users() {
            self.seat(now);
        }
    }

    /// Those who have come take the places that there are.
    fn seat(&mut self, now: Instant) {
        let coming = self.users.as_mut().and_then(Users::coming);
        if let Some(coming) = coming {
            coming.look(now);
        }
        while let Some(users) = &mut self.users
            && let Some(place) = users.sit(now)
        {
            self.wake_user(place, now);
        }
    }

    /// The user with connections in several places asks on an open one, rather than make another.
    fn place_to_ask(&mut self, place: u32) -> u32 {
        let has_room = |connection: &Connection<C>| match connection {
            Connection::Open(open) => open.client.free() > 0,
            _ => false,
        };
        let Some(users) = self.users.as_ref().filter(|users| users.each() > 1) else {
            return place;
        };
        let place = users.place_to_ask(place);
        let mut places = users.places_beside(place);
        let open = places.find(|place| has_room(self.pool.connection(*place)));
        open.unwrap_or(place)
    }

    /// The user in `place` asks, if it is time and the connection is idle or absent; when to look
    /// again.
    pub(super) fn wake_user(&mut self, place: u32, now: Instant) -> Instant {
        let Some(users) = &self.users else {
            return Instant::FAR_FUTURE;
        };
        let asks = users.asks(place);
        if asks > now {
            self.pool.alarms.arm(place, asks);
            return asks;
        }
        let place = self.place_to_ask(place);
        self.ask_there(place, now);
        Instant::FAR_FUTURE
    }

    /// The user asks on its connection in `place`, if that is idle or absent and there is something
    /// to ask.
    fn ask_there(&mut self, place: u32, now: Instant) {
        match self.pool.connection(place) {
            Connection::Absent => self.connect_to_ask(place, now),
            Connection::Open(open) if open.client.free() > 0 => {
                let free_since = open.free_since;
                if let Some(due) = self.claim_for_user(place, now) {
                    if self.users.as_ref().is_some_and(Users::ask_together) {
                        self.hold(place);
                    }
                    self.begin(place, Arrival::new(due), due.max(free_since), now);
                    self.feed_batch(place, now);
                }
            }
            // Whoever gets the connection, or gets it back, looks who asks.
            Connection::BackingOff { .. }
            | Connection::Connecting { .. }
            | Connection::Open(_)
            | Connection::Securing(_)
            | Connection::Waiting { .. } => {}
        }
    }

    /// The connection in `place` is made for what its user asks, if there is something. Where
    /// it asks something once more we are not late: that was asked before.
    fn connect_to_ask(&mut self, place: u32, now: Instant) {
        let asks_again = |users: &Users| users.has_again(place);
        let asks_again = self.users.as_ref().is_some_and(asks_again);
        let Some(due) = self.claim_for_user(place, now) else {
            return;
        };
        match self.users.as_ref().filter(|_| !asks_again) {
            Some(users) => {
                let since = users.could_ask(place, due);
                self.pool.want_late(place, due, since, now);
            }
            None => self.pool.want(place, Some(due)),
        }
    }
}
