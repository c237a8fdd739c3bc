//! HTTP/3, the server side: all connections that come to one socket. Requests are answered as far
//! as windows allow, and their bodies are read and dropped.
//!
//! Handlers see each request as the text that it would be in HTTP/1.1 and write answers as for it,
//! so all versions serve the same. What a client can make grow is bounded: connections, streams,
//! heads, requests that wait, answers that wait, and what asks for work and brings nothing
//! (`patience`).
//!
//! Cost: a copy of each answer. QUIC keeps some 10 KiB for an idle connection.

mod peer;
#[cfg(test)]
mod raw;
mod request;
mod stream;

use std::collections::{BTreeSet, VecDeque};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use bytes::BytesMut;
use model::{Instant, Mark};
use quinn_proto::crypto::rustls::QuicServerConfig;
use quinn_proto::{
    ConnectionHandle, DatagramEvent, Endpoint, EndpointConfig, IdleTimeout, Incoming, ServerConfig,
    TransportConfig, VarInt,
};

use self::peer::Peer;
use super::time::Calendar;
use super::{APPLICATION, Code, ONE_WAY_STREAMS, ecn_of, mark_of};
use crate::h1::server::ServerLimits;
use crate::service::Handler;
use crate::tls::{Acceptor, SetupError};

/// Streams that may be open at once on a connection.
const STREAMS: u32 = 128;
/// What of answers on a connection may lie in memory, sent and not acknowledged included.
const SEND_WINDOW: u64 = 512 * 1024;
/// What of requests may lie in memory: of one, and of all on a connection.
const STREAM_WINDOW: u32 = 64 * 1024;
const WINDOW: u32 = 256 * 1024;
/// So many datagrams are handed over at once.
const DATAGRAMS: usize = 10;
/// Answers to datagrams without a connection that wait to be sent; more are not given.
const WORDS: usize = 256;

/// Where datagrams go.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Way {
    /// Whom to.
    pub to: SocketAddr,
    /// From which of our addresses, where that is known.
    pub from: Option<IpAddr>,
    /// How long each but the last is.
    pub segment: usize,
    /// How each is marked.
    pub mark: Mark,
}

/// What was done.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Counts {
    /// Connections that were begun.
    pub connections: u64,
    /// Connections that were refused, because there were too many.
    pub refused: u64,
}

/// All connections of one socket.
#[derive(Debug)]
pub struct Server<F> {
    endpoint: Endpoint,
    calendar: Calendar,
    limits: ServerLimits,
    most: usize,
    peers: Vec<Option<Box<Peer<F>>>>,
    /// Those that are not closed.
    open: usize,
    /// Connections that may have something to send.
    due: VecDeque<usize>,
    /// When to look at each connection.
    timers: BTreeSet<(Instant, usize)>,
    /// What is said to those without a connection.
    words: VecDeque<(Vec<u8>, Way)>,
    is_finishing: bool,
    counts: Counts,
}

impl<F: Clone> Server<F> {
    /// Shows what `acceptor` shows, to at most so many connections.
    ///
    /// # Errors
    ///
    /// QUIC wants TLS 1.3.
    pub fn new(
        acceptor: &Acceptor,
        limits: ServerLimits,
        connections: u32,
    ) -> Result<Self, SetupError> {
        Self::seeded(acceptor, limits, connections, None)
    }

    /// The same, with draws that follow from a seed, for simulations.
    pub(super) fn seeded(
        acceptor: &Acceptor,
        limits: ServerLimits,
        connections: u32,
        seed: Option<[u8; 32]>,
    ) -> Result<Self, SetupError> {
        let crypto = QuicServerConfig::try_from(acceptor.for_quic(APPLICATION))
            .map_err(|_| SetupError::NotForQuic)?;
        let mut config = ServerConfig::with_crypto(Arc::new(crypto));
        config.transport_config(Arc::new(transport(&limits)));
        let endpoint = Arc::new(EndpointConfig::default());
        Ok(Self {
            endpoint: Endpoint::new(endpoint, Some(Arc::new(config)), true, seed),
            calendar: Calendar::new(),
            limits,
            most: connections as usize,
            peers: Vec::new(),
            open: 0,
            due: VecDeque::new(),
            timers: BTreeSet::new(),
            words: VecDeque::new(),
            is_finishing: false,
            counts: Counts::default(),
        })
    }

