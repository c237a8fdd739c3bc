//! What a server is told before it starts.

use std::fs::File;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use model::Span;
use wire::h1::request::Limits;
use wire::h1::server::ServerLimits;
use wire::tls::Acceptor;

/// How to wait for the kernel.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Backend {
    /// io_uring where it is permitted, else readiness.
    #[default]
    Auto,
    /// Readiness (epoll).
    Readiness,
    /// io_uring, or an error.
    Uring,
}

/// Where the access log goes.
#[derive(Clone, Debug)]
pub enum LogTarget {
    /// A file by its path, opened to append; it can be moved away and opened anew.
    File(PathBuf),
    /// What is open already: standard output.
    Handle(Arc<File>),
}

/// All that one server needs to know. [`Settings::new`] has the defaults.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The folder whose files are served.
    pub folder: PathBuf,
    /// Where to listen; port 0 lets the kernel choose.
    pub listen: Vec<SocketAddr>,
    /// Threads, each with its own listeners and connections.
    pub workers: u32,
    /// A CPU for each worker in turn; none leaves them to the kernel.
    pub cpus: Vec<u32>,
    /// How to wait for the kernel.
    pub backend: Backend,
    /// Connections at once, for each worker; more are closed as they come.
    pub connections: u32,
    /// What one connection may ask, and how long it may take to do so.
    pub limits: ServerLimits,
    /// A connection that takes none of its answer for this long is reset.
    pub send_time: Span,
    /// Answers under way at the end may take this long.
    pub drain_time: Span,
    /// A file is looked at again when the last look is older than this.
    pub revalidation: Span,
    /// The file that stands for its folder.
    pub index: String,
    /// Whether a folder without that file is answered with a list of what lies in it.
    pub listing: bool,
    /// Whether names that begin with a dot are served like others.
    pub dot_files: bool,
    /// Where to log; none does not.
    pub access_log: Option<LogTarget>,
    /// Log lines are written when so many bytes wait, and once a second; 0 writes each at once.
    pub log_buffer: usize,
    /// Hears why each worker's first write of the log failed, at once: lines are lost from then on.
    pub log_failed: fn(&io::Error),
    /// Whether the reserved path answers to order.
    pub synthetic: bool,
    /// What determines random delays of answers made to order.
    pub seed: u64,
    /// TLS on all connections; none where they are in clear.
    pub tls: Option<Acceptor>,
    /// Whether to serve HTTP/3 too, over UDP on the same ports; wants TLS.
    pub http3: bool,
}

impl Settings {
    /// The defaults, for that folder and those addresses.
    pub fn new(folder: PathBuf, listen: Vec<SocketAddr>) -> Self {
        Self {
            folder,
            listen,
            workers: 1,
            cpus: Vec::new(),
            backend: Backend::Auto,
            connections: 4_096,
            limits: ServerLimits {
                head: Limits::default(),
                body: 1024 * 1024,
                requests: u64::MAX,
                head_time: Span::from_s(10),
                body_time: Span::from_s(30),
                idle_time: Span::from_s(60),
            },
            send_time: Span::from_s(60),
            drain_time: Span::from_s(10),
            revalidation: Span::from_ms(100),
            index: "index.html".to_owned(),
            listing: false,
            dot_files: false,
            access_log: None,
            log_buffer: 0,
            log_failed: |_| {},
            synthetic: false,
            seed: 0,
            tls: None,
            http3: false,
        }
    }
}
