//! What the simulated kernel does with connects and sends that are handed in.

use super::super::outgoing::Rest;
use super::agenda::{Told, What};
use super::{Ask, Sim};
use crate::Errno;
use crate::slots::Key;

impl Sim {
    /// Carries out what was asked, in order.
    pub(super) fn hand_in(&mut self) {
        while let Some((key, ask)) = self.asked.pop_front() {
            let now = self.now;
            let Some(connection) = self.connections.get_mut(key) else {
                continue;
            };
            match ask {
                Ask::Connect => {
                    let (target, source) = (connection.target, connection.source);
                    let told = match self.server.connect(target, source) {
                        Ok(()) => Told::Connected,
                        Err(error) => Told::ConnectFailed(error),
                    };
                    let at = now + self.server.round_trip();
                    self.schedule(at, key, What::Tell(told));
                }
                Ask::Send => self.take(key),
            }
        }
    }

    /// Takes what is in line on a connection, as far as the kernel does so now.
    pub(super) fn take(&mut self, key: Key) {
        let now = self.now;
        while let Some(connection) = self.connections.get_mut(key)
            && let Some(piece) = connection.sends.front_mut()
        {
            let broken = connection.ended.then_some(Errno::new(libc::EPIPE));
            if let Some(error) = broken.or_else(|| self.kernel.send_error()) {
                for piece in connection.sends.drain(..) {
                    self.outgoing.release(&piece);
                }
                return self.schedule(now, key, What::Tell(Told::SendFailed(error)));
            }
            let mut bytes = match self.outgoing.rest(piece) {
                Rest::Bytes(bytes) => bytes.to_vec(),
                Rest::File(..) => unreachable!("files are refused"),
            };
            let (count, pause) = self.kernel.takes(bytes.len());
            bytes.truncate(count);
            piece.done += count as u64;
            connection.taken += count as u64;
            connection.times.sent = Some(now);
            let is_done = piece.done == piece.length;
            let at = now + self.server.delay();
            self.schedule(at, key, What::Arrive(bytes));
            if is_done {
                if self.next_piece(key) {
                    return;
                }
            } else {
                return self.schedule(now + pause, key, What::Room);
            }
        }
    }

    /// What was first in line on a connection is done. True if the caller must hear of the one
    /// behind it first.
    fn next_piece(&mut self, key: Key) -> bool {
        let now = self.now;
        let Some(connection) = self.connections.get_mut(key) else {
            return false;
        };
        let Some(done) = connection.sends.pop_front() else {
            return false;
        };
        let tag = connection.sends.front().and_then(|piece| piece.tag);
        self.outgoing.release(&done);
        if done.notify {
            self.schedule(now, key, What::Tell(Told::Sent));
        }
        if let Some(tag) = tag {
            self.schedule(now, key, What::Tell(Told::Begun(tag)));
        }
        tag.is_some()
    }
}
