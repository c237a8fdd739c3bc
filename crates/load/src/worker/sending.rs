//! How what the protocol wants to send goes to the reactor: from where it lies, or written.

use model::units::Instant;
use sys::reactor::{Handed, Reactor, Transmit};
use wire::Client;

use super::handshake::segment_of;
use super::{STALLED, Unstamped, Worker};
use crate::dictation::{COPIED, Dictation};

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
                wire::Transmit::Fixed { starts, .. }
                    if self.dictation.as_ref().is_some_and(Dictation::asks) =>
                {
                    let dictation = self.dictation.as_ref();
                    let bytes = dictation.map_or(&[][..], |author| author.begun_last(place));
                    let transmit = if bytes.len() > COPIED {
                        let stored = self.reactor.store(bytes.to_vec());
                        Transmit::stored(*once.insert(stored))
                    } else {
                        Transmit::copied(bytes)
                    };
                    (transmit, starts)
                }
                wire::Transmit::Fixed { request, starts } => {
                    let follower = self.follower.as_ref();
                    let led = follower.and_then(|follower| follower.message(place));
                    let users = self.users.as_ref();
                    let is_written = self.sessions.as_mut().is_some_and(|sessions| {
                        let round = users.map_or(0, |users| users.round(place));
                        sessions.write(place, round, request, &mut self.out)
                    });
                    let transmit = match led {
                        Some(message) => Transmit::copied(message),
                        None if is_written => Transmit::copied(&self.out),
                        None => Transmit::stored(self.stored[usize::from(request.0)]),
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