    /// How many connections are not closed.
    pub const fn open(&self) -> usize {
        self.open
    }

    /// What was done so far.
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// Takes a datagram that came `from` there, to that address of ours, with that mark.
    pub fn handle_datagram<K>(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: Option<IpAddr>,
        mark: Mark,
        bytes: &[u8],
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        let mut word = Vec::new();
        let at = self.calendar.to_std(now);
        let data = BytesMut::from(bytes);
        match self
            .endpoint
            .handle(at, from, to, ecn_of(mark), data, &mut word)
        {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some(peer) = self.peers.get_mut(handle.0).and_then(Option::as_mut) {
                    peer.quic.handle_event(event);
                    self.follow(handle.0, now, handler);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.accept(now, incoming, handler);
            }
            Some(DatagramEvent::Response(transmit)) => self.say(word, &transmit),
            None => {}
        }
    }

    fn accept<K>(
        &mut self,
        now: Instant,
        incoming: Incoming,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        let mut word = Vec::new();
        if self.is_finishing || self.open >= self.most {
            self.counts.refused += u64::from(!self.is_finishing);
            let transmit = self.endpoint.refuse(incoming, &mut word);
            return self.say(word, &transmit);
        }
        let at = self.calendar.to_std(now);
        match self.endpoint.accept(incoming, at, &mut word, None) {
            Ok((handle, quic)) => {
                let peer = Peer::new(now, quic, &self.limits);
                if self.peers.len() <= handle.0 {
                    self.peers.resize_with(handle.0 + 1, || None);
                }
                self.peers[handle.0] = Some(Box::new(peer));
                self.open += 1;
                self.counts.connections += 1;
                self.follow(handle.0, now, handler);
            }
            Err(error) => {
                if let Some(transmit) = error.response {
                    self.say(word, &transmit);
                }
            }
        }
    }

    /// Something is to be said to someone without a connection.
    fn say(&mut self, word: Vec<u8>, transmit: &quinn_proto::Transmit) {
        if self.words.len() < WORDS {
            let way = Way {
                to: transmit.destination,
                from: transmit.src_ip,
                segment: transmit.size,
                mark: mark_of(transmit.ecn),
            };
            self.words.push_back((word, way));
        }
    }

    /// Deals with what has happened on a connection.
    fn follow<K>(
        &mut self,
        place: usize,
        now: Instant,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        let Some(peer) = self.peers.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        handler.set_peer(peer.quic.remote_address().ip());
        loop {
            while let Some(event) = peer.quic.poll_endpoint_events() {
                let answer = self.endpoint.handle_event(ConnectionHandle(place), event);
                if let Some(event) = answer {
                    peer.quic.handle_event(event);
                }
            }
            let Some(event) = peer.quic.poll() else {
                break;
            };
            peer.hear(now, event, &self.limits, handler);
        }
        peer.go_on(now, &self.limits, handler);
        if peer.is_over && !peer.quic.is_closed() {
            peer.quic.close(
                self.calendar.to_std(now),
                peer.code.to_quic(),
                bytes::Bytes::new(),
            );
        }
        if peer.is_over && std::mem::take(&mut peer.is_counted) {
            self.open -= 1;
            peer.clear(handler);
        }
        if !std::mem::replace(&mut peer.is_due, true) {
            self.due.push_back(place);
        }
        self.arm(place);
    }

