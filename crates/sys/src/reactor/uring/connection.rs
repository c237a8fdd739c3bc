//! One connection of the io_uring reactor: what is armed, what is under way.

use std::os::fd::OwnedFd;

use model::units::Instant;

use super::super::outgoing::Queue;
use super::buffers::Size;

#[derive(Debug)]
pub(super) struct Connection {
    /// Kept beside its place in the ring's table, for calls that the ring does not make.
    pub(super) socket: Option<OwnedFd>,
    pub(super) phase: Phase,
    /// Operations whose last completion has not been seen: the place is not free before.
    pub(super) operations: u8,
    pub(super) receiving: Option<Receiving>,
    /// The armed receive has been told to end.
    pub(super) cancelling: bool,
    pub(super) paused: bool,
    /// Shut the sending side down when all is sent.
    pub(super) finishing: bool,
    /// A send, or a wait to go on sending, is in the kernel.
    pub(super) sending: bool,
    /// It has filled a small buffer.
    pub(super) large: bool,
    /// The latest receive left nothing behind.
    pub(super) drained: bool,
    /// So many receives are still one by one into small buffers, because bodies are skipped.
    pub(super) small_receives: u8,
    pub(super) skipping: u64,
    pub(super) sends: Queue,
    pub(super) sent_at: Instant,
    pub(super) taken: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    Connecting,
    Established,
    /// The end of the stream was told.
    Ended,
    /// The caller has closed it.
    Closing,
}

/// What kind of receive is armed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Receiving {
    /// Again and again, into buffers of this size.
    Multishot(Size),
    /// Once, into a small buffer.
    Single,
    /// Once, dropping what comes.
    Skip,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, phase: Phase) -> Self {
        Self {
            socket: Some(socket),
            phase,
            operations: 0,
            receiving: None,
            cancelling: false,
            paused: false,
            finishing: false,
            sending: false,
            large: false,
            drained: true,
            small_receives: 0,
            skipping: 0,
            sends: Queue::default(),
            sent_at: Instant::ZERO,
            taken: 0,
        }
    }

    /// Whether the caller still knows it.
    #[inline]
    pub(super) fn is_live(&self) -> bool {
        self.phase != Phase::Closing
    }

    #[inline]
    pub(super) fn may_send(&self) -> bool {
        matches!(self.phase, Phase::Established | Phase::Ended) && !self.finishing
    }

    /// The receive that is to be armed next, if any.
    #[inline]
    pub(super) fn next_receive(&mut self) -> Option<Receiving> {
        if self.receiving.is_some() || self.paused || self.phase != Phase::Established {
            return None;
        }
        let receiving = if self.skipping > 0 {
            Receiving::Skip
        } else if self.small_receives > 0 {
            self.small_receives -= 1;
            Receiving::Single
        } else if self.large {
            Receiving::Multishot(Size::Large)
        } else {
            Receiving::Multishot(Size::Small)
        };
        self.receiving = Some(receiving);
        self.cancelling = false;
        self.operations += 1;
        Some(receiving)
    }
}
