//! What will happen in the virtual network, and when.

use model::units::Instant;

use crate::Errno;
use crate::slots::Key;

/// What the caller is told.
#[derive(Debug)]
pub(super) enum Told {
    Begun(u32),
    Connected,
    ConnectFailed(Errno),
    Ended(Option<Errno>),
    Received(Vec<u8>),
    SendFailed(Errno),
    Sent,
}

/// Something that will happen.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) at: Instant,
    pub(super) number: u64,
    pub(super) key: Key,
    pub(super) what: What,
}

#[derive(Debug)]
pub(super) enum What {
    /// Bytes reach the server.
    Arrive(Vec<u8>),
    /// The kernel takes more of a send that it took in part.
    Room,
    /// Something reaches the client.
    Tell(Told),
}

impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// By time; what was asked first happens first.
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}
