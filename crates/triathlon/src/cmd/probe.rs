//! `triathlon probe [NAME...]`: what the kernel can do, against how much of it there is already.

use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context as _;
use lab::probe::question::{self, Question};
use lab::probe::run::{Finished, Progress, Settings};
use lab::probe::select::{Wanted, everything, jobs, named};
use lab::probe::{Exchange, PROBES, ProbeError, Task, of_product, server, shelf};
use lab::scratch::{self, Scratch};
use lab::server::Search;
use model::plan::Url;
use model::{Json as _, ProbeResult};
use report::probe::Side;
use verdict::words;

use crate::exit::{Exit, UsageError};
use crate::out;
use crate::tool;
use crate::whole;

/// The heading of a page about all probes.
pub(crate) const TITLE: &str = "What this kernel can do";

const EXAMPLES: &str = "\
Examples:
  triathlon probe                       every probe, five passes, in about a minute
  triathlon probe socket bind:2003-11   two of them, the second in one variant
  triathlon probe mmap --population 60000 --plot
  triathlon probe connect request --url http://127.0.0.1:8080/
  triathlon probe connect@nginx request@nginx
  triathlon probe --experiment scalable-2003
  triathlon probe --list                what there is and what it takes

A result is one file per probe with all points of all passes, and report.html with their
plots. 'triathlon compare A B' lays two results over each other.";

/// The experiment that results answer, in their folder.
const EXPERIMENT: &str = "experiment.toml";

/// A server that takes longer to accept a first connection is not there.
const PATIENCE: Duration = Duration::from_secs(5);

/// Arguments of `triathlon probe`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Probes to run, as NAME or NAME:VARIANT; all of them if none is given. With @SERVER, connect
    /// and request start and ask a server of the lab instead of our own.
    #[arg(value_name = "NAME[:VARIANT][@SERVER]")]
    names: Vec<String>,
    /// How many operations each pass does [default: the usual number of each probe].
    #[arg(long, value_name = "N", value_parser = whole::at_least_one::<u32>())]
    population: Option<u32>,
    /// Passes of each probe. With fewer than 3, no growth class is named.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 5,
        value_parser = whole::from_to(1..=100_u32)
    )]
    passes: u32,
    /// Ask this server in connect and request, instead of starting our own.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// Run an experiment of probes: a file with probe tables, or scalable-2003.
    #[arg(long, value_name = "FILE|NAME", conflicts_with_all = ["names", "population", "passes"])]
    experiment: Option<String>,
    /// Where results go; a folder named after the time is made in it.
    #[arg(long, value_name = "DIR", default_value = "results/probe")]
    results: PathBuf,
    /// Show all probes with their variants and usual populations, and run none.
    #[arg(long, conflicts_with_all = ["json", "plot"])]
    list: bool,
    /// Draw all points of each operation in the terminal too.
    #[arg(long)]
    plot: bool,
    /// Print the results as JSON, one line each, instead of the table.
    #[arg(long)]
    json: bool,
    /// Run one pass in this process and write it to --out. This is how passes are started.
    #[arg(long, hide = true, requires_all = ["folder", "out", "population"])]
    one: Option<String>,
    /// The number of that pass.
    #[arg(long, hide = true, default_value_t = 1)]
    pass: u32,
    /// Its private folder.
    #[arg(long, hide = true)]
    folder: Option<PathBuf>,
    /// Where its answer goes.
    #[arg(long, hide = true)]
    out: Option<PathBuf>,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.list {
        if let Some(name) = &args.experiment {
            let why = format!(
                "--list tells of the probes that there are; triathlon lab {name} --list tells what \
                 an experiment asks of them"
            );
            return Err(UsageError(why).into());
        }
        list()?;
        return Ok(Exit::Done);
    }
    if let Some(name) = &args.experiment {
        let question = question::read(name).map_err(refused)?.ok_or_else(|| {
            let names: Vec<&str> = question::BUILT_IN.iter().map(|(name, _)| *name).collect();
            UsageError(format!(
                "'{name}' is neither a file with [[probe]] tables nor a built-in experiment of \
                 probes; built in: {}",
                names.join(", ")
            ))
        })?;
        return measure(&request_of(&question, args.results.clone()));
    }
    match (&args.one, &args.folder, &args.out, args.population) {
        (Some(name), Some(folder), Some(out), Some(population)) => {
            one(args, name, folder, out, population)
        }
        _ => all(args),
    }
}

