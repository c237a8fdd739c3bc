//! What connections of an experiment speak: the protocol, and TLS where it has some.

use serde::{Deserialize, Serialize};

use super::{ExperimentError, ExperimentFile, OneOrMany, wrong};
use crate::plan::{Protocol, STREAMS_MAX};
use crate::tls::{TlsFile, TlsGroup, TlsSuite, TlsVersion, names};

names! {
    /// A protocol that servers are measured with: a version of HTTP, in clear or inside TLS.
    Spoken, "protocol of a lab":
    /// HTTP/1.1 in clear.
    Http1 = "http1",
    /// HTTP/1.1 inside TLS.
    Http1Tls = "http1-tls",
    /// HTTP/2 in clear, by prior knowledge.
    Http2 = "http2",
    /// HTTP/2 inside TLS.
    Http2Tls = "http2-tls",
    /// HTTP/3, which has TLS within QUIC.
    Http3 = "http3",
}

names! {
    /// The key of the certificate that a server shows.
    CertificateKey, "kind of key that a lab makes":
    /// ECDSA on NIST's curve of 256 bits.
    EcdsaP256 = "ecdsa-p256",
    /// RSA of 2,048 bits.
    Rsa2048 = "rsa-2048",
}

names! {
    /// What connections begin with.
    Handshake, "kind of handshake":
    /// One with a certificate and a signature.
    Full = "full",
    /// One that resumes the session of a connection before it.
    Resumed = "resumed",
}

impl Spoken {
    /// What the generator speaks then.
    pub const fn http(self) -> Protocol {
        match self {
            Self::Http1 | Self::Http1Tls => Protocol::Http1,
            Self::Http2 | Self::Http2Tls => Protocol::Http2,
            Self::Http3 => Protocol::Http3,
        }
    }

    /// Whether it stands inside TLS, or has it inside.
    pub const fn is_secure(self) -> bool {
        matches!(self, Self::Http1Tls | Self::Http2Tls | Self::Http3)
    }
}

impl CertificateKey {
    /// As the record of a handshake tells it.
    pub const fn in_records(self) -> &'static str {
        match self {
            Self::EcdsaP256 => "ECDSA P-256",
            Self::Rsa2048 => "RSA 2048",
        }
    }
}

/// What connections to a server speak, which certificate it shows, and how they begin.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct Speech {
    /// The protocol.
    pub protocol: Spoken,
    /// The key of its certificate; none in clear.
    pub certificate: Option<CertificateKey>,
    /// What connections begin with; none in clear.
    pub handshake: Option<Handshake>,
}

impl Speech {
    /// In words: `http2-tls, rsa-2048, resumed`.
    pub fn said(self) -> String {
        let certificate = self.certificate.map(CertificateKey::name);
        let handshake = self.handshake.map(Handshake::name);
        let parts = [Some(self.protocol.name()), certificate, handshake];
        let parts: Vec<&str> = parts.into_iter().flatten().collect();
        parts.join(", ")
    }

    /// HTTP/1.1 in clear.
    pub const CLEAR: Self = Self {
        protocol: Spoken::Http1,
        certificate: None,
        handshake: None,
    };
}

/// `[tls]`: the same for all servers, so that none does other work than its rivals.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TlsTable {
    /// The key of the certificate: one kind or an axis.
    #[serde(default = "ecdsa")]
    pub certificate: OneOrMany<CertificateKey>,
    /// What connections begin with: one kind or an axis.
    #[serde(default = "full")]
    pub handshake: OneOrMany<Handshake>,
    /// The one version that is offered.
    #[serde(default = "newest")]
    pub version: TlsVersion,
    /// The one suite that is offered; none: AES-128 of the version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suite: Option<TlsSuite>,
    /// The one group that is offered.
    #[serde(default = "curve")]
    pub group: TlsGroup,
}

const fn ecdsa() -> OneOrMany<CertificateKey> {
    OneOrMany::One(CertificateKey::EcdsaP256)
}

const fn full() -> OneOrMany<Handshake> {
    OneOrMany::One(Handshake::Full)
}

const fn newest() -> TlsVersion {
    TlsVersion::Tls13
}

const fn curve() -> TlsGroup {
    TlsGroup::X25519
}

impl Default for TlsTable {
    fn default() -> Self {
        Self {
            certificate: ecdsa(),
            handshake: full(),
            version: newest(),
            suite: None,
            group: curve(),
        }
    }
}

