//! What generators and servers speak with each other.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::packages::find;

/// A protocol, with or without TLS.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) enum Speech {
    /// HTTP/1.1 in clear, on connections that stay.
    #[default]
    Http1,
    /// The same over TLS 1.3.
    Tls,
    /// The same with one request on each connection, so that each costs a full handshake.
    Handshakes,
    /// HTTP/2 in clear by prior knowledge, with so many streams at once.
    Http2(u32),
    /// HTTP/2 over TLS 1.3, with so many streams at once.
    SecureHttp2(u32),
    /// HTTP/3, with so many streams at once.
    Http3(u32),
}

impl Speech {
    pub(crate) const fn is_secure(self) -> bool {
        !matches!(self, Self::Http1 | Self::Http2(_))
    }

    /// Exchanges at once on one connection.
    pub(crate) const fn streams(self) -> u32 {
        match self {
            Self::Http1 | Self::Tls | Self::Handshakes => 1,
            Self::Http2(streams) | Self::SecureHttp2(streams) | Self::Http3(streams) => streams,
        }
    }

    /// The address of `path` on the server at `address`.
    pub(crate) fn url(self, address: SocketAddr, path: &str) -> String {
        let scheme = if self.is_secure() { "https" } else { "http" };
        format!("{scheme}://{address}{path}")
    }

    /// What `triathlon load` is told. The other generators verify no certificate, so this one does
    /// not either.
    pub(crate) fn flags(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Http1 => &[],
            Self::Tls => &["-k"],
            Self::Handshakes => &["-k", "--requests-per-connection", "1", "--no-resumption"],
            Self::Http2(_) => &["--http2-prior-knowledge"],
            Self::SecureHttp2(_) => &["-k", "--http2"],
            Self::Http3(_) => &["-k", "--http3"],
        };
        let mut flags: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
        if self.streams() > 1 {
            flags.extend(["-m".to_owned(), self.streams().to_string()]);
        }
        flags
    }
}

/// A certificate with its key, made for these benchmarks.
#[derive(Debug)]
pub(crate) struct Certificate {
    pub(crate) chain: PathBuf,
    pub(crate) key: PathBuf,
}

impl Certificate {
    /// One of ECDSA on P-256, signed by itself, in `folder`; none where openssl is not installed.
    pub(crate) fn in_folder(folder: &Path) -> Result<Option<Self>> {
        let Some(openssl) = find("openssl") else {
            return Ok(None);
        };
        let certificate = Self {
            chain: folder.join("certificate.pem"),
            key: folder.join("key.pem"),
        };
        let status = Command::new(openssl)
            .args(["req", "-x509", "-newkey", "ec", "-nodes", "-days", "2"])
            .args(["-pkeyopt", "ec_paramgen_curve:P-256"])
            .args(["-subj", "/CN=localhost"])
            .args(["-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"])
            .arg("-keyout")
            .arg(&certificate.key)
            .arg("-out")
            .arg(&certificate.chain)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .context("cannot start openssl")?;
        if !status.success() {
            bail!("openssl made no certificate in {}", folder.display());
        }
        Ok(Some(certificate))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_protocol_has_its_url_and_its_flags() {
        let address = "127.0.0.1:81".parse().expect("an address");
        let check = |speech: Speech, url: &str, flags: &str| {
            assert_eq!(speech.url(address, "/x"), url);
            assert_eq!(speech.flags().join(" "), flags);
        };
        check(Speech::Http1, "http://127.0.0.1:81/x", "");
        check(Speech::Tls, "https://127.0.0.1:81/x", "-k");
        check(
            Speech::Http2(1),
            "http://127.0.0.1:81/x",
            "--http2-prior-knowledge",
        );
        check(
            Speech::Http3(10),
            "https://127.0.0.1:81/x",
            "-k --http3 -m 10",
        );
    }
}