fn list() -> anyhow::Result<()> {
    for probe in PROBES {
        out::line(format_args!(
            "{:<16}{} {}",
            probe.name, probe.population, probe.axis
        ))?;
        for line in wrapped(probe.question, 82) {
            out::line(format_args!("{:<16}{line}", ""))?;
        }
        for variant in probe.variants {
            let name = format!("{}:{}", probe.name, variant.name);
            out::line(format_args!("  {name}"))?;
            for line in wrapped(variant.what, 82) {
                out::line(format_args!("{:<16}{line}", ""))?;
            }
        }
    }
    Ok(())
}

/// Lines of at most `width` characters, broken at blanks.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is always a last line");
        if !last.is_empty() && last.len() + 1 + word.len() > width {
            lines.push(word.to_owned());
        } else {
            if !last.is_empty() {
                last.push(' ');
            }
            last.push_str(word);
        }
    }
    lines
}

/// One pass, in this process.
fn one(
    args: &Args,
    name: &str,
    folder: &Path,
    out: &Path,
    population: u32,
) -> anyhow::Result<Exit> {
    let (target, exchange) = match &args.url {
        Some(url) => {
            let (address, url) = target(url)?;
            (Some(address), exchange(&url.path, &url.authority))
        }
        None => (None, exchange(&format!("/{}", server::FILE), "localhost")),
    };
    let (cpu, server_cpu) = lab::probe::cpus();
    let task = Task {
        population,
        pass: args.pass,
        variant: None,
        folder: folder.to_owned(),
        program: std::env::current_exe().context("finding this program")?,
        target,
        exchange,
        cpu,
        server_cpu,
    };
    lab::probe::pass::run(name, &task, out)?;
    Ok(Exit::Done)
}

/// Where a URL leads: the first of its addresses that somebody answers on, because `localhost`
/// has two of them and most servers listen on one.
fn target(url: &str) -> anyhow::Result<(SocketAddr, Url)> {
    let parsed = Url::parse(url).map_err(|error| UsageError(error.to_string()))?;
    if parsed.is_secure {
        let why = format!("{url}: probes connect without TLS (https); give an http URL");
        return Err(UsageError(why).into());
    }
    let addresses = (parsed.host.as_str(), parsed.port)
        .to_socket_addrs()
        .with_context(|| format!("looking up {}", parsed.host))?;
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(_) => return Ok((address, parsed)),
            Err(error) => last = Some(anyhow::anyhow!("{address}: {error}")),
        }
    }
    let why = last.unwrap_or_else(|| anyhow::anyhow!("{} has no address", parsed.host));
    Err(why.context(format!(
        "no server answers at {url}; start it first, or leave --url out and our own server is asked"
    )))
}

/// The process that serves a URL, where it is one of this machine.
fn local_server(url: &str) -> Option<u32> {
    let (address, _) = target(url).ok()?;
    let local = std::net::TcpListener::bind((address.ip(), 0)).is_ok();
    let roots = lab::condition::Roots::default();
    local
        .then(|| lab::condition::owner_at(&roots.proc, address))
        .flatten()
}

/// What is asked of a server, and what its answer begins with.
fn exchange(path: &str, host: &str) -> Exchange {
    let request = |path: &str, connection: &str| {
        format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: {connection}\r\n\r\n")
            .into_bytes()
    };
    Exchange {
        closing: request(path, "close"),
        keeping: request(path, "keep-alive"),
        download: request(&format!("/{}", server::FILE), "close"),
        begins: b"HTTP/1.1 200".to_vec(),
    }
}

