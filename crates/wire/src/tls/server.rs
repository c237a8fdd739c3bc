//! The side of a TLS connection that answers.

use std::sync::{Arc, PoisonError, RwLock};

use model::Instant;
use rustls::ServerConfig;
use rustls::crypto::aws_lc_rs;
use rustls::server::{
    ClientHello, ResolvesServerCert, ServerSessionMemoryCache, UnbufferedServerConnection,
};
use rustls::sign::CertifiedKey;
use rustls::time_provider::{DefaultTimeProvider, TimeProvider};

use super::connector::{HTTP_1, HTTP_2, Identity, SetupError};
use super::session::{RECORD, Session, Stop};
use super::tickets::Tickets;
use crate::service::{Handler, Service, Transmit};

/// Sessions that are kept where tickets do not hold them: each connection makes two, and those that
/// were made first go first. Cost: some hundred bytes each.
const SESSIONS: usize = 64 * 1024;

/// What all connections of a server have in common: certificate, versions, tickets.
#[derive(Clone, Debug)]
pub struct Acceptor {
    config: Arc<ServerConfig>,
    certificate: Arc<Current>,
}

/// The certificate of the moment: it can be replaced while the server runs.
#[derive(Debug)]
struct Current(RwLock<Arc<CertifiedKey>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let current = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Some(Arc::clone(&current))
    }
}

impl Acceptor {
    /// Shows the certificate of `identity`: TLS 1.2 and 1.3, with session tickets, whose keys
    /// change every six hours.
    ///
    /// # Errors
    ///
    /// The key is of an unknown kind or does not belong to the certificate.
    pub fn new(identity: Identity) -> Result<Self, SetupError> {
        Self::with_clock(identity, Arc::new(DefaultTimeProvider))
    }

    /// The same, in the time of `clock`.
    pub(super) fn with_clock(
        identity: Identity,
        clock: Arc<dyn TimeProvider>,
    ) -> Result<Self, SetupError> {
        let (mut config, certificate) = configured(identity)?;
        let tickets = Tickets::new(Arc::clone(&clock)).map_err(SetupError::Tls)?;
        config.ticketer = Arc::new(tickets);
        config.time_provider = clock;
        Ok(Self {
            config: Arc::new(config),
            certificate,
        })
    }

    /// The same, and takes requests before the handshake is over (0-RTT), `bytes` of them at most.
    /// Sessions are then kept here instead of in tickets, and each is resumed once: who repeats
    /// what somebody else sent is not believed (RFC 8446 §8.1), as long as this server runs.
    ///
    /// # Errors
    ///
    /// As for [`Acceptor::new`].
    pub fn with_early_data(identity: Identity, bytes: u32) -> Result<Self, SetupError> {
        let (mut config, certificate) = configured(identity)?;
        config.session_storage = ServerSessionMemoryCache::new(SESSIONS);
        config.max_early_data_size = bytes;
        // The answer to such a request goes out with the server's own first messages.
        config.send_half_rtt_data = true;
        Ok(Self {
            config: Arc::new(config),
            certificate,
        })
    }

    /// Shows another certificate from now on. Tickets of before still hold.
    ///
    /// # Errors
    ///
    /// As for [`Acceptor::new`]; the certificate of before stays.
    pub fn replace(&self, identity: Identity) -> Result<(), SetupError> {
        let certified = certified(identity)?;
        let current = &self.certificate.0;
        *current.write().unwrap_or_else(PoisonError::into_inner) = certified;
        Ok(())
    }

    /// The same settings inside QUIC, for the protocol of that name.
    pub(crate) fn for_quic(&self, application: &[u8]) -> ServerConfig {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![application.to_vec()];
        // What comes early is bounded by QUIC's own windows (RFC 9001 §4.6.1).
        if config.max_early_data_size > 0 {
            config.max_early_data_size = u32::MAX;
        }
        config
    }

    /// A connection that was just accepted, with `inner` inside.
    pub fn accept<S: Service>(&self, inner: S) -> TlsServer<S> {
        let side = UnbufferedServerConnection::new(Arc::clone(&self.config));
        TlsServer {
            session: Box::new(Session::new(side.expect("its settings were tried"))),
            inner,
            first: None,
            plain: Vec::new(),
            sealed: 0,
            file: None,
            is_established: false,
            has_agreed: false,
            has_begun: false,
            has_failed: false,
            closing: None,
        }
    }
}

