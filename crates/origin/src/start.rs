//! From settings to running workers, and to their end.

use std::collections::VecDeque;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::thread::JoinHandle;

use sys::file::Folder;
use sys::reactor::{self, Listen, Waker};
use sys::{cpu, datagram, process, socket};

use crate::Settings;
use crate::connection::Accept;
use crate::http3;
use crate::settings::{Backend, LogTarget};
use crate::site::Site;
use crate::worker::{COPY_BYTES, Control, Summary, Worker};

/// Connections that may wait to be accepted; the kernel cuts it to `net.core.somaxconn`.
const BACKLOG: u32 = 4_096;

/// Why a server could not start.
#[derive(Debug, thiserror::Error)]
pub enum OriginError {
    /// The folder cannot be read.
    #[error("cannot serve {}: {source}", path.display())]
    Folder {
        /// As given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Nothing can listen there.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// As given.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// The access log cannot be opened, or the memory for made-up answers is not there.
    #[error("cannot open {}: {source}", path.display())]
    Log {
        /// As given.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("{0}")]
    Tls(String),
    /// The event loop or its thread could not be made.
    #[error("cannot start worker {worker}: {source}")]
    Worker {
        /// Which, from 0.
        worker: u32,
        /// What the system said.
        source: io::Error,
    },
}

/// A server that serves.
#[derive(Debug)]
pub struct Running {
    addresses: Vec<SocketAddr>,
    backend: &'static str,
    note: Option<String>,
    control: Arc<Control>,
    wakers: Vec<Waker>,
    threads: Vec<JoinHandle<Summary>>,
}

/// So many files there is room for from the start: connections, for the most part. It takes 512 KB.
const FILES: u64 = 1 << 16;

/// Starts a server. It accepts connections on return.
pub fn start(settings: Settings) -> Result<Running, OriginError> {
    let settings = Arc::new(settings);
    let folder = Folder::open(&settings.folder).map_err(|source| OriginError::Folder {
        path: settings.folder.clone(),
        source,
    })?;
    // Where it may not be raised, what is refused later is counted.
    let _as_it_is = process::raise_open_files(u64::MAX);
    // Before there are threads: later it would take a worker away for milliseconds.
    let _made = process::make_room_for_files(FILES);
    let (addresses, listeners, mut datagrams) = listeners(&settings)?;
    let control = Arc::new(Control::default());
    let mut running = Running {
        addresses,
        backend: "",
        note: None,
        control,
        wakers: Vec::new(),
        threads: Vec::new(),
    };
    for (worker, listeners) in (0..).zip(listeners) {
        let folder = folder.try_clone();
        let begun = folder.and_then(|folder| {
            let also = datagrams.pop_front();
            let ours = folder.try_clone()?;
            running.begin(worker, listeners, ours, &settings)?;
            match also {
                Some(sockets) => running.begin_http3(worker, sockets, folder, &settings),
                None => Ok(()),
            }
        });
        if let Err(source) = begun {
            let _nothing_served = running.stop();
            return Err(match &settings.access_log {
                Some(LogTarget::File(path)) if !can_append(path) => OriginError::Log {
                    path: path.clone(),
                    source,
                },
                _ => OriginError::Worker { worker, source },
            });
        }
    }
    Ok(running)
}

impl Running {
    /// Where it listens, in the order asked, with the ports that the kernel chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// How it waits for the kernel: `uring` or `readiness`.
    pub fn backend(&self) -> &'static str {
        self.backend
    }

    /// Why it does not wait by io_uring, where that was left to it.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// Opens the access logs anew.
    pub fn reopen_logs(&self) {
        self.control.reopens.fetch_add(1, Ordering::Relaxed);
        self.wake();
    }

    /// Accepts nothing new, finishes what is under way within the drain time, and tells what was
    /// done.
    pub fn stop(self) -> Summary {
        self.control.stop.store(true, Ordering::Relaxed);
        self.wake();
        let mut total = Summary::default();
        for thread in self.threads {
            let part = thread.join().expect("a worker does not panic");
            total.connections += part.connections;
            total.connections_refused += part.connections_refused;
            total.connections_cut += part.connections_cut;
            total.requests += part.requests;
            total.log_failures += part.log_failures;
        }
        total
    }

    fn wake(&self) {
        for waker in &self.wakers {
            waker.wake();
        }
    }

    /// Starts one worker and waits until it accepts.
    fn begin(
        &mut self,
        worker: u32,
        listeners: Vec<OwnedFd>,
        folder: Folder,
        settings: &Arc<Settings>,
    ) -> io::Result<()> {
        let settings = Arc::clone(settings);
        let control = Arc::clone(&self.control);
        let (thread, begun) = begun(format!("origin-{worker}"), move |ready| {
            run(worker, listeners, folder, &settings, control, &ready)
        })?;
        self.wakers.push(begun.waker);
        self.threads.push(thread);
        self.backend = begun.backend;
        self.note = begun.note;
        Ok(())
    }
}

/// Starts a thread and waits until it says that it has begun, or why it cannot.
fn begun<T: Send + 'static>(
    name: String,
    work: impl FnOnce(mpsc::Sender<io::Result<T>>) -> Summary + Send + 'static,
) -> io::Result<(JoinHandle<Summary>, T)> {
    let (ready, is_ready) = mpsc::channel();
    let thread = std::thread::Builder::new().name(name);
    let thread = thread.spawn(move || work(ready))?;
    match is_ready.recv() {
        Ok(Ok(begun)) => Ok((thread, begun)),
        Ok(Err(error)) => {
            let _did_nothing = thread.join();
            Err(error)
        }
        Err(_) => Err(io::Error::other("its thread ended")),
    }
}

