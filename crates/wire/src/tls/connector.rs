//! What all connections of a plan agree on before the first is made: whom to trust, what to offer.

use std::sync::Arc;

use model::Random;
use model::tls::{HandshakeMix, TlsGroup, TlsSuite, TlsVersion};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{
    Resumption, Tls12Resumption, UnbufferedClientConnection, WebPkiServerVerifier,
};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::sign::{CertifiedKey, SingleCertAndKey};
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, InconsistentKeys, RootCertStore,
    SignatureScheme,
};

use super::client::{Inner, Shared};
use super::offer::{Draw, Kinds, Offer};
use super::store::{Keeping, Store};
use super::suites;
use crate::message::Request;

/// The protocols that are offered inside (ALPN).
pub(super) const HTTP_1: &[u8] = b"http/1.1";
pub(crate) const HTTP_2: &[u8] = b"h2";

/// A certificate with its chain, and the private key of the first.
#[derive(Debug)]
pub struct Identity {
    /// The certificate, and those that signed it.
    pub chain: Vec<CertificateDer<'static>>,
    /// The private key.
    pub key: PrivateKeyDer<'static>,
}

/// What a plan demands of TLS, with all files read.
#[derive(Debug)]
pub struct Demands<'a> {
    /// The name to ask for and to find in the certificate.
    pub name: &'a str,
    /// Whose signature on a certificate is trusted; none: any certificate will do.
    pub roots: Option<Vec<CertificateDer<'static>>>,
    /// Who the client is: nobody, somebody, or another one on each connection.
    pub identities: Vec<Identity>,
    /// What is offered; empty: all that is usual.
    pub versions: &'a [TlsVersion],
    /// The same of suites.
    pub suites: &'a [TlsSuite],
    /// The same of groups.
    pub groups: &'a [TlsGroup],
    /// Whether sessions are resumed.
    pub resumes: bool,
    /// If so, how many of the handshakes; none: all that can be.
    pub mix: Option<HandshakeMix>,
}

/// What is wrong with demands.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    /// Not a single certificate to trust.
    #[error("there is no certificate to trust")]
    NoRoots,
    /// The name cannot stand in a certificate.
    #[error("'{0}' is neither a host name nor an address")]
    Name(String),
    /// QUIC is not possible with what was demanded.
    #[error(
        "HTTP/3 needs TLS 1.3, and the suite TLS13_AES_128_GCM_SHA256 among those that are offered"
    )]
    NotForQuic,
    /// The client asks for TLS 1.2, and for groups that TLS 1.3 brought.
    #[error("TLS 1.2 has none of the key-exchange groups that are asked for: add X25519 or P-256")]
    GroupsTooNew,
    /// A key is that of another certificate.
    #[error(
        "the private key does not belong to the certificate: give the two that were made together"
    )]
    KeyOfAnother,
    /// The rest does not fit together.
    #[error("{0}")]
    Tls(Error),
}

impl SetupError {
    /// What is wrong with a certificate and its key.
    pub(super) fn of_key(error: Error) -> Self {
        match error {
            Error::InconsistentKeys(InconsistentKeys::KeyMismatch) => Self::KeyOfAnother,
            error => Self::Tls(error),
        }
    }
}

/// Why a file has no private key that could be used, behind its name.
pub fn no_key(pem: &[u8]) -> &'static str {
    // Both ways of writing it down have that word in their first lines.
    match memchr::memmem::find(pem, b"ENCRYPTED") {
        Some(_) => {
            "holds a private key with a passphrase, which nobody is asked for: write it without \
             one, as 'openssl pkey -in FILE -out FILE' does"
        }
        None => "holds no private key in PEM",
    }
}

/// Makes the connections of a plan.
#[derive(Clone, Debug)]
pub struct Connector {
    /// One, or one for each certificate of the client.
    configs: Box<[ClientConfig]>,
    name: ServerName<'static>,
    resumes: bool,
    mix: Option<HandshakeMix>,
}

impl Connector {
    /// Fails where `demands` cannot be met by anyone.
    pub fn new(demands: Demands<'_>) -> Result<Self, SetupError> {
        let provider = Arc::new(suites::provider(demands.suites, demands.groups));
        let own = Arc::clone(&provider);
        let verifier = verifier(demands.roots, &provider)?;
        let versions = suites::versions(demands.versions, demands.suites);
        let is_old = demands.versions == [TlsVersion::Tls12];
        let is_new = |group: &TlsGroup| *group == TlsGroup::X25519MlKem768;
        if is_old && !demands.groups.is_empty() && demands.groups.iter().all(is_new) {
            return Err(SetupError::GroupsTooNew);
        }
        let builder = ClientConfig::builder_with_provider(provider)
            .with_protocol_versions(&versions)
            .map_err(SetupError::Tls)?
            .dangerous()
            .with_custom_certificate_verifier(verifier);
        let mut config = builder.with_no_client_auth();
        config.resumption = Resumption::disabled();
        let name = ServerName::try_from(demands.name.to_owned())
            .map_err(|_| SetupError::Name(demands.name.to_owned()))?;
        // What no connection can be made with is found out here, and not in the loop.
        UnbufferedClientConnection::new(Arc::new(config.clone()), name.clone())
            .map_err(SetupError::Tls)?;
        let showing = |Identity { chain, key }| {
            let certified = CertifiedKey::from_der(chain, key, &own).map_err(SetupError::of_key)?;
            let mut config = config.clone();
            config.client_auth_cert_resolver = Arc::new(SingleCertAndKey::from(certified));
            Ok(config)
        };
        let identities = demands.identities.into_iter();
        let configs = identities.map(showing).collect::<Result<Box<[_]>, _>>()?;
        Ok(Self {
            configs: match configs.is_empty() {
                true => [config].into(),
                false => configs,
            },
            name,
            resumes: demands.resumes,
            mix: demands.mix,
        })
    }

