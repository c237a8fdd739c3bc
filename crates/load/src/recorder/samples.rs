//! Raw exchanges, in a store of a size that is fixed before the run.

use model::record::Sample;
use model::units::{Instant, Span};

use crate::exchange::Exchange;

/// The first of them, and how many found no room.
#[derive(Debug)]
pub(super) struct Samples {
    kept: Vec<Sample>,
    /// None where nobody asked for any.
    most: Option<usize>,
    dropped: u64,
}

/// What a sample tells beside the exchange itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// Its position among those that ended, from 0.
    pub(super) index: u64,
    pub(super) worker: u32,
    pub(super) open_connections: u32,
    /// What its instants are counted from.
    pub(super) window_start: Instant,
}

impl Samples {
    pub(super) fn new(most: Option<usize>) -> Self {
        Self {
            kept: Vec::with_capacity(most.unwrap_or(0)),
            most,
            dropped: 0,
        }
    }

    /// Whether any are wanted.
    #[inline]
    pub(super) const fn wanted(&self) -> bool {
        self.most.is_some()
    }

    /// So many exchanges are not kept.
    pub(super) const fn skip(&mut self, count: u64) {
        if self.wanted() {
            self.dropped += count;
        }
    }

    pub(super) fn keep(&mut self, exchange: &Exchange, place: Place) {
        if self.most.is_none_or(|most| self.kept.len() == most) {
            self.dropped += 1;
            return;
        }
        let since = |at| signed_since(at, place.window_start);
        self.kept.push(Sample {
            index: place.index,
            worker: place.worker,
            open_connections: place.open_connections,
            due_ns: since(exchange.due),
            ready_ns: since(exchange.ready),
            sent_ns: exchange.sent.map(since),
            first_byte_ns: exchange.first_byte.map(since),
            ended_ns: since(exchange.ended),
            connect_ns: exchange.connect.map(Span::as_ns),
            outcome: exchange.outcome(),
        });
    }

    /// What was kept, and how many were not.
    pub(super) fn finish(self) -> (Vec<Sample>, u64) {
        (self.kept, self.dropped)
    }
}

fn signed_since(at: Instant, start: Instant) -> i64 {
    let distance = |later: Instant, earlier: Instant| {
        i64::try_from((later - earlier).as_ns()).unwrap_or(i64::MAX)
    };
    if at >= start {
        distance(at, start)
    } else {
        -distance(start, at)
    }
}