impl Running {
    /// Starts what serves HTTP/3 beside a worker, and waits until it does.
    fn begin_http3(
        &mut self,
        worker: u32,
        sockets: Vec<OwnedFd>,
        folder: Folder,
        settings: &Arc<Settings>,
    ) -> io::Result<()> {
        let settings = Arc::clone(settings);
        let control = Arc::clone(&self.control);
        let (thread, waker) = begun(format!("origin-h3-{worker}"), move |ready| {
            http3::run(worker, sockets, folder, &settings, control, &ready)
        })?;
        self.wakers.push(waker);
        self.threads.push(thread);
        Ok(())
    }
}

type Ready = mpsc::Sender<io::Result<Begun>>;

/// What a worker tells when it accepts.
struct Begun {
    waker: Waker,
    backend: &'static str,
    note: Option<String>,
}

/// A worker's thread.
fn run(
    worker: u32,
    listeners: Vec<OwnedFd>,
    folder: Folder,
    settings: &Arc<Settings>,
    control: Arc<Control>,
    ready: &Ready,
) -> Summary {
    let place = worker as usize;
    let pinned = match settings.cpus.get(place % settings.cpus.len().max(1)) {
        Some(cpu) => cpu::pin(*cpu),
        None => Ok(()),
    };
    let site = pinned.and_then(|()| Site::new(settings, folder, u64::from(worker)));
    let mut site = match site {
        Ok(site) => site,
        Err(error) => return give_up(ready, error),
    };
    if settings.http3 {
        match ports(&listeners) {
            Ok(ports) => site.offer_http3(&ports),
            Err(error) => return give_up(ready, error),
        }
    }
    let room = reactor::Settings {
        connections: settings.connections,
        copies: settings.connections.saturating_mul(2),
        copy_bytes: COPY_BYTES,
    };
    let mut note = None;
    if settings.backend != Backend::Readiness {
        match reactor::Uring::new(&room) {
            Ok(reactor) => {
                return serve(reactor, listeners, site, settings, control, (ready, note));
            }
            Err(error) if settings.backend == Backend::Uring => {
                return give_up(ready, io::Error::other(error));
            }
            Err(error) => note = Some(error.to_string()),
        }
    }
    match reactor::Readiness::new(&room) {
        Ok(reactor) => serve(reactor, listeners, site, settings, control, (ready, note)),
        Err(error) => give_up(ready, error),
    }
}

