//! Why TLS failed: as much of it as fits a value that is copied in the loop.

use rustls::{AlertDescription, CertificateError, Error, InvalidMessage, PeerIncompatible};

/// Why TLS failed.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum TlsError {
    /// The peer refused.
    #[error("the server sent the TLS alert {0:?}")]
    Alert(AlertDescription),
    /// The certificate of the peer is refused.
    #[error("the certificate of the server is refused: {0}")]
    Certificate(&'static str),
    /// The peer ended the connection before the handshake was over.
    #[error("the server closed the connection during the TLS handshake")]
    Closed,
    /// Both sides have nothing in common.
    #[error("TLS with this server is not possible: {0}")]
    Incompatible(&'static str),
    /// What the peer sent is not TLS at all.
    #[error("the server does not answer in TLS: is it an http:// port?")]
    NotTls,
    /// The peer broke the protocol, or its bytes were changed on the way.
    #[error("TLS broke: {0}")]
    Broken(&'static str),
}

impl From<&Error> for TlsError {
    fn from(error: &Error) -> Self {
        match error {
            Error::AlertReceived(alert) => Self::Alert(*alert),
            Error::InvalidCertificate(why) => Self::Certificate(certificate(why)),
            Error::PeerIncompatible(why) => Self::Incompatible(incompatible(why)),
            Error::InvalidMessage(
                InvalidMessage::InvalidContentType
                | InvalidMessage::UnknownProtocolVersion
                | InvalidMessage::MessageTooLarge,
            ) => Self::NotTls,
            Error::NoApplicationProtocol => {
                Self::Incompatible("it does not speak the version of HTTP that was offered (ALPN)")
            }
            Error::NoCertificatesPresented => Self::Certificate("there is none"),
            Error::DecryptError => Self::Broken("a record cannot be decrypted"),
            Error::PeerMisbehaved(_) => Self::Broken("the peer did what the protocol forbids"),
            Error::InappropriateMessage { .. } | Error::InappropriateHandshakeMessage { .. } => {
                Self::Broken("an unexpected message came")
            }
            Error::InvalidMessage(_) => Self::Broken("a message is malformed"),
            Error::PeerSentOversizedRecord => Self::Broken("a record is too long"),
            _ => Self::Broken("an error of the library"),
        }
    }
}

impl TlsError {
    /// Why we ended a handshake inside QUIC, which keeps the alert that we sent and words.
    pub(crate) fn within_quic(alert: u8, words: &str) -> Self {
        let of = |error: CertificateError| Self::Certificate(certificate(&error));
        match AlertDescription::from(alert) {
            AlertDescription::CertificateExpired if words.contains("not valid yet") => {
                of(CertificateError::NotValidYet)
            }
            AlertDescription::CertificateExpired => of(CertificateError::Expired),
            AlertDescription::UnknownCA => of(CertificateError::UnknownIssuer),
            AlertDescription::BadCertificate if words.contains("not valid for name") => {
                of(CertificateError::NotValidForName)
            }
            AlertDescription::BadCertificate
            | AlertDescription::UnsupportedCertificate
            | AlertDescription::CertificateUnknown => Self::Certificate("it is not acceptable"),
            AlertDescription::NoApplicationProtocol => Self::from(&Error::NoApplicationProtocol),
            AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => {
                Self::Incompatible("it lacks something that is needed here")
            }
            _ => Self::Broken("the peer did what the protocol forbids"),
        }
    }
}

fn certificate(why: &CertificateError) -> &'static str {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet"
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            "it is for another name (--servername NAME asks for that)"
        }
        CertificateError::UnknownIssuer => {
            "its issuer is not known here (--cacert FILE trusts another)"
        }
        CertificateError::BadSignature => "its signature is wrong",
        CertificateError::BadEncoding => "it is malformed",
        CertificateError::Revoked => "it was revoked",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "it is not for servers"
        }
        CertificateError::UnhandledCriticalExtension => {
            "it has a critical extension that is not \
             known here"
        }
        CertificateError::Other(_) => "it is not the certificate of a server (is it that of a CA?)",
        _ => "it is not acceptable",
    }
}

fn incompatible(why: &PeerIncompatible) -> &'static str {
    match why {
        PeerIncompatible::ServerTlsVersionIsDisabledByOurConfig => {
            "it chose a version that the plan does not allow"
        }
        PeerIncompatible::ServerDoesNotSupportTls12Or13 => "it speaks neither TLS 1.2 nor 1.3",
        PeerIncompatible::NoCipherSuitesInCommon => "no cipher suite in common",
        PeerIncompatible::NoKxGroupsInCommon => "no key-exchange group in common",
        PeerIncompatible::NoSignatureSchemesInCommon => "no signature scheme in common",
        _ => "it lacks something that is needed here",
    }
}
