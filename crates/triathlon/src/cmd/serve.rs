//! `triathlon serve DIR`: origin, the embedded web server.

use std::io;
use std::net::SocketAddr;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use anyhow::Context as _;
use model::{Bytes, Span};
use origin::{Backend, LogTarget, OriginError, Settings};
use sys::signal::{Signal, Signals};
use verdict::words;

use crate::exit::{Exit, UsageError};
use crate::out;
use crate::whole;

/// Serves the files of a folder.
///
/// Prints where it listens when it is ready, one line for each address: `listening on
/// http://127.0.0.1:8080/`. SIGTERM and Ctrl-C finish the answers under way and end it (a second
/// one ends it at once), SIGHUP reopens the access log and reads the certificate again.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// The folder whose files are served.
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Where to listen; may be given several times. Port 0 takes any free port, which is then
    /// printed.
    #[arg(
        long,
        value_name = "ADDR:PORT",
        value_parser = address_and_port,
        default_value = "127.0.0.1:8080"
    )]
    listen: Vec<SocketAddr>,
    /// Threads, each with its own listeners and connections [default: one per CPU of --cpus, else
    /// 1].
    #[arg(
        short = 't',
        long,
        value_name = "N",
        value_parser = whole::from_to(1..=1_024_u32)
    )]
    workers: Option<u32>,
    /// CPUs to bind the workers to, in turn: 0,2 or 0-3 [default: not bound].
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuList>,
    /// How to wait for the kernel.
    #[arg(long, value_name = "NAME", default_value = "auto")]
    backend: BackendName,
    /// Open connections at most, for each worker; more are closed as they come.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4096,
        value_parser = whole::from_to(1..=1_000_000_u32)
    )]
    connections: u32,
    /// Requests on one connection, 0 for no limit; the last answer says that the connection closes.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::zero_or_more::<u64>())]
    requests_per_connection: u64,
    /// How long a connection may stay open without a request.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    idle_timeout: Span,
    /// How long the head of a request may take to arrive.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    header_timeout: Span,
    /// How long 64 KiB of the body of a request may take to arrive.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    body_timeout: Span,
    /// How long a client may read nothing of its answer.
    #[arg(long, value_name = "TIME", default_value = "60s")]
    send_timeout: Span,
    /// How long answers under way may take when the server ends.
    #[arg(long, value_name = "TIME", default_value = "10s")]
    drain_timeout: Span,
    /// The largest body of a request, in bytes; it is read and dropped.
    #[arg(long, value_name = "SIZE", default_value = "1M")]
    max_body: Bytes,
    /// A changed or deleted file is noticed within this time.
    #[arg(long, value_name = "TIME", default_value = "100ms")]
    revalidate: Span,
    /// The file that stands for its folder.
    #[arg(long, value_name = "NAME", default_value = "index.html")]
    index: String,
    /// Answer for a folder without that file with a list of what lies in it.
    #[arg(long)]
    listing: bool,
    /// Serve files and folders whose names begin with a dot, too, as .git and .htpasswd; without
    /// this they are not found, but for /.well-known/.
    #[arg(long)]
    dot_files: bool,
    /// Where to write the access log, in Apache's combined form: FILE, - for standard output
    /// (which SIGHUP leaves as it is), or off.
    #[arg(long, value_name = "off|FILE|-", default_value = "off")]
    access_log: String,
    /// Log lines wait until they fill this many bytes, or for a second; 0 writes each at once.
    #[arg(
        long,
        value_name = "SIZE",
        default_value = "0",
        requires = "access_log"
    )]
    log_buffer: Bytes,
    /// Answers made to order: /.triathlon/null?bytes=N and
    /// /.triathlon/synthetic?bytes=N&status=S&delay=D&fault=F.
    #[arg(long)]
    synthetic: bool,
    /// The seed of the random delays of answers made to order.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        requires = "synthetic",
        value_parser = whole::zero_or_more::<u64>()
    )]
    seed: u64,
    /// Serve over TLS 1.2 and 1.3 with this certificate and its chain (PEM); SIGHUP reads it again.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The private key of that certificate (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
    /// Serve over TLS with a certificate made for this run, for localhost and the addresses of
    /// --listen; it is printed on standard error, for clients that have to trust it.
    #[arg(long, conflicts_with = "tls_cert")]
    tls_self_signed: bool,
    /// Take a request before the handshake of TLS 1.3 is over (0-RTT); one that changes something
    /// waits for its end. Such a request can be recorded and sent again, so each session is resumed
    /// once, and none outlives the server. Needs --tls-cert or --tls-self-signed.
    #[arg(long)]
    tls_early_data: bool,
    /// Serve HTTP/3, too, over UDP on the same ports: each worker has a second thread for it, and
    /// answers over TCP say so (Alt-Svc). Needs --tls-cert or --tls-self-signed.
    #[arg(long)]
    http3: bool,
}

