//! Connections between their connect and the end of their handshake. Their place counts among the
//! connects under way, so that a thousand handshakes do not wait for each other at the server.

use model::units::Instant;
use sys::reactor::{Key, Reactor};
use wire::Client;
use wire::tunnel::Opening;

use super::connection::{Connection, Making, Open, Securing};
use super::{Owner, Pool, Settings};
use crate::recorder::Recorder;

impl<C: Client> Pool<C> {
    /// The tunnel that the proxy at the other end of `place` was asked for, as long as it has not
    /// answered.
    pub(crate) fn opening(&mut self, place: u32) -> Option<(Key, &mut Option<Opening>)> {
        match self.connection(place) {
            Connection::Connecting { key, opening, .. } => Some((*key, opening)),
            _ => None,
        }
    }

    /// Which of `count` identities the connection in `place` has. As with sources, it is that of
    /// the place for as long as the run lasts; only where there are more than places has each new
    /// connection another one. Those of all workers take turns.
    pub(crate) fn identity(&mut self, place: u32, count: usize) -> usize {
        let Settings {
            worker,
            workers,
            connections,
            each,
            ..
        } = self.settings;
        let (users, user) = (connections / each, place / each);
        let turn = |number: usize| number * workers as usize + worker as usize;
        let has_more = count > turn(users as usize);
        let number = if has_more { self.named } else { user as usize };
        self.named += 1;
        turn(number) % count
    }

    /// The connect of `place` succeeded at `at`, and the handshake begins.
    pub(crate) fn secure(&mut self, place: u32, client: C, at: Instant, recorder: &mut Recorder) {
        let Connection::Connecting {
            key,
            source,
            pending,
            ..
        } = *self.connection(place)
        else {
            return;
        };
        self.sources.count(source);
        let making = self.places[place as usize].made(at);
        recorder.connect_time.record(making.took);
        recorder.established(at);
        *self.connection(place) = Connection::Securing(Securing {
            key,
            client,
            since: at,
            making,
            pending,
            is_stalled: false,
        });
        self.alarms.arm(place, at + self.settings.connect_limit);
    }

    /// The connection in `place`, if its handshake is under way.
    pub(crate) fn securing(&mut self, place: u32) -> Option<&mut Securing<C>> {
        match self.connection(place) {
            Connection::Securing(securing) => Some(securing),
            _ => None,
        }
    }

    fn take_securing(&mut self, place: u32) -> Option<Securing<C>> {
        match std::mem::replace(self.connection(place), Connection::Absent) {
            Connection::Securing(securing) => {
                self.connecting -= 1;
                Some(securing)
            }
            other => {
                *self.connection(place) = other;
                None
            }
        }
    }

    /// The handshake of `place` is over at `at`. Returns the exchange that waited for it.
    pub(crate) fn secured(
        &mut self,
        place: u32,
        at: Instant,
        recorder: &mut Recorder,
    ) -> Option<Instant> {
        let securing = self.take_securing(place)?;
        self.open += 1;
        recorder.set_open_connections(self.open);
        let kind = securing.client.handshake();
        recorder.secured(at.saturating_since(securing.since), kind);
        let mut open = Open::new(securing.key, securing.client, at, securing.making);
        open.is_stalled = securing.is_stalled;
        *self.connection(place) = Connection::Open(open);
        securing.pending
    }

    /// The handshake of `place` has only begun at `at`, and an exchange may go out beside it:
    /// returns the one that waits for it. None: it is to wait until the handshake is over.
    pub(crate) fn open_early(
        &mut self,
        place: u32,
        at: Instant,
        recorder: &mut Recorder,
    ) -> Option<Instant> {
        let securing = self.securing(place)?;
        if !securing.client.may_begin_early(at) {
            return None;
        }
        let pending = securing.pending?;
        let securing = self.take_securing(place)?;
        self.open += 1;
        recorder.set_open_connections(self.open);
        let mut open = Open::new(securing.key, securing.client, at, securing.making);
        open.securing_since = Some(securing.since);
        *self.connection(place) = Connection::Open(open);
        Some(pending)
    }

    /// The handshake of `place` failed, or was given up. Returns the exchange that waited for it,
    /// and how the transport was made.
    pub(crate) fn handshake_failed(
        &mut self,
        place: u32,
        at: Instant,
        reactor: &mut impl Reactor,
        recorder: &mut Recorder,
    ) -> Option<(Instant, Making)> {
        let securing = self.take_securing(place)?;
        recorder.connections_at(at).broken += 1;
        // What says why is handed in first.
        reactor.submit();
        recorder.add_bytes_sent(reactor.bytes_taken(securing.key), at);
        self.owners[securing.key.index()] = Owner::Nobody;
        reactor.close(securing.key);
        Some((securing.pending?, securing.making))
    }
}
