//! The flags of `triathlon load` that say what is wanted of TLS.

use model::tls::{HandshakeMix, TlsFile, TlsGroup, TlsSuite, TlsVersion};

/// What is wanted of TLS.
#[derive(clap::Args, Debug)]
#[command(next_help_heading = "TLS, for https URLs")]
pub(super) struct Flags {
    /// Trust what the certificates in FILE (PEM) have signed, instead of the machine's own
    #[arg(long, value_name = "FILE")]
    cacert: Option<String>,

    /// Accept any certificate
    #[arg(short = 'k', long, conflicts_with = "cacert")]
    insecure: bool,

    /// The name to ask for and to find in the certificate [default: the URL's host]
    #[arg(long, value_name = "NAME")]
    servername: Option<String>,

    /// Offer this version only: 1.2 or 1.3 [default: both]
    #[arg(long, value_name = "VERSION", value_delimiter = ',')]
    tls_version: Vec<TlsVersion>,

    /// Offer these cipher suites, the preferred one first, by their names in the registry of IANA:
    /// TLS_AES_128_GCM_SHA256,... [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tls_suites: Vec<TlsSuite>,

    /// Offer these key-exchange groups, with a key of the first: X25519, P-256, P-384,
    /// X25519MLKEM768,... [default: those four]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    tls_groups: Vec<TlsGroup>,

    /// The client's certificate and its chain (PEM), for servers that ask who we are
    #[arg(long, value_name = "FILE", requires = "key")]
    cert: Option<String>,

    /// The private key of that certificate (PEM); nothing of it is stored
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<String>,

    /// A folder of client certificates (PEM): NAME.pem or NAME.crt with its private key beside it
    /// in NAME.key, or in the same file. Each connection shows one of them, in the order of their
    /// names; where there are more than connections, each new connection shows the next. Results
    /// count handshakes by certificate, and hold no key and no name
    #[arg(long, value_name = "DIR", conflicts_with = "cert")]
    certs: Option<String>,

    /// Make each handshake a full one [default: sessions are resumed where the server allows it]
    #[arg(long)]
    no_resumption: bool,

    /// Draw for each connection whether its handshake is a full one, resumes a session, or does so
    /// and begins with the request (0-RTT), by these weights: full:60,resumed:30,early:10
    #[arg(long, value_name = "KIND:WEIGHT,...", conflicts_with = "no_resumption")]
    handshakes: Option<HandshakeMix>,
}

impl Flags {
    /// As a plan has it; none where nothing is wanted.
    pub(super) fn written(&self) -> Option<TlsFile> {
        let file = TlsFile {
            insecure: self.insecure,
            ca_file: self.cacert.clone(),
            ca_pem: None,
            server_name: self.servername.clone(),
            versions: self.tls_version.clone(),
            suites: self.tls_suites.clone(),
            groups: self.tls_groups.clone(),
            certificate_file: self.cert.clone(),
            key_file: self.key.clone(),
            certificates_folder: self.certs.clone(),
            no_resumption: self.no_resumption,
            handshakes: self.handshakes,
        };
        (file != TlsFile::default()).then_some(file)
    }
}