impl TlsTable {
    /// The suite that is offered to a server with such a certificate.
    fn suite_for(&self, certificate: CertificateKey) -> TlsSuite {
        self.suite.unwrap_or(match (self.version, certificate) {
            (TlsVersion::Tls13, _) => TlsSuite::Aes128Tls13,
            (TlsVersion::Tls12, CertificateKey::EcdsaP256) => TlsSuite::Aes128Ecdsa,
            (TlsVersion::Tls12, CertificateKey::Rsa2048) => TlsSuite::Aes128Rsa,
        })
    }

    /// What a plan wants of TLS then, of a server whose certificate is in that file: it is trusted
    /// because it is that one. None in clear.
    pub fn demands(&self, speech: Speech, file: &str) -> Option<TlsFile> {
        let certificate = speech.certificate?;
        Some(TlsFile {
            ca_file: Some(file.to_owned()),
            versions: vec![self.version],
            suites: vec![self.suite_for(certificate)],
            groups: vec![self.group],
            no_resumption: speech.handshake != Some(Handshake::Resumed),
            handshakes: None,
            ..TlsFile::default()
        })
    }
}

impl ExperimentFile {
    /// All protocols that something is asked in: that of the load where a workload has none of its
    /// own, then those of the workloads. Each once.
    pub fn protocols(&self) -> Vec<Spoken> {
        let is_of_load = self.workload.iter().any(|one| one.protocol.is_none());
        let of_load = self.load.protocol.as_slice();
        let of_load = of_load.iter().filter(|_| is_of_load);
        let own = self.workload.iter().filter_map(|one| one.protocol.as_ref());
        let mut all: Vec<Spoken> = Vec::new();
        for &one in of_load.chain(own.flat_map(OneOrMany::as_slice)) {
            if !all.contains(&one) {
                all.push(one);
            }
        }
        all
    }
}

/// What the label of a server is made of: what it speaks, and what of that its label tells.
pub(super) struct Said {
    /// What connections to it speak.
    pub(super) speech: Speech,
    /// Behind the rest of its label.
    pub(super) in_label: String,
}

/// All that servers are measured with, in the order of the file: what the load says, then what
/// workloads have of their own.
///
/// A workload's own protocol changes no label of servers that others are asked from, and stands in
/// the labels of its own servers in any case.
pub(super) fn read(file: &ExperimentFile) -> Result<Vec<Said>, ExperimentError> {
    let of_load = file.load.protocol.as_slice();
    check_axis(of_load, "load.protocol")?;
    for (index, workload) in file.workload.iter().enumerate() {
        if let Some(own) = &workload.protocol {
            check_axis(own.as_slice(), &format!("workload[{index}].protocol"))?;
        }
    }
    let protocols = file.protocols();
    check(file, &protocols)?;
    let tls = file.tls.clone().unwrap_or_default();
    let all = expand(&protocols, &tls);
    let with_load: Vec<Spoken> = [of_load, &protocols].concat();
    let (of_load, with_load) = (expand(of_load, &tls), expand(&with_load, &tls));
    let said = |speech: Speech| Said {
        speech,
        in_label: match of_load.contains(&speech) {
            true => in_label(speech, &of_load),
            false => in_label(speech, &with_load),
        },
    };
    Ok(all.into_iter().map(said).collect())
}

/// An axis of protocols has some, and each once.
fn check_axis(protocols: &[Spoken], key: &str) -> Result<(), ExperimentError> {
    if protocols.is_empty() {
        return Err(wrong(key, "give at least one"));
    }
    for (index, protocol) in protocols.iter().enumerate() {
        if protocols[..index].contains(protocol) {
            return Err(wrong(key, format!("'{protocol}' is given twice")));
        }
    }
    Ok(())
}