    /// The same inside QUIC, for the protocol of that name: what is offered with each certificate
    /// of the client, and whom to ask for.
    pub(crate) fn for_quic(&self, application: &[u8]) -> (Vec<Offer>, String) {
        let offers = self.configs.iter();
        let offers = offers.map(|config| self.offer(config, application));
        (offers.collect(), self.name.to_str().into_owned())
    }

    /// Which kind each handshake is to be of, drawn from `random`; none: as it comes.
    pub(crate) fn draw(&self, random: Random) -> Option<Draw> {
        let mix = self.mix.filter(|_| self.resumes);
        mix.map(|mix| Draw::new(mix, random))
    }

    /// Whether sessions are resumed.
    pub(crate) const fn resumes(&self) -> bool {
        self.resumes
    }

    /// What the connections of one worker have in common: they send `requests`, by their ids, and
    /// at most `piece` bytes at once. Which handshakes resume a session is drawn from `random`.
    pub fn shared<'a, C: Inner>(
        &self,
        inner: C::Shared,
        requests: impl Iterator<Item = &'a Request>,
        piece: usize,
        random: Random,
    ) -> Shared<C> {
        let offers = self.configs.iter();
        let offers = offers.map(|config| self.offer(config, C::APPLICATION));
        let bytes = requests.map(|request| request.h1_bytes().into());
        Shared::new(
            inner,
            offers.collect(),
            self.draw(random),
            self.name.clone(),
            bytes.collect(),
            piece,
        )
    }

    /// What connections offer that show the certificate of `config`. Sessions belong to it: one
    /// that showed another certificate resumes none of them.
    fn offer(&self, config: &ClientConfig, application: &[u8]) -> Offer {
        let mut config = config.clone();
        config.alpn_protocols = vec![application.to_vec()];
        if !self.resumes {
            return Offer::of(config, None);
        }
        let store = Arc::<Store>::default();
        let resumption = |resumption: Resumption| {
            resumption.tls12_resumption(Tls12Resumption::SessionIdOrTickets)
        };
        let keeping = Resumption::store(Arc::new(Keeping(Arc::clone(&store))));
        let mut full = config.clone();
        full.resumption = resumption(keeping);
        config.resumption = resumption(Resumption::store(Arc::clone(&store) as _));
        let mut early = config.clone();
        early.enable_early_data = true;
        let kinds = self.mix.map(|_| Kinds::new(full, early, store));
        Offer::of(config, kinds)
    }
}

fn verifier(
    roots: Option<Vec<CertificateDer<'static>>>,
    provider: &Arc<CryptoProvider>,
) -> Result<Arc<dyn ServerCertVerifier>, SetupError> {
    let Some(certificates) = roots else {
        return Ok(Arc::new(Anyone(Arc::clone(provider))));
    };
    let mut roots = RootCertStore::empty();
    let own = certificates.clone();
    roots.add_parsable_certificates(certificates);
    if roots.is_empty() {
        return Err(SetupError::NoRoots);
    }
    let inner = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider))
        .build()
        .map_err(|error| SetupError::Tls(Error::General(error.to_string())))?;
    Ok(Arc::new(Trusting { inner, own }))
}

/// Verifies as the web does, and takes a certificate for trusted that is itself among those that
/// are: a server with a certificate of its own making is named by that (`--cacert`).
#[derive(Debug)]
struct Trusting {
    inner: Arc<WebPkiServerVerifier>,
    own: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trusting {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.inner.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            Err(Error::InvalidCertificate(
                CertificateError::UnknownIssuer | CertificateError::Other(_),
            )) if self.own.iter().any(|own| own == end_entity) => {
                let parsed = rustls::server::ParsedCertificate::try_from(end_entity)?;
                rustls::client::verify_server_name(&parsed, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.inner.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Takes any certificate; that the server has its key is still proven.
#[derive(Debug)]
struct Anyone(Arc<CryptoProvider>);

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, cert, dss, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, cert, dss, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
