//! What waits for a connection, and to which of the servers.

use model::units::Instant;
use sys::reactor::Reactor;
use wire::Client;

use super::{Again, Arrival, Worker};

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Takes what has waited for longest for a connection to `host`, before it what begins again.
    #[inline]
    pub(super) fn take_waiting(&mut self, host: usize) -> Option<Arrival> {
        if let Some(hooks) = &mut self.hooks
            && let Some((due, class)) = hooks.take_led()
        {
            return Some(Arrival {
                goes_on: true,
                ..Arrival::of(due, class)
            });
        }
        if !self.again.is_empty()
            && let Some(position) = self.again_for(host)
            && let Some(Again { due, class }) = self.again.remove(position)
        {
            return Some(Arrival::of(due, class));
        }
        self.backlog.pop(host)
    }

    /// The first of what begins again with `host`.
    #[cold]
    fn again_for(&self, host: usize) -> Option<usize> {
        let mut again = self.again.iter();
        again.position(|one| self.requests.host(one.class) == host)
    }

    /// Whether something waits for a connection to `host`.
    #[inline]
    pub(super) fn is_waited_for(&self, host: usize) -> bool {
        let is_led = self.hooks.as_ref().is_some_and(|hooks| hooks.has_led());
        let begins_again = || !self.again.is_empty() && self.again_for(host).is_some();
        is_led || self.backlog.waits_for(host) || begins_again()
    }

    /// Whether anything waits for a connection.
    #[inline]
    pub(super) fn has_waiting(&self) -> bool {
        let is_led = self.hooks.as_ref().is_some_and(|hooks| hooks.has_led());
        is_led || self.backlog.len() > 0 || !self.again.is_empty()
    }

    /// Which of the servers what is due at `due` asks. Where there are several, the request that it
    /// is says so.
    #[inline]
    pub(super) fn address(&mut self, due: Instant) -> (usize, Arrival) {
        if self.pool.hosts() == 1 {
            return (0, Arrival::new(due));
        }
        let class = self.requests.draw();
        (self.requests.host(class), Arrival::of(due, class))
    }
}
