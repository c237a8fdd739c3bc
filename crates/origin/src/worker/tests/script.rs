//! A reactor without a kernel: it says what a test tells it to, and counts what is asked of it.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use model::{Instant, Span};
use sys::reactor::{
    Activity, Completion, Event, Handed, Listen, Reactor, Readiness, Refused, Settings, Source,
    Stored, Transmit, Waker,
};
use sys::slots::{Key, Slots};

/// The reactor, and what has been asked of it.
pub(super) struct Script {
    peers: Slots<Peer>,
    events: VecDeque<(Key, Happened)>,
    loan: Vec<u8>,
    stored: Vec<(Stored, Vec<u8>)>,
    /// Gives out the names of what is stored.
    names: Readiness,
    pub(super) counts: Counts,
    /// The kernel takes nothing.
    pub(super) is_stuck: bool,
    pub(super) listens: bool,
}

/// What was asked.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Counts {
    pub(super) sends: u64,
    pub(super) notices: u64,
    pub(super) copied_bytes: u64,
    pub(super) stores: u64,
    pub(super) looks: std::cell::Cell<u64>,
}

struct Peer {
    handed: u64,
    taken: u64,
    text: Vec<u8>,
}

enum Happened {
    Accepted,
    Received(Vec<u8>),
    Sent,
}

impl Script {
    pub(super) fn new(places: u32) -> Self {
        let nothing = Settings {
            connections: 1,
            copies: 1,
            copy_bytes: 1,
        };
        Self {
            peers: Slots::new(places),
            events: VecDeque::with_capacity(2 * places as usize),
            loan: Vec::new(),
            stored: Vec::with_capacity(64),
            names: Readiness::new(&nothing).expect("an epoll"),
            counts: Counts::default(),
            is_stuck: false,
            listens: true,
        }
    }

    /// Somebody connects.
    pub(super) fn connect_one(&mut self) -> Key {
        let peer = Peer {
            handed: 0,
            taken: 0,
            text: Vec::new(),
        };
        let Ok(key) = self.peers.insert(peer) else {
            panic!("no place left");
        };
        self.events.push_back((key, Happened::Accepted));
        key
    }

    /// That one sends `bytes`.
    pub(super) fn say(&mut self, key: Key, bytes: &str) {
        self.events
            .push_back((key, Happened::Received(bytes.into())));
    }

    /// All that was sent to that one since this was asked.
    pub(super) fn heard(&mut self, key: Key) -> String {
        let peer = self.peers.get_mut(key).expect("it is open");
        String::from_utf8(std::mem::take(&mut peer.text)).expect("text")
    }

    pub(super) fn is_open(&self, key: Key) -> bool {
        self.peers.get(key).is_some()
    }

    pub(super) fn open(&self) -> usize {
        self.peers.len()
    }

    pub(super) fn stored_count(&self) -> usize {
        self.stored.len()
    }

    /// The kernel takes so much of what it was handed for that one.
    pub(super) fn take(&mut self, key: Key, bytes: u64) {
        let peer = self.peers.get_mut(key).expect("it is open");
        peer.taken = (peer.taken + bytes).min(peer.handed);
    }
}

impl Reactor for Script {
    fn name(&self) -> &'static str {
        "script"
    }

    fn wait_resolution(&self) -> Span {
        Span::ZERO
    }

    fn slots(&self) -> usize {
        self.peers.capacity()
    }

    fn now(&self) -> Instant {
        Instant::ZERO
    }

    fn activity(&self) -> Activity {
        Activity::default()
    }

    fn waker(&self) -> io::Result<Waker> {
        self.names.waker()
    }

    fn store(&mut self, bytes: Vec<u8>) -> Stored {
        self.counts.stores += 1;
        let name = self.names.store(Vec::new());
        self.stored.push((name, bytes));
        name
    }

    fn discard(&mut self, bytes: Stored) {
        self.stored.retain(|(name, _)| *name != bytes);
        self.names.discard(bytes);
    }

    fn connect(&mut self, _: SocketAddr, _: Option<SocketAddr>) -> Result<Key, Refused> {
        unreachable!("a server connects to nobody")
    }

    fn limit_received(&mut self, _: Option<u32>) {}

    fn local(&self, _: Key) -> Option<SocketAddr> {
        None
    }

    fn peer(&self, _: Key) -> Option<SocketAddr> {
        None
    }

    fn sends_at_once(&self) -> bool {
        true
    }

    fn may_send(&self, _: Key) -> bool {
        true
    }

    fn send(&mut self, key: Key, transmit: Transmit<'_>) -> Result<Handed, Refused> {
        let peer = self.peers.get_mut(key).ok_or(Refused::Stale)?;
        self.counts.sends += 1;
        self.counts.notices += u64::from(transmit.notify);
        let length = match transmit.source {
            Source::Copied(bytes) => {
                self.counts.copied_bytes += bytes.len() as u64;
                peer.text.extend_from_slice(bytes);
                bytes.len() as u64
            }
            Source::File { length, .. } => length,
            Source::Stored(name) => {
                let found = self.stored.iter().find(|(stored, _)| *stored == name);
                let (_, bytes) = found.ok_or(Refused::Stale)?;
                peer.text.extend_from_slice(bytes);
                bytes.len() as u64
            }
        };
        peer.handed += length;
        if !self.is_stuck {
            peer.taken = peer.handed;
            if transmit.notify {
                self.events.push_back((key, Happened::Sent));
            }
        }
        Ok(Handed::Now)
    }

    fn bytes_taken(&self, key: Key) -> u64 {
        self.counts.looks.set(self.counts.looks.get() + 1);
        self.peers.get(key).map_or(0, |peer| peer.taken)
    }

    fn skip(&mut self, _: Key, _: u64) {}

    fn pause(&mut self, _: Key) {}

    fn resume(&mut self, _: Key) {}

    fn finish(&mut self, _: Key) {}

    fn close(&mut self, key: Key) {
        self.peers.remove(key);
    }

    fn reset(&mut self, key: Key) {
        self.peers.remove(key);
    }

    fn submit(&mut self) {}

    fn wait(&mut self, deadline: Instant) -> Instant {
        deadline
    }

    fn poll(&mut self) -> Instant {
        Instant::ZERO
    }

    fn next(&mut self) -> Option<Completion<'_>> {
        loop {
            let (key, happened) = self.events.pop_front()?;
            if self.peers.get(key).is_none() {
                continue;
            }
            let event = match happened {
                Happened::Accepted => Event::Accepted { listener: 0 },
                Happened::Received(bytes) => {
                    self.loan = bytes;
                    Event::Received {
                        bytes: &mut self.loan,
                        mark: model::Mark::NotCapable,
                    }
                }
                Happened::Sent => Event::Sent,
            };
            return Some(Completion {
                key,
                at: Instant::ZERO,
                event,
            });
        }
    }
}

impl Listen for Script {
    fn listen(&mut self, _: OwnedFd) -> io::Result<()> {
        Ok(())
    }

    fn stop_listening(&mut self) {
        self.listens = false;
    }
}
