//! Users who think or follow a script: when they begin to, when they ask, and what becomes of them
//! where their connection is gone.

use model::units::Instant;
use sys::reactor::Reactor;
use wire::Client;

use super::{Arrival, Worker};
use crate::pool::Connection;
use crate::users::Users;

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Whether there are users who will ask for something.
    pub(super) fn has_users(&self) -> bool {
        self.users.is_some() && self.remaining > 0 && !self.stopping
    }

    /// The user in `place` begins to think at `at`, unless that is so already; when it asks.
    fn begin_to_think(&mut self, place: u32, at: Instant) -> Option<Instant> {
        let users = self.users.as_mut()?;
        if !users.are_dictated() || users.asks(place) < Instant::FAR_FUTURE {
            return Some(users.think(place, at));
        }
        let wait = self.hooks.as_mut().map(|hooks| hooks.delay());
        Some(users.wait(place, at + wait.unwrap_or_default()))
    }

    /// What was due for `place`: the request that a script has for its user, if there is one.
    pub(super) fn arrival(&self, place: u32, due: Instant) -> Arrival {
        let users = self.users.as_ref();
        Arrival {
            class: users.and_then(|users| users.class(place)),
            ..Arrival::new(due)
        }
    }

    /// The user in `place` of a script begins with the run; false where there is no script. The
    /// connection is made when the user asks.
    pub(super) fn begin_script(&mut self, place: u32, now: Instant) -> bool {
        if !self.users.as_ref().is_some_and(Users::follow) {
            return false;
        }
        let asks = self.begin_to_think(place, self.start);
        let asks = asks.unwrap_or(self.start);
        if asks <= now {
            self.pool.want(place, None);
        } else {
            self.pool.alarms.arm(place, asks);
        }
        true
    }

    /// What was due at `due` and came back from the connection in `place` is asked again by its
    /// user, if a script says whose it is.
    pub(super) fn give_back(&mut self, place: u32, due: Instant) -> bool {
        match self.users.as_mut().filter(|users| users.follow()) {
            Some(users) => {
                users.ask_again(place, due);
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
            && !self.is_within_batch(place)
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
        let due = match users.take_handed(place) {
            Some(due) => due,
            None if self.is_within_batch(place) => return None,
            None => {
                if self.users.as_ref().is_some_and(Users::follow) {
                    self.begin_to_think(place, at);
                }
                self.users.as_mut()?.take(place, at)?
            }
        };
        self.remaining -= 1;
        self.recorder.arrive(due);
        Some(due)
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
        match self.pool.connection(place) {
            Connection::Absent => {
                if let Some(due) = self.claim_for_user(place, now) {
                    self.pool.want(place, Some(due));
                }
            }
            Connection::Open(open) if open.client.free() > 0 => {
                let free_since = open.free_since;
                if let Some(due) = self.claim_for_user(place, now) {
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
        Instant::FAR_FUTURE
    }
}
