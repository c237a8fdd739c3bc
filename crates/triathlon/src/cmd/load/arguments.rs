//! The flags of `triathlon load`, and the plan that they mean.

use std::ops::Range;
use std::path::{Path, PathBuf};

use model::plan::{Backend, FORMAT, Plan, PlanFile, Spin, Stage, Stop, pace};
use model::threshold::Threshold;
use model::trial::Context;
use model::units::Span;

use super::conditions::check_names;
use super::exports::Exports;
use super::pace::Pace;
use super::planned::{SAID_BY_THE_PLAN, by_flag};
use super::server::{Asked, Choice};
use super::sources::Sources;
use super::targets::{Asks, Targets};
use crate::exit::UsageError;
use crate::lua::Script;
use crate::whole::{at_least_one, zero_or_more};

const EXAMPLES: &str = "\
Examples:
  triathlon load http://127.0.0.1:8080/
      64 connections in a closed loop for 10 seconds: how many can it answer?
  triathlon load http://127.0.0.1:8080/ -R 2000 --poisson
      2,000 independent arrivals per second: how long does an answer take?
  triathlon load https://127.0.0.1:8443/ --cacert ca.pem --requests-per-connection 1
      a TLS handshake for each request, most of them resumed
  triathlon load http://127.0.0.1:8080/form -c 8 -n 1000 -H 'Accept: */*' --data @form.txt
      exactly 1,000 POSTs over 8 connections
  triathlon load http://127.0.0.1:8080/ -c 16 --pipeline 16
      up to 16 requests in flight on each of 16 connections
  triathlon load https://127.0.0.1:8443/ --cacert ca.pem --http2 -m 10
      HTTP/2 with up to 10 streams on each connection
  triathlon load https://127.0.0.1:8443/ --cacert ca.pem --http3 -m 10
      the same over HTTP/3
  triathlon load http://127.0.0.1:8080/ --stages '30s:1k,2m:5k,30s:0' --deadline 2s
      up to 5,000 arrivals per second and down again; what waits for 2 seconds is given up
  triathlon load http://127.0.0.1:8080/ -c 500 --think exp:1s
      500 users who think for a second on average before each request
  triathlon load http://127.0.0.1:8080/ -c 500 --script shop.toml
      500 users who each take the steps in shop.toml, again and again
  triathlon load http://127.0.0.1:8080/ -c 64 -s counter.lua -- some words
      a script in Lua, as wrk takes it; the words behind -- are for its init()
  triathlon load http://127.0.0.1:8080/ -R 2000 --threshold 'p(99)<5ms' --threshold 'errors<0.1%'
      exit code 4 unless 99 % wait less than 5 ms and 99.9 % get a right answer
  triathlon load http://127.0.0.1:8080/a http://127.0.0.1:8080/b --weights 9,1
      nine of ten requests ask for /a; --urls FILE reads longer lists, and vegeta's targets
  triathlon load http://example.test/ --connect-to example.test:80:127.0.0.1:8080 --user me:secret
      an address other than the name's, and credentials that no result holds
  triathlon load http://localhost/ --unix-socket /run/app.sock
      a server that listens on a Unix socket
  triathlon load https://example.test/ --proxy http://127.0.0.1:3128
      through an HTTP proxy, in a tunnel (CONNECT) because the URL says https
  triathlon load http://127.0.0.1:8080/ --proxy-protocol v2 --proxy-protocol-source 10.0.0.0/18
      16,382 clients, as seen by a server that trusts the PROXY protocol
  triathlon load http://127.0.0.1:8080/ --capacity 'p(99)<5ms,errors<0.1%'
      the highest rate at which both hold, as an interval (some minutes)
  triathlon load http://127.0.0.1:8080/ --capacity 'p(99)<5ms' --capacity-of connections -c 5000
      the most connections of a closed loop, up to 5,000, with which that holds
  triathlon load http://192.0.2.10/ -R 50k --agents gen1,gen2 --nats nats://198.51.100.1:4222
      a load that two other machines make together (docs/agents.md)

Exit codes: 0 measured, 1 something failed (no server, no permission), 2 wrong usage,
3 measured but every claim the run makes is invalid, 4 a threshold failed, 130 interrupted (what was
measured is shown).";