/// Refuses streams and TLS that do not go with these protocols.
fn check(file: &ExperimentFile, protocols: &[Spoken]) -> Result<(), ExperimentError> {
    let streams = file.load.streams;
    if !(1..=STREAMS_MAX).contains(&streams) {
        return Err(wrong("load.streams", "give 1 to 1000"));
    }
    let has = |what: fn(&Spoken) -> bool| protocols.iter().any(what);
    if streams > 1 && !has(|one| one.http() != Protocol::Http1) {
        let why = "only HTTP/2 and HTTP/3 have streams: write protocol = \"http2\", \"http2-tls\" \
                   or \"http3\"";
        return Err(wrong("load.streams", why));
    }
    if file.tls.is_some() && !has(|one| one.is_secure()) {
        let why = "no protocol has TLS: write protocol = \"http1-tls\", \"http2-tls\" or \
                   \"http3\" in [load] or a workload";
        return Err(wrong("tls", why));
    }
    let tls = file.tls.clone().unwrap_or_default();
    let certificates = tls.certificate.as_slice();
    if certificates.is_empty() {
        return Err(wrong("tls.certificate", "give at least one"));
    }
    let handshakes = tls.handshake.as_slice();
    if handshakes.is_empty() {
        return Err(wrong("tls.handshake", "give at least one"));
    }
    if let Some(suite) = tls.suite {
        suite_fits(suite, &tls).map_err(|why| wrong("tls.suite", why))?;
    }
    if tls.version == TlsVersion::Tls12 && tls.group == TlsGroup::X25519MlKem768 {
        let why = "TLS 1.2 has no X25519MLKEM768: write version = \"1.3\", or another group";
        return Err(wrong("tls.group", why));
    }
    if has(|one| one.http() == Protocol::Http3) {
        quic_fits(&tls)?;
    }
    for (axis, key) in [
        (doubled(certificates), "tls.certificate"),
        (doubled(handshakes), "tls.handshake"),
    ] {
        if let Some(name) = axis {
            return Err(wrong(key, format!("'{name}' is given twice")));
        }
    }
    Ok(())
}

/// Each protocol with each certificate and handshake, where it has TLS.
fn expand(protocols: &[Spoken], tls: &TlsTable) -> Vec<Speech> {
    let (certificates, handshakes) = (tls.certificate.as_slice(), tls.handshake.as_slice());
    let mut all = Vec::new();
    for &protocol in protocols {
        let clear = Speech {
            protocol,
            ..Speech::CLEAR
        };
        if !protocol.is_secure() {
            all.push(clear);
            continue;
        }
        for &certificate in certificates {
            all.extend(handshakes.iter().map(|&handshake| Speech {
                certificate: Some(certificate),
                handshake: Some(handshake),
                ..clear
            }));
        }
    }
    all
}

/// The first value that an axis has twice.
fn doubled<T: Copy + PartialEq + ToString>(axis: &[T]) -> Option<String> {
    let values = axis.iter().enumerate();
    let twice = |(index, value): (usize, &T)| axis[..index].contains(value).then_some(*value);
    values
        .filter_map(twice)
        .map(|value| value.to_string())
        .next()
}

/// Whether every server could choose `suite`.
fn suite_fits(suite: TlsSuite, tls: &TlsTable) -> Result<(), String> {
    let is_old = suite.name().contains("_WITH_");
    if is_old != (tls.version == TlsVersion::Tls12) {
        return Err(format!("{suite} does not belong to TLS {}", tls.version));
    }
    let wanted = |key: &CertificateKey| match key {
        CertificateKey::EcdsaP256 => "_ECDSA_",
        CertificateKey::Rsa2048 => "_RSA_",
    };
    let unfit = tls.certificate.as_slice().iter();
    let unfit = unfit
        .copied()
        .find(|key| is_old && !suite.name().contains(wanted(key)));
    match unfit {
        Some(key) => Err(format!("{suite} does not go with a certificate of {key}")),
        None => Ok(()),
    }
}

/// Whether HTTP/3 is possible with that.
fn quic_fits(tls: &TlsTable) -> Result<(), ExperimentError> {
    if tls.version != TlsVersion::Tls13 {
        return Err(wrong("tls.version", "HTTP/3 always uses TLS 1.3"));
    }
    if tls
        .suite
        .is_some_and(|suite| suite != TlsSuite::Aes128Tls13)
    {
        // RFC 9001 §5.2: the first packets have it in any case.
        let why = format!("HTTP/3 is measured with {} only", TlsSuite::Aes128Tls13);
        return Err(wrong("tls.suite", why));
    }
    Ok(())
}

/// What the label of a server tells of this, where its experiment has several of them.
pub(super) fn in_label(speech: Speech, all: &[Speech]) -> String {
    let mut text = String::new();
    if all.iter().any(|other| other.protocol != speech.protocol) {
        text.push_str(&format!(" {}", speech.protocol));
    }
    let differs =
        |other: &Speech| other.certificate.is_some() && other.certificate != speech.certificate;
    if let Some(key) = speech.certificate.filter(|_| all.iter().any(differs)) {
        text.push_str(&format!(" {key}"));
    }
    let differs = |other: &Speech| other.handshake.is_some() && other.handshake != speech.handshake;
    if let Some(kind) = speech.handshake.filter(|_| all.iter().any(differs)) {
        text.push_str(&format!(" {kind}"));
    }
    text
}

#[cfg(test)]
mod tests;
