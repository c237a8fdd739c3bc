//! TLS: what a plan wants of it, and what was negotiated on its connections.
//!
//! A plan names files and nothing of what is in them, but for certificates that a server shows to
//! everybody: a private key is never stored. Names are those of the IANA registries, so that they
//! read the same in every server's configuration.

use serde::{Deserialize, Serialize};

use crate::distribution::Distribution;

/// A closed set of names: one spelling in flags, files and reports.
macro_rules! names {
    (
        $(#[$about:meta])* $set:ident, $what:literal:
        $($(#[$doc:meta])* $one:ident = $name:literal,)+
    ) => {
        $(#[$about])*
        #[derive(
            Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
        )]
        #[cfg_attr(test, derive(schemars::JsonSchema))]
        pub enum $set {
            $($(#[$doc])* #[serde(rename = $name)] $one,)+
        }

        impl $set {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$one),+];

            /// Its name in flags, files and reports.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$one => $name,)+
                }
            }
        }

        impl std::fmt::Display for $set {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.name())
            }
        }

        impl std::str::FromStr for $set {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                let found = Self::ALL.iter().find(|one| one.name().eq_ignore_ascii_case(text));
                found.copied().ok_or_else(|| {
                    let known: Vec<&str> = Self::ALL.iter().map(|one| one.name()).collect();
                    format!("'{text}' is not a {}: choose one of {}", $what, known.join(", "))
                })
            }
        }
    };
}
pub(crate) use names;

names! {
    /// A version of TLS.
    TlsVersion, "version of TLS that is spoken here":
    /// RFC 5246.
    Tls12 = "1.2",
    /// RFC 8446.
    Tls13 = "1.3",
}

names! {
    /// What encrypts records and binds a handshake, by its name in the registry of IANA. The first
    /// three belong to TLS 1.3, the others to TLS 1.2.
    TlsSuite, "cipher suite that is offered here":
    /// AES-128 of TLS 1.3.
    Aes128Tls13 = "TLS_AES_128_GCM_SHA256",
    /// AES-256 of TLS 1.3.
    Aes256Tls13 = "TLS_AES_256_GCM_SHA384",
    /// ChaCha20 of TLS 1.3.
    ChaCha20Tls13 = "TLS_CHACHA20_POLY1305_SHA256",
    /// AES-128 of TLS 1.2 for certificates with an ECDSA key.
    Aes128Ecdsa = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256",
    /// AES-256 of TLS 1.2 for certificates with an ECDSA key.
    Aes256Ecdsa = "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    /// ChaCha20 of TLS 1.2 for certificates with an ECDSA key.
    ChaCha20Ecdsa = "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
    /// AES-128 of TLS 1.2 for certificates with an RSA key.
    Aes128Rsa = "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256",
    /// AES-256 of TLS 1.2 for certificates with an RSA key.
    Aes256Rsa = "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384",
    /// ChaCha20 of TLS 1.2 for certificates with an RSA key.
    ChaCha20Rsa = "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256",
}

names! {
    /// What keys are exchanged by.
    TlsGroup, "key-exchange group that is offered here":
    /// Curve25519.
    X25519 = "X25519",
    /// NIST's curve of 256 bits, secp256r1.
    P256 = "P-256",
    /// NIST's curve of 384 bits, secp384r1.
    P384 = "P-384",
    /// Curve25519 together with ML-KEM, which a quantum computer does not break.
    X25519MlKem768 = "X25519MLKEM768",
    /// P-256 together with ML-KEM.
    P256MlKem768 = "SecP256r1MLKEM768",
    /// ML-KEM alone.
    MlKem768 = "MLKEM768",
}

