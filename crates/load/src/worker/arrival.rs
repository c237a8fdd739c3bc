//! What waits for a connection.

use model::units::Instant;

use crate::redirect::Since;

/// An arrival that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) due: Instant,
    /// The request that it is, if it began before.
    pub(super) class: Option<u16>,
    /// Since when it is under way, if a redirect has sent it elsewhere.
    pub(super) since: Option<Since>,
}

impl Arrival {
    /// One that has not begun.
    pub(super) const fn new(due: Instant) -> Self {
        Self {
            due,
            class: None,
            since: None,
        }
    }
}

/// An exchange that was taken back from a connection that could not carry it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) due: Instant,
    pub(super) class: u16,
}