const EXAMPLES: &str = "\
Examples:
  triathlon serve www
      serve the files of www on http://127.0.0.1:8080/
  triathlon serve www --listen 0.0.0.0:8000 --listen '[::]:8000' --cpus 0-3
      four workers, each bound to a CPU
  triathlon serve www --listing --dot-files
      share a folder with everything in it, and listings to browse it
  triathlon serve www --access-log access.log --log-buffer 64k
      log in pieces of 64 KiB, at least once a second
  triathlon serve www --listen 127.0.0.1:8443 --tls-cert site.pem --tls-key site.key
      the same over TLS
  triathlon serve www --listen 127.0.0.1:8443 --tls-self-signed --http3
      over HTTP/1.1, HTTP/2 and HTTP/3, with a certificate made for this run
  triathlon serve --synthetic --cpus 0
      curl 'http://127.0.0.1:8080/.triathlon/null'
      curl 'http://127.0.0.1:8080/.triathlon/synthetic?bytes=100k&delay=exponential:5ms'
      curl 'http://127.0.0.1:8080/.triathlon/synthetic?delay=bimodal:1ms,50ms,0.01&status=503'
      curl 'http://127.0.0.1:8080/.triathlon/synthetic?bytes=1M&fault=truncate'

Delays: TIME, exponential:MEAN, bimodal:USUAL,SLOW,SHARE. Faults: close (no answer), truncate
(half of the content, then the end), stall (half of it, then nothing), reset (after the head).";

/// The names of the ways to wait.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum BackendName {
    /// io_uring where it is permitted, else readiness.
    Auto,
    /// Readiness (epoll).
    Readiness,
    /// io_uring, or an error.
    Uring,
}

fn address_and_port(text: &str) -> Result<SocketAddr, &'static str> {
    let form = "write ADDR:PORT, an IP address and a port, as in 127.0.0.1:8080 or [::1]:8080";
    text.parse().map_err(|_| form)
}

/// CPUs as the kernel lists them: 0,2-3.
#[derive(Clone, Debug)]
struct CpuList(Vec<u32>);

