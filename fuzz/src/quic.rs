//! A peer that speaks QUIC and no HTTP/3: it says on its streams what it is told to.

use std::net::SocketAddr;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use bytes::BytesMut;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, Endpoint, EndpointConfig,
    ServerConfig, StreamId, TransportConfig, VarInt,
};
use rcgen::{CertificateParams, KeyPair};
use rustls::client::Resumption;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, crypto::aws_lc_rs};
use wire::tls::{Acceptor, Connector, Demands, Identity};

/// The name of the server.
const NAME: &str = "localhost";
/// Both sides are here.
pub(crate) const PEER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V6(std::net::Ipv6Addr::LOCALHOST), 443);

/// What both sides of a connection begin with, made once.
pub(crate) struct Setup {
    pub(crate) connector: Connector,
    pub(crate) acceptor: Acceptor,
    client: ClientConfig,
    server: Arc<ServerConfig>,
}

/// Shows who the server is, to whoever trusts the certificate that is returned.
fn identity() -> (Identity, CertificateDer<'static>) {
    let authority = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("an authority");
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let root = params.self_signed(&authority).expect("an authority");
    let issuer = rcgen::Issuer::new(params, authority);
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new(vec![NAME.to_owned()]).expect("a certificate");
    let certificate = params.signed_by(&key, &issuer).expect("a certificate");
    let identity = Identity {
        chain: vec![certificate.der().clone()],
        key: PrivateKeyDer::Pkcs8(key.serialize_der().into()),
    };
    (identity, root.der().clone())
}

/// What a connection begins with.
pub(crate) fn setup() -> &'static Setup {
    static SETUP: OnceLock<Setup> = OnceLock::new();
    SETUP.get_or_init(|| {
        let (identity, root) = identity();
        let (chain, key) = (identity.chain.clone(), identity.key.clone_key());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let versions = &[&rustls::version::TLS13];
        let mut roots = RootCertStore::empty();
        roots.add(root).expect("it is an authority");
        let mut client = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(versions)
            .expect("they are known")
            .with_root_certificates(roots)
            .with_no_client_auth();
        client.alpn_protocols = vec![b"h3".to_vec()];
        client.resumption = Resumption::disabled();
        let mut server = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(versions)
            .expect("they are known")
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .expect("the key belongs to it");
        server.alpn_protocols = vec![b"h3".to_vec()];
        let client = QuicClientConfig::try_from(client).expect("a suite of QUIC");
        let server = QuicServerConfig::try_from(server).expect("a suite of QUIC");
        let mut client = ClientConfig::new(Arc::new(client));
        client.transport_config(transport());
        let mut server = ServerConfig::with_crypto(Arc::new(server));
        server.transport_config(transport());
        let demands = Demands {
            name: NAME,
            roots: None,
            identities: Vec::new(),
            versions: &[],
            suites: &[],
            groups: &[],
            resumes: false,
            mix: None,
        };
        Setup {
            connector: Connector::new(demands).expect("they fit together"),
            acceptor: Acceptor::new(identity).expect("the key belongs to it"),
            client,
            server: Arc::new(server),
        }
    })
}

fn transport() -> Arc<TransportConfig> {
    let mut transport = TransportConfig::default();
    let streams = VarInt::from_u32(100);
    transport
        .max_concurrent_bidi_streams(streams)
        .max_concurrent_uni_streams(streams)
        .max_idle_timeout(None);
    Arc::new(transport)
}

/// That peer.
pub(crate) struct Raw {
    endpoint: Endpoint,
    quic: Option<(ConnectionHandle, Connection)>,
    /// Time does not pass.
    now: Instant,
    out: Vec<u8>,
}

impl Raw {
    /// It connects.
    pub(crate) fn client() -> Self {
        let mut raw = Self::new(None);
        let config = setup().client.clone();
        let begun = raw.endpoint.connect(raw.now, config, PEER, NAME);
        raw.quic = Some(begun.expect("it can begin"));
        raw
    }

    /// It is connected to.
    pub(crate) fn server() -> Self {
        Self::new(Some(Arc::clone(&setup().server)))
    }

    fn new(server: Option<Arc<ServerConfig>>) -> Self {
        let config = Arc::new(EndpointConfig::default());
        Self {
            endpoint: Endpoint::new(config, server, true, Some([7; 32])),
            quic: None,
            now: Instant::now(),
            out: Vec::new(),
        }
    }

    /// Takes a datagram.
    pub(crate) fn take(&mut self, datagram: &[u8]) {
        self.out.clear();
        let (now, data) = (self.now, BytesMut::from(datagram));
        let taken = self
            .endpoint
            .handle(now, PEER, None, None, data, &mut self.out);
        match taken {
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                if let Some((_, quic)) = &mut self.quic {
                    quic.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut self.out, None);
                self.quic = accepted.ok();
            }
            Some(DatagramEvent::Response(_)) | None => {}
        }
        self.settle();
    }

    /// Lets both halves of the library talk; what it tells is not listened to.
    fn settle(&mut self) {
        let Some((handle, quic)) = &mut self.quic else {
            return;
        };
        while let Some(event) = quic.poll_endpoint_events() {
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                quic.handle_event(event);
            }
        }
        while quic.poll().is_some() {}
        for dir in [Dir::Bi, Dir::Uni] {
            while quic.streams().accept(dir).is_some() {}
        }
    }

    /// The next datagram that it sends.
    pub(crate) fn say(&mut self) -> Option<&[u8]> {
        self.out.clear();
        let (_, quic) = self.quic.as_mut()?;
        let _written = quic.poll_transmit(self.now, 1, &mut self.out)?;
        Some(&self.out)
    }

    /// A new stream.
    pub(crate) fn open(&mut self, dir: Dir) -> Option<StreamId> {
        self.quic.as_mut()?.1.streams().open(dir)
    }

    /// Says that on a stream, as far as there is room.
    pub(crate) fn write(&mut self, id: StreamId, bytes: &[u8]) {
        if let Some((_, quic)) = &mut self.quic {
            let _said_in_part = quic.send_stream(id).write(bytes);
        }
    }

    /// No more comes on a stream.
    pub(crate) fn finish(&mut self, id: StreamId) {
        if let Some((_, quic)) = &mut self.quic {
            let _over_already = quic.send_stream(id).finish();
        }
    }

    /// Gives a stream up.
    pub(crate) fn reset(&mut self, id: StreamId) {
        if let Some((_, quic)) = &mut self.quic {
            let _over_already = quic.send_stream(id).reset(VarInt::from_u32(0x10c));
        }
    }

    /// Wants no more of a stream.
    pub(crate) fn stop(&mut self, id: StreamId) {
        if let Some((_, quic)) = &mut self.quic {
            let _over_already = quic.recv_stream(id).stop(VarInt::from_u32(0x10c));
        }
    }
}
