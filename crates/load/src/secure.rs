//! From what a plan wants of TLS to connections that have it: files are read here, before the run.

use std::path::{Path, PathBuf};
use std::{fs, io};

use model::plan::Plan;
use model::tls::TlsFile;
use wire::tls::pki_types::pem::PemObject as _;
use wire::tls::pki_types::{CertificateDer, PrivateKeyDer};
use wire::tls::{Connector, Demands, Identity};

use crate::run::LoadError;

/// The most certificates of one run: each has sessions of its own.
const CERTIFICATES_MAX: usize = 10_000;

/// What makes the connections of `plan` to each of its servers; none where they are in clear.
pub(crate) fn connectors(plan: &Plan) -> Result<Option<Vec<Connector>>, LoadError> {
    let Some(tls) = plan.tls() else {
        return Ok(None);
    };
    let hosts = plan.hosts().map(|url| connector(&tls, &url.host));
    hosts.collect::<Result<Vec<_>, _>>().map(Some)
}

/// What makes connections to the server of that name.
fn connector(tls: &TlsFile, host: &str) -> Result<Connector, LoadError> {
    let roots = match (&tls.ca_file, &tls.ca_pem) {
        _ if tls.insecure => None,
        (Some(path), _) => Some(certificates("--cacert", path)?),
        (None, Some(pem)) => Some(parsed("tls.ca_pem of the plan", pem.as_bytes())?),
        (None, None) => Some(of_this_machine()?),
    };
    let demands = Demands {
        name: tls.server_name.as_deref().unwrap_or(host),
        roots,
        identities: identities(tls)?,
        versions: &tls.versions,
        suites: &tls.suites,
        groups: &tls.groups,
        resumes: !tls.no_resumption,
        mix: tls.handshakes,
    };
    Connector::new(demands).map_err(|error| LoadError::Tls(error.to_string()))
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
            "this machine has no CA certificates{why}: install ca-certificates, name a file with \
             --cacert, or accept any certificate with --insecure"
        )));
    }
    Ok(found.certs)
}

/// Who connections are: nobody, one for all, or those of a folder.
fn identities(tls: &TlsFile) -> Result<Vec<Identity>, LoadError> {
    if let Some(folder) = &tls.certificates_folder {
        return of_folder(folder);
    }
    match (&tls.certificate_file, &tls.key_file) {
        (Some(certificate), Some(key)) => Ok(vec![Identity {
            chain: certificates("--cert", certificate)?,
            key: private_key("--key", key)?,
        }]),
        _ => Ok(Vec::new()),
    }
}

/// Each certificate of a folder with its key, in the order of their names.
fn of_folder(folder: &str) -> Result<Vec<Identity>, LoadError> {
    let wrong = |why: String| LoadError::Tls(format!("--certs: {why}"));
    let read = |folder| {
        let entries = fs::read_dir(folder)?;
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<Vec<PathBuf>>>()
    };
    let mut paths =
        read(folder).map_err(|error| wrong(format!("cannot read {folder}: {error}")))?;
    paths.retain(|path| {
        let kind = path.extension();
        kind.is_some_and(|kind| kind == "pem" || kind == "crt")
    });
    paths.sort();
    match paths.len() {
        0 => Err(wrong(format!(
            "{folder} holds no certificate: put each as NAME.pem beside its key, NAME.key"
        ))),
        count if count > CERTIFICATES_MAX => Err(wrong(format!(
            "{folder} holds {count} certificates, and a run can show at most {CERTIFICATES_MAX}"
        ))),
        _ => paths.iter().map(|path| of_path(path)).collect(),
    }
}

/// The certificate at `path`, with the key beside it or in the same file.
fn of_path(path: &Path) -> Result<Identity, LoadError> {
    let beside = path.with_extension("key");
    let key = if beside.exists() { &beside } else { path };
    let text = |path: &Path| path.display().to_string();
    Ok(Identity {
        chain: certificates("--certs", &text(path))?,
        key: private_key("--certs", &text(key))?,
    })
}

fn private_key(flag: &str, path: &str) -> Result<PrivateKeyDer<'static>, LoadError> {
    let secret = read(flag, path)?;
    PrivateKeyDer::from_pem_slice(&secret)
        .map_err(|_| LoadError::Tls(format!("{flag}: {path} {}", wire::tls::no_key(&secret))))
}

fn certificates(flag: &str, path: &str) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    parsed(&format!("{flag}: {path}"), &read(flag, path)?)
}

/// The certificates in `text`, which is called `name`.
fn parsed(name: &str, text: &[u8]) -> Result<Vec<CertificateDer<'static>>, LoadError> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(text).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(LoadError::Tls(format!(
            "{name} holds no certificate in PEM"
        ))),
        Err(error) => Err(LoadError::Tls(format!("{name}: {error}"))),
    }
}

fn read(flag: &str, path: &str) -> Result<Vec<u8>, LoadError> {
    fs::read(Path::new(path))
        .map_err(|error| LoadError::Tls(format!("{flag}: cannot read {path}: {error}")))
}