/// Load a web server and measure how it answers.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    #[command(flatten)]
    targets: Targets,

    /// Threads that make load, each on a CPU of its own [default: one per CPU that the server does
    /// not use where that can be read, else one per two CPUs]
    #[arg(short, long, value_name = "N", value_parser = at_least_one::<u32>())]
    threads: Option<u32>,

    /// Connections in total, over all threads. With --script or --har: users, who have connections
    /// of their own, or with user_rate in the script how many users may be there at once
    #[arg(
        short,
        long,
        value_name = "N",
        default_value_t = 64,
        value_parser = at_least_one::<u32>()
    )]
    pub(super) connections: u32,

    /// How long to measure, after the warm-up: 500ms, 10s, 2m [default: 10s]
    #[arg(short, long, value_name = "TIME")]
    pub(super) duration: Option<Span>,

    /// Measure exactly this many exchanges instead of for a time; the warm-up is then 0 by default
    #[arg(
        short = 'n',
        long = "requests",
        value_name = "N",
        conflicts_with = "duration",
        value_parser = at_least_one::<u64>()
    )]
    requests: Option<u64>,

    #[command(flatten)]
    pub(super) pace: Pace,

    /// How long an exchange may take from the moment it is sent
    #[arg(long, value_name = "TIME", default_value = "5s")]
    timeout: Span,

    /// How long a connect may take, and then the handshake of TLS, where that is not to be as long
    /// as an answer [default: as --timeout]. Longer where a server that is slow to accept is to be
    /// waited for
    #[arg(long, value_name = "TIME")]
    connect_timeout: Option<Span>,

    #[command(flatten)]
    expected: super::expected::Expected,

    /// Let the kernel note when it sends and receives on one connection in N [N: 100 unless given],
    /// and tell where response times went: waiting for a connection, late, sending here, network
    /// and server, waking up here. HTTP/1.1 over epoll. While it runs the kernel reads a clock for
    /// every packet that comes to this machine
    #[arg(
        long = "split",
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "100",
        value_parser = at_least_one::<u32>()
    )]
    split_one_in: Option<u32>,

    /// Follow up to N redirects of each exchange, within the server of the URL [N: 10 unless
    /// given]. The exchange then ends with the answer that they lead to: its response time, its
    /// service time and --timeout are for all its requests together. A redirect to another server
    /// is itself the answer, and nothing is sent there. Redirects are counted with and without this
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "10"
    )]
    follow: Option<u32>,

    /// How long the same load runs before anything counts [default: 1s; 0 with --requests or
    /// --stages, longer with --connect-rate]
    #[arg(long, value_name = "TIME")]
    warmup: Option<Span>,

    /// Exchanges on one connection before it is closed and replaced; 1 is no keep-alive, 0 counts
    /// handshakes of TLS and asks nothing [default: as many as the server allows]
    #[arg(long, value_name = "N", value_parser = zero_or_more::<u32>())]
    requests_per_connection: Option<u32>,

    #[command(flatten)]
    renewal: super::renewal::Renewals,

    #[command(flatten)]
    slow: super::slow::Slowness,

    /// A condition that the run has to meet, else the exit code is 4, 3 where a claim is invalid:
    /// p(99)<5ms, errors<0.1%, rate>1000, count, or avg, min, med and max of a time; 'service_time:
    /// p(99)<5ms' is about another time than the response time (page_time is that of whole pages),
    /// '{NAME}: p(99)<5ms' about one request of several. May be given several times
    #[arg(long = "threshold", value_name = "CONDITION")]
    pub(super) thresholds: Vec<Threshold>,

    /// CPUs for the threads, in turn: 1,3 or 2-5 [default: see --threads]
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,

    /// Whether threads poll instead of sleeping: auto does in open loop, on CPUs that nobody
    /// else uses, from shortly before each due time; always never sleeps at all
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = When::Auto)]
    spin: When,

    /// How I/O is asked of the kernel: auto takes io_uring where it is permitted
    #[arg(long, value_name = "NAME", value_enum, default_value_t = Interface::Auto)]
    backend: Interface,

    #[command(flatten)]
    sources: Sources,

    /// The seed of what is drawn at random: arrivals, requests by weight, what users do and know,
    /// the order of source addresses, kinds of handshakes, which requests end a connection
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = zero_or_more::<u64>())]
    pub(super) seed: u64,

    /// Write the trial as JSON, to FILE or to stdout (-) instead of the report
    #[arg(long, value_name = "FILE|-")]
    pub(super) json: Option<PathBuf>,

    /// Print the spectrum of response times
    #[arg(long)]
    pub(super) latency: bool,

    /// Write raw exchanges as one line of JSON each, to FILE or to stdout (-) instead of the report
    #[arg(long, value_name = "FILE|-")]
    pub(super) samples: Option<PathBuf>,

    /// With --samples: how many exchanges to keep at most
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1_000_000,
        requires = "samples",
        value_parser = zero_or_more::<u32>()
    )]
    samples_max: u32,

    #[command(flatten)]
    pub(super) exports: Exports,

    /// Keep credentials in what is written, and in the list of processes: the values of
    /// Authorization, Cookie, Proxy-Authorization and fields like them. Without this they are
    /// sent, and the trial says (redacted) in their place
    #[arg(long)]
    pub(super) keep_secrets: bool,

    #[command(flatten)]
    tls: super::tls::Flags,

    #[command(flatten)]
    lua: super::lua::Lua,

    #[command(flatten)]
    pub(super) fleet: super::agents::Fleet,

    /// Read the plan from FILE or stdin (-) and write events as lines of JSON, the trial last. The
    /// plan says everything: flags that would contradict it are refused
    #[arg(long, value_name = "FILE|-", conflicts_with_all = SAID_BY_THE_PLAN)]
    pub(super) plan: Option<PathBuf>,

    /// Of the plan's workers, these are this process's. It writes `ready`, reads the start (ns on
    /// the monotonic clock) from a line of stdin and begins.
    #[arg(long, value_name = "FIRST..END", hide = true, requires = "plan", value_parser = part)]
    pub(super) part: Option<Range<u32>>,
}

