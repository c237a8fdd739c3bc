//! Connections that read and send slowly, as the plan wants: they stop receiving for as long as
//! what came was to take, and send what they have in pieces.
//!
//! A pace holds over the life of a connection: what comes too early is waited for, and what was
//! late by [`BEHIND_MOST`] is made up for. The handshake of a connection goes on as fast as ever.

use model::plan::{Plan, PlanFile};
use model::record::Slowed;
use model::units::{Bytes, Instant, Span};
use sys::reactor::{Key, Reactor, Transmit};
use wire::{Client, StreamId};

use super::{STALLED, TURN, Worker};
use crate::wheel::Wheel;

/// Pieces are sent so often in a second, unless they would be less than a byte or more than
/// [`PIECE_MOST`].
const PIECES: u64 = 10;
/// What a reactor copies at once, at least.
const PIECE_MOST: u64 = 4_096;
/// What the kernel keeps for a connection that reads slowly is what it reads in so many parts of a
/// second, from a kibibyte to 64 of them.
const RECEIVES: u64 = 4;
/// So far behind its pace a connection makes up for it.
const BEHIND_MOST: Span = Span::from_ms(100);

/// The slow connections of one worker.
#[derive(Debug)]
pub(crate) struct Slowness {
    read: Option<Pace>,
    send: Option<Pace>,
    places: Box<[Place]>,
    /// When each of them goes on.
    alarms: Wheel,
    slowed: Slowed,
}

/// So many bytes per second.
#[derive(Clone, Copy, Debug)]
struct Pace(u64);

impl Pace {
    /// How long so many bytes take.
    fn takes(self, bytes: u64) -> Span {
        let ns = u128::from(bytes) * 1_000_000_000 / u128::from(self.0.max(1));
        Span::from_ns(u64::try_from(ns).unwrap_or(u64::MAX))
    }

    /// When the next bytes are due, if these come `now` and were due at `due`.
    fn next(self, due: Instant, now: Instant, bytes: u64) -> Instant {
        due.max(now - BEHIND_MOST) + self.takes(bytes)
    }

    /// How many bytes a piece has.
    const fn piece(self) -> u64 {
        let even = self.0 / PIECES;
        if even == 0 {
            1
        } else if even > PIECE_MOST {
            PIECE_MOST
        } else {
            even
        }
    }
}

/// Where one connection stands. The place stays, connections come and go.
#[derive(Debug, Default)]
struct Place {
    is_slow: bool,
    key: Option<Key>,
    /// It does not receive until then.
    paused: Option<Instant>,
    /// When the next bytes may be received, and sent.
    reads: Instant,
    sends: Instant,
    /// What is to be sent, and how much of it was.
    bytes: Vec<u8>,
    sent: usize,
    /// The exchange whose first byte is the next.
    starts: Option<StreamId>,
}

impl Slowness {
    /// That of worker `index` of `plan`, if some of its connections are slow.
    pub(crate) fn new(plan: &Plan, index: u32) -> Option<Self> {
        let PlanFile { slow, workers, .. } = plan.file();
        if slow.is_none() {
            return None;
        }
        let connections = plan.connections_of(index);
        let number = |place: u32| u64::from(place) * u64::from(*workers) + u64::from(index);
        let place = |place: u32| Place {
            is_slow: slow.is_slow(number(place)),
            ..Place::default()
        };
        Some(Self {
            read: slow.read_bytes_per_s.map(Pace),
            send: slow.send_bytes_per_s.map(Pace),
            places: (0..connections).map(place).collect(),
            alarms: Wheel::new(connections as usize),
            slowed: Slowed::default(),
        })
    }

    /// When one of them goes on.
    pub(super) const fn next(&self) -> Instant {
        self.alarms.next()
    }

    /// What the kernel is to keep of what `place` receives: none, as much as it likes.
    pub(super) fn received_most(&self, place: u32) -> Option<u32> {
        let Pace(rate) = self.read.filter(|_| self.places[place as usize].is_slow)?;
        let bytes = (rate / RECEIVES).clamp(1_024, 64 * 1_024);
        u32::try_from(bytes).ok()
    }

