//! Exchanges that do not belong to the window, though they may have been under way in it.

use super::Recorder;
use crate::exchange::Exchange;

impl Recorder {
    /// One has ended. What `has_passed` came right in the window all the same.
    pub(super) fn end_outside(&mut self, exchange: &Exchange, has_passed: bool) {
        if let Some(class) = exchange.class.filter(|_| has_passed) {
            self.classes.pass(class);
        }
        if let Some(sent) = exchange.sent {
            self.in_flight.end_outside(sent, exchange.ended);
        }
    }
}
