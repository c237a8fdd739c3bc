//! `triathlon agent broker`: writes what a nats-server needs to know to be a broker of agents, and
//! says how broker, agents and load are started.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf, absolute};

use anyhow::Context as _;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::exit::{Exit, UsageError};
use crate::out;
use crate::shell;

const TEMPLATE: &str = include_str!("broker.conf");

/// Its name in the folder.
const FILE: &str = "broker.conf";

/// What stands for TLS where there is none.
const IN_CLEAR: &str = "# There is no TLS: everything is readable on the way, the plan with its \
                        credentials too.";

/// Where the broker is to be, and who may reach it.
#[derive(clap::Args, Debug)]
pub(super) struct Args {
    /// The folder that broker.conf is written to, and that nats-server keeps its files in; it is
    /// made where it is missing, readable by nobody else
    #[arg(value_name = "DIR")]
    folder: PathBuf,

    /// Where it is to listen
    #[arg(long, value_name = "ADDR:PORT", default_value = "0.0.0.0:4222")]
    listen: SocketAddr,

    /// The name by which agents reach this machine [default: the address of --listen, or the name
    /// of the machine where that is any address]
    #[arg(long, value_name = "HOST")]
    host: Option<String>,

    /// Its certificate and its chain (PEM), for TLS
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,

