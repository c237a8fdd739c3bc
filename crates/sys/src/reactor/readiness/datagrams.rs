//! Connections over UDP: what the kernel received together is told one datagram after the other.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;

use model::Mark;
use model::units::Instant;

use super::Readiness;
use super::connection::Connection;
use crate::datagram::{self, Batch, Channel};
use crate::reactor::{Refused, Settings};
use crate::slots::Key;
use crate::{Errno, socket};

/// Datagrams in the buffer that are to be told, one after the other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cut {
    key: Key,
    at: Instant,
    from: usize,
    batch: Batch,
}

impl Cut {
    /// What is left to tell of `batch`, and how long the first of it is.
    pub(super) fn new(key: Key, at: Instant, batch: Batch) -> (Option<Self>, usize) {
        let from = batch.each.min(batch.length);
        let rest = Self {
            key,
            at,
            from,
            batch,
        };
        ((from < batch.length).then_some(rest), from)
    }
}

impl Readiness {
    /// The same, whose connections are made over UDP: each
    /// [`Received`](crate::reactor::Event::Received) is one datagram, and each send goes out as
    /// datagrams of [its segment's](crate::reactor::Transmit::segment) bytes, or is one.
    pub fn over_datagrams(settings: &Settings) -> io::Result<Self> {
        Ok(Self {
            datagrams: true,
            ..Self::new(settings)?
        })
    }

    /// The next of the datagrams that came together, where in the buffer it lies, and its mark.
    pub(super) fn next_datagram(&mut self) -> Option<(Key, Instant, Range<usize>, Mark)> {
        let cut = self.cut.as_mut()?;
        let (key, at, from, mark) = (cut.key, cut.at, cut.from, cut.batch.mark);
        let end = cut.batch.length.min(from + cut.batch.each.max(1));
        cut.from = end;
        if end >= cut.batch.length {
            self.cut = None;
        }
        let is_there = from < end && self.connections.get(key).is_some();
        if !is_there {
            self.cut = None;
        }
        is_there.then_some((key, at, from..end, mark))
    }

    pub(super) fn connect_datagrams(
        &mut self,
        target: SocketAddr,
        source: Option<SocketAddr>,
    ) -> Result<Key, Refused> {
        let refused = |error: io::Error| Refused::Kernel(Errno::of(&error));
        let socket = datagram::outgoing(target, source).map_err(refused)?;
        socket::connect(&socket, target).map_err(refused)?;
        let channel = Channel::new(&socket, target).map_err(refused)?;
        self.admit(Connection::connecting(socket, None).with_channel(channel))
    }
}