/// What all acceptors have in common.
fn configured(identity: Identity) -> Result<(ServerConfig, Arc<Current>), SetupError> {
    let certificate = Arc::new(Current(RwLock::new(certified(identity)?)));
    let provider = Arc::new(aws_lc_rs::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(rustls::ALL_VERSIONS)
        .map_err(SetupError::Tls)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::<Current>::clone(&certificate));
    config.alpn_protocols = vec![HTTP_2.to_vec(), HTTP_1.to_vec()];
    Ok((config, certificate))
}

fn certified(identity: Identity) -> Result<Arc<CertifiedKey>, SetupError> {
    let Identity { chain, key } = identity;
    let provider = aws_lc_rs::default_provider();
    let certified = CertifiedKey::from_der(chain, key, &provider).map_err(SetupError::of_key)?;
    Ok(Arc::new(certified))
}

/// One connection: `S` inside TLS.
#[derive(Debug)]
pub struct TlsServer<S: Service> {
    session: Box<Session<UnbufferedServerConnection>>,
    inner: S,
    /// The first byte that came: a request in clear begins with a letter, a handshake does not.
    first: Option<u8>,
    /// What the inner side wants to send, of which so many bytes are sealed.
    plain: Vec<u8>,
    sealed: usize,
    /// What follows it.
    file: Option<Rest<S::File>>,
    is_established: bool,
    /// The inner side was told which protocol was agreed to.
    has_agreed: bool,
    /// What came before the handshake is over was given to the inner side.
    has_begun: bool,
    /// TLS is of no more use.
    has_failed: bool,
    /// The peer was told that no more comes; whether to wait for it.
    closing: Option<bool>,
}

/// Whether nothing is lost if somebody sends this again: it is one whole request by a safe method,
/// and nothing behind it. Anything else waits until the client has proven who it is (RFC 8470 §3).
pub(crate) fn is_safe(early: &[u8]) -> bool {
    const END: &[u8] = b"\r\n\r\n";
    let methods: [&[u8]; 4] = [b"GET ", b"HEAD ", b"OPTIONS ", b"TRACE "];
    let ends = memchr::memmem::find(early, END);
    methods.iter().any(|method| early.starts_with(method))
        && ends.is_some_and(|at| at + END.len() == early.len())
}

/// What somebody is told who speaks HTTP without TLS.
fn in_clear() -> Vec<u8> {
    const WHY: &str = "this port speaks TLS: ask it with https instead of http\n";
    let length = WHY.len();
    format!(
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\
         Connection: close\r\n\r\n{WHY}"
    )
    .into_bytes()
}

/// The rest of a file that is to be sent.
#[derive(Debug)]
struct Rest<F> {
    file: F,
    offset: u64,
    length: u64,
}

impl<S: Service> TlsServer<S> {
    /// What is inside.
    pub const fn inner(&self) -> &S {
        &self.inner
    }

    /// Whether the peer speaks HTTP without TLS, and was not told yet that this does not.
    fn is_in_clear(&self) -> bool {
        self.first.is_some_and(|first| first.is_ascii_uppercase())
    }

    /// Gives the inner side what came before the handshake is over, if it may have that.
    fn begin_early(
        &mut self,
        now: Instant,
        handler: &mut impl Handler<File = S::File, Kept = S::Kept>,
    ) {
        if self.is_established || is_safe(&self.session.early) {
            let early = std::mem::take(&mut self.session.early);
            self.has_begun = true;
            self.inner.handle_bytes(now, &early, handler);
        }
    }

    /// Encrypts one record of what waits. False: there is nothing.
    fn seal(&mut self, out: &mut Vec<u8>) -> bool {
        let rest = &self.plain[self.sealed..];
        if rest.is_empty() {
            return false;
        }
        let length = rest.len().min(RECORD);
        self.has_failed |= !self.session.encrypt(&rest[..length], out);
        self.sealed += length;
        if self.sealed == self.plain.len() {
            self.plain.clear();
            self.sealed = 0;
        }
        true
    }

    /// Reads one record of the file that is being sent. False: there is none.
    fn read(&mut self, handler: &mut impl Handler<File = S::File, Kept = S::Kept>) -> bool {
        let Some(rest) = &mut self.file else {
            return false;
        };
        let length = usize::try_from(rest.length).map_or(RECORD, |length| length.min(RECORD));
        self.has_failed |= !handler.read(&rest.file, rest.offset, length, &mut self.plain);
        rest.offset += length as u64;
        rest.length -= length as u64;
        if rest.length == 0 {
            self.file = None;
        }
        true
    }
}

