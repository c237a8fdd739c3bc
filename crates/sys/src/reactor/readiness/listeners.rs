//! Listeners: who waits there is accepted, and where that failed it is tried again.

use std::collections::VecDeque;
use std::io;
use std::os::fd::OwnedFd;

use mio::{Interest, Token};
use model::units::Instant;

use super::connection::{Connection, do_accept};
use super::{LISTENERS, Readiness};
use crate::clock;
use crate::reactor::{ACCEPT_RETRY, Listen};
use crate::slots::Key;

/// Accepts per batch and listener, so that a flood of them does not starve connections.
pub(super) const ACCEPTS_PER_BATCH: u32 = 64;

impl Readiness {
    /// Accepts one connection; its key. The listener stays in line until nobody waits.
    pub(super) fn accept(&mut self, place: usize) -> Option<(Key, usize)> {
        let index = place - LISTENERS;
        let listener = self.listeners.get(index)?;
        let socket = match do_accept(listener) {
            Ok(Some(socket)) => socket,
            Ok(None) => return None,
            Err(_) => {
                self.meter.activity.accepts_failed += 1;
                if !self.stalled.contains(&place) {
                    self.stalled.push(place);
                }
                self.retry_at = clock::monotonic() + ACCEPT_RETRY;
                return None;
            }
        };
        if self.accepts_left > 0 {
            self.accepts_left -= 1;
            self.batch += 1;
            self.ready.push_front(place);
        } else {
            self.ready.push_back(place);
        }
        match self.admit(Connection::accepted(socket)) {
            Ok(key) => Some((key, index)),
            Err(_) => {
                self.meter.activity.accepts_refused += 1;
                None
            }
        }
    }

    /// Puts listeners in line again whose accept failed.
    pub(super) fn serve_stalled(&mut self) {
        for place in self.stalled.drain(..) {
            enqueue_listener(&mut self.ready, place);
        }
    }

    /// When a wait until `deadline` ends to accept again where an accept failed.
    pub(super) fn wait_end(&mut self, now: Instant, deadline: Instant) -> Instant {
        if self.stalled.is_empty() {
            return deadline;
        }
        if now >= self.retry_at {
            self.serve_stalled();
        }
        deadline.min(self.retry_at)
    }
}

/// Puts a listener in line, once.
pub(super) fn enqueue_listener(ready: &mut VecDeque<usize>, place: usize) {
    if !ready.contains(&place) {
        ready.push_back(place);
    }
}

impl Listen for Readiness {
    fn listen(&mut self, listener: OwnedFd) -> io::Result<()> {
        let token = Token(LISTENERS + self.listeners.len());
        self.register(&listener, token, Interest::READABLE)?;
        self.listeners.push(listener);
        Ok(())
    }

    fn stop_listening(&mut self) {
        self.stalled.clear();
        self.listeners.clear();
    }
}
