//! The load of one trial, complete and valid by construction.
//!
//! [`PlanFile`] is what was written; [`Plan`] is what it means. A `Plan` that exists is a plan
//! that can run: its only constructor checks everything that can be known without the network.

use std::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

pub use crate::request::{Request, RequestFile};
use crate::tls::TlsFile;
use crate::units::{Rate, Span};

mod arrivals;
mod check;
mod expect;
mod hosts;
mod lua;
pub mod pace;
mod renewal;
mod scheduled;
mod script;
mod share;
mod slow;
mod split;
mod url;
mod way;

pub use self::arrivals::Arrivals;
pub use self::expect::{Expectation, Level};
use self::hosts::Hosts;
pub use self::hosts::{HOSTS_MAX, ServerAddresses, servers_of};
pub use self::lua::LuaFile;
use self::pace::Curve;
pub use self::pace::{Stage, Think};
pub use self::renewal::Renewal;
pub use self::script::{
    AnswerFile, FromFile, ScriptFile, SourceFile, StepFile, TakeFile, VariableFile, WayFile,
};
pub use self::slow::Slow;
pub use self::url::Url;
pub use self::way::{HttpProxy, ProxyProtocol, ProxyVersion};

/// The version of the plan and trial files that this program writes.
pub const FORMAT: u32 = 2;

/// The oldest version that it reads. Version 1 has one request per plan, and no classes in records.
pub const FORMAT_OLDEST: u32 = 1;

/// The most exchanges in flight on one connection of HTTP/1.1.
pub const PIPELINE_MAX: u32 = 64;

/// The most exchanges in flight on one connection of HTTP/2.
pub const STREAMS_MAX: u32 = 1_000;

/// The most redirects of one exchange that are followed.
pub const REDIRECTS_MAX: u32 = 20;

/// The most requests in one plan.
pub const REQUESTS_MAX: usize = 10_000;

/// A plan as it is written: JSON on the wire, flags at the door.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct PlanFile {
    /// [`FORMAT`], or an older one down to [`FORMAT_OLDEST`].
    pub format: u32,
    /// What is asked: at least one. Several are mixed by their weights. Where they name several
    /// servers, each connection leads to one of them; users of a script have some to each.
    pub requests: Vec<RequestFile>,
    /// Where to connect instead of resolving the URL's host. All are used in turn.
    #[serde(default)]
    pub addresses: Vec<SocketAddr>,
    /// The same where requests name several servers, for some of them or for all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub resolve: Vec<ServerAddresses>,
    /// Source addresses, used in turn by new connections; empty leaves the choice to the kernel.
    #[serde(default)]
    pub sources: Vec<IpAddr>,
    /// The path of a Unix socket that all connections lead to, whatever host the URL names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unix_socket: Option<String>,
    /// The HTTP proxy that all connections lead to, and that finds the server; none: they lead to
    /// the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_proxy: Option<HttpProxy>,
    /// What each connection begins with, before TLS and HTTP: who asks, as behind a proxy. None:
    /// nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_protocol: Option<ProxyProtocol>,
    /// The protocol that connections speak.
    #[serde(default)]
    pub protocol: Protocol,
    /// What is wanted of TLS where the URL says `https`; none leaves it to the library.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<TlsFile>,
    /// When exchanges become due.
    pub arrivals: Arrivals,
    /// How the rate changes of an open loop, or of the users of a script who come; empty: not at
    /// all. The rate of these arrivals is then the mean of the stages, and the measurement as long
    /// as they are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// How long each user of a closed loop, of whom each connection has one, waits before a
    /// request; none: not at all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Think>,
    /// What each user of a closed loop does again and again; its steps name the requests. Each
    /// connection has one user, or so many have one. None: each connection asks what the weights
    /// of the requests say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<ScriptFile>,
    /// A script in Lua that takes part in the run; none: there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lua: Option<LuaFile>,
    /// Open loop: what was due for so long and was not sent is given up; none: nothing is.
    #[serde(
        rename = "deadline_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub deadline: Option<Span>,
    /// When the measurement ends.
    pub stop: Stop,
    /// It ends after so many exchanges, if its time has not come; none: with its time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests_most: Option<u64>,
    /// How long the same load runs before anything counts.
    #[serde(rename = "warmup_ns", default)]
    pub warmup: Span,
    /// Connections in total, over all workers.
    pub connections: u32,
    /// Exactly so many exchanges on a connection, then we close it; none: as many as come. 0:
    /// nothing is asked, and each exchange is the handshake of TLS on a connection of its own.
    #[serde(default)]
    pub requests_per_connection: Option<u32>,
    /// When connections are opened, and which request is the last on one.
    #[serde(default, skip_serializing_if = "Renewal::is_none")]
    pub renewal: Renewal,
    /// Which connections read and send slowly.
    #[serde(default, skip_serializing_if = "Slow::is_none")]
    pub slow: Slow,
    /// The kernel notes when it sends and receives on one connection in so many, so that response
    /// times can be cut; none: on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub split_one_in: Option<u32>,
    /// So many redirects of an exchange are followed, as long as they lead to the same server: it
    /// is over with the answer that they lead to. None: a redirect is an answer as any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follow: Option<u32>,
    /// Exchanges in flight on one connection of HTTP/1.1.
    #[serde(default = "one")]
    pub pipeline: u32,
    /// The same of HTTP/2, as far as the server allows.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub streams: u32,
    /// From sent to the last byte of the answer.
    #[serde(rename = "timeout_ns")]
    pub timeout: Span,
    /// How long a connect may take, and then the handshake of TLS; none: each as long as an answer.
    #[serde(
        rename = "connect_timeout_ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub connect_timeout: Option<Span>,
    /// What the schedule's randomness starts from.
    #[serde(default)]
    pub seed: u64,
    /// Threads that generate load.
    pub workers: u32,
    /// CPUs that workers are pinned to, in turn; empty: not pinned.
    #[serde(default)]
    pub cpus: Vec<u32>,
    /// Whether a worker burns CPU time to be punctual.
    #[serde(default)]
    pub spin: Spin,
    /// How the kernel is asked.
    #[serde(default)]
    pub backend: Backend,
    /// What a right answer is.
    #[serde(default)]
    pub expect: Expectation,
    /// How many raw exchanges to keep; 0 keeps none.
    #[serde(default)]
    pub samples: u32,
    /// The length of one interval of the record.
    #[serde(rename = "interval_ns", default = "second")]
    pub interval: Span,
}

