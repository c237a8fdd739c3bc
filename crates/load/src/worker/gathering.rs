//! Requests that begin one behind the other on one connection go out with one send.
//!
//! HTTP/2 and HTTP/3 gather by themselves what begins in a turn. HTTP/1.1 has one request to send
//! at a time: where a connection may have several under way, they are gathered here.

use model::units::Instant;
use sys::reactor::{Handed, Key, Reactor, Transmit};
use wire::{Client, StreamId};

use super::Worker;
use crate::dictation::COPIED;

/// What began on one connection and was not handed to the reactor.
#[derive(Debug)]
pub(super) struct Gathered {
    place: u32,
    key: Option<Key>,
    bytes: Vec<u8>,
    /// The exchanges whose first byte is among them.
    starts: Vec<StreamId>,
}

impl Gathered {
    /// For connections with so many exchanges under way, whose requests are copied.
    pub(super) fn new(capacity: u32) -> Box<Self> {
        Box::new(Self {
            place: 0,
            key: None,
            bytes: Vec::with_capacity(2 * COPIED),
            starts: Vec::with_capacity(capacity as usize),
        })
    }

    /// Whether something of the connection in `place` is among it.
    const fn is_of(&self, place: u32) -> bool {
        !self.bytes.is_empty() && self.place == place
    }
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Puts what the protocol wants to send behind what began before it on the same connection.
    pub(super) fn gather(&mut self, place: u32, now: Instant) {
        let is_of = |gathered: &Gathered| gathered.is_of(place);
        if !self.gathered.as_deref().is_some_and(is_of) {
            self.send_together(now);
        }
        while let Some(open) = self.pool.open(place)
            && open.client.wants_transmit()
        {
            let key = open.key;
            let Some(gathered) = self.gathered.as_deref_mut() else {
                return;
            };
            if gathered.bytes.len() > COPIED || !self.reactor.may_send(key) {
                return self.transmit(place, now);
            }
            self.out.clear();
            let (bytes, starts) = match open.client.poll_transmit(now, &mut self.out) {
                wire::Transmit::Fixed { request, starts } => {
                    let users = self.users.as_ref();
                    let round = || users.map_or(0, |users| users.round(place));
                    let hooks = self.hooks.as_mut();
                    let said =
                        hooks.and_then(|hooks| hooks.bytes(place, request, round, &mut self.out));
                    let fixed = || self.requests.named(request).h1_bytes();
                    (said.unwrap_or_else(fixed), starts)
                }
                wire::Transmit::Written { starts } => (&self.out[..], starts),
                wire::Transmit::Nothing => return self.arm_protocol(place),
            };
            (gathered.place, gathered.key) = (place, Some(key));
            gathered.bytes.extend_from_slice(bytes);
            gathered.starts.extend(starts);
        }
    }

    /// Hands to the reactor what was gathered.
    #[inline]
    pub(super) fn send_together(&mut self, now: Instant) {
        let Some(gathered) = self.gathered.as_deref_mut() else {
            return;
        };
        if gathered.bytes.is_empty() {
            return;
        }
        let place = gathered.place;
        let open = self.pool.open(place).map(|open| open.key);
        let Some(key) = open.filter(|key| Some(*key) == gathered.key) else {
            // The connection is gone: what was to go out asks elsewhere, or has failed with it.
            gathered.bytes.clear();
            gathered.starts.clear();
            return;
        };
        let first = gathered.starts.first().copied();
        let at = (first.is_some() && self.reactor.sends_at_once()).then(|| self.reactor.now());
        let stored = (gathered.bytes.len() > COPIED)
            .then(|| self.reactor.store(std::mem::take(&mut gathered.bytes)));
        let mut transmit = match stored {
            Some(stored) => Transmit::stored(stored),
            None => Transmit::copied(&gathered.bytes),
        };
        if let Some(first) = first {
            transmit = transmit.with_tag(first.0);
        }
        let handed = self.reactor.send(key, transmit);
        gathered.bytes.clear();
        if let Some(stored) = stored {
            self.reactor.discard(stored);
        }
        match handed {
            Ok(Handed::Behind) => self.wait_together(place),
            Ok(Handed::Now) => {
                let mut index = 0;
                while let Some(gathered) = self.gathered.as_deref()
                    && let Some(stream) = gathered.starts.get(index)
                {
                    let stream = *stream;
                    index += 1;
                    self.stamp_soon(place, key, stream, at);
                }
            }
            Err(refused) => {
                // More may begin because of it.
                gathered.starts.clear();
                return self.cannot_send(place, now, first, refused);
            }
        }
        if let Some(gathered) = self.gathered.as_deref_mut() {
            gathered.starts.clear();
        }
    }

    /// What was gathered on the connection in `place` stands behind another send: all of it begins
    /// with the first of it.
    fn wait_together(&mut self, place: u32) {
        let Some(gathered) = self.gathered.as_deref() else {
            return;
        };
        let [first, rest @ ..] = &gathered.starts[..] else {
            return;
        };
        let Some((_, flights)) = self.pool.open_and_flights(place) else {
            return;
        };
        for stream in rest {
            if let Some(Some(flight)) = flights.get_mut(stream.0 as usize) {
                flight.behind = Some(*first);
            }
        }
    }
}