impl std::str::FromStr for CpuList {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is not a list of CPUs: write 0,2 or 0-3");
        let mut cpus = Vec::new();
        for item in text.split(',') {
            let (first, last) = item.split_once('-').unwrap_or((item, item));
            let first: u32 = first.trim().parse().map_err(|_| wrong())?;
            let last: u32 = last.trim().parse().map_err(|_| wrong())?;
            if first > last || last > 8_191 {
                return Err(wrong());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

/// Runs it.
pub(crate) fn run(args: Args) -> anyhow::Result<Exit> {
    // Before any thread starts, so that none is interrupted.
    let signals = Signals::keep(&[Signal::HangUp, Signal::Interrupt, Signal::Terminate])
        .context("cannot wait for signals")?;
    let certificate = args.tls_cert.clone().zip(args.tls_key.clone());
    let takes_early = args.tls_early_data;
    let mut settings = settings(args)?;
    secure(&mut settings, certificate.as_ref(), takes_early)?;
    let acceptor = settings.tls.clone();
    let scheme = if acceptor.is_some() { "https" } else { "http" };
    if !settings.cpus.is_empty() {
        // This thread only waits, but who looks which CPUs the server leaves looks at it too.
        sys::cpu::pin_to(&settings.cpus).context("cannot bind to the CPUs of --cpus")?;
    }
    let running = origin::start(settings).map_err(explained)?;
    if let Some(note) = running.note() {
        out::note(format_args!("{note}; waiting by readiness instead"));
    }
    for address in running.addresses() {
        out::line(format_args!("listening on {scheme}://{address}/"))
            .context("nobody hears where it listens")?;
    }
    while signals.wait().context("cannot wait for signals")? == Signal::HangUp {
        running.reopen_logs();
        if let (Some(acceptor), Some((certificate, key))) = (&acceptor, &certificate) {
            let replaced = origin::tls::read(certificate, key)
                .and_then(|identity| origin::tls::replace(acceptor, identity));
            match replaced {
                Ok(()) => out::note(format_args!("the certificate was read again")),
                Err(error) => {
                    out::note(format_args!("the old certificate stays in use: {error}"));
                }
            }
        }
    }
    // A second order to end is one to end at once.
    signals
        .release(&[Signal::Interrupt, Signal::Terminate])
        .context("cannot release signals")?;
    let summary = running.stop();
    out::note(format_args!(
        "served {} on {}",
        words::plural(summary.requests, "request"),
        words::plural(summary.connections, "connection")
    ));
    for (count, noun, what) in [
        (
            summary.connections_refused,
            "connection",
            "refused: more than --connections",
        ),
        (
            summary.connections_cut,
            "connection",
            "cut off after --drain-timeout",
        ),
        (summary.log_failures, "write", "of the access log failed"),
    ] {
        if count > 0 {
            out::note(format_args!("{} {what}", words::plural(count, noun)));
        }
    }
    Ok(Exit::Done)
}

/// A time of zero would fail every request.
fn some_time(args: &Args) -> Result<(), UsageError> {
    let times = [
        ("--idle-timeout", args.idle_timeout),
        ("--header-timeout", args.header_timeout),
        ("--body-timeout", args.body_timeout),
        ("--send-timeout", args.send_timeout),
    ];
    match times.into_iter().find(|(_, time)| time.is_zero()) {
        Some((flag, _)) => Err(UsageError(format!(
            "{flag} 0s leaves clients no time at all: give one, as in {flag} 10s"
        ))),
        None => Ok(()),
    }
}

fn settings(args: Args) -> anyhow::Result<Settings> {
    some_time(&args)?;
    let cpus = args.cpus.map_or_else(Vec::new, |list| list.0);
    if let Ok(allowed) = sys::cpu::allowed()
        && let Some(cpu) = cpus.iter().find(|cpu| !allowed.contains(cpu))
    {
        let text = format!("--cpus: there is no CPU {cpu} that this process may use: {allowed:?}");
        return Err(UsageError(text).into());
    }
    if args.index.is_empty() || args.index.contains(['/', '\0']) {
        let text = format!("--index: '{}' is not the name of a file", args.index);
        return Err(UsageError(text).into());
    }
    let mut listen = args
        .listen
        .iter()
        .enumerate()
        .filter(|(_, at)| at.port() > 0);
    if let Some((_, twice)) = listen.find(|(index, at)| args.listen[..*index].contains(at)) {
        return Err(UsageError(format!("--listen {twice} is given twice")).into());
    }
    let mut settings = Settings::new(args.folder, args.listen);
    settings.workers = args
        .workers
        .unwrap_or_else(|| u32::try_from(cpus.len()).unwrap_or(1).max(1));
    settings.cpus = cpus;
    settings.backend = match args.backend {
        BackendName::Auto => Backend::Auto,
        BackendName::Readiness => Backend::Readiness,
        BackendName::Uring => Backend::Uring,
    };
    settings.connections = args.connections;
    settings.limits.requests = match args.requests_per_connection {
        0 => u64::MAX,
        limit => limit,
    };
    settings.limits.idle_time = args.idle_timeout;
    settings.limits.head_time = args.header_timeout;
    settings.limits.body_time = args.body_timeout;
    settings.limits.body = args.max_body.count();
    settings.send_time = args.send_timeout;
    settings.drain_time = args.drain_timeout;
    settings.revalidation = args.revalidate;
    settings.index = args.index;
    settings.listing = args.listing;
    settings.dot_files = args.dot_files;
    settings.access_log = match args.access_log.as_str() {
        "off" => None,
        "-" => Some(standard_output()?),
        path => Some(LogTarget::File(PathBuf::from(path))),
    };
    settings.log_buffer = usize::try_from(args.log_buffer.count()).unwrap_or(usize::MAX);
    settings.log_failed = log_failed;
    settings.synthetic = args.synthetic;
    settings.seed = args.seed;
    settings.http3 = args.http3;
    if args.tls_self_signed {
        settings.tls = Some(self_signed(&settings.listen, args.tls_early_data)?);
    }
    Ok(settings)
}

/// Reads the certificate and its key, if there are some; says which flag lacks them.
fn secure(
    settings: &mut Settings,
    files: Option<&(PathBuf, PathBuf)>,
    takes_early: bool,
) -> anyhow::Result<()> {
    if let Some((certificate, key)) = files {
        let identity = origin::tls::read(certificate, key)?;
        settings.tls = Some(origin::tls::acceptor(identity, takes_early)?);
    }
    let flags = [
        ("--tls-early-data", takes_early),
        ("--http3", settings.http3),
    ];
    let mut wanting = flags.iter().filter(|(_, is_given)| *is_given);
    match (wanting.next(), &settings.tls) {
        (Some((flag, _)), None) => {
            let text = format!(
                "{flag}: it needs a certificate: --tls-cert FILE --tls-key FILE, or \
                 --tls-self-signed"
            );
            Err(UsageError(text).into())
        }
        _ => Ok(()),
    }
}

/// A certificate of our own, which is shown and said to be that.
fn self_signed(listen: &[SocketAddr], takes_early: bool) -> anyhow::Result<wire::tls::Acceptor> {
    let mut names = vec!["localhost".to_owned()];
    names.extend(listen.iter().map(|address| address.ip().to_string()));
    names.dedup();
    let (identity, text) = origin::tls::self_signed(names)?;
    out::note(format_args!(
        "the certificate is self-signed, made for this run: no client trusts it until it is told \
         to\n{}",
        text.trim_end()
    ));
    Ok(origin::tls::acceptor(identity, takes_early)?)
}

/// Says once that lines of the access log are lost, whichever worker noticed it.
fn log_failed(error: &io::Error) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        out::note(format_args!(
            "the access log cannot be written, and lines are lost: {error}"
        ));
    });
}

