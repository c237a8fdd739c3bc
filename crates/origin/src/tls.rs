//! The certificate that is shown: from files, or made on request.

use std::fs;
use std::path::Path;

use rcgen::{CertifiedKey, generate_simple_self_signed};
use wire::tls::pki_types::pem::PemObject as _;
use wire::tls::pki_types::{CertificateDer, PrivateKeyDer};
use wire::tls::{Acceptor, Identity};

use crate::OriginError;

/// Reads a certificate with its chain and its private key, both in PEM.
///
/// # Errors
///
/// A file cannot be read, or does not hold that.
pub fn read(certificate: &Path, key: &Path) -> Result<Identity, OriginError> {
    let text = bytes(certificate)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let secret = bytes(key)?;
    Ok(Identity {
        chain: chain.ok_or_else(|| {
            OriginError::Tls(format!(
                "{} holds no certificate in PEM",
                certificate.display()
            ))
        })?,
        key: PrivateKeyDer::from_pem_slice(&secret).map_err(|_| {
            let key = key.display();
            OriginError::Tls(format!("{key} {}", wire::tls::no_key(&secret)))
        })?,
    })
}

fn bytes(path: &Path) -> Result<Vec<u8>, OriginError> {
    fs::read(path)
        .map_err(|error| OriginError::Tls(format!("cannot read {}: {error}", path.display())))
}

/// Makes a certificate for `names`, signed by nobody but itself. Its key was never anywhere else
/// and is gone when the server ends. The certificate is returned in PEM, too, for whoever is to
/// trust it.
///
/// # Errors
///
/// A name cannot stand in a certificate.
pub fn self_signed(names: Vec<String>) -> Result<(Identity, String), OriginError> {
    let CertifiedKey { cert, signing_key } =
        generate_simple_self_signed(names).map_err(|error| OriginError::Tls(error.to_string()))?;
    let identity = Identity {
        chain: vec![cert.der().clone()],
        key: PrivateKeyDer::Pkcs8(signing_key.serialize_der().into()),
    };
    Ok((identity, cert.pem()))
}

/// The most that is taken of a client before its handshake is over: a request with a long head.
const EARLY_BYTES: u32 = 16 * 1024;

/// What shows `identity` on connections, and takes requests before the handshake is over if
/// `takes_early`.
///
/// # Errors
///
/// The key is of an unknown kind or does not belong to the certificate.
pub fn acceptor(identity: Identity, takes_early: bool) -> Result<Acceptor, OriginError> {
    let made = match takes_early {
        true => Acceptor::with_early_data(identity, EARLY_BYTES),
        false => Acceptor::new(identity),
    };
    made.map_err(|error| OriginError::Tls(error.to_string()))
}

/// Shows another one from now on.
///
/// # Errors
///
/// As for [`acceptor`]; the one of before stays.
pub fn replace(acceptor: &Acceptor, identity: Identity) -> Result<(), OriginError> {
    acceptor
        .replace(identity)
        .map_err(|error| OriginError::Tls(error.to_string()))
}
