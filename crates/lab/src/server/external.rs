//! A server that already runs: whoever started it stops it, and the lab only asks.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use model::plan::Url;
use sys::counters::process;

use super::Product;
use super::{Absent, Installed};

/// How long an address may take to accept a connection, where a host has several.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where a server is that already runs.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct External {
    /// Where it listens.
    pub address: SocketAddr,
    /// Its URL without a path: `http://localhost:8080`.
    pub url: String,
    /// Its process and when that began, where it is known.
    pub process: Option<(u32, u64)>,
}

/// Finds the server at `url`, whose process is `pid`.
pub fn external(url: &Url, pid: Option<u32>) -> Result<Installed, Absent> {
    let absent = |why: String| Absent { why, remedy: None };
    let found = (url.host.as_str(), url.port).to_socket_addrs();
    let found: Vec<SocketAddr> = found.map(Iterator::collect).unwrap_or_default();
    let listens = |address: &&SocketAddr| TcpStream::connect_timeout(address, PATIENCE).is_ok();
    // A name like localhost has several, and a server listens on one of them.
    let address = found.iter().find(listens).or_else(|| found.first());
    let address =
        *address.ok_or_else(|| absent(format!("the host {} has no address", url.host)))?;
    let process = match pid {
        None => None,
        Some(pid) => {
            let stat = process::stat(Path::new("/proc"), pid)
                .map_err(|_| absent(format!("there is no process {pid}")))?;
            Some((pid, stat.start_time))
        }
    };
    let url_text = url.to_string();
    Ok(Installed {
        product: Arc::new(Product::running(&url.authority)),
        programs: Vec::new(),
        version: "already running".to_owned(),
        lacking: BTreeMap::new(),
        reloader: None,
        versions: BTreeMap::new(),
        makers: BTreeMap::new(),
        external: Some(External {
            address,
            url: url_text.trim_end_matches('/').to_owned(),
            process,
        }),
    })
}

impl External {
    /// That its process is gone, if it is.
    pub(super) fn ended(&self) -> Option<String> {
        let (pid, start_time) = self.process?;
        let is_it = process::stat(Path::new("/proc"), pid)
            .is_ok_and(|stat| stat.start_time == start_time && stat.state != 'Z');
        (!is_it).then(|| format!("its process {pid} is gone"))
    }
}
