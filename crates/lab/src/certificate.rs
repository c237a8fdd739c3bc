//! The certificates that all servers of a run show: one of each kind, signed by nobody but itself.
//!
//! The generator trusts each because it is that one, so nobody has to trust it anywhere else. Keys
//! lie in the folder that does not outlive the run, and everyone may read them: servers that root
//! starts give up their rights.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};

use model::Experiment;
use model::experiment::CertificateKey;
use rcgen::{
    CertificateParams, KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_RSA_SHA256, SignatureAlgorithm,
};

use crate::error::LabError;
use crate::host::OWN_NAMES;
use crate::pair;
use crate::site::open_to_all;

/// Where the files of one certificate are, all in PEM.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct CertificateFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its private key.
    pub key: PathBuf,
    /// Both in one file, as some servers want them.
    pub both: PathBuf,
    /// The kind of its key.
    pub kind: CertificateKey,
    /// The certificate itself, for generators that have no such file.
    pub pem: String,
}

/// All that the servers of an experiment show.
#[derive(Clone, Debug, Default)]
pub struct Certificates {
    files: BTreeMap<CertificateKey, CertificateFiles>,
}

impl Certificates {
    /// Makes those that `experiment` wants, below `folder`.
    pub fn make(folder: &Path, experiment: &Experiment) -> Result<Self, LabError> {
        let mut files = BTreeMap::new();
        let servers = experiment.servers().iter();
        let keys: BTreeSet<CertificateKey> = servers
            .filter_map(|server| server.speech.certificate)
            .collect();
        for key in keys {
            files.insert(key, make(folder, key, experiment.asked_at())?);
        }
        Ok(Self { files })
    }

    /// The one with such a key.
    pub fn of(&self, key: CertificateKey) -> &CertificateFiles {
        let found = self.files.get(&key);
        found.expect("each key of the experiment has its certificate")
    }
}

fn make(
    folder: &Path,
    key: CertificateKey,
    far: Option<Ipv4Addr>,
) -> Result<CertificateFiles, LabError> {
    let (certificate, private) = texts(key, far).map_err(|error| LabError::Certificate {
        key,
        why: error.to_string(),
    })?;
    fs::create_dir_all(folder).map_err(LabError::file("create", folder))?;
    open_to_all(folder, 0o755)?;
    let write = |end: &str, text: &str| -> Result<PathBuf, LabError> {
        let path = folder.join(format!("{key}{end}"));
        fs::write(&path, text).map_err(LabError::file("write", &path))?;
        open_to_all(&path, 0o644)?;
        Ok(path)
    };
    Ok(CertificateFiles {
        certificate: write(".pem", &certificate)?,
        key: write(".key", &private)?,
        both: write(".both.pem", &format!("{certificate}{private}"))?,
        kind: key,
        pem: certificate,
    })
}

/// The certificate and its private key; `far` is where other machines ask.
fn texts(key: CertificateKey, far: Option<Ipv4Addr>) -> Result<(String, String), rcgen::Error> {
    let algorithm: &'static SignatureAlgorithm = match key {
        CertificateKey::EcdsaP256 => &PKCS_ECDSA_P256_SHA256,
        // A key of 2,048 bits is what it makes unless told otherwise.
        CertificateKey::Rsa2048 => &PKCS_RSA_SHA256,
    };
    let private = KeyPair::generate_for(algorithm)?;
    // Where servers of a lab listen.
    let mut names = OWN_NAMES.map(str::to_owned).to_vec();
    names.push(pair::SERVER.to_string());
    names.extend(far.map(|address| address.to_string()));
    let certificate = CertificateParams::new(names)?.self_signed(&private)?;
    Ok((certificate.pem(), private.serialize_pem()))
}