/// Of which kind handshakes are to be, each by its weight: full ones, and those that resume an
/// earlier session, some of these with a request that goes out before their end.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct HandshakeMix {
    /// The weight of full handshakes.
    #[serde(default)]
    pub full: u32,
    /// The weight of those that resume a session, if there is one by then.
    #[serde(default)]
    pub resumed: u32,
    /// The weight of those that resume a session and begin with a request (early data, 0-RTT), if
    /// the server allows that.
    #[serde(default, skip_serializing_if = "is_none")]
    pub early: u32,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_none(weight: &u32) -> bool {
    *weight == 0
}

/// Of which kind a handshake was.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum HandshakeKind {
    /// With a certificate and a signature.
    Full,
    /// It resumed the session of a connection before it.
    Resumed,
    /// The same, and the server took a request that came before its end.
    Early,
}

impl std::fmt::Display for HandshakeMix {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = [
            ("full", self.full),
            ("resumed", self.resumed),
            ("early", self.early),
        ];
        let given = all.into_iter().filter(|(_, weight)| *weight > 0);
        for (place, (kind, weight)) in given.enumerate() {
            let comma = if place == 0 { "" } else { "," };
            write!(f, "{comma}{kind}:{weight}")?;
        }
        Ok(())
    }
}

impl std::str::FromStr for HandshakeMix {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut mix = Self::default();
        for part in text.split(',') {
            let (kind, weight) = part.split_once(':').unwrap_or((part, ""));
            let slot = match kind {
                "full" => &mut mix.full,
                "resumed" => &mut mix.resumed,
                "early" => &mut mix.early,
                _ => {
                    return Err(format!(
                        "'{part}' is not a kind of handshake with its weight: write \
                         full:60,resumed:30,early:10"
                    ));
                }
            };
            let weight = weight.parse().ok().filter(|weight| *weight > 0);
            let weight = weight
                .ok_or_else(|| format!("'{part}': give a weight of 1 or more, as in full:60"))?;
            if std::mem::replace(slot, weight) > 0 {
                return Err(format!("'{kind}' is given twice"));
            }
        }
        Ok(mix)
    }
}

/// What a plan wants of TLS. Where it says nothing, the library's own choice holds.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TlsFile {
    /// Any certificate will do.
    #[serde(default)]
    pub insecure: bool,
    /// A file of certificates (PEM) whose signature is trusted, instead of the machine's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_file: Option<String>,
    /// Such certificates themselves (PEM), where no machine that makes load has a file of them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_pem: Option<String>,
    /// The name to ask for and to find in the certificate, instead of the URL's host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// Versions to offer; empty: all that are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub versions: Vec<TlsVersion>,
    /// Cipher suites to offer, the preferred one first; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suites: Vec<TlsSuite>,
    /// Key-exchange groups to offer; the share of a key is that of the first. Empty: X25519, P-256
    /// and P-384, then X25519MLKEM768.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub groups: Vec<TlsGroup>,
    /// A file with the client's certificate and its chain (PEM).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificate_file: Option<String>,
    /// The file with its private key (PEM).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key_file: Option<String>,
    /// A folder of certificates with their private keys (PEM), of which each connection shows one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub certificates_folder: Option<String>,
    /// Whether a connection may resume the session of one before it; every handshake is then full.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub no_resumption: bool,
    /// Of which kind handshakes are to be, drawn for each connection; none: a session is resumed
    /// wherever there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub handshakes: Option<HandshakeMix>,
}

impl TlsFile {
    /// Where certificates and keys of the client lie: names that may tell who somebody is.
    pub(crate) fn identity_paths(&self) -> impl Iterator<Item = &String> {
        let all = [
            &self.certificate_file,
            &self.key_file,
            &self.certificates_folder,
        ];
        all.into_iter().flatten()
    }

    /// The same, to be taken out.
    pub(crate) fn identity_paths_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let all = [
            &mut self.certificate_file,
            &mut self.key_file,
            &mut self.certificates_folder,
        ];
        all.into_iter().flatten()
    }
}

