//! What a handshake came to, counted without names as long as the run lasts.

use model::tls::{HandshakeKind as Wanted, Negotiated, TlsRecord};
use rustls::pki_types::CertificateDer;
use rustls::server::ParsedCertificate;
use rustls::{CommonState, HandshakeKind, NamedGroup, ProtocolVersion, SupportedCipherSuite};

use super::connector::HTTP_2;
use super::offer::Early;
use super::suites::{group_name, suite_name, version_name};
use crate::h3::APPLICATION as HTTP_3;

/// What makes handshakes here, with what it calculates by (`suites::provider`).
const LIBRARY: &str = "rustls with aws-lc-rs";

/// What a handshake came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Facts {
    version: Option<ProtocolVersion>,
    suite: Option<SupportedCipherSuite>,
    group: Option<NamedGroup>,
    application: Option<&'static str>,
    is_resumed: bool,
    /// The server took early data.
    pub(crate) is_early: bool,
    key: Option<KeyType>,
    chain_bytes: usize,
}

/// The kind of key in a certificate.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum KeyType {
    EcdsaP256,
    EcdsaP384,
    EcdsaP521,
    Ed25519,
    /// With so many bits.
    Rsa(usize),
    Other,
}

impl Facts {
    /// What has been negotiated, when the handshake is over.
    pub(crate) fn of(state: &CommonState) -> Self {
        let is_resumed = state.handshake_kind() == Some(HandshakeKind::Resumed);
        let shown = state.peer_certificates().filter(|_| !is_resumed);
        let group = state.negotiated_key_exchange_group();
        Self {
            version: state.protocol_version(),
            suite: state.negotiated_cipher_suite(),
            group: group.map(|group| group.name()),
            application: state.alpn_protocol().map(|name| match name {
                HTTP_2 => "h2",
                HTTP_3 => "h3",
                // It takes what was offered, and nothing else was.
                _ => "http/1.1",
            }),
            is_resumed,
            is_early: false,
            key: shown.and_then(|chain| chain.first()).map(KeyType::of),
            chain_bytes: shown.map_or(0, |chain| chain.iter().map(|one| one.len()).sum()),
        }
    }

    /// Of which kind the handshake was.
    pub(crate) const fn kind(&self) -> Wanted {
        match (self.is_resumed, self.is_early) {
            (true, true) => Wanted::Early,
            (true, false) => Wanted::Resumed,
            (false, _) => Wanted::Full,
        }
    }

    /// In words.
    pub(super) fn tell(&self) -> Negotiated {
        Negotiated {
            version: self.version.map_or_else(String::new, version_name),
            suite: self.suite.map_or_else(String::new, suite_name),
            group: self.group.map(group_name),
            application: self.application.map(str::to_owned),
            resumed: self.is_resumed,
            early: self.is_early,
            key_type: self.key.map(KeyType::tell),
            chain_bytes: self.chain_bytes as u64,
        }
    }
}

/// What the handshakes of one worker came to.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    seen: Vec<(Facts, u64)>,
    pub(crate) failed: u64,
    pub(super) closed_without_notify: u64,
    not_resumed: u64,
    not_early: u64,
    early_refused: u64,
    /// Handshakes with each certificate of the client, where there are several.
    by_certificate: Box<[u64]>,
}

impl Tally {
    /// For a client that has so many certificates.
    pub(crate) fn of(certificates: usize) -> Self {
        let several = if certificates > 1 { certificates } else { 0 };
        Self {
            by_certificate: vec![0; several].into(),
            ..Self::default()
        }
    }

    /// One more handshake is over, on a connection with that certificate.
    pub(crate) fn add(&mut self, facts: Facts, certificate: usize) {
        if let Some(count) = self.by_certificate.get_mut(certificate) {
            *count += 1;
        }
        match self.seen.iter_mut().find(|(known, _)| *known == facts) {
            Some((_, count)) => *count += 1,
            None => self.seen.push((facts, 1)),
        }
    }

    /// That handshake was to be of one kind, and was of another, perhaps.
    pub(crate) const fn compare(&mut self, wanted: Option<Wanted>, kind: Wanted, early: Early) {
        match (wanted, early) {
            (Some(Wanted::Early), Early::Refused) => self.early_refused += 1,
            (Some(Wanted::Early), Early::No) => self.not_early += 1,
            (Some(Wanted::Resumed), _) if matches!(kind, Wanted::Full) => self.not_resumed += 1,
            _ => {}
        }
    }

    pub(crate) fn tell(&self) -> TlsRecord {
        let mut record = TlsRecord {
            library: Some(LIBRARY.to_owned()),
            failed: self.failed,
            closed_without_notify: self.closed_without_notify,
            not_resumed: self.not_resumed,
            not_early: self.not_early,
            early_refused: self.early_refused,
            by_certificate: self.by_certificate.to_vec(),
            ..TlsRecord::default()
        };
        for (facts, count) in &self.seen {
            record.add(facts.tell(), *count);
        }
        record
    }
}

impl KeyType {
    fn of(certificate: &CertificateDer<'_>) -> Self {
        let Ok(certificate) = ParsedCertificate::try_from(certificate) else {
            return Self::Other;
        };
        let info = certificate.subject_public_key_info();
        let info: &[u8] = info.as_ref();
        // The identifiers of algorithm and curve stand in its first bytes (RFC 5280 §4.1.2.7).
        let start = &info[..info.len().min(40)];
        let has = |identifier: &[u8]| memchr::memmem::find(start, identifier).is_some();
        if has(&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01]) {
            // The modulus is most of it; keys are whole multiples of 1,024 bits.
            Self::Rsa(info.len().saturating_sub(24) / 128 * 1_024)
        } else if has(&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07]) {
            Self::EcdsaP256
        } else if has(&[0x2b, 0x81, 0x04, 0x00, 0x22]) {
            Self::EcdsaP384
        } else if has(&[0x2b, 0x81, 0x04, 0x00, 0x23]) {
            Self::EcdsaP521
        } else if has(&[0x2b, 0x65, 0x70]) {
            Self::Ed25519
        } else {
            Self::Other
        }
    }

    fn tell(self) -> String {
        match self {
            Self::EcdsaP256 => "ECDSA P-256".to_owned(),
            Self::EcdsaP384 => "ECDSA P-384".to_owned(),
            Self::EcdsaP521 => "ECDSA P-521".to_owned(),
            Self::Ed25519 => "Ed25519".to_owned(),
            Self::Rsa(bits) => format!("RSA {bits}"),
            Self::Other => "other".to_owned(),
        }
    }
}