/// What is asked, and of whom.
struct Request<'a> {
    /// Where the folder of the results is made.
    root: PathBuf,
    wanted: Vec<Wanted>,
    passes: u32,
    url: Option<String>,
    /// The experiment, where it is one.
    question: Option<&'a Question>,
    show: Show,
}

/// What goes to stdout.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Show {
    Json,
    Plots,
    Table,
}

/// All passes of all probes that were asked for on the command line.
fn all(args: &Args) -> anyhow::Result<Exit> {
    let wanted = match args.names.as_slice() {
        [] => everything()
            .into_iter()
            .map(|one| Wanted {
                population: args.population,
                ..one
            })
            .collect(),
        names => names
            .iter()
            .map(|name| wanted(name, args))
            .collect::<Result<_, _>>()?,
    };
    if let Some(url) = &args.url {
        let asks = |name: &String| named(name).is_ok_and(|all| all[0].0.asks_requests());
        if !args.names.is_empty() && !args.names.iter().any(asks) {
            let why = format!("--url {url}: these probes ask no server; connect and request do");
            return Err(UsageError(why).into());
        }
        target(url)?;
    }
    measure(&Request {
        root: args.results.clone(),
        wanted,
        passes: args.passes,
        url: args.url.clone(),
        question: None,
        show: match (args.json, args.plot) {
            (true, _) => Show::Json,
            (false, true) => Show::Plots,
            (false, false) => Show::Table,
        },
    })
}

/// What a name on the command line asks for.
fn wanted(name: &str, args: &Args) -> anyhow::Result<Wanted> {
    let (way, server) = match name.split_once('@') {
        Some((way, product)) => (way, Some(of_product(product).map_err(refused)?)),
        None => (name, None),
    };
    if let (Some(server), Some(url)) = (&server, &args.url) {
        let product = &server.product;
        let why =
            format!("{name} asks a {product} that is started, and --url {url} another: give one");
        return Err(UsageError(why).into());
    }
    Ok(Wanted {
        name: way.to_owned(),
        population: args.population,
        server,
        strict: true,
    })
}

/// Runs an experiment of probes, or tells what it would run; results go to `DIR/NAME/TIME`.
pub(crate) fn experiment(
    question: &Question,
    results: &Path,
    only_list: bool,
) -> anyhow::Result<Exit> {
    let asked = &question.file.experiment;
    if only_list {
        out::line(format_args!("{}: {}", asked.name, asked.question))?;
        for job in jobs(&question.wanted(), Path::new("/proc"), Path::new("."))? {
            out::line(format_args!(
                "{:<24} {} {}, {}",
                job.name(),
                job.population,
                job.probe.axis,
                words::plural(u64::from(asked.passes), "pass")
            ))?;
        }
        return Ok(Exit::Done);
    }
    measure(&request_of(question, results.join(&asked.name)))
}

/// What an experiment asks; its results go to a folder below `root`.
fn request_of(question: &Question, root: PathBuf) -> Request<'_> {
    Request {
        root,
        wanted: question.wanted(),
        passes: question.file.experiment.passes,
        url: None,
        question: Some(question),
        show: Show::Table,
    }
}

/// What was asked wrongly is a mistake of the command line.
pub(crate) fn refused(error: ProbeError) -> anyhow::Error {
    match error {
        ProbeError::Unknown(_) | ProbeError::Limit(_) => UsageError(error.to_string()).into(),
        other => other.into(),
    }
}

