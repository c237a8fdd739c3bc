//! Origin as a program that runs, and the certificates it shows.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::command::command;

/// What makes it serve over TLS.
pub(super) const SECURE: [&str; 4] = ["--tls-cert", "site.pem", "--tls-key", "site.key"];

/// What OpenSSL is told, a line for each file: an authority of our own, and what it signed.
const CERTIFICATES: [&str; 2] = [
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=Conformance \
     -keyout ca.key -out ca.pem -addext keyUsage=critical,keyCertSign",
    "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 90 -subj /CN=localhost \
     -CA ca.pem -CAkey ca.key -keyout site.key -out site.pem \
     -addext basicConstraints=critical,CA:FALSE -addext keyUsage=critical,digitalSignature \
     -addext extendedKeyUsage=serverAuth -addext subjectAltName=DNS:localhost,IP:127.0.0.1",
];

/// Makes an authority of this run's own and a certificate that it signed, in `folder`.
pub(super) fn certify(folder: &Path) -> Result<()> {
    for words in CERTIFICATES {
        let mut openssl = command("openssl");
        openssl.args(words.split_whitespace()).current_dir(folder);
        let made = openssl.output().context("cannot start openssl")?;
        if !made.status.success() {
            bail!("openssl: {}", String::from_utf8_lossy(&made.stderr));
        }
    }
    Ok(())
}

/// An origin that runs until dropped.
#[derive(Debug)]
pub(super) struct Served {
    child: Child,
    /// Kept open: it may say more.
    _stdout: BufReader<ChildStdout>,
    pub(super) folder: PathBuf,
    pub(super) port: String,
}

impl Served {
    /// Serves `www` below `folder` with these flags.
    pub(super) fn start(folder: &Path, flags: &[&str]) -> Result<Self> {
        let log = fs::File::create(folder.join("origin.txt"))?;
        let mut child = command(crate::root().join("target/debug/triathlon"))
            .args(["serve", "www", "--listen", "127.0.0.1:0"])
            .args(flags)
            .current_dir(folder)
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .context("cannot start origin")?;
        let stdout = child.stdout.take().context("stdout was piped")?;
        let mut stdout = BufReader::new(stdout);
        let mut line = String::new();
        let read = stdout.read_line(&mut line);
        let mut served = Self {
            child,
            _stdout: stdout,
            folder: folder.to_owned(),
            port: String::new(),
        };
        read.context("cannot read what origin says")?;
        let port = port(&line);
        served.port = port.context("origin does not listen: see target/conformance/origin.txt")?;
        Ok(served)
    }
}

/// The port in a line that says where origin listens.
pub(super) fn port(line: &str) -> Option<String> {
    let (_, after) = line.split_once("//127.0.0.1:")?;
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    (!digits.is_empty()).then_some(digits)
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ended_already = self.child.kill();
        let _ended = self.child.wait();
    }
}
