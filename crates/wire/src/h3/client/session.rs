//! TLS inside QUIC: what joins rustls to the QUIC library, so that what was negotiated can be told.
//!
//! The library has such a joint of its own, which keeps all of that to itself. What does not depend
//! on a handshake, the keys of the first packets and the proof of a retry, is still left to it.

use std::any::Any;
use std::io::Cursor;
use std::sync::{Arc, OnceLock};

use quinn_proto::crypto::rustls::QuicClientConfig;
use quinn_proto::crypto::{self, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError, TransportErrorCode};
use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use rustls::quic::{ClientConnection, DirectionalKeys, KeyChange, Secrets, Version};

use crate::tls::{Facts, SetupError};

/// What all sessions of a worker begin with.
pub(super) struct Crypto {
    config: Arc<ClientConfig>,
    /// The same as the library has it.
    theirs: Arc<QuicClientConfig>,
    /// One of the library's own sessions, which never goes beyond its beginning.
    helper: OnceLock<Arc<dyn crypto::Session>>,
}

impl Crypto {
    /// Fails where QUIC is not possible with `config`.
    pub(super) fn new(config: &Arc<ClientConfig>) -> Result<Self, SetupError> {
        let config = Arc::clone(config);
        // The helper takes no ticket from those that have to last.
        let mut bare = ClientConfig::clone(&config);
        bare.resumption = Resumption::disabled();
        let theirs = QuicClientConfig::try_from(bare);
        Ok(Self {
            config,
            theirs: Arc::new(theirs.map_err(|_| SetupError::NotForQuic)?),
            helper: OnceLock::new(),
        })
    }

    fn helper(
        &self,
        version: u32,
        name: &str,
        params: &TransportParameters,
    ) -> Result<Arc<dyn crypto::Session>, ConnectError> {
        if let Some(helper) = self.helper.get() {
            return Ok(Arc::clone(helper));
        }
        let theirs: Arc<dyn crypto::ClientConfig> = Arc::clone(&self.theirs) as _;
        let made = theirs.start_session(version, name, params)?;
        Ok(Arc::clone(self.helper.get_or_init(|| Arc::from(made))))
    }
}

impl crypto::ClientConfig for Crypto {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn crypto::Session>, ConnectError> {
        let helper = self.helper(version, name, params)?;
        let wrong_name = || ConnectError::InvalidServerName(name.to_owned());
        let server = ServerName::try_from(name).map_err(|_| wrong_name())?;
        let mut encoded = Vec::new();
        params.write(&mut encoded);
        let config = Arc::clone(&self.config);
        let begun = ClientConnection::new(config, Version::V1, server.to_owned(), encoded);
        Ok(Box::new(Session {
            // The library's own session began in the same way.
            tls: begun.map_err(|_| wrong_name())?,
            helper,
            next: None,
            is_told: false,
        }))
    }
}

/// TLS of one connection.
struct Session {
    tls: ClientConnection,
    helper: Arc<dyn crypto::Session>,
    /// What the keys after these are made from.
    next: Option<Secrets>,
    /// The library was told that there are facts.
    is_told: bool,
}

impl crypto::Session for Session {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        self.helper.initial_keys(id, side)
    }

    /// They are [`Facts`].
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        let facts = || -> Box<dyn Any> { Box::new(Facts::of(&self.tls)) };
        (!self.tls.is_handshaking()).then(facts)
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        // The library remembers what the server allowed in the session, and cannot go on without.
        self.tls.quic_transport_parameters()?;
        let keys = self.tls.zero_rtt_keys()?;
        Some((Box::new(keys.header), Box::new(keys.packet)))
    }

    fn early_data_accepted(&self) -> Option<bool> {
        Some(self.tls.is_early_data_accepted())
    }

    fn is_handshaking(&self) -> bool {
        self.tls.is_handshaking()
    }

    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        let read = self.tls.read_hs(bytes);
        read.map_err(|error| TransportError {
            code: match self.tls.alert() {
                Some(alert) => TransportErrorCode::crypto(alert.into()),
                None => TransportErrorCode::PROTOCOL_VIOLATION,
            },
            frame: None,
            reason: error.to_string(),
        })?;
        let is_over = !self.tls.is_handshaking();
        Ok(is_over && !std::mem::replace(&mut self.is_told, true))
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        let Some(bytes) = self.tls.quic_transport_parameters() else {
            return Ok(None);
        };
        Ok(Some(TransportParameters::read(
            Side::Client,
            &mut Cursor::new(bytes),
        )?))
    }

    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let keys = match self.tls.write_hs(out)? {
            KeyChange::Handshake { keys } => keys,
            KeyChange::OneRtt { keys, next } => {
                self.next = Some(next);
                keys
            }
        };
        let split = |keys: DirectionalKeys| (Box::new(keys.header), Box::new(keys.packet));
        let (local, remote) = (split(keys.local), split(keys.remote));
        Some(Keys {
            header: KeyPair {
                local: local.0,
                remote: remote.0,
            },
            packet: KeyPair {
                local: local.1,
                remote: remote.1,
            },
        })
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.next.as_mut()?.next_packet_keys();
        Some(KeyPair {
            local: Box::new(keys.local),
            remote: Box::new(keys.remote),
        })
    }

    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.helper.is_valid_retry(id, header, payload)
    }

    fn export_keying_material(
        &self,
        _: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        // Nobody here asks for it.
        Err(ExportKeyingMaterialError)
    }
}
