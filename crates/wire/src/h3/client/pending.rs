//! Which requests have begun and not gone out.
//!
//! Several may have, so that all that begin at once go out in one datagram if they fit. QUIC does
//! not say which streams a datagram has bytes of, only how many of its frames have some. They are
//! of one stream after another in the order in which these got something to send, so the next
//! frames are the first ones of the next requests. What is sent once more after a loss, and what a
//! long request before them has left, takes its turn before them and is taken for them: what is
//! told of them is then some datagrams too early.

use crate::client::StreamId;

/// The requests that have begun and not gone out.
#[derive(Debug)]
pub(super) struct Pending {
    /// In order.
    waiting: Vec<StreamId>,
    /// Those whose first byte went out last, in order.
    started: Vec<StreamId>,
}

impl Pending {
    /// For a connection with up to `streams` exchanges at once.
    pub(super) fn new(streams: u32) -> Self {
        Self {
            waiting: Vec::with_capacity(streams as usize),
            started: Vec::with_capacity(streams as usize),
        }
    }

    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The next request is that of `stream`.
    #[inline]
    pub(super) fn push(&mut self, stream: StreamId) {
        self.waiting.push(stream);
    }

    /// The exchange of `stream` is over.
    #[inline]
    pub(super) fn forget(&mut self, stream: StreamId) {
        if !self.waiting.is_empty() {
            self.waiting.retain(|waiting| *waiting != stream);
        }
    }

    /// Nothing waits any more.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// What goes out now has so many frames of streams: the first exchange that begins with it.
    #[inline]
    pub(super) fn take(&mut self, frames: u64) -> Option<StreamId> {
        let frames = usize::try_from(frames).unwrap_or(usize::MAX);
        self.started.clear();
        let gone = self.waiting.drain(..frames.min(self.waiting.len()));
        self.started.extend(gone);
        self.started.first().copied()
    }

    /// The exchanges that begin with what went out last, but for the first.
    #[inline]
    pub(super) fn also_started(&self) -> &[StreamId] {
        self.started.get(1..).unwrap_or_default()
    }
}
