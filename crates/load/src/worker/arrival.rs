//! What waits for a connection.

use model::units::Instant;

use crate::pool::Making;

/// An arrival that waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) due: Instant,
    /// The request that it is, if it began before.
    pub(super) class: Option<u16>,
    /// It is under way, and goes on where a redirect led.
    pub(super) goes_on: bool,
    /// The connection of the user who asks it, if a script says whose it is.
    pub(super) place: Option<u32>,
    /// How the connection was made that failed, if it waited for one.
    pub(super) making: Option<Making>,
}

impl Arrival {
    /// One that has not begun.
    #[inline]
    pub(super) const fn new(due: Instant) -> Self {
        Self {
            due,
            class: None,
            goes_on: false,
            place: None,
            making: None,
        }
    }

    /// One that has been the request of `class`.
    #[inline]
    pub(super) const fn of(due: Instant, class: u16) -> Self {
        Self {
            class: Some(class),
            ..Self::new(due)
        }
    }
}

/// An exchange that was taken back from a connection that could not carry it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    pub(super) due: Instant,
    pub(super) class: u16,
}