fn measure(request: &Request<'_>) -> anyhow::Result<Exit> {
    let made = shelf::missing(&request.root);
    let results = shelf::create(&request.root)?;
    scratch::sweep_below(&request.root);
    let work = Scratch::create_in(&results, ".work-")?;
    let jobs = match jobs(&request.wanted, Path::new("/proc"), work.path()) {
        Ok(jobs) => jobs,
        Err(error) => {
            drop(work);
            shelf::discard(&results, &made);
            return Err(refused(error));
        }
    };
    if let Some(question) = request.question {
        shelf::put_file(&results, EXPERIMENT, question.text.as_bytes())?;
    }
    let interrupt = sys::process::Interrupt::arm().context("listening for Ctrl-C")?;
    let own = std::env::current_exe().context("finding this program")?;
    let settings = Settings {
        search: Search::of_system(own.clone()),
        program: own,
        scratch: &work,
        passes: request.passes,
        url: request.url.clone(),
        server: request.url.as_deref().and_then(local_server),
        environment: lab::environment::of_this_machine(tool::this()),
    };
    let finished = lab::probe::run::run(
        &jobs,
        &settings,
        interrupt,
        &mut |result| shelf::put(&results, result),
        &mut progress(),
    );
    if out::draws() {
        out::progress("\r\x1b[K");
    }
    drop(work);
    show(request, &finished?, &results)
}

/// A line on stderr that is written over on a terminal; elsewhere one for each round of passes.
fn progress() -> impl FnMut(Progress<'_>) {
    let terminal = out::draws();
    let mut round = 0;
    move |event| match event {
        Progress::Begins {
            job,
            pass,
            done,
            all,
        } if terminal => out::progress(format_args!(
            "\r\x1b[K{:3} %  pass {pass}: {}, {} {}",
            done * 100 / all.max(1),
            job.name(),
            job.population,
            job.probe.axis
        )),
        Progress::Begins { pass, all, .. } => {
            if pass != round {
                round = pass;
                out::note(format_args!(
                    "pass {pass} ({all} measurements in all passes)"
                ));
            }
        }
        Progress::Failed { job, why } => {
            let clear = if terminal { "\r\x1b[K" } else { "" };
            out::note(format_args!("{clear}{}: {why}", job.name()));
        }
    }
}

/// The experiment that the results of a folder answer, where it is one of probes.
pub(crate) fn question_of(folder: &Path) -> anyhow::Result<Option<Question>> {
    let path = folder.join(EXPERIMENT);
    if !path.is_file() {
        return Ok(None);
    }
    let question = question::read(&path.to_string_lossy());
    question.with_context(|| format!("reading {}", path.display()))
}

/// The page of results, with what an earlier study saw and asked where they answer one.
pub(crate) fn page(results: &[ProbeResult], question: Option<&Question>) -> String {
    match question {
        Some(question) => report::html::probes_asked(&question.file, results, None),
        None => report::html::probes(TITLE, &[Side { name: "", results }]),
    }
}

/// The report, and what a terminal shows.
fn show(request: &Request<'_>, finished: &Finished, folder: &Path) -> anyhow::Result<Exit> {
    let side = Side {
        name: "",
        results: &finished.results,
    };
    let page = page(side.results, request.question);
    let page = shelf::put_file(folder, "report.html", page.as_bytes())?;
    match print(request, side, finished, &page) {
        Err(error) if finished.interrupted => out::note(format_args!("{error:#}")),
        printed => printed?,
    }
    if finished.interrupted {
        return Ok(Exit::Interrupted);
    }
    let nothing = finished
        .results
        .iter()
        .all(|result| result.passes.is_empty());
    Ok(if nothing { Exit::World } else { Exit::Done })
}

/// What goes to stdout.
fn print(
    request: &Request<'_>,
    side: Side<'_>,
    finished: &Finished,
    page: &Path,
) -> anyhow::Result<()> {
    if request.show == Show::Json {
        for result in &finished.results {
            out::line(format_args!("{}", result.to_json()?))?;
        }
    } else {
        out::write(&report::probe::table(&side))?;
        if request.show == Show::Plots {
            for operation in report::probe::operations(&[side]) {
                out::line(format_args!("\n{}", report::probe::scatter(&operation)))?;
            }
        }
        out::line(format_args!("\n{}", page.display()))?;
    }
    Ok(())
}
