//! What only happens where several exchanges share a connection as streams of HTTP/2: one ends
//! without an answer and the connection goes on, or room comes without the end of one.

use model::units::Instant;
use sys::reactor::Reactor;
use wire::Client;

use super::Worker;
use crate::flight::Seen;

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

    /// As for a connection with room of its own: the peer may have allowed more.
    fn feed_streams(&mut self, place: u32, at: Instant) {
        let has_room = |open: &mut crate::pool::Open<C>| open.client.free() > 0;
        if self.pool.open(place).is_some_and(has_room) {
            self.feed(place, at);
        }
    }
}
