//! The server of the virtual network: when it answers is known exactly, what it answers is the
//! caller's.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use model::units::{Instant, Span};

use super::agenda::Told;
use super::random::Random;
use crate::Errno;
use crate::slots::Key;

/// How long the server works on a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Service {
    /// Always as long.
    Constant(Span),
    /// Exponentially distributed with this mean.
    Exponential(Span),
    /// The first, and one time in twenty the second.
    TwoValued(Span, Span),
    /// As Pareto has it with index 1.5, from the first on: three times as long in the mean, and
    /// seldom very much longer, up to the second.
    HeavyTailed(Span, Span),
}

/// What the server answers to one request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Reply {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// What follows them.
    pub then: Then,
}

impl Reply {
    /// `bytes`, and the connection stays.
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            then: Then::Continue,
        }
    }

    /// The same, followed by `then`.
    #[must_use]
    pub const fn then(mut self, then: Then) -> Self {
        self.then = then;
        self
    }
}

/// What follows an answer.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Then {
    /// The next request is awaited.
    Continue,
    /// The stream ends in order.
    Finish,
    /// The connection breaks.
    Reset,
}

/// What the server has seen, to be compared with what the client counts.
#[derive(Debug, Default)]
pub struct Counts {
    /// Connections it accepted.
    pub connections: AtomicU64,
    /// Whole requests it read.
    pub requests: AtomicU64,
    /// Bytes it read.
    pub bytes: AtomicU64,
    /// How often bytes came to it.
    pub arrivals: AtomicU64,
    /// Where each connection that it accepted came from, if the client chose that, in their order.
    pub sources: Mutex<Vec<Option<SocketAddr>>>,
}

type Answer = Box<dyn FnMut(&[u8]) -> Option<Reply> + Send>;
type Length = fn(&[u8]) -> Option<usize>;
type Refuse = Box<dyn FnMut(SocketAddr, u64) -> Option<Errno> + Send>;

/// A server of known behaviour.
pub struct SimServer {
    answer: Answer,
    refuse: Refuse,
    request_end: &'static [u8],
    /// How long the message is that the bytes begin with, where no end marks it.
    length: Option<Length>,
    service: Service,
    single: bool,
    free_at: Instant,
    frozen: Vec<(Instant, Span)>,
    delay: Span,
    segment_bytes: usize,
    segment_gap: Span,
    random: Random,
    inboxes: BTreeMap<Key, Vec<u8>>,
    /// When the latest answer on a connection has left: answers keep their order.
    answered: BTreeMap<Key, Instant>,
    /// Connections that it has ended: what still comes on them is not processed.
    ended: BTreeSet<Key>,
    counts: Arc<Counts>,
    log: Option<Log>,
    connects: u64,
}

/// How long each answered request was in the server, from its last byte to its answer's first.
pub type Log = Arc<Mutex<Vec<Span>>>;

impl SimServer {
    /// A server that takes `service` for each request, for any number at once, and answers what
    /// `answer` says: none is no answer at all. A request ends with an empty line.
    pub fn new(
        service: Service,
        answer: impl FnMut(&[u8]) -> Option<Reply> + Send + 'static,
    ) -> Self {
        Self {
            answer: Box::new(answer),
            refuse: Box::new(|_, _| None),
            request_end: b"\r\n\r\n",
            length: None,
            service,
            single: false,
            free_at: Instant::ZERO,
            frozen: Vec::new(),
            delay: Span::ZERO,
            segment_bytes: 64 * 1024,
            segment_gap: Span::ZERO,
            random: Random::new(1),
            inboxes: BTreeMap::new(),
            answered: BTreeMap::new(),
            ended: BTreeSet::new(),
            counts: Arc::default(),
            log: None,
            connects: 0,
        }
    }

    /// It works on one request at a time, in the order of their arrival.
    #[must_use]
    pub const fn one_at_a_time(mut self) -> Self {
        self.single = true;
        self
    }

    /// From `at` on it does nothing for so `long`: what it works on goes on afterwards.
    #[must_use]
    pub fn frozen(mut self, at: Instant, long: Span) -> Self {
        self.frozen.push((at, long));
        self.frozen.sort_unstable();
        self
    }

    /// The seed of exponential service times.
    #[must_use]
    pub const fn seeded(mut self, seed: u64) -> Self {
        self.random = Random::new(seed);
        self
    }

    /// The time that anything takes from one end of the network to the other.
    #[must_use]
    pub const fn with_delay(mut self, delay: Span) -> Self {
        self.delay = delay;
        self
    }

    /// Answers arrive in pieces of so many bytes, `gap` apart.
    #[must_use]
    pub const fn in_segments(mut self, bytes: usize, gap: Span) -> Self {
        assert!(bytes > 0, "a segment has at least one byte");
        self.segment_bytes = bytes;
        self.segment_gap = gap;
        self
    }

    /// It logs how long requests were in it.
    #[must_use]
    pub fn logging(mut self, log: &Log) -> Self {
        self.log = Some(Arc::clone(log));
        self
    }

    /// What ends a request.
    #[must_use]
    pub const fn with_request_end(mut self, end: &'static [u8]) -> Self {
        self.request_end = end;
        self
    }

