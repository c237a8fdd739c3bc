//! How what the protocol wants to send goes to the reactor: from where it lies, or written.

use model::units::Instant;
use sys::reactor::Key;
use sys::reactor::{Handed, Reactor, Refused, Transmit};
use wire::{Client, StreamId};

use super::handshake::written;
use super::{STALLED, Unstamped, Worker};
use crate::dictation::COPIED;

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Hands to the reactor what the protocol wants to send: now, or at the end of the turn if more
    /// that begins in it can go out together with it.
    #[inline]
    pub(super) fn send(&mut self, place: u32, now: Instant) {
        if !C::GATHERS {
            return match self.is_held(place) {
                true => self.gather(place, now),
                false => self.transmit(place, now),
            };
        }
        if let Some(open) = self.pool.open(place)
            && !std::mem::replace(&mut open.is_gathering, true)
        {
            self.gathering.push(place);
        }
    }

    /// What connections have gathered goes out.
    #[inline]
    pub(super) fn send_gathered(&mut self, now: Instant) {
        if !C::GATHERS {
            return;
        }
        // Where one cannot be used any more, others get something to send.
        let mut index = 0;
        while let Some(place) = self.gathering.get(index) {
            let place = *place;
            index += 1;
            if let Some(open) = self.pool.open(place) {
                open.is_gathering = false;
                self.transmit(place, now);
            }
        }
        self.gathering.clear();
    }

    /// The protocol may want to be woken.
    #[inline]
    pub(super) fn arm_protocol(&mut self, place: u32) {
        if let Some(open) = self.pool.open(place)
            && let Some(wakeup) = open.client.poll_timeout()
        {
            self.pool.alarms.arm(place, wakeup);
        }
    }

    /// Hands to the reactor what the protocol wants to send. What finds no room waits.
    #[inline]
    pub(super) fn transmit(&mut self, place: u32, now: Instant) {
        if self.slow.as_ref().is_some_and(|slow| slow.sends(place)) {
            return self.transmit_slowly(place, now);
        }
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
                wire::Transmit::Written { starts } => (written(&open.client, &self.out), starts),
                // What was sent may have to be sent again.
                wire::Transmit::Nothing => return self.arm_protocol(place),
            };
            let at = (starts.is_some() && self.reactor.sends_at_once()).then(|| self.reactor.now());
            if let Some(stream) = starts {
                transmit = transmit.with_tag(stream.0);
            }
            let handed = self.reactor.send(key, transmit);
            if let Some(stored) = once {
                self.reactor.discard(stored);
            }
            if !self.handed(place, key, handed, (starts, at), now) {
                return;
            }
        }
    }

    /// What was written last was handed to the reactor, or not; whether more can be.
    #[inline]
    pub(super) fn handed(
        &mut self,
        place: u32,
        key: Key,
        handed: Result<Handed, Refused>,
        (starts, at): (Option<StreamId>, Option<Instant>),
        now: Instant,
    ) -> bool {
        match (handed, starts) {
            (Ok(Handed::Now), Some(stream)) => self.handed_in(place, key, stream, at),
            (Ok(Handed::Behind), Some(stream)) => self.line_up(place, stream),
            (Ok(_), None) => {}
            (Err(refused), starts) => {
                self.cannot_send(place, now, starts, refused);
                return false;
            }
        }
        true
    }

    /// What was written last goes to the kernel: `first` begins with it, and what was gathered.
    #[inline]
    fn handed_in(&mut self, place: u32, key: Key, first: StreamId, at: Option<Instant>) {
        self.stamp_soon(place, key, first, at);
        if !C::GATHERS {
            return;
        }
        let mut index = 0;
        while let Some(open) = self.pool.open(place)
            && let Some(stream) = open.client.also_starts().get(index)
        {
            let stream = *stream;
            index += 1;
            self.stamp_soon(place, key, stream, at);
        }
    }

    /// The first byte of an exchange was handed in `at` then, or goes with the next submit.
    #[inline]
    pub(super) fn stamp_soon(
        &mut self,
        place: u32,
        key: Key,
        stream: StreamId,
        at: Option<Instant>,
    ) {
        match at {
            Some(at) => self.sent(place, key, stream, at),
            None => self.unstamped.push(Unstamped {
                place,
                key,
                stream: Some(stream),
            }),
        }
    }

    /// What was written last waits behind another send: what was gathered begins with `first`.
    fn line_up(&mut self, place: u32, first: StreamId) {
        if C::GATHERS
            && let Some((open, flights)) = self.pool.open_and_flights(place)
        {
            for stream in open.client.also_starts() {
                if let Some(Some(flight)) = flights.get_mut(stream.0 as usize) {
                    flight.behind = Some(first);
                }
            }
        }
    }

    /// A send that stood behind another one has come to the front: `first` begins with it, and what
    /// was gathered.
    pub(super) fn begun(&mut self, place: u32, key: Key, at: Instant, first: StreamId) {
        let at = self.reactor.sends_at_once().then_some(at);
        self.stamp_soon(place, key, first, at);
        if !C::GATHERS && self.gathered.is_none() {
            return;
        }
        for number in 0.. {
            let Some((_, flights)) = self.pool.open_and_flights(place) else {
                return;
            };
            match flights.get_mut(number as usize) {
                None => return,
                Some(Some(flight)) if flight.behind == Some(first) => {
                    flight.behind = None;
                    self.stamp_soon(place, key, StreamId(number), at);
                }
                Some(_) => {}
            }
        }
    }
}
