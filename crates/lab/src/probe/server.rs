//! A server to ask: the one that was given, or our own, started for this pass alone.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use sys::process::{Child, Confinement, Signal, start};

use super::asked::{WAITS_BY, waits_by};
use super::{Doing as _, ProbeError, Task};

/// The file that our own server gives, at the root of its folder.
pub const FILE: &str = "file";

/// An answer that takes longer never comes.
pub(super) const PATIENCE: Duration = Duration::from_secs(5);

/// The length of the small one.
pub(super) const FILE_BYTES: u64 = 1_024;

/// A server that answers; ours ends with this.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    child: Option<Child>,
    // Held open: a server that cannot write its output would be told so by a signal.
    _output: Option<BufReader<ChildStdout>>,
}

impl Server {
    /// How our own waits, for the record. Of a server that was given, whoever gave it tells.
    pub(super) fn facts(&self) -> BTreeMap<String, String> {
        let pid = self.child.as_ref().map(Child::pid);
        let way = pid.and_then(|pid| waits_by([pid]));
        let fact = way.map(|way| (WAITS_BY.to_owned(), way.to_owned()));
        fact.into_iter().collect()
    }
}

/// The given server, or our own, giving away `folder`.
pub(super) fn serve(task: &Task, folder: &Path) -> Result<Server, ProbeError> {
    if let Some(address) = task.target {
        return Ok(Server {
            address,
            child: None,
            _output: None,
        });
    }
    let connections = task.population.saturating_add(64);
    let mut command = Command::new(&task.program);
    command
        .arg("serve")
        .arg(folder)
        .args(["--listen", "127.0.0.1:0", "--workers", "1"])
        .args(["--connections", &connections.to_string()])
        // Idle connections are the point, however long a slow machine takes to open them.
        .args(["--idle-timeout", "1h", "--header-timeout", "1h"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null());
    let cpus: Vec<u32> = task.server_cpu.into_iter().collect();
    let confinement = Confinement {
        cpus: &cpus,
        ..Confinement::default()
    };
    let mut child = start(&mut command, confinement)
        .doing(|| format!("starting {} serve", task.program.display()))?;
    let mut output = child
        .take_stdout()
        .map(BufReader::new)
        .ok_or_else(|| ProbeError::Program("the server's output was piped".to_owned()))?;
    let mut line = String::new();
    output
        .read_line(&mut line)
        .doing(|| "waiting for our own server".to_owned())?;
    let address = line
        .split_once("http://")
        .and_then(|(_, rest)| rest.trim().trim_end_matches('/').parse().ok())
        .ok_or_else(|| {
            let ended = child.stop(Signal::Kill, Duration::ZERO, None);
            ProbeError::Program(format!("our own server did not start: {ended}"))
        })?;
    Ok(Server {
        address,
        child: Some(child),
        _output: Some(output),
    })
}

/// The given server, or our own with one small file; it has answered once. One that only listens
/// may not have begun to serve, and the first connections would wait in its queue.
pub(super) fn ready(task: &Task) -> Result<Server, ProbeError> {
    let server = serve(task, &small_site(task)?)?;
    let address = server.address;
    let mut answer = vec![0; task.exchange.begins.len()];
    TcpStream::connect_timeout(&address, PATIENCE)
        .and_then(|mut stream| {
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.write_all(&task.exchange.closing)?;
            stream.read_exact(&mut answer)
        })
        .doing(|| format!("a first request to {address}"))?;
    if answer == task.exchange.begins {
        return Ok(server);
    }
    let answer = String::from_utf8_lossy(&answer).into_owned();
    Err(ProbeError::Program(format!(
        "the server at {address} answered '{answer}' to a first request"
    )))
}

/// A folder with one small file in it, for our own server.
fn small_site(task: &Task) -> Result<std::path::PathBuf, ProbeError> {
    let folder = task.folder.join("site");
    fs::create_dir_all(&folder).doing(|| format!("creating {}", folder.display()))?;
    let file = folder.join(FILE);
    if !file.exists() {
        fs::write(&file, vec![b'x'; usize::try_from(FILE_BYTES).unwrap_or(0)])
            .doing(|| format!("writing {}", file.display()))?;
    }
    Ok(folder)
}
