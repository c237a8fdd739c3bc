//! Users who think: when they begin to, when they ask, and what becomes of them where their
//! connection is gone.

use model::units::Instant;
use sys::reactor::Reactor;
use wire::Client;

use super::{Arrival, Worker};
use crate::pool::Connection;

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Whether there are users who will ask for something.
    pub(super) const fn has_users(&self) -> bool {
        self.users.is_some() && self.remaining > 0 && !self.stopping
    }

    /// The user in `place`, if there is one, begins to think, unless that is so already.
    #[inline]
    pub(super) fn think(&mut self, place: u32, at: Instant) {
        if self.has_users()
            && let Some(users) = &mut self.users
        {
            let asks = users.think(place, at);
            self.pool.alarms.arm(place, asks);
        }
    }

    /// What the user in `place` asks, if it is time and there is to be anything more. It is due
    /// when the user had thought.
    #[cold]
    pub(super) fn claim_for_user(&mut self, place: u32, at: Instant) -> Option<Instant> {
        if !self.has_users() {
            return None;
        }
        let due = self.users.as_mut()?.take(place, at)?;
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
