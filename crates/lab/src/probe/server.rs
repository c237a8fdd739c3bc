//! A server to ask: the one that was given, or our own, started for this pass alone.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{ChildStdout, Command, Stdio};
use std::time::Duration;

use sys::process::{Child, Confinement, Signal, start};

use super::{Doing as _, ProbeError, Task};

/// The file that our own server gives, at the root of its folder.
pub const FILE: &str = "file";

/// A server that answers; ours ends with this.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    _child: Option<Child>,
    // Held open: a server that cannot write its output would be told so by a signal.
    _output: Option<BufReader<ChildStdout>>,
}

/// The given server, or our own, giving away `folder`.
pub(super) fn serve(task: &Task, folder: &Path) -> Result<Server, ProbeError> {
    if let Some(address) = task.target {
        return Ok(Server {
            address,
            _child: None,
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
        _child: Some(child),
        _output: Some(output),
    })
}

/// A folder with one small file in it, for our own server.
pub(super) fn small_site(task: &Task) -> Result<std::path::PathBuf, ProbeError> {
    let folder = task.folder.join("site");
    fs::create_dir_all(&folder).doing(|| format!("creating {}", folder.display()))?;
    let file = folder.join(FILE);
    if !file.exists() {
        fs::write(&file, [b'x'; 1_024]).doing(|| format!("writing {}", file.display()))?;
    }
    Ok(folder)
}