    /// Sees to it that the connection is looked at when its time has come, and forgets one that is
    /// no more.
    fn arm(&mut self, place: usize) {
        let Some(peer) = self.peers.get_mut(place).and_then(Option::as_mut) else {
            return;
        };
        let before = peer.timer.take();
        let quic = peer.quic.poll_timeout();
        let mut at = quic.map_or(Instant::FAR_FUTURE, |at| self.calendar.to_ours(at));
        if !peer.is_over {
            at = at.min(peer.next_look());
        }
        if let Some(before) = before.filter(|before| *before != at) {
            self.timers.remove(&(before, place));
        }
        if peer.quic.is_drained() {
            self.timers.remove(&(at, place));
            // The library has to hear of it from us.
            while let Some(event) = peer.quic.poll_endpoint_events() {
                let _none = self.endpoint.handle_event(ConnectionHandle(place), event);
            }
            self.peers[place] = None;
            return;
        }
        if before != Some(at) && at < Instant::FAR_FUTURE {
            self.timers.insert((at, place));
        }
        peer.timer = (at < Instant::FAR_FUTURE).then_some(at);
    }

    /// Appends what is to be sent next to `out`; asked until there is nothing.
    pub fn poll_transmit(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<Way> {
        if let Some((word, way)) = self.words.pop_front() {
            out.extend_from_slice(&word);
            return Some(way);
        }
        while let Some(place) = self.due.front().copied() {
            if let Some(peer) = self.peers.get_mut(place).and_then(Option::as_mut) {
                let at = self.calendar.to_std(now);
                if let Some(transmit) = peer.quic.poll_transmit(at, DATAGRAMS, out) {
                    return Some(Way {
                        to: transmit.destination,
                        from: transmit.src_ip,
                        segment: transmit.segment_size.unwrap_or(transmit.size),
                        mark: mark_of(transmit.ecn),
                    });
                }
                peer.is_due = false;
            }
            self.due.pop_front();
            self.arm(place);
        }
        None
    }

    /// When something is to be looked at, whatever comes until then.
    pub fn poll_timeout(&self) -> Instant {
        let first = self.timers.first();
        first.map_or(Instant::FAR_FUTURE, |(at, _)| *at)
    }

    /// Time has passed.
    pub fn handle_timeout<K>(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<File = F, Kept = K>,
    ) {
        while let Some((at, place)) = self.timers.first().copied()
            && at <= now
        {
            self.timers.pop_first();
            if let Some(peer) = self.peers.get_mut(place).and_then(Option::as_mut) {
                peer.timer = None;
                let std = self.calendar.to_std(now);
                if peer.quic.poll_timeout().is_some_and(|at| at <= std) {
                    peer.quic.handle_timeout(std);
                }
                peer.look(now);
                self.follow(place, now, handler);
            }
        }
    }

    /// No new connection, and no request after those under way.
    pub fn finish<K>(&mut self, now: Instant, handler: &mut impl Handler<File = F, Kept = K>) {
        self.is_finishing = true;
        for place in 0..self.peers.len() {
            if let Some(peer) = &mut self.peers[place] {
                peer.drain();
                self.follow(place, now, handler);
            }
        }
    }

    /// Ends all connections at once.
    pub fn close<K>(&mut self, now: Instant, handler: &mut impl Handler<File = F, Kept = K>) {
        for place in 0..self.peers.len() {
            if let Some(peer) = &mut self.peers[place] {
                peer.end(Code::NO_ERROR);
                self.follow(place, now, handler);
            }
        }
    }
}

fn transport(limits: &ServerLimits) -> TransportConfig {
    let idle = limits.idle_time.as_ns() / 1_000_000;
    let idle = VarInt::from_u64(idle.max(1)).unwrap_or(VarInt::MAX);
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(STREAMS))
        .max_concurrent_uni_streams(VarInt::from_u32(ONE_WAY_STREAMS))
        .stream_receive_window(VarInt::from_u32(STREAM_WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(SEND_WINDOW)
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(IdleTimeout::from(idle)));
    transport
}
