//! Where response times went, by times that the kernel noted on a part of the connections.

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;

/// Answered exchanges on those connections in the window, each cut where it was due, where a
/// connection was free, where it was handed to the kernel, where the kernel had handed its last
/// byte to the device, where the kernel had received the last byte of the answer, and where it
/// ended.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TimeSplit {
    /// Connections whose times were noted over the whole run, those made anew included.
    pub connections: u64,
    /// Connections whose times the kernel would not note.
    pub refused: u64,
    /// Exchanges of which one of the kernel's two times is missing: they are in no distribution.
    pub incomplete: u64,
    /// Ended − due.
    pub response: Distribution,
    /// Ready − due: no connection was free.
    pub blocked: Distribution,
    /// Sent − ready: the generator's own doing.
    pub late: Distribution,
    /// Late and waking up, together, of each exchange: what this client added to it.
    pub client_added: Distribution,
    /// From sent until the kernel had handed the last byte to the device.
    pub client_send: Distribution,
    /// From there until the kernel here received the last byte of the answer: network and server.
    pub outside: Distribution,
    /// From there until the exchange ended: this machine woke up, read, and checked.
    pub client_wakeup: Distribution,
}

impl TimeSplit {
    /// The parts of a response time, in the order of time.
    pub const fn parts(&self) -> [&Distribution; 5] {
        [
            &self.blocked,
            &self.late,
            &self.client_send,
            &self.outside,
            &self.client_wakeup,
        ]
    }

    /// Adds those of another worker.
    pub fn merge(&mut self, other: Self) {
        self.connections += other.connections;
        self.refused += other.refused;
        self.incomplete += other.incomplete;
        for (mine, theirs) in [
            (&mut self.response, &other.response),
            (&mut self.blocked, &other.blocked),
            (&mut self.late, &other.late),
            (&mut self.client_added, &other.client_added),
            (&mut self.client_send, &other.client_send),
            (&mut self.outside, &other.outside),
            (&mut self.client_wakeup, &other.client_wakeup),
        ] {
            mine.merge(theirs);
        }
    }
}