    /// The key of its certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Runs it.
pub(super) fn run(args: &Args) -> anyhow::Result<Exit> {
    let folder =
        absolute(&args.folder).with_context(|| format!("cannot find {}", args.folder.display()))?;
    let path = folder.join(FILE);
    let tls = match (&args.tls_cert, &args.tls_key) {
        (Some(certificate), Some(key)) => Some((
            readable(certificate, "--tls-cert")?,
            readable(key, "--tls-key")?,
        )),
        _ => None,
    };
    let passwords = [password()?, password()?];
    let text = configuration(args.listen, &folder, tls.as_ref(), &passwords)?;
    let mut maker = fs::DirBuilder::new();
    let made = maker.recursive(true).mode(0o700).create(&folder);
    made.with_context(|| format!("cannot make {}", folder.display()))?;
    write_new(&path, &text)?;
    let host = match &args.host {
        Some(host) => host.clone(),
        None => host_of(args.listen.ip()),
    };
    let scheme = if tls.is_some() { "tls" } else { "nats" };
    let port = args.listen.port();
    let [agent, mine] = [("agent", &passwords[0]), ("me", &passwords[1])]
        .map(|(user, password)| format!("{scheme}://{user}:{password}@{host}:{port}"));
    out::write(&format!(
        "The broker, on this machine:\n  nats-server -c {}\n\
         An agent, on each machine that makes load; CIDR is what it may load:\n  \
         triathlon agent --nats {agent} --targets CIDR\n\
         A load by all agents that are named, from anywhere:\n  \
         triathlon load URL --agents NAME,NAME --nats {mine}\n",
        shell::word(&path)
    ))?;
    Ok(Exit::Done)
}

/// What the broker is told.
fn configuration(
    listen: SocketAddr,
    folder: &Path,
    tls: Option<&(PathBuf, PathBuf)>,
    passwords: &[String; 2],
) -> anyhow::Result<String> {
    let tls = match tls {
        None => IN_CLEAR.to_owned(),
        Some((certificate, key)) => format!(
            "tls {{\n  cert_file: {}\n  key_file: {}\n}}",
            in_quotes(certificate)?,
            in_quotes(key)?
        ),
    };
    // What comes from outside comes last, so that nothing in it is taken for a place.
    Ok(TEMPLATE
        .replacen("LISTEN", &format!("\"{listen}\""), 1)
        .replacen("AGENT_PASSWORD", &passwords[0], 1)
        .replacen("MY_PASSWORD", &passwords[1], 1)
        .replacen("\nTLS\n", &format!("\n{tls}\n"), 1)
        .replacen(
            "store_dir: STORE",
            &format!("store_dir: {}", in_quotes(&folder.join("store"))?),
            1,
        ))
}

/// As a text of the configuration.
fn in_quotes(path: &Path) -> Result<String, UsageError> {
    let text = path
        .to_str()
        .filter(|text| !text.contains(['"', '\\', '\n']));
    let text = text.ok_or_else(|| {
        UsageError(format!(
            "{}: nats-server's configuration cannot name such a path",
            path.display()
        ))
    })?;
    Ok(format!("\"{text}\""))
}

/// The whole path of a file that can be read.
fn readable(path: &Path, flag: &str) -> Result<PathBuf, UsageError> {
    let opened = File::open(path).and_then(|_| absolute(path));
    opened.map_err(|error| UsageError(format!("{flag}: cannot read {}: {error}", path.display())))
}

/// 192 bits that nobody guesses.
fn password() -> anyhow::Result<String> {
    let mut bytes = [0; 24];
    let source = Path::new("/dev/urandom");
    let read = File::open(source).and_then(|mut file| file.read_exact(&mut bytes));
    read.with_context(|| format!("cannot read {}", source.display()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What others call the machine that listens there.
fn host_of(ip: IpAddr) -> String {
    match ip {
        ip if ip.is_unspecified() => super::name_of_this_machine(),
        IpAddr::V4(ip) => ip.to_string(),
        IpAddr::V6(ip) => format!("[{ip}]"),
    }
}

/// Writes a file that was not there, for its owner alone.
fn write_new(path: &Path, text: &str) -> anyhow::Result<()> {
    let mut options = fs::OpenOptions::new();
    let made = options.write(true).create_new(true).mode(0o600).open(path);
    let written = match made {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            return Err(UsageError(format!(
                "{} exists already, with passwords that agents may know: remove it, or name \
                 another folder",
                path.display()
            ))
            .into());
        }
        made => made.and_then(|mut file| file.write_all(text.as_bytes())),
    };
    written.with_context(|| format!("cannot write {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(tls: Option<(&str, &str)>) -> String {
        let tls = tls.map(|(certificate, key)| (certificate.into(), key.into()));
        let listen = "192.0.2.1:4222".parse().unwrap();
        let passwords = ["first".to_owned(), "second".to_owned()];
        configuration(
            listen,
            Path::new("/srv/STORE of TLS"),
            tls.as_ref(),
            &passwords,
        )
        .unwrap()
    }

    #[test]
    fn a_configuration_names_what_was_given() {
        insta::assert_snapshot!("broker", made(None));
        let text = made(Some(("/etc/b.crt", "/etc/b.key")));
        let tls = "\ntls {\n  cert_file: \"/etc/b.crt\"\n  key_file: \"/etc/b.key\"\n}\n";
        assert!(text.contains(tls), "{text}");
        assert!(!text.contains("no TLS"), "{text}");
    }

    #[test]
    fn paths_are_written_as_their_readers_need_them() {
        assert_eq!(in_quotes(Path::new("/a b")).unwrap(), "\"/a b\"");
        for bad in ["/a\"b", "/a\\b", "/a\nb"] {
            assert!(in_quotes(Path::new(bad)).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn passwords_fit_into_a_url_and_are_never_the_same() {
        let two = [password().unwrap(), password().unwrap()];
        assert_ne!(two[0], two[1]);
        for word in two {
            let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
            assert!(word.len() == 32 && word.chars().all(fits), "{word}");
        }
    }

    #[test]
    fn a_broker_is_called_by_what_it_listens_to() {
        assert_eq!(host_of("192.0.2.1".parse().unwrap()), "192.0.2.1");
        assert_eq!(host_of("fd00::1".parse().unwrap()), "[fd00::1]");
        let name = super::super::name_of_this_machine();
        assert_eq!(host_of("0.0.0.0".parse().unwrap()), name);
        assert_eq!(host_of("::".parse().unwrap()), name);
    }
}