/// Standard output as a place for the access log.
fn standard_output() -> anyhow::Result<LogTarget> {
    let handle = io::stdout().as_fd().try_clone_to_owned();
    let handle = handle.context("--access-log: there is no standard output")?;
    Ok(LogTarget::Handle(Arc::new(handle.into())))
}

/// Adds what to do about it.
fn explained(error: OriginError) -> anyhow::Error {
    use std::io::ErrorKind;

    let advice = match &error {
        OriginError::Listen { address, source } => match source.kind() {
            ErrorKind::AddrInUse => Some(owner(address.port())),
            ErrorKind::PermissionDenied => {
                Some("ports below 1024 need a privilege; choose a higher one".to_owned())
            }
            ErrorKind::AddrNotAvailable => Some("this machine has no such address".to_owned()),
            _ => None,
        },
        _ => None,
    };
    match advice {
        Some(advice) => anyhow::anyhow!("{error}: {advice}"),
        None => error.into(),
    }
}

/// Who has the port, if this process may know.
fn owner(port: u16) -> String {
    let proc = Path::new("/proc");
    let Some(pid) = lab::condition::owner_of(proc, port) else {
        return "another program listens there; choose another port with --listen".to_owned();
    };
    let name = std::fs::read_to_string(proc.join(format!("{pid}/comm"))).unwrap_or_default();
    format!("{} (process {pid}) listens there", name.trim())
}