impl<S: Service> Service for TlsServer<S> {
    type File = S::File;
    type Kept = S::Kept;

    fn handle_bytes(
        &mut self,
        now: Instant,
        bytes: &[u8],
        handler: &mut impl Handler<File = S::File, Kept = S::Kept>,
    ) {
        if self.has_failed || self.closing.is_some() {
            return;
        }
        if self.first.is_none() {
            self.first = bytes.first().copied();
            self.has_failed = self.is_in_clear();
            if self.has_failed {
                return;
            }
        }
        let mut copy = handler.lend();
        copy.extend_from_slice(bytes);
        let inner = &mut self.inner;
        let received = self.session.receive(&mut copy, |plain| {
            inner.handle_bytes(now, plain, handler);
            Ok::<(), ()>(())
        });
        copy.clear();
        handler.take_back(copy);
        self.is_established |= self.session.is_established();
        if !self.has_agreed
            && let Some(application) = self.session.side.alpn_protocol()
        {
            self.has_agreed = true;
            self.inner.agree(now, application);
        }
        if received.is_ok() && !self.session.early.is_empty() {
            self.begin_early(now, handler);
        }
        match received {
            Ok(()) => {
                if self.session.has_ended {
                    self.inner.handle_end();
                }
            }
            Err(Stop::Inner(()) | Stop::Tls(_)) => self.has_failed = true,
        }
    }

    fn handle_end(&mut self) {
        self.has_failed |= !self.is_established;
        if !self.session.has_ended {
            self.inner.handle_end();
        }
    }

    fn poll_transmit(
        &mut self,
        now: Instant,
        out: &mut Vec<u8>,
        handler: &mut impl Handler<File = S::File, Kept = S::Kept>,
    ) -> Transmit<S::File, S::Kept> {
        loop {
            if self.session.has_waiting() {
                self.session.take_waiting(out, RECORD);
                return Transmit::Bytes;
            }
            if self.has_failed {
                if self.is_in_clear() {
                    self.first = None;
                    out.extend_from_slice(&in_clear());
                    return Transmit::Bytes;
                }
                return Transmit::Close { linger: true };
            }
            if !self.is_established && !self.has_begun {
                return Transmit::Nothing;
            }
            if let Some(linger) = self.closing {
                return Transmit::Close { linger };
            }
            if self.seal(out) {
                return Transmit::Bytes;
            }
            if self.read(handler) {
                if self.has_failed {
                    // The file is shorter than was promised.
                    return Transmit::Reset;
                }
                continue;
            }
            match self.inner.poll_transmit(now, &mut self.plain, handler) {
                Transmit::Bytes => {}
                Transmit::Kept(kept) => handler.copy(&kept, &mut self.plain),
                Transmit::File {
                    file,
                    offset,
                    length,
                } => {
                    let rest = Rest {
                        file,
                        offset,
                        length,
                    };
                    self.file = (length > 0).then_some(rest);
                }
                // Sessions for other connections follow the end of the handshake, and nothing
                // follows a goodbye. How long it is waited for is the inner side's timeout.
                Transmit::Close { .. } if !self.is_established => return Transmit::Nothing,
                Transmit::Close { linger } => {
                    self.session.say_goodbye();
                    self.closing = Some(linger);
                }
                Transmit::Nothing => {
                    if self.plain.capacity() > 0 {
                        handler.take_back(std::mem::take(&mut self.plain));
                    }
                    return Transmit::Nothing;
                }
                other @ (Transmit::Pause(_) | Transmit::Reset) => return other,
            }
        }
    }

    fn handle_timeout(&mut self, handler: &mut impl Handler<File = S::File, Kept = S::Kept>) {
        if self.is_established {
            self.inner.handle_timeout(handler);
        } else {
            self.has_failed = true;
        }
    }

    fn poll_timeout(&self) -> Instant {
        self.inner.poll_timeout()
    }

    fn is_full(&self) -> bool {
        self.inner.is_full()
    }

    fn is_idle(&self) -> bool {
        self.inner.is_idle()
            && self.plain.is_empty()
            && self.file.is_none()
            && !self.session.has_waiting()
    }

    fn is_multiplexed(&self) -> bool {
        self.inner.is_multiplexed()
    }

    fn finish(&mut self) {
        self.has_failed |= !self.is_established;
        self.inner.finish();
    }
}
