//! One connection of the io_uring reactor: what is armed, what is under way.

use std::os::fd::OwnedFd;

use super::super::outgoing::{Lent, Queue};
use super::buffers::Size;

#[derive(Debug)]
pub(super) struct Connection {
    /// Kept beside its place in the ring's table, for calls that the ring does not make.
    pub(super) socket: OwnedFd,
    pub(super) phase: Phase,
    pub(super) receiving: Option<Receiving>,
    /// The armed receive has been told to end.
    pub(super) cancelling: bool,
    pub(super) paused: bool,
    /// Shut the sending side down when all is sent.
    pub(super) finishing: bool,
    /// What happens to the first piece of `sends`.
    pub(super) sending: Sending,
    /// The end of the turn finds it in the list of those that wait for it.
    pub(super) waiting: bool,
    /// It has filled a small buffer.
    pub(super) large: bool,
    /// The latest receive left nothing behind.
    pub(super) drained: bool,
    /// So many receives are still one by one into small buffers, because bodies are skipped.
    pub(super) small_receives: u8,
    /// The turn in which its socket was put in line for the ring's table.
    pub(super) entered: u32,
    pub(super) skipping: u64,
    /// It is a Unix socket, where nothing can be dropped inside the kernel.
    pub(super) is_unix: bool,
    /// The latest silent send.
    pub(super) silent: Option<Silent>,
    pub(super) sends: Queue,
    /// Bytes that the kernel took, those of the silent send included.
    pub(super) taken: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Phase {
    Connecting,
    Established,
    /// The end of the stream was told.
    Ended,
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

/// What happens to the first piece in line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Sending {
    /// There is none, or it waits for the end of the turn.
    No,
    /// The kernel has it.
    Bytes,
    /// The kernel tells when there is room for it.
    Room,
    /// It is given to the kernel when the caller has been told that it has come to the front.
    Untold,
}

/// A send of which the kernel says nothing unless it fails.
#[derive(Clone, Copy, Debug)]
pub(super) struct Silent {
    pub(super) lent: Lent,
    /// The turn in which it was put in line. When that is over, the bytes have gone.
    pub(super) turn: u32,
    pub(super) more: bool,
}

impl Connection {
    pub(super) fn new(socket: OwnedFd, phase: Phase) -> Self {
        Self {
            socket,
            phase,
            receiving: None,
            cancelling: false,
            paused: false,
            finishing: false,
            sending: Sending::No,
            waiting: false,
            large: false,
            drained: true,
            small_receives: 0,
            entered: 0,
            skipping: 0,
            is_unix: false,
            silent: None,
            sends: Queue::default(),
            taken: 0,
        }
    }

    #[inline]
    pub(super) fn may_send(&self) -> bool {
        matches!(self.phase, Phase::Established | Phase::Ended) && !self.finishing
    }

    /// Whether a silent send was put in line in this `turn`: it may still fail.
    #[inline]
    pub(super) fn is_silent(&self, turn: u32) -> bool {
        self.silent.is_some_and(|silent| silent.turn == turn)
    }

    /// How many sends are under way in this `turn`.
    #[inline]
    pub(super) fn sends_under_way(&self, turn: u32) -> usize {
        self.sends.len() + usize::from(self.is_silent(turn))
    }

    /// The receive that is to be armed next, if any.
    #[inline]
    pub(super) fn next_receive(&mut self) -> Option<Receiving> {
        if self.receiving.is_some() || self.paused || self.phase != Phase::Established {
            return None;
        }
        let receiving = if self.skipping > 0 && !self.is_unix {
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
        Some(receiving)
    }
}