    /// Messages say how long they are: `length` of bytes that begin with one, once that is known.
    #[must_use]
    pub const fn with_lengths(mut self, length: fn(&[u8]) -> Option<usize>) -> Self {
        self.length = Some(length);
        self
    }

    /// Which connects fail, by target and number of the connect from 0 on, and how.
    #[must_use]
    pub fn refusing(
        mut self,
        refuse: impl FnMut(SocketAddr, u64) -> Option<Errno> + Send + 'static,
    ) -> Self {
        self.refuse = Box::new(refuse);
        self
    }

    /// What it has seen; stays readable when the server is gone.
    pub fn counts(&self) -> Arc<Counts> {
        Arc::clone(&self.counts)
    }

    pub(super) const fn delay(&self) -> Span {
        self.delay
    }

    pub(super) fn round_trip(&self) -> Span {
        self.delay + self.delay
    }

    pub(super) fn connect(
        &mut self,
        target: SocketAddr,
        source: Option<SocketAddr>,
    ) -> Result<(), Errno> {
        let number = self.connects;
        self.connects += 1;
        if let Some(error) = (self.refuse)(target, number) {
            return Err(error);
        }
        self.counts.connections.fetch_add(1, Ordering::Relaxed);
        if let Ok(mut sources) = self.counts.sources.lock() {
            sources.push(source);
        }
        Ok(())
    }

    pub(super) fn forget(&mut self, key: Key) {
        self.inboxes.remove(&key);
        self.answered.remove(&key);
        self.ended.remove(&key);
    }

    /// Bytes have arrived at `now`; what comes of them, and when it reaches the client.
    pub(super) fn receive(&mut self, key: Key, now: Instant, bytes: &[u8]) -> Vec<(Instant, Told)> {
        self.counts
            .bytes
            .fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.counts.arrivals.fetch_add(1, Ordering::Relaxed);
        let mut inbox = self.inboxes.remove(&key).unwrap_or_default();
        inbox.extend_from_slice(bytes);
        let mut told = Vec::new();
        while !self.ended.contains(&key)
            && let Some(length) = self.message(&inbox)
        {
            let request: Vec<u8> = inbox.drain(..length).collect();
            self.counts.requests.fetch_add(1, Ordering::Relaxed);
            if let Some(reply) = (self.answer)(&request) {
                self.reply(key, now, reply, &mut told);
            }
        }
        self.inboxes.insert(key, inbox);
        told
    }

    /// How long the message is that stands whole at the start of `inbox`.
    fn message(&self, inbox: &[u8]) -> Option<usize> {
        let Some(length) = self.length else {
            let end = position(inbox, self.request_end)?;
            return Some(end + self.request_end.len());
        };
        length(inbox).filter(|length| (1..=inbox.len()).contains(length))
    }

    fn reply(&mut self, key: Key, now: Instant, reply: Reply, told: &mut Vec<(Instant, Told)>) {
        let begin = if self.single {
            now.max(self.free_at)
        } else {
            now
        };
        let work = self.work();
        let mut at = self.after_work(begin, work);
        self.free_at = at;
        at = at.max(self.answered.get(&key).copied().unwrap_or_default());
        if let Some(Ok(mut log)) = self.log.as_ref().map(|log| log.lock()) {
            log.push(at.saturating_since(now));
        }
        at += self.delay;
        for (number, segment) in reply.bytes.chunks(self.segment_bytes).enumerate() {
            if number > 0 {
                at += self.segment_gap;
            }
            told.push((at, Told::Received(segment.to_vec())));
        }
        if reply.then != Then::Continue {
            self.ended.insert(key);
        }
        match reply.then {
            Then::Continue => {}
            Then::Finish => told.push((at, Told::Ended(None))),
            Then::Reset => told.push((at, Told::Ended(Some(Errno::new(libc::ECONNRESET))))),
        }
        self.answered.insert(key, at - self.delay);
    }

    /// When work that begins at `begin` is done, given that frozen time does not count.
    fn after_work(&self, begin: Instant, work: Span) -> Instant {
        let mut end = begin + work;
        for (at, long) in &self.frozen {
            let thaw = *at + *long;
            if begin >= *at && begin < thaw {
                end = thaw + work;
            } else if begin < *at && end > *at {
                end += *long;
            }
        }
        end
    }

    pub(super) fn work(&mut self) -> Span {
        match self.service {
            Service::Constant(span) => span,
            Service::Exponential(mean) => self.exponential(mean),
            Service::TwoValued(often, seldom) => match self.random.below(20) {
                0 => seldom,
                _ => often,
            },
            Service::HeavyTailed(least, most) => self.heavy_tailed(least).min(most),
        }
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a random span, positive; at most 10^11 times the least, which a float holds"
    )]
    fn heavy_tailed(&mut self, least: Span) -> Span {
        let factor = self.random.uniform().powf(-2.0 / 3.0);
        Span::from_ns((factor * least.as_ns() as f64) as u64)
    }

    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a random span, positive and far below the bounds"
    )]
    fn exponential(&mut self, mean: Span) -> Span {
        let uniform = self.random.uniform();
        Span::from_ns((-uniform.ln() * mean.as_ns() as f64) as u64)
    }
}

impl fmt::Debug for SimServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimServer")
            .field("service", &self.service)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}

fn position(bytes: &[u8], end: &[u8]) -> Option<usize> {
    bytes.windows(end.len()).position(|window| window == end)
}
