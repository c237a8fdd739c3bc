//! What waits for a connection.

use model::units::Instant;

/// An arrival that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) due: Instant,
    /// The request that it is, if it began before.
    pub(super) class: Option<u16>,
}

impl Arrival {
    /// One that has not begun.
    pub(super) const fn new(due: Instant) -> Self {
        Self { due, class: None }
    }
}

/// An exchange that was taken back from a connection that could not carry it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) due: Instant,
    pub(super) class: u16,
}