    /// Whether `place` reads slowly.
    pub(super) fn reads(&self, place: u32) -> bool {
        self.read.is_some() && self.places[place as usize].is_slow
    }

    /// Whether `place` sends slowly.
    pub(super) fn sends(&self, place: u32) -> bool {
        self.send.is_some() && self.places[place as usize].is_slow
    }

    /// What slow connections did.
    pub(super) const fn told(&self) -> Slowed {
        self.slowed
    }

    /// The connection with this key has `place` from `at` on.
    fn settle(&mut self, place: u32, key: Key, at: Instant) -> &mut Place {
        let here = &mut self.places[place as usize];
        if here.key != Some(key) {
            *here = Place {
                is_slow: here.is_slow,
                key: Some(key),
                reads: at,
                sends: at,
                bytes: std::mem::take(&mut here.bytes),
                ..Place::default()
            };
            here.bytes.clear();
            self.slowed.connections += 1;
        }
        here
    }

    /// So many bytes came to `place` at `at`; whether it is to stop receiving.
    fn read(&mut self, place: u32, key: Key, at: Instant, count: u64) -> bool {
        let Some(pace) = self.read else {
            return false;
        };
        let here = self.settle(place, key, at);
        here.reads = pace.next(here.reads, at, count);
        let until = here.reads;
        let since = here.paused.unwrap_or(at);
        let waits = until > at;
        if waits {
            here.paused = Some(until);
            self.alarms.arm(place, until);
        }
        self.slowed.bytes_read += Bytes::new(count);
        self.slowed.read_pauses += until.saturating_since(since);
        waits
    }

    /// The connection in `place` receives again, if it is time; its key.
    fn resume(&mut self, place: u32, now: Instant) -> Option<Key> {
        let here = &mut self.places[place as usize];
        let until = here.paused?;
        if until > now {
            self.alarms.arm(place, until);
            return None;
        }
        here.paused = None;
        here.key
    }
}

impl<C: Client, R: Reactor> Worker<C, R> {
    /// Bytes came to `place`, which may read slowly.
    #[inline]
    pub(super) fn read_slowly(&mut self, place: u32, key: Key, at: Instant, count: usize) {
        if let Some(slow) = &mut self.slow
            && slow.reads(place)
            && slow.read(place, key, at, count as u64)
        {
            self.reactor.pause(key);
        }
    }

    /// The connection in `place` is let go of, and the server's close is waited for.
    pub(super) fn read_on(&mut self, place: u32) {
        if let Some(slow) = &mut self.slow
            && slow.places[place as usize].paused.take().is_some()
            && let Some(key) = slow.places[place as usize].key
        {
            self.reactor.resume(key);
        }
    }

    /// Before the connection in `place` is made: what the kernel keeps of what it receives.
    pub(super) fn limit_received(&mut self, place: u32) {
        if let Some(slow) = &self.slow {
            self.reactor.limit_received(slow.received_most(place));
        }
    }

    /// Slow connections whose time has come go on.
    pub(super) fn go_on_slowly(&mut self, now: Instant) {
        for _ in 0..TURN {
            let Some(slow) = &mut self.slow else {
                return;
            };
            let Some(place) = slow.alarms.take_due(now) else {
                return;
            };
            if let Some(key) = slow.resume(place, now) {
                self.reactor.resume(key);
            }
            self.transmit(place, now);
        }
    }