const fn one() -> u32 {
    1
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
const fn is_one(count: &u32) -> bool {
    *count == 1
}

const fn second() -> Span {
    Span::from_s(1)
}

/// The application protocol of a connection.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// HTTP/1.1 over TCP (RFC 9112).
    #[default]
    Http1,
    /// HTTP/2 (RFC 9113): in clear by prior knowledge, inside TLS by ALPN.
    Http2,
    /// HTTP/3 (RFC 9114) over QUIC.
    Http3,
}

impl PlanFile {
    /// Exchanges in flight on one connection.
    pub const fn at_once(&self) -> u32 {
        match self.protocol {
            Protocol::Http1 => self.pipeline,
            Protocol::Http2 | Protocol::Http3 => self.streams,
        }
    }

    /// How long a connect may take, and then the handshake of TLS.
    pub fn connect_limit(&self) -> Span {
        self.connect_timeout.unwrap_or(self.timeout)
    }

    /// How long one thing may take at most: a connect, a handshake, an answer.
    pub fn longest_wait(&self) -> Span {
        self.timeout.max(self.connect_limit())
    }
}

/// When the measurement ends.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Stop {
    /// After so many exchanges, in total.
    Count(u64),
    /// After a time that starts when warm-up ends.
    DurationNs(Span),
}

/// Whether a worker burns CPU time to be punctual.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Spin {
    /// In open loop, on a CPU shared with nobody who takes part: from shortly before a due time
    /// until its answer is there. What has waited for a connection for 10 ms waits on asleep.
    #[default]
    Auto,
    /// It never sleeps.
    Always,
    /// It always sleeps.
    Never,
}

/// How the kernel is asked for I/O.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Backend {
    /// io_uring where it is permitted, else readiness.
    #[default]
    Auto,
    /// epoll, kqueue.
    Readiness,
    /// io_uring or nothing.
    Uring,
}

/// What is wrong with a plan, and what to do about it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// The URL.
    #[error("'{url}' is not a URL we can ask: {why}")]
    Url {
        /// As given.
        url: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// Anything else.
    #[error("{field}: {why}")]
    Field {
        /// Its name.
        field: &'static str,
        /// What is wrong with it.
        why: String,
    },
}

pub(crate) fn field(field: &'static str, why: impl Into<String>) -> PlanError {
    PlanError::Field {
        field,
        why: why.into(),
    }
}

/// A plan that can run.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Plan {
    file: PlanFile,
    requests: Vec<Request>,
    hosts: Hosts,
}

impl Plan {
    /// As it is written.
    pub const fn file(&self) -> &PlanFile {
        &self.file
    }

