//! QUIC below one connection: how it begins, what its end means.

use std::net::{Ipv6Addr, SocketAddr};
use std::sync::Arc;

use bytes::BytesMut;
use model::{Instant, Mark};
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, Endpoint,
    EndpointConfig, RandomConnectionIdGenerator, TransportConfig, VarInt,
};

use super::QuicError;
use crate::client::ProtocolError;
use crate::h3::time::Calendar;
use crate::h3::{Code, ONE_WAY_STREAMS, ecn_of, mark_of};
use crate::tls::TlsError;

/// Whom every connection has at its other end, as far as QUIC is to know: sockets are connected,
/// so the kernel keeps all others away.
const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V6(Ipv6Addr::LOCALHOST), 443);
/// The version of QUIC that we speak (RFC 9000).
pub(super) const VERSION: u32 = 1;
/// Windows that never hold a server back by accident.
const WINDOW: u32 = 1 << 28;
/// So many datagrams are handed over at once.
const DATAGRAMS: usize = 8;

/// What all connections of a worker begin with.
#[derive(Clone, Debug)]
pub(super) struct Setup {
    pub(super) config: ClientConfig,
    pub(super) endpoint: Arc<EndpointConfig>,
    pub(super) name: Box<str>,
    pub(super) calendar: Calendar,
    /// Draws of QUIC follow from it, in simulations.
    pub(super) seed: Option<[u8; 32]>,
}

impl Setup {
    pub(super) fn new(crypto: Arc<dyn quinn_proto::crypto::ClientConfig>, name: &str) -> Self {
        let mut config = ClientConfig::new(crypto);
        config
            .transport_config(Arc::new(transport()))
            .version(VERSION);
        let mut endpoint = EndpointConfig::default();
        // Each connection has a socket of its own, which tells it apart.
        endpoint.cid_generator(|| Box::new(RandomConnectionIdGenerator::new(0)));
        Self {
            config,
            endpoint: Arc::new(endpoint),
            name: name.into(),
            calendar: Calendar::new(),
            seed: None,
        }
    }
}

pub(super) fn transport() -> TransportConfig {
    let mut transport = TransportConfig::default();
    transport
        .max_concurrent_bidi_streams(VarInt::from_u32(0))
        .max_concurrent_uni_streams(VarInt::from_u32(ONE_WAY_STREAMS))
        .stream_receive_window(VarInt::from_u32(WINDOW))
        .receive_window(VarInt::from_u32(WINDOW))
        .send_window(u64::from(WINDOW))
        .datagram_receive_buffer_size(None)
        // The plan has timeouts of its own; connections that wait are kept as long as the server
        // keeps them.
        .max_idle_timeout(None);
    transport
}

/// QUIC below one connection.
#[derive(Debug)]
pub(super) struct Link {
    endpoint: Endpoint,
    pub(super) handle: ConnectionHandle,
    pub(super) quic: Box<Connection>,
    calendar: Calendar,
    /// Answers to datagrams that belong to no connection: nobody wants them.
    dropped: Vec<u8>,
    /// The most recent reading of the clock that it was given.
    now: std::time::Instant,
}

impl Link {
    /// Begins to connect.
    pub(super) fn new(setup: &Setup, now: Instant) -> Option<Self> {
        let endpoint = Arc::clone(&setup.endpoint);
        let mut endpoint = Endpoint::new(endpoint, None, true, setup.seed);
        let now = setup.calendar.to_std(now);
        let begun = endpoint.connect(now, setup.config.clone(), PEER, &setup.name);
        let (handle, quic) = begun.ok()?;
        Some(Self {
            endpoint,
            handle,
            quic: Box::new(quic),
            calendar: setup.calendar,
            dropped: Vec::new(),
            now,
        })
    }

    /// The most recent reading of the clock that it was given.
    pub(super) fn now(&self) -> Instant {
        self.calendar.to_ours(self.now)
    }

    /// Takes a datagram with that mark.
    pub(super) fn take(&mut self, now: Instant, mark: Mark, datagram: &[u8]) {
        self.now = self.calendar.to_std(now);
        let data = BytesMut::from(datagram);
        let taken =
            self.endpoint
                .handle(self.now, PEER, None, ecn_of(mark), data, &mut self.dropped);
        self.dropped.clear();
        if let Some(DatagramEvent::ConnectionEvent(_, event)) = taken {
            self.quic.handle_event(event);
        }
    }

    /// Lets both halves of the library talk.
    pub(super) fn settle(&mut self) {
        while let Some(event) = self.quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(self.handle, event) {
                self.quic.handle_event(event);
            }
        }
    }

    pub(super) fn pass(&mut self, now: Instant) {
        self.now = self.calendar.to_std(now);
        self.quic.handle_timeout(self.now);
    }

    pub(super) fn next_timeout(&mut self) -> Option<Instant> {
        let calendar = self.calendar;
        self.quic.poll_timeout().map(|at| calendar.to_ours(at))
    }

    /// Appends datagrams; how long each but the last is, and how they are marked.
    pub(super) fn write(&mut self, now: Instant, out: &mut Vec<u8>) -> Option<(usize, Mark)> {
        self.now = self.calendar.to_std(now);
        let most = match self.quic.is_handshaking() {
            true => 1,
            false => DATAGRAMS,
        };
        let transmit = self.quic.poll_transmit(self.now, most, out)?;
        let segment = transmit.segment_size.unwrap_or(transmit.size);
        Some((segment, mark_of(transmit.ecn)))
    }

    /// Says that no more comes, and why.
    pub(super) fn close(&mut self, code: Code) {
        self.quic
            .close(self.now, code.to_quic(), bytes::Bytes::new());
    }
}

/// What the end of a connection means; none: the peer ended it in good order, or is gone.
pub(super) fn reason(error: &ConnectionError) -> Option<ProtocolError> {
    let crypto = |code: u64| u8::try_from(code.checked_sub(0x100)?).ok();
    Some(match error {
        ConnectionError::VersionMismatch => QuicError::Version.into(),
        ConnectionError::TransportError(error) => {
            let code = u64::from(error.code);
            match crypto(code) {
                Some(alert) => TlsError::within_quic(alert, &error.reason).into(),
                None => QuicError::Broken(code).into(),
            }
        }
        ConnectionError::ConnectionClosed(close) => match u64::from(close.error_code) {
            0 => return None,
            0x02 => QuicError::Refused.into(),
            code => match crypto(code) {
                Some(alert) => TlsError::Alert(alert.into()).into(),
                None => QuicError::Closed(code).into(),
            },
        },
        ConnectionError::ApplicationClosed(close) => match Code(close.error_code.into_inner()) {
            Code(0) | Code::NO_ERROR => return None,
            code => ProtocolError::ClosedHttp3(code),
        },
        ConnectionError::CidsExhausted
        | ConnectionError::LocallyClosed
        | ConnectionError::Reset
        | ConnectionError::TimedOut => return None,
    })
}