fn part(text: &str) -> Result<Range<u32>, &'static str> {
    let (first, end) = text.split_once("..").unwrap_or((text, ""));
    match (first.parse(), end.parse()) {
        (Ok(first), Ok(end)) if first < end => Ok(first..end),
        _ => Err("write the first worker and the one after the last, as in 0..4"),
    }
}

impl Args {
    /// Whether nothing says what to ask.
    pub(super) fn asks_nothing(&self) -> bool {
        self.plan.is_none() && self.targets.is_empty()
    }
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Interface {
    Auto,
    Readiness,
    Uring,
}

impl From<Interface> for Backend {
    fn from(interface: Interface) -> Self {
        match interface {
            Interface::Auto => Self::Auto,
            Interface::Readiness => Self::Readiness,
            Interface::Uring => Self::Uring,
        }
    }
}

/// A plan, and how it was come by.
pub(super) struct Chosen {
    pub(super) plan: Plan,
    pub(super) context: Context,
    /// The server's first process, where it runs on this machine and can be seen.
    pub(super) server: Option<u32>,
    /// The script in Lua that takes part.
    pub(super) script: Option<Script>,
}

/// The plan that the flags mean; one that is made `elsewhere`, on so many CPUs, names none of them.
pub(super) fn choose(args: &Args, elsewhere: Option<usize>) -> anyhow::Result<Chosen> {
    let mut asks = args.targets.read()?;
    let (asked, choice) = choose_cpus(args, &asks, elsewhere.is_some())?;
    let mut cpus = choice.cpus;
    let workers = workers(args, &asks, elsewhere.unwrap_or(cpus.len()));
    cpus.truncate(workers as usize);
    let script = args.lua.read(&mut asks, workers)?;
    if let Some(script) = &script {
        args.expected.check(&script.lua)?;
    }
    let handed = script.as_ref().map_or(1, |script| script.pipeline);
    let context = asked.context(&cpus, choice.words);
    let stages = stages(args, asks.stages)?;
    let (stop, warmup) = stop(args, &stages);
    let mut file = PlanFile {
        format: FORMAT,
        requests: asks.requests,
        addresses: asks.addresses,
        resolve: asks.resolve,
        sources: args.sources.read(args.seed)?,
        unix_socket: asks.unix_socket,
        http_proxy: asks.http_proxy,
        proxy_protocol: args.sources.proxy_protocol()?,
        protocol: args.pace.protocol(&asks.places[0])?,
        tls: args.tls.written(),
        arrivals: args.pace.arrivals(),
        stages,
        think: args.pace.think,
        script: asks.script,
        lua: script.as_ref().map(|script| script.lua.clone()),
        deadline: args.pace.deadline.filter(|_| args.pace.capacity.is_empty()),
        stop,
        requests_most: None,
        warmup: args.warmup.unwrap_or(warmup),
        connections: args.connections,
        requests_per_connection: args.requests_per_connection,
        renewal: args.renewal.written(args.sources.are_kept()),
        slow: args.slow.written(),
        split_one_in: args.split_one_in,
        follow: args.follow,
        pipeline: args.pace.pipeline.max(handed),
        streams: args.pace.streams.unwrap_or(1),
        timeout: args.timeout,
        connect_timeout: args.connect_timeout,
        seed: args.seed,
        workers,
        cpus,
        spin: spin(args, context.shared_cpus.as_deref()),
        backend: args.backend.into(),
        expect: args.expected.written(),
        samples: args.samples.as_ref().map_or(0, |_| args.samples_max),
        interval: Span::from_s(1),
    };
    file.seat_users_at(args.pace.streams);
    let plan = Plan::try_from(file).map_err(|error| by_flag(&error))?;
    check_names(&args.thresholds, &plan)?;
    check_names(&args.pace.capacity, &plan)?;
    Ok(Chosen {
        plan,
        context,
        server: asked.pid(),
        script,
    })
}

/// Whether workers burn CPU time: not on CPUs that others who take part may use.
fn spin(args: &Args, shared: Option<&[u32]>) -> Spin {
    match args.spin {
        When::Auto if shared.is_none_or(|shared| !shared.is_empty()) => Spin::Never,
        When::Auto => Spin::Auto,
        When::Always => Spin::Always,
        When::Never => Spin::Never,
    }
}

/// How many threads there are: as said, or one for each of so many CPUs.
fn workers(args: &Args, asks: &Asks, cpus: usize) -> u32 {
    args.threads.unwrap_or_else(|| {
        u32::try_from(cpus)
            .unwrap_or(u32::MAX)
            .max(load::workers_needed(sockets(args, asks)))
            .min(args.connections.max(1))
    })
}

/// Connections that there may be, if each user has all that it may have.
fn sockets(args: &Args, asks: &Asks) -> u32 {
    let script = asks.script.as_ref();
    let each = script.map_or(1, |script| {
        let servers = u32::try_from(asks.places.len()).unwrap_or(u32::MAX);
        script.user_connections.unwrap_or(1).saturating_mul(servers)
    });
    args.connections.saturating_mul(each)
}

/// How the rate changes: of requests by a flag, of `users` who come by their script.
fn stages(args: &Args, users: Vec<Stage>) -> Result<Vec<Stage>, UsageError> {
    if users.is_empty() {
        return Ok(args.pace.stages.clone());
    }
    let is_said_twice = args.duration.is_some() || args.requests.is_some();
    if is_said_twice || !args.pace.stages.is_empty() || !args.pace.capacity.is_empty() {
        return Err(UsageError(
            "--script: user_stages say how many users come and for how long: leave out \
             --duration, --requests, --stages and --capacity"
                .to_owned(),
        ));
    }
    Ok(users)
}

/// When the measurement ends, and how long the warm-up is by default.
fn stop(args: &Args, stages: &[Stage]) -> (Stop, Span) {
    if !stages.is_empty() {
        return (Stop::DurationNs(pace::length(stages)), Span::ZERO);
    }
    match args.requests {
        Some(count) => (Stop::Count(count), Span::ZERO),
        None => (
            Stop::DurationNs(args.duration.unwrap_or(Span::from_s(10))),
            args.renewal.written(false).ramp(args.connections) + Span::from_s(1),
        ),
    }
}

/// Who is asked, and the CPUs to ask from.
fn choose_cpus(args: &Args, asks: &Asks, is_elsewhere: bool) -> anyhow::Result<(Asked, Choice)> {
    if is_elsewhere {
        return Ok((Asked::Elsewhere, Choice::default()));
    }
    let asked = match &asks.unix_socket {
        None => match asks.places.as_slice() {
            [only] => Asked::at(only, args.pace.protocol(only)?),
            several => Asked::at_several(several),
        },
        Some(path) => Asked::at_socket(Path::new(path)),
    };
    let allowed = sys::cpu::allowed()?;
    let choice = match &args.cpus {
        Some(list) => Choice {
            cpus: read_cpus(list, &allowed)?,
            words: "as --cpus says".to_owned(),
        },
        None => asked.leave(&allowed),
    };
    Ok((asked, choice))
}

/// The CPUs of `list`, each of which this process may use.
fn read_cpus(list: &str, allowed: &[u32]) -> Result<Vec<u32>, UsageError> {
    let cpus = sys::counters::parse_cpu_list(list).filter(|cpus| !cpus.is_empty());
    let cpus = cpus.ok_or_else(|| {
        UsageError(format!(
            "--cpus: '{list}' is not a list of CPUs: write 1,3 or 2-5"
        ))
    })?;
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(cpus),
        Some(cpu) => Err(UsageError(format!(
            "--cpus: this process may not use CPU {cpu}, only {}",
            allowed
                .iter()
                .map(u32::to_string)
                .collect::<Vec<_>>()
                .join(",")
        ))),
    }
}