/// What a handshake came to.
#[derive(Clone, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Negotiated {
    /// `1.2` or `1.3`.
    pub version: String,
    /// The cipher suite, by its name in the registry of IANA.
    pub suite: String,
    /// The key-exchange group; none where a session was resumed without one.
    pub group: Option<String>,
    /// The protocol that the server chose of those offered (ALPN); none if it chose none.
    pub application: Option<String>,
    /// Whether an earlier session was resumed: then the server showed no certificate.
    pub resumed: bool,
    /// Whether the server took a request that came before the end of the handshake (0-RTT).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
    /// The kind of key in the server's certificate: `ECDSA P-256`, `RSA 2048`; none if it showed
    /// none.
    pub key_type: Option<String>,
    /// Bytes of the certificates that the server sent, as they are encoded (DER).
    pub chain_bytes: u64,
}

/// Handshakes that came to the same.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct NegotiatedCount {
    /// What they came to.
    #[serde(flatten)]
    pub negotiated: Negotiated,
    /// How many they were.
    pub count: u64,
}

/// TLS on the connections of a run, over the whole of it: most handshakes are made before the
/// window.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TlsRecord {
    /// The library that made the handshakes, with what it calculates by; none in trials that do not
    /// tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub library: Option<String>,
    /// Handshakes that succeeded, by what they came to.
    pub negotiated: Vec<NegotiatedCount>,
    /// Handshakes that did not.
    pub failed: u64,
    /// Connections that the server closed without saying so in TLS first (`close_notify`).
    pub closed_without_notify: u64,
    /// Handshakes that the plan wanted to resume a session and that were full: there was no session
    /// yet, or the server did not take it.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_resumed: u64,
    /// Handshakes that the plan wanted to begin with a request and that did not: there was no
    /// session yet, or it allows none (RFC 8446 §4.6.1).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub not_early: u64,
    /// Those that did, and whose server did not take it: the request was sent again.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub early_refused: u64,
    /// Where connections show different certificates: handshakes with each of them, in the order of
    /// their files' names, which are not stored. One that resumes a session shows none, and belongs
    /// to that of the session.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub by_certificate: Vec<u64>,
    /// How long full handshakes took, from the established connection on.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub full_time: Distribution,
    /// The same of those that resumed a session.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub resumed_time: Distribution,
    /// The same of those with which the server took a request before their end. They are not among
    /// those that resumed a session.
    #[serde(default, skip_serializing_if = "Distribution::is_empty")]
    pub early_time: Distribution,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_zero(count: &u64) -> bool {
    *count == 0
}

impl TlsRecord {
    /// Counts `count` more handshakes that came to `negotiated`.
    pub fn add(&mut self, negotiated: Negotiated, count: u64) {
        let place = self
            .negotiated
            .binary_search_by(|known| known.negotiated.cmp(&negotiated));
        match place {
            Ok(place) => self.negotiated[place].count += count,
            Err(place) => {
                let new = NegotiatedCount { negotiated, count };
                self.negotiated.insert(place, new);
            }
        }
    }

    /// Adds what another worker counted.
    pub fn merge(&mut self, other: Self) {
        for one in other.negotiated {
            self.add(one.negotiated, one.count);
        }
        // All workers have one; of several builds, the name that comes last in the alphabet.
        self.library = self.library.take().max(other.library);
        self.failed += other.failed;
        self.closed_without_notify += other.closed_without_notify;
        self.not_resumed += other.not_resumed;
        self.not_early += other.not_early;
        self.early_refused += other.early_refused;
        let certificates = self.by_certificate.len().max(other.by_certificate.len());
        self.by_certificate.resize(certificates, 0);
        for (mine, theirs) in self.by_certificate.iter_mut().zip(other.by_certificate) {
            *mine += theirs;
        }
        self.full_time.merge(&other.full_time);
        self.resumed_time.merge(&other.resumed_time);
        self.early_time.merge(&other.early_time);
    }

