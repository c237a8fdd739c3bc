//! The names of a plan, and what rustls has for them.

use model::tls::{TlsGroup, TlsSuite, TlsVersion};
use rustls::crypto::aws_lc_rs::{cipher_suite, kx_group};
use rustls::crypto::{CryptoProvider, SupportedKxGroup, aws_lc_rs};
use rustls::{
    NamedGroup, ProtocolVersion, SupportedCipherSuite, SupportedProtocolVersion, version,
};

/// What is offered: `suites` and `groups`, or where they are empty all that is usual.
pub(super) fn provider(suites: &[TlsSuite], groups: &[TlsGroup]) -> CryptoProvider {
    let mut provider = aws_lc_rs::default_provider();
    if !suites.is_empty() {
        provider.cipher_suites = suites.iter().map(|suite| suite_of(*suite)).collect();
    }
    if !groups.is_empty() {
        provider.kx_groups = groups.iter().map(|group| group_of(*group)).collect();
    }
    provider
}

/// The versions, or where none is named those that have one of the `suites`.
pub(super) fn versions(
    versions: &[TlsVersion],
    suites: &[TlsSuite],
) -> Vec<&'static SupportedProtocolVersion> {
    let known = [
        (TlsVersion::Tls13, &version::TLS13),
        (TlsVersion::Tls12, &version::TLS12),
    ];
    let has_suite = |supported: &SupportedProtocolVersion| {
        let mut suites = suites.iter().map(|suite| suite_of(*suite));
        suites.len() == 0 || suites.any(|suite| suite.version() == supported)
    };
    let wanted = known.into_iter().filter(|(name, supported)| {
        if versions.is_empty() {
            has_suite(supported)
        } else {
            versions.contains(name)
        }
    });
    wanted.map(|(_, supported)| supported).collect()
}

const fn suite_of(suite: TlsSuite) -> SupportedCipherSuite {
    match suite {
        TlsSuite::Aes128Tls13 => cipher_suite::TLS13_AES_128_GCM_SHA256,
        TlsSuite::Aes256Tls13 => cipher_suite::TLS13_AES_256_GCM_SHA384,
        TlsSuite::ChaCha20Tls13 => cipher_suite::TLS13_CHACHA20_POLY1305_SHA256,
        TlsSuite::Aes128Ecdsa => cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
        TlsSuite::Aes256Ecdsa => cipher_suite::TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
        TlsSuite::ChaCha20Ecdsa => cipher_suite::TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
        TlsSuite::Aes128Rsa => cipher_suite::TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
        TlsSuite::Aes256Rsa => cipher_suite::TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
        TlsSuite::ChaCha20Rsa => cipher_suite::TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    }
}

const fn group_of(group: TlsGroup) -> &'static dyn SupportedKxGroup {
    match group {
        TlsGroup::X25519 => kx_group::X25519,
        TlsGroup::P256 => kx_group::SECP256R1,
        TlsGroup::P384 => kx_group::SECP384R1,
        TlsGroup::X25519MlKem768 => kx_group::X25519MLKEM768,
        TlsGroup::P256MlKem768 => kx_group::SECP256R1MLKEM768,
        TlsGroup::MlKem768 => kx_group::MLKEM768,
    }
}

/// The name of a version, a suite or a group that was negotiated.
pub(super) fn version_name(version: ProtocolVersion) -> String {
    match version {
        ProtocolVersion::TLSv1_3 => TlsVersion::Tls13.to_string(),
        ProtocolVersion::TLSv1_2 => TlsVersion::Tls12.to_string(),
        other => format!("{other:?}"),
    }
}

pub(super) fn suite_name(suite: SupportedCipherSuite) -> String {
    let known = TlsSuite::ALL.iter();
    let mut known = known.filter(|known| suite_of(**known).suite() == suite.suite());
    known
        .next()
        .map_or_else(|| format!("{:?}", suite.suite()), |known| known.to_string())
}

pub(super) fn group_name(group: NamedGroup) -> String {
    let known = TlsGroup::ALL.iter();
    let mut known = known.filter(|known| group_of(**known).name() == group);
    known
        .next()
        .map_or_else(|| format!("{group:?}"), |known| known.to_string())
}
