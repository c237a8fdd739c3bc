//! The server that is asked, if it runs on this machine: which CPUs it uses, and which are left.

use std::net::{SocketAddr, ToSocketAddrs as _, UdpSocket};
use std::path::Path;

use model::plan::{Protocol, RequestFile, Url};
use model::trial::{Context, Server};
use sys::counters::{process, socket};

use crate::exit::UsageError;

const PROC: &str = "/proc";

/// A server on this machine.
pub(super) struct Local {
    /// Its first process.
    pub(super) pid: u32,
    /// CPUs that those of its processes that work may use.
    cpus: Vec<u32>,
    facts: Server,
}

/// Who is asked.
pub(super) enum Asked {
    /// Somebody on this machine whose process can be seen.
    Here(Box<Local>),
    /// Somebody on this machine, or in one of its containers, who cannot be seen.
    Hidden,
    /// Several servers, of which one at least is on this machine: what each of them uses is not
    /// told apart.
    Several,
    /// Somebody elsewhere.
    Elsewhere,
}

/// The servers of these requests, each by a URL.
pub(super) fn all(requests: &[RequestFile]) -> Result<Vec<Url>, UsageError> {
    let mut servers: Vec<Url> = Vec::new();
    for request in requests {
        let url = Url::parse(&request.url).map_err(|error| UsageError(error.to_string()))?;
        if !servers.iter().any(|known| known.has_server_of(&url)) {
            servers.push(url);
        }
    }
    Ok(servers)
}

/// CPUs for the generator's threads, and how they were come by.
#[derive(Default)]
pub(super) struct Choice {
    pub(super) cpus: Vec<u32>,
    pub(super) words: String,
}

impl Asked {
    /// Looks who answers at `url` in that protocol.
    pub(super) fn at(url: &Url, protocol: Protocol) -> Self {
        let addresses = (url.host.as_str(), url.port).to_socket_addrs();
        let addresses = addresses.into_iter().flatten();
        let ours: Vec<SocketAddr> = addresses.filter(|one| is_ours(*one)).collect();
        if ours.is_empty() {
            return Self::Elsewhere;
        }
        let proc = Path::new(PROC);
        let owner = |&address: &SocketAddr| match protocol {
            Protocol::Http3 => {
                let pid = lab::condition::owner_of_datagrams_at(proc, address)?;
                Some((pid, None))
            }
            Protocol::Http1 | Protocol::Http2 => {
                let pid = lab::condition::owner_at(proc, address)?;
                Some((pid, Some(address)))
            }
        };
        match ours.iter().find_map(owner) {
            Some((pid, listens)) => Self::Here(Box::new(Local::read(proc, pid, listens))),
            None => Self::Hidden,
        }
    }

    /// Looks who answers at all of these, which are several servers.
    pub(super) fn at_several(urls: &[Url]) -> Self {
        let is_here = |url: &Url| {
            let addresses = (url.host.as_str(), url.port).to_socket_addrs();
            addresses.into_iter().flatten().any(is_ours)
        };
        match urls.iter().any(is_here) {
            true => Self::Several,
            false => Self::Elsewhere,
        }
    }

    /// Looks who listens on the Unix socket at `path`.
    pub(super) fn at_socket(path: &Path) -> Self {
        match sys::socket::unix::owner(path) {
            Ok(pid) => Self::Here(Box::new(Local::read(Path::new(PROC), pid, None))),
            Err(_) => Self::Hidden,
        }
    }

    /// The CPUs that the server leaves, or where it leaves none, half of all.
    pub(super) fn leave(&self, allowed: &[u32]) -> Choice {
        let half = allowed[allowed.len() / 2..].to_vec();
        match self {
            Self::Elsewhere => Choice {
                cpus: allowed.to_vec(),
                words: "all: the server is not on this machine".to_owned(),
            },
            Self::Hidden => Choice {
                cpus: half,
                words: "half of them: the server's process cannot be seen".to_owned(),
            },
            Self::Several => Choice {
                cpus: half,
                words: "half of them: several servers are asked".to_owned(),
            },
            Self::Here(server) => {
                let left: Vec<u32> = allowed
                    .iter()
                    .copied()
                    .filter(|cpu| !server.cpus.contains(cpu))
                    .collect();
                let name = &server.facts.product;
                if left.is_empty() {
                    Choice {
                        cpus: half,
                        words: format!("half of them: {name} may use every CPU"),
                    }
                } else {
                    Choice {
                        cpus: left,
                        words: format!("those that {name} does not use"),
                    }
                }
            }
        }
    }

    /// What rules want to know, for a generator on `cpus`.
    pub(super) fn context(&self, cpus: &[u32], words: String) -> Context {
        let (server, shared) = match self {
            Self::Elsewhere => (None, Some(Vec::new())),
            Self::Hidden | Self::Several => (None, None),
            Self::Here(local) => {
                let shared = cpus.iter().filter(|cpu| local.cpus.contains(cpu));
                (Some(local.facts.clone()), Some(shared.copied().collect()))
            }
        };
        Context {
            server,
            cpu_choice: Some(words),
            shared_cpus: shared,
            ..Context::default()
        }
    }

    /// The server's first process.
    pub(super) fn pid(&self) -> Option<u32> {
        match self {
            Self::Here(local) => Some(local.pid),
            Self::Hidden | Self::Several | Self::Elsewhere => None,
        }
    }
}

/// Whether a socket can be bound to the address: then it is one of this machine's.
pub(crate) fn is_ours(address: SocketAddr) -> bool {
    address.ip().is_loopback() || UdpSocket::bind((address.ip(), 0)).is_ok()
}

impl Local {
    /// The one whose first process is `pid`, with its listeners at `address`.
    fn read(proc: &Path, pid: u32, address: Option<SocketAddr>) -> Self {
        let tree = process::tree(proc, pid);
        // A parent that only watches its children works as little as it sleeps.
        let workers: Vec<u32> = tree
            .iter()
            .filter(|one| !tree.iter().any(|other| other.parent == one.pid))
            .map(|one| one.pid)
            .collect();
        let mut cpus = Vec::new();
        for worker in &workers {
            for task in process::tasks(proc, *worker) {
                let status = process::task_status(proc, *worker, task);
                cpus.extend(status.ok().and_then(|s| s.cpus_allowed).unwrap_or_default());
            }
        }
        cpus.sort_unstable();
        cpus.dedup();
        let name = std::fs::read_to_string(proc.join(format!("{pid}/comm")));
        let name = name.map_or_else(|_| format!("process {pid}"), |name| name.trim().to_owned());
        let limits = workers
            .iter()
            .filter_map(|worker| process::open_files_limit(proc, *worker).ok().flatten());
        let listeners = address.and_then(|address| socket::listeners_at(address).ok());
        let listeners = listeners.unwrap_or_default();
        Self {
            pid,
            cpus: cpus.clone(),
            facts: Server {
                product: name.clone(),
                cpus_allowed: Some(cpus),
                workers: u32::try_from(workers.len()).unwrap_or(u32::MAX),
                listener_owner: Some(format!("{name} (pid {pid})")),
                open_files_limit: limits.min(),
                listen_backlog: listeners.iter().map(|one| one.queue_limit).min(),
                ..Server::default()
            },
        }
    }
}
