//! From what a plan wants of TLS to connections that have it: files are read here, before the run.

use std::fs;
use std::path::Path;

use model::plan::Plan;
use model::tls::TlsFile;
use wire::tls::pki_types::pem::PemObject as _;
use wire::tls::pki_types::{CertificateDer, PrivateKeyDer};
use wire::tls::{Connector, Demands, Identity};

use crate::run::LoadError;

/// What makes the connections of `plan`; none where they are in clear.
pub(crate) fn connector(plan: &Plan) -> Result<Option<Connector>, LoadError> {
    let Some(tls) = plan.tls() else {
        return Ok(None);
    };
    let roots = match (&tls.ca_file, tls.insecure) {
        (_, true) => None,
        (Some(path), false) => Some(certificates("--cacert", path)?),
        (None, false) => Some(of_this_machine()?),
    };
    let demands = Demands {
        name: tls
            .server_name
            .as_deref()
            .unwrap_or(&plan.request().url.host),
        roots,
        identity: identity(&tls)?,
        versions: &tls.versions,
        suites: &tls.suites,
        groups: &tls.groups,
        resumes: !tls.no_resumption,
        mix: tls.handshakes,
    };
    let connector = Connector::new(demands).map_err(|error| LoadError::Tls(error.to_string()))?;
    Ok(Some(connector))
}

/// Whom the machine trusts.
fn of_this_machine() -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let found = rustls_native_certs::load_native_certs();
    if found.certs.is_empty() {
        let reasons: Vec<String> = found.errors.iter().map(ToString::to_string).collect();
        let why = if reasons.is_empty() {
            String::new()
        } else {
            format!(" ({})", reasons.join("; "))
        };
        return Err(LoadError::Tls(format!(
            "this machine has no certificates of authorities{why}: install ca-certificates, name a \
             file with --cacert, or take any certificate with --insecure"
        )));
    }
    Ok(found.certs)
}

fn identity(tls: &TlsFile) -> Result<Option<Identity>, LoadError> {
    let (Some(certificate), Some(key)) = (&tls.certificate_file, &tls.key_file) else {
        return Ok(None);
    };
    Ok(Some(Identity {
        chain: certificates("--cert", certificate)?,
        key: PrivateKeyDer::from_pem_slice(&read("--key", key)?).map_err(|error| {
            LoadError::Tls(format!(
                "--key: {key} holds no private key in PEM ({error})"
            ))
        })?,
    }))
}

fn certificates(flag: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let text = read(flag, path)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(LoadError::Tls(format!(
            "{flag}: {path} holds no certificate in PEM"
        ))),
        Err(error) => Err(LoadError::Tls(format!("{flag}: {path}: {error}"))),
    }
}

fn read(flag: &str, path: &str) -> Result<Vec<u8>, LoadError> {
    fs::read(Path::new(path))
        .map_err(|error| LoadError::Tls(format!("{flag}: cannot read {path}: {error}")))
}