    /// What is asked: at least one request.
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The first request. Where there is one server, all have its host and port.
    pub fn request(&self) -> &Request {
        &self.requests[0]
    }

    /// Whether the bytes of the request in this position are the same each time. Of others nobody
    /// knows before the run what a right answer is.
    pub fn is_fixed(&self, position: usize) -> bool {
        self.file.is_fixed(position)
    }

    /// The intended load; none in a closed loop.
    pub const fn rate(&self) -> Option<Rate> {
        self.file.arrivals.rate()
    }

    /// What is wanted of TLS; none where connections are in clear.
    pub fn tls(&self) -> Option<TlsFile> {
        let is_secure = self.request().url.is_secure;
        is_secure.then(|| self.file.tls.clone().unwrap_or_default())
    }

    /// Where the HTTP proxy is that all connections lead to; none: they lead to the server.
    pub fn proxy(&self) -> Option<Url> {
        let proxy = self.file.http_proxy.as_ref()?;
        Some(Url::parse(&proxy.url).expect("it was read before"))
    }

    /// What each connection asks a proxy for before anything else: a tunnel to the host and port of
    /// its server. By server; empty where nobody asks for one.
    pub fn tunnels(&self) -> Vec<String> {
        match &self.file.http_proxy {
            Some(proxy) if proxy.tunnel => self.hosts().map(Url::with_port).collect(),
            _ => Vec::new(),
        }
    }

    /// What proves to that proxy who asks for a tunnel: a secret.
    pub fn tunnel_authorization(&self) -> Option<&str> {
        self.file.http_proxy.as_ref()?.authorization.as_deref()
    }

    /// What stands before the path in the target of a request for `url`: nothing, or where a proxy
    /// reads it, the server (RFC 9112 §3.2).
    pub fn origin_of(&self, url: &Url) -> String {
        match &self.file.http_proxy {
            Some(proxy) if !proxy.tunnel => format!("http://{}", url.authority),
            _ => String::new(),
        }
    }

    /// Whether arrivals are independent of completions.
    pub const fn is_open_loop(&self) -> bool {
        self.rate().is_some()
    }

    /// How many arrivals until when, from the start of the warm-up, where the rate changes.
    pub fn curve(&self) -> Option<Curve> {
        let PlanFile { stages, warmup, .. } = &self.file;
        (!stages.is_empty()).then(|| Curve::new(*warmup, stages))
    }

    /// The CPU of worker `index`, if workers are pinned.
    pub fn cpu_of(&self, index: usize) -> Option<u32> {
        let cpus = &self.file.cpus;
        (!cpus.is_empty()).then(|| cpus[index % cpus.len()])
    }

    /// How many of the plan's connections worker `index` holds: the total is always exact, and all
    /// connections of a user belong to one worker.
    pub fn connections_of(&self, index: u32) -> u32 {
        self.users_of(index) * self.file.user_connections()
    }

    /// How many users of the plan worker `index` has, if each connection, or so many, has one.
    pub fn users_of(&self, index: u32) -> u32 {
        let workers = self.file.workers;
        let users = self.file.connections / self.file.user_connections();
        users / workers + u32::from(index < users % workers)
    }
}

impl TryFrom<PlanFile> for Plan {
    type Error = PlanError;

    fn try_from(file: PlanFile) -> Result<Self, PlanError> {
        if !(FORMAT_OLDEST..=FORMAT).contains(&file.format) {
            return Err(field(
                "format",
                format!(
                    "this program reads versions {FORMAT_OLDEST} to {FORMAT}, the plan is version \
                     {}",
                    file.format
                ),
            ));
        }
        let count = file.requests.len();
        if !(1..=REQUESTS_MAX).contains(&count) {
            return Err(field(
                "requests",
                format!("give 1 to {REQUESTS_MAX}, not {count}"),
            ));
        }
        let read = |written| Request::read(written, &file.expect);
        let mut requests: Vec<Request> =
            file.requests.iter().map(read).collect::<Result<_, _>>()?;
        hosts::tell_apart(&mut requests, &file.requests);
        let first = &requests[0].url;
        let hosts = Hosts::of(&requests);
        hosts::check(&file, &requests, &hosts)?;
        check::numbers(&file)?;
        check::pace(&file)?;
        renewal::check(&file)?;
        slow::check(&file)?;
        split::check(&file)?;
        script::check(&file)?;
        lua::check(&file)?;
        check::redirects(&file)?;
        check::decoding(&file)?;
        check::tls(&file, first)?;
        way::check(&file, first)?;
        Ok(Self {
            file,
            requests,
            hosts,
        })
    }
}

#[cfg(test)]
mod tests;
