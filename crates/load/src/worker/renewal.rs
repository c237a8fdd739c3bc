//! Connections that come and go by the plan: the turns in which they are opened, and which request
//! is the last on one.

use model::plan::Plan;
use model::units::{Instant, Span};

use crate::pool::Open;
use crate::random::Random;

/// Behind its turns by more than this, a worker lets the rest go: connections that nobody wanted
/// for a while are not opened all at once.
const BEHIND_MOST: Span = Span::from_ms(10);

/// What one worker has to know of it.
#[derive(Clone, Debug)]
pub(crate) struct Renewal {
    /// Between two turns.
    interval: Span,
    /// When the next turn is.
    turn: Instant,
    /// Where turns of the workers lie among each other: this worker's first.
    first: Span,
    lifetime: Option<Span>,
    last_of_million: u64,
    random: Random,
}

impl Renewal {
    /// That of worker `index` of `plan`, if the plan says anything of it.
    pub(crate) fn new(plan: &Plan, index: u32) -> Option<Self> {
        let file = plan.file();
        let renewal = file.renewal;
        if renewal.is_none() {
            return None;
        }
        let each = renewal.ramp(1);
        Some(Self {
            interval: each * u64::from(file.workers),
            turn: Instant::FAR_FUTURE,
            first: each * u64::from(index),
            lifetime: renewal.lifetime,
            last_of_million: u64::from(renewal.last_of_million.unwrap_or(0)),
            random: Random::new(file.seed, u64::from(index) ^ 0xc105_e000_0000_0000),
        })
    }

    /// The run begins at `start`.
    pub(super) fn begin(&mut self, start: Instant) {
        self.turn = start + self.first;
    }

    /// Whether connections wait for their turn.
    pub(super) const fn is_paced(&self) -> bool {
        !self.interval.is_zero()
    }

    /// When the next connection may be opened, where it may not be `now`.
    pub(super) fn wait(&self, now: Instant) -> Option<Instant> {
        (self.is_paced() && self.turn > now).then_some(self.turn)
    }

    /// A connection is opened `now`.
    pub(super) fn take_turn(&mut self, now: Instant) {
        self.turn = self.turn.max(now - BEHIND_MOST) + self.interval;
    }

    /// Whether what begins `now` on this connection is its last request by the plan's `renewal`, if
    /// it has one. The connection keeps that in mind.
    #[inline]
    pub(super) fn is_over<C>(renewal: Option<&mut Self>, open: &mut Open<C>, now: Instant) -> bool {
        let Some(renewal) = renewal else {
            return false;
        };
        let age = now.saturating_since(open.made);
        let share = renewal.last_of_million;
        let is_over = renewal.lifetime.is_some_and(|lifetime| age >= lifetime)
            || (share > 0 && renewal.random.below(1_000_000) < share);
        if is_over {
            open.last = Some(open.requests);
        }
        is_over
    }
}
