//! How what the protocol wants to send goes to the reactor: from where it lies, or written.

use model::units::Instant;
use sys::reactor::{Handed, Reactor, Transmit};
use wire::Client;

use super::handshake::segment_of;
use super::{STALLED, Unstamped, Worker};
use crate::dictation::COPIED;

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Hands to the reactor what the protocol wants to send. What finds no room waits.
    #[inline]
    pub(super) fn transmit(&mut self, place: u32, now: Instant) {
        while let Some(open) = self.pool.open(place)
            && open.client.wants_transmit()
        {
            let key = open.key;
            if !self.reactor.may_send(key) {
                if !std::mem::replace(&mut open.is_stalled, true) {
                    self.stalled.push_back(place);
                }
                self.stalled_until = self.stalled_until.min(now + STALLED);
                return;
            }
            self.out.clear();
            let mut once = None;
            let (mut transmit, starts) = match open.client.poll_transmit(now, &mut self.out) {
                wire::Transmit::Fixed { request, starts } => {
                    let users = self.users.as_ref();
                    let round = || users.map_or(0, |users| users.round(place));
                    let hooks = self.hooks.as_mut();
                    let bytes =
                        hooks.and_then(|hooks| hooks.bytes(place, request, round, &mut self.out));
                    let transmit = match bytes {
                        None => Transmit::stored(self.stored[usize::from(request.0)]),
                        Some(bytes) if bytes.len() <= COPIED => Transmit::copied(bytes),
                        Some(bytes) => {
                            let stored = self.reactor.store(bytes.to_vec());
                            Transmit::stored(*once.insert(stored))
                        }
                    };
                    (transmit, starts)
                }
                wire::Transmit::Written { starts } => {
                    let segment = segment_of::<C>(&open.client);
                    (Transmit::copied(&self.out).in_segments(segment), starts)
                }
                wire::Transmit::Nothing => return,
            };
            let at = (starts.is_some() && self.reactor.sends_at_once()).then(|| self.reactor.now());
            if let Some(stream) = starts {
                transmit = transmit.with_tag(stream.0);
            }
            let handed = self.reactor.send(key, transmit);
            if let Some(stored) = once {
                self.reactor.discard(stored);
            }
            match (handed, starts) {
                (Ok(Handed::Now), Some(stream)) => match at {
                    Some(at) => self.sent(place, key, stream, at),
                    None => self.unstamped.push(Unstamped {
                        place,
                        key,
                        stream: Some(stream),
                    }),
                },
                (Ok(_), _) => {}
                (Err(refused), starts) => return self.cannot_send(place, now, starts, refused),
            }
        }
    }
}