    /// Of those that resumed a session: how many with a request that came before their end.
    pub fn early(&self) -> u64 {
        let those = self.negotiated.iter();
        let those = those.filter(|one| one.negotiated.early);
        those.map(|one| one.count).sum()
    }

    /// Handshakes that succeeded: full ones, and those that resumed a session.
    pub fn full_and_resumed(&self) -> (u64, u64) {
        let sum = |resumed: bool| {
            let those = self.negotiated.iter();
            let those = those.filter(|one| one.negotiated.resumed == resumed);
            those.map(|one| one.count).sum()
        };
        (sum(false), sum(true))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_in_any_case_and_unknown_ones_refused_with_the_list() {
        assert_eq!("x25519mlkem768".parse(), Ok(TlsGroup::X25519MlKem768));
        assert_eq!("p-256".parse(), Ok(TlsGroup::P256));
        assert_eq!("1.3".parse(), Ok(TlsVersion::Tls13));
        for suite in TlsSuite::ALL {
            assert_eq!(suite.name().parse(), Ok(*suite));
        }
        let refused = "P-521".parse::<TlsGroup>().unwrap_err();
        assert!(
            refused.contains("'P-521' is not a key-exchange group"),
            "{refused}"
        );
        assert!(refused.contains("X25519, P-256"), "{refused}");
    }

    #[test]
    fn a_mix_is_read_as_it_is_written() {
        let mix = "resumed:30,full:60".parse::<HandshakeMix>().unwrap();
        assert_eq!((mix.full, mix.resumed, mix.early), (60, 30, 0));
        assert_eq!(mix.to_string(), "full:60,resumed:30");
        assert_eq!(mix.to_string().parse(), Ok(mix));
        let mix = "early:10,full:60".parse::<HandshakeMix>().unwrap();
        assert_eq!((mix.full, mix.resumed, mix.early), (60, 0, 10));
        assert_eq!(mix.to_string().parse(), Ok(mix));
        let check = |text: &str, words: &str| {
            let error = text.parse::<HandshakeMix>().unwrap_err();
            assert!(error.contains(words), "{error}");
        };
        check("full:60,early:0", "give a weight of 1 or more");
        check("half:1", "'half:1' is not a kind of handshake");
        check("full", "give a weight of 1 or more");
        check("full:0", "give a weight of 1 or more");
        check("full:1,full:2", "'full' is given twice");
    }

    #[test]
    fn records_merge_in_any_order() {
        let one = |suite: &str, resumed| Negotiated {
            version: "1.3".to_owned(),
            suite: suite.to_owned(),
            resumed,
            ..Negotiated::default()
        };
        let mut first = TlsRecord::default();
        first.add(one("b", false), 2);
        first.add(one("a", true), 3);
        let mut second = TlsRecord {
            failed: 1,
            closed_without_notify: 4,
            not_resumed: 2,
            not_early: 3,
            early_refused: 5,
            by_certificate: vec![4, 0, 2],
            ..TlsRecord::default()
        };
        first.by_certificate = vec![1, 5];
        second.early_time.record(crate::Span::from_us(8));
        let early = Negotiated {
            early: true,
            ..one("a", true)
        };
        first.add(early.clone(), 2);
        second.add(early, 4);
        second.full_time.record(crate::Span::from_us(7));
        first.full_time.record(crate::Span::from_us(9));
        second.add(one("a", true), 1);
        second.add(one("a", false), 5);
        let mut forward = first.clone();
        forward.merge(second.clone());
        let mut backward = second;
        backward.merge(first);
        assert_eq!(forward, backward);
        assert_eq!(forward.full_and_resumed(), (7, 10));
        assert_eq!((forward.early(), forward.early_time.count()), (6, 1));
        assert_eq!((forward.not_early, forward.early_refused), (3, 5));
        assert_eq!(forward.by_certificate, [5, 5, 2]);
        assert_eq!((forward.failed, forward.closed_without_notify), (1, 4));
        assert_eq!((forward.not_resumed, forward.full_time.count()), (2, 2));
    }
}