    /// Hands to the reactor what the protocol wants to send, piece by piece. What is not due yet
    /// waits for its time.
    pub(super) fn transmit_slowly(&mut self, place: u32, now: Instant) {
        while let Some(open) = self.pool.open(place)
            && let Some(slow) = &mut self.slow
            && let Some(pace) = slow.send
        {
            let key = open.key;
            slow.settle(place, key, now);
            let here = &mut slow.places[place as usize];
            if here.sent == here.bytes.len() {
                if !open.client.wants_transmit() || !self.take_bytes(place, now) {
                    return;
                }
                continue;
            }
            if here.sends > now {
                let due = here.sends;
                return slow.alarms.arm(place, due);
            }
            if !self.reactor.may_send(key) {
                if !std::mem::replace(&mut open.is_stalled, true) {
                    self.stalled.push_back(place);
                }
                self.stalled_until = self.stalled_until.min(now + STALLED);
                return;
            }
            let most = usize::try_from(pace.piece()).unwrap_or(1);
            let rest = &here.bytes[here.sent..];
            let piece = &rest[..most.min(rest.len())];
            let count = piece.len() as u64;
            here.sent += piece.len();
            here.sends = pace.next(here.sends, now, count);
            let starts = here.starts.take();
            let mut transmit = Transmit::copied(piece);
            if let Some(stream) = starts {
                transmit = transmit.with_tag(stream.0);
            }
            slow.slowed.bytes_sent += Bytes::new(count);
            slow.slowed.pieces_sent += 1;
            let at = (starts.is_some() && self.reactor.sends_at_once()).then(|| self.reactor.now());
            let handed = self.reactor.send(key, transmit);
            if !self.handed(place, key, handed, (starts, at), now) {
                return;
            }
        }
    }

    /// Takes from the protocol in `place` what it wants to send; whether that was anything.
    fn take_bytes(&mut self, place: u32, now: Instant) -> bool {
        let (Some(open), Some(slow)) = (self.pool.open(place), &mut self.slow) else {
            return false;
        };
        let here = &mut slow.places[place as usize];
        here.bytes.clear();
        here.sent = 0;
        self.out.clear();
        match open.client.poll_transmit(now, &mut self.out) {
            wire::Transmit::Fixed { request, starts } => {
                here.starts = starts;
                let users = self.users.as_ref();
                let round = || users.map_or(0, |users| users.round(place));
                let hooks = self.hooks.as_mut();
                let bytes =
                    hooks.and_then(|hooks| hooks.bytes(place, request, round, &mut self.out));
                let fixed = self.requests.of(request.0 / 2, request.0 % 2 == 1);
                let bytes = bytes.unwrap_or_else(|| fixed.h1_bytes());
                here.bytes.extend_from_slice(bytes);
            }
            wire::Transmit::Written { starts } => {
                here.starts = starts;
                here.bytes.extend_from_slice(&self.out);
            }
            wire::Transmit::Nothing => {}
        }
        !here.bytes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use model::fixture;
    use model::plan::Slow;

    use super::*;

    #[test]
    fn a_pace_holds_and_makes_up_for_a_little() {
        let at = |ms: u64| Instant::ZERO + Span::from_ms(ms);
        let pace = Pace(1_000);
        assert_eq!(pace.takes(250), Span::from_ms(250));
        assert_eq!(pace.next(at(500), at(500), 100), at(600));
        assert_eq!(pace.next(at(500), at(550), 100), at(600), "50 ms late");
        assert_eq!(pace.next(at(500), at(900), 100), at(900), "400 ms late");
        assert_eq!(pace.next(at(500), at(400), 100), at(600), "early");
    }

    #[test]
    fn pieces_are_of_a_tenth_of_a_second() {
        for (rate, piece) in [
            (1, 1),
            (9, 1),
            (100, 10),
            (40_960, 4_096),
            (9_999_999, 4_096),
        ] {
            assert_eq!(Pace(rate).piece(), piece, "{rate}");
        }
    }

    #[test]
    fn what_the_kernel_keeps_follows_the_pace_of_slow_connections() {
        let slowness = |read: Option<u64>| {
            let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
            file.connections = 2;
            file.slow = Slow {
                read_bytes_per_s: read,
                send_bytes_per_s: Some(5),
                of_million: Some(500_000),
            };
            let plan = Plan::try_from(file).unwrap();
            Slowness::new(&plan, 0).expect("some are slow")
        };
        let of_slow = |read| slowness(read).received_most(1);
        assert_eq!(
            slowness(Some(8_000)).received_most(0),
            None,
            "the other half"
        );
        assert_eq!(of_slow(Some(8_000)), Some(2_000));
        assert_eq!(of_slow(Some(1)), Some(1_024));
        assert_eq!(of_slow(Some(9_000_000)), Some(65_536));
        assert_eq!(of_slow(None), None);
        let plain = Plan::try_from(fixture::plan("http://127.0.0.1:1/", &[])).unwrap();
        assert!(Slowness::new(&plain, 0).is_none());
    }
}
