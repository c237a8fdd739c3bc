//! A server to ask: the one that was given, or our own, started for this pass alone.

use std::fs;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use sys::process::{Child, Confinement, start};

use super::{Doing as _, ProbeError, Task};

/// The file that our own server gives, at the root of its folder.
pub const FILE: &str = "file";

/// How long our own server may take to answer the first knock.
const PATIENCE: Duration = Duration::from_secs(5);
const BETWEEN_KNOCKS: Duration = Duration::from_millis(5);

/// A server that answers; ours ends with this.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    _child: Option<Child>,
}

/// The given server, or our own, giving away `folder`.
pub(super) fn serve(task: &Task, folder: &Path) -> Result<Server, ProbeError> {
    if let Some(address) = task.target {
        return Ok(Server {
            address,
            _child: None,
        });
    }
    let address = free_port()?;
    let mut command = Command::new(&task.program);
    command
        .arg("serve")
        .arg(folder)
        .args(["--listen", &address.to_string(), "--workers", "1"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let cpus: Vec<u32> = task.server_cpu.into_iter().collect();
    let confinement = Confinement {
        cpus: &cpus,
        ..Confinement::default()
    };
    let mut child = start(&mut command, confinement)
        .doing(|| format!("starting {} serve", task.program.display()))?;
    let mut waited = Duration::ZERO;
    while let Err(error) = TcpStream::connect(address) {
        if let Some(ended) = child.wait(BETWEEN_KNOCKS) {
            return Err(ProbeError::Program(format!(
                "our own server did not start: {ended}"
            )));
        }
        waited += BETWEEN_KNOCKS;
        if waited > PATIENCE {
            return Err(ProbeError::Program(format!(
                "our own server does not answer on {address}: {error}"
            )));
        }
    }
    Ok(Server {
        address,
        _child: Some(child),
    })
}

/// A port that nobody has at this moment.
fn free_port() -> Result<SocketAddr, ProbeError> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))
        .and_then(|listener| listener.local_addr())
        .doing(|| "looking for a free port".to_owned())
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
