//! Requests that begin one behind the other on one connection go out with one send.
//!
//! HTTP/2 and HTTP/3 gather by themselves what begins in a turn. HTTP/1.1 has one request to send
//! at a time: where a connection may have several under way, those that begin without anything
//! between them are gathered here, in clear or as TLS writes them.

use model::units::Instant;
use sys::reactor::{Handed, Key, Reactor, Transmit};
use wire::{Client, StreamId};

use super::Worker;

/// So many bytes go out with one send, at most: any reactor copies as many.
const TOGETHER: usize = 4_096;

/// What begins on one connection and was not handed to the reactor.
#[derive(Debug)]
pub(super) struct Gathered {
    /// The place of the connection on which something begins now, if it is to be gathered.
    held: Option<u32>,
    bytes: Vec<u8>,
    /// The exchanges whose first byte is among them.
    starts: Vec<StreamId>,
    /// The longest that a request can be: one of the plan, or what a user fills in.
    longest: usize,
}

impl Gathered {
    /// For connections with so many exchanges under way, and requests up to so long.
    pub(super) fn new(capacity: u32, longest: usize) -> Box<Self> {
        Box::new(Self {
            held: None,
            bytes: Vec::with_capacity(TOGETHER),
            starts: Vec::with_capacity(capacity as usize),
            longest,
        })
    }

    fn clear(&mut self) {
        self.bytes.clear();
        self.starts.clear();
    }
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// What begins on the connection in `place` is gathered from now on, until
    /// [`send_together`](Self::send_together).
    #[inline]
    pub(super) fn hold(&mut self, place: u32) {
        if let Some(gathered) = &mut self.gathered {
            gathered.held = Some(place);
        }
    }

    /// Gives a connection what it has [room for](Self::fill). What begins on it goes out together.
    #[inline]
    pub(super) fn feed(&mut self, place: u32, at: Instant) {
        self.hold(place);
        self.fill(place, at);
        self.send_together(at);
    }

    /// Whether what begins in `place` is gathered.
    #[inline]
    pub(super) fn is_held(&self, place: u32) -> bool {
        let gathered = self.gathered.as_ref();
        gathered.is_some_and(|gathered| gathered.held == Some(place))
    }

    /// Puts the request that the protocol wants to send behind those that began before it. One that
    /// finds no room, there or with the reactor, goes out by itself, behind them.
    pub(super) fn gather(&mut self, place: u32, now: Instant) {
        let asks = self.hooks.as_ref().and_then(|hooks| hooks.asked(place));
        let (Some(gathered), Some(open)) = (&self.gathered, self.pool.open(place)) else {
            return;
        };
        let longest = asks.map_or(gathered.longest, <[u8]>::len);
        let (key, next) = (open.key, open.client.adds().map(|more| longest + more));
        let is_full = next.is_none_or(|next| gathered.bytes.len() + next > TOGETHER);
        if is_full {
            self.flush(place, now);
        }
        if next.is_none_or(|next| next > TOGETHER) || !self.reactor.may_send(key) {
            return self.transmit(place, now);
        }
        let (Some(open), Some(gathered)) = (self.pool.open(place), &mut self.gathered) else {
            return;
        };
        let starts = match open.client.poll_transmit(now, &mut gathered.bytes) {
            wire::Transmit::Fixed { request, starts } => {
                self.out.clear();
                let users = self.users.as_ref();
                let round = || users.map_or(0, |users| users.round(place));
                let hooks = self.hooks.as_mut();
                let bytes =
                    hooks.and_then(|hooks| hooks.bytes(place, request, round, &mut self.out));
                let bytes = bytes.unwrap_or_else(|| self.requests.named(request).h1_bytes());
                gathered.bytes.extend_from_slice(bytes);
                starts
            }
            // What TLS writes is written where it is gathered.
            wire::Transmit::Written { starts } => starts,
            wire::Transmit::Nothing => return,
        };
        gathered.starts.extend(starts);
        debug_assert!(
            gathered.bytes.len() <= TOGETHER,
            "there is room for the longest"
        );
    }

    /// What was gathered goes to the reactor, and nothing more is gathered.
    #[inline]
    pub(super) fn send_together(&mut self, now: Instant) {
        if let Some(gathered) = &mut self.gathered
            && let Some(place) = gathered.held.take()
            && !gathered.starts.is_empty()
        {
            self.flush(place, now);
        }
    }

    /// Hands to the reactor what began on the connection in `place`.
    fn flush(&mut self, place: u32, now: Instant) {
        let key = self.pool.open(place).map(|open| open.key);
        let Some(gathered) = self.gathered.as_deref_mut() else {
            return;
        };
        let first = gathered.starts.first().copied();
        let (Some(key), Some(first)) = (key, first) else {
            // Nothing began, or the connection broke: then its exchanges have ended with it.
            return gathered.clear();
        };
        let at = self.reactor.sends_at_once().then(|| self.reactor.now());
        let transmit = Transmit::copied(&gathered.bytes).with_tag(first.0);
        match self.reactor.send(key, transmit) {
            Ok(Handed::Now) => self.stamp_together(place, key, at),
            Ok(Handed::Behind) => self.line_up_together(place, first),
            Err(refused) => {
                // More may begin elsewhere because of it.
                gathered.clear();
                return self.cannot_send(place, now, Some(first), refused);
            }
        }
        if let Some(gathered) = &mut self.gathered {
            gathered.clear();
        }
    }

    /// What was gathered goes to the kernel, or went at `at`.
    fn stamp_together(&mut self, place: u32, key: Key, at: Option<Instant>) {
        let mut index = 0;
        while let Some(gathered) = &self.gathered
            && let Some(stream) = gathered.starts.get(index)
        {
            let stream = *stream;
            index += 1;
            self.stamp_soon(place, key, stream, at);
        }
    }

    /// What was gathered waits behind another send: all of it begins with `first`.
    fn line_up_together(&mut self, place: u32, first: StreamId) {
        if let Some(gathered) = &self.gathered
            && let Some((_, flights)) = self.pool.open_and_flights(place)
        {
            for stream in gathered.starts.iter().skip(1) {
                if let Some(Some(flight)) = flights.get_mut(stream.0 as usize) {
                    flight.behind = Some(first);
                }
            }
        }
    }
}