fn serve<R: Listen>(
    reactor: R,
    listeners: Vec<OwnedFd>,
    site: Site,
    settings: &Arc<Settings>,
    control: Arc<Control>,
    (ready, note): (&Ready, Option<String>),
) -> Summary {
    let backend = reactor.name();
    let waker = reactor.waker();
    let shared = Arc::clone(settings);
    if let Some(acceptor) = settings.tls.clone() {
        let made = Worker::accepting(acceptor, reactor, listeners, site, shared, control);
        return work(made, waker, backend, (ready, note));
    }
    let made = Worker::new(reactor, listeners, site, shared, control);
    work(made, waker, backend, (ready, note))
}

fn work<R: Listen, A: Accept>(
    made: io::Result<Worker<R, A>>,
    waker: io::Result<Waker>,
    backend: &'static str,
    (ready, note): (&Ready, Option<String>),
) -> Summary {
    match made.and_then(|worker| Ok((worker, waker?))) {
        Ok((worker, waker)) => {
            let _starter_waits = ready.send(Ok(Begun {
                waker,
                backend,
                note,
            }));
            worker.run()
        }
        Err(error) => give_up(ready, error),
    }
}

fn give_up(ready: &Ready, error: io::Error) -> Summary {
    let _starter_waits = ready.send(Err(error));
    Summary::default()
}

/// The ports of sockets, each once.
fn ports(listeners: &[OwnedFd]) -> io::Result<Vec<u16>> {
    let mut ports = Vec::new();
    for listener in listeners {
        let port = socket::local_address(listener)?.port();
        if !ports.contains(&port) {
            ports.push(port);
        }
    }
    Ok(ports)
}

/// Addresses, and on each of them listeners and sockets for datagrams for each worker.
type Sockets = (Vec<SocketAddr>, Vec<Vec<OwnedFd>>, VecDeque<Vec<OwnedFd>>);

/// Listeners for each worker on each address, and what HTTP/3 needs beside them; ports that the
/// kernel chooses are the same for all.
fn listeners(settings: &Settings) -> Result<Sockets, OriginError> {
    let workers = settings.workers.max(1) as usize;
    let mut addresses = Vec::new();
    let mut listeners: Vec<Vec<OwnedFd>> = Vec::new();
    listeners.resize_with(workers, Vec::new);
    let mut datagrams: VecDeque<Vec<OwnedFd>> = VecDeque::new();
    if settings.http3 {
        datagrams.resize_with(workers, Vec::new);
    }
    for &asked in &settings.listen {
        let refused = |source| OriginError::Listen {
            address: asked,
            source,
        };
        // Listeners that share a port would also share it with a stranger who shares; who keeps it
        // without sharing is refused if anyone listens there.
        let (kept, first) = keep(asked, settings.http3).map_err(refused)?;
        let address = socket::local_address(&kept).map_err(refused)?;
        for of_worker in &mut listeners {
            of_worker.push(socket::listen(address, BACKLOG, true).map_err(refused)?);
        }
        drop(first);
        for of_worker in &mut datagrams {
            of_worker.push(datagram::bind(address, true).map_err(refused)?);
        }
        addresses.push(address);
    }
    Ok((addresses, listeners, datagrams))
}

/// Keeps an address, and the same port for datagrams if need be: one that the kernel chose for the
/// one may be in use for the other, and then another one is chosen.
fn keep(asked: SocketAddr, is_for_both: bool) -> io::Result<(OwnedFd, Option<OwnedFd>)> {
    let mut tries = 16;
    loop {
        let kept = socket::reserve(asked)?;
        if !is_for_both {
            return Ok((kept, None));
        }
        match datagram::bind(socket::local_address(&kept)?, false) {
            Ok(both) => return Ok((kept, Some(both))),
            Err(error) if asked.port() != 0 || tries == 0 => return Err(error),
            Err(_) => tries -= 1,
        }
    }
}

fn can_append(path: &std::path::Path) -> bool {
    std::fs::OpenOptions::new().append(true).open(path).is_ok()
}
