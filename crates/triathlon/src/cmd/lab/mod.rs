//! `triathlon lab EXPERIMENT`: runs an experiment and writes its report.

mod agents;
mod asked;
mod far;
mod finish;
mod listing;
mod missed;
mod progress;
mod rehearsal;
mod resumed;

use std::path::PathBuf;

use anyhow::Context as _;
use lab::calm::{Calm, Here};
use lab::cpus::{self, Division};
use lab::environment;
use lab::execution::{CEILING, Lab, Missing, Starts, present, verify_all};
use lab::experiment::keys;
use lab::generator::{Generator, Local};
use lab::host::Host;
use lab::lock::Lock;
use lab::pair::Pair;
use lab::probe::question::{self, Question};
use lab::scratch::Scratch;
use lab::server::{Installed, Search};
use lab::sweep::{Cost, Present};
use lab::{LabError, condition};
use model::{Environment, Experiment, Instant, Manifest, Span};
use sys::clock;
use sys::process::Interrupt;

use crate::exit::{Exit, UsageError};
use crate::out;
use crate::tool;
use asked::Asked;
pub(crate) use far::{Word, serve};
use progress::Screen;

/// Runs an experiment: starts each server, loads it, meters it, judges every trial.
///
/// Results go to DIR/NAME/TIME: one file for each trial, written whole or not at all, the exact
/// configuration of each server, and report.html. Ctrl-C, SIGTERM or a terminal that closes ends it
/// with the report of what was measured; a second Ctrl-C or SIGTERM ends it at once.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// An experiment file, or the name of a built-in experiment.
    #[arg(value_name = "EXPERIMENT")]
    experiment: Option<String>,
    /// Values that replace those of the file: rounds=10, connections=64, server=origin,nginx.
    #[arg(value_name = "KEY=VALUE")]
    overrides: Vec<String>,
    /// Where results go.
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
    /// Make it take at most this long: thins points first, then windows and the warm-up as far as
    /// the experiment allows (`duration_min`, `warmup_min`), then rounds down to what the
    /// comparisons need, leaves out what has the least priority where that, and the few rounds more
    /// that ranks need, does not fit, and says what it scaled. An eighth of the time is kept for
    /// trials that something disturbs: these are measured again, up to twice, while that helps and
    /// there is time. Rounds beyond those that the comparisons need are left out where starts and
    /// trials take longer than reckoned.
    #[arg(long, value_name = "TIME")]
    budget: Option<Span>,
    /// Continue an interrupted experiment where it stopped: in DIR, or in its newest folder.
    #[arg(long, value_name = "DIR", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "absent, without a value, with one")]
    resume: Option<Option<PathBuf>>,
    /// Print the points and how long they take, and run nothing; with --resume, also what is left
    /// of them. Without an experiment: print the built-in ones. `--list servers`: print the
    /// products and which of them are installed.
    #[arg(long)]
    list: bool,
    /// Print every key of an experiment: what it does, what it takes, what holds without it.
    #[arg(long, conflicts_with_all = ["experiment", "list", "resume", "verify"])]
    keys: bool,
    /// Write a commented experiment to begin with to this file, or to stdout (-); run nothing.
    #[arg(long, value_name = "FILE|-")]
    #[arg(conflicts_with_all = ["experiment", "keys", "list", "resume", "verify"])]
    new: Option<PathBuf>,
    /// A folder of more servers, each in a folder of its own with server.toml and templates. One
    /// with the name of a built-in server replaces it.
    #[arg(long, value_name = "DIR")]
    servers: Vec<PathBuf>,
    /// Start every server, ask it once for each document and then over all connections of the load
    /// at once, and measure nothing.
    #[arg(long, conflicts_with = "list")]
    verify: bool,
    /// Measure even if another lab is measuring on this machine: the two disturb each other.
    #[arg(long)]
    no_lock: bool,
    /// The file by which labs of one machine know of each other.
    #[arg(long, value_name = "FILE", default_value = lab::lock::PLACE, conflicts_with = "no_lock")]
    lock: PathBuf,
    /// Watch the CPUs for this long before the first round, for pauses that no program makes
    /// (CPU-02); 0s watches none.
    #[arg(long, value_name = "TIME", default_value = "1s")]
    hiccups: Span,
    #[command(flatten)]
    broker: agents::Broker,
}

const EXAMPLES: &str = "\
Examples:
  triathlon lab first-heat
      origin beside nginx, Apache and lighttpd, a small and a large file, under four minutes
  triathlon lab first-heat server=origin,nginx connections=1,64 rounds=10
      the same question with fewer servers and points
  triathlon lab --new my.toml
      write an experiment to begin with; --keys prints all that can stand in one
  triathlon lab my.toml --budget 10m
      as much of it as fits into ten minutes
  triathlon lab first-heat --resume
      go on after Ctrl-C
  triathlon lab scalable-2003
      what operations of the kernel cost against how many there are already
  triathlon lab --list servers
      which servers there are, what each can do, and how to install the others
  triathlon lab my.toml --nats nats://198.51.100.1:4222
      by agents on other machines, which the table [generator] or [host] of my.toml names
  triathlon lab first-heat --servers my-servers server=mine,nginx
      with a server of your own: my-servers/mine/server.toml

Exit codes: 0 measured, 1 something failed (nothing was measured, or nothing of a server, a point or
a workload that was asked for), 2 wrong usage, 3 measured but every claim is invalid, 130
interrupted (what was measured is kept). A point that a server does not offer, or that needs more
cores than this machine has, is a row of the report and not a failure, as long as something of its
product was measured, and each workload with some server. In a built-in experiment, so is a server
that is not installed, unless the command names it.";

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    let begun = clock::monotonic();
    let own = std::env::current_exe().context("cannot find this program on disk")?;
    let search = search_of(own.clone(), &resumed::servers(args))?;
    if list_what_exists(args, &search)? {
        return Ok(Exit::Done);
    }
    if let Some(name) = args.experiment.as_deref()
        && let Some(question) = question::read(name).map_err(super::probe::refused)?
    {
        return ask_the_kernel(args, &question);
    }
    let mut asked = Asked::read(args, &search.catalogue)?;
    if let Some(host) = asked.experiment.host() {
        return far::run(args, &asked, host);
    }
    let fitted = fit(args, &mut asked, &search)?;
    if args.list {
        out::write(&fitted.form.grid)?;
        asked.tell();
        return Ok(Exit::Done);
    }
    measure(args, asked, fitted, &search, own, begun)
}

/// Runs what is asked, as it was fitted to this machine; `begun` is when the command was.
fn measure(
    args: &Args,
    mut asked: Asked,
    fitted: Fitted,
    search: &Search,
    own: PathBuf,
    begun: Instant,
) -> anyhow::Result<Exit> {
    let Fitted {
        mut form,
        division,
        pair,
    } = fitted;
    let interrupt = Interrupt::arm().context("cannot catch Ctrl-C")?;
    let is_rehearsed = rehearsal::is_for(args, &asked.experiment);
    if !is_rehearsed {
        form.tell(&asked);
    }
    let _alone = alone(args)?;
    let mut crew = args.broker.gather(&mut asked, interrupt)?;
    let pair = pair?;
    // From here on the network is that of the servers.
    let _inside = pair.as_ref().map(Pair::enter).transpose()?;
    let environment = environment::of_this_machine(tool::this());
    let environment = examine(environment, args, interrupt)?;
    let scratch = Scratch::create()?;
    let results = if args.verify {
        scratch.path().join("results")
    } else {
        args.results.clone()
    };
    let mut local = Local::new(own, division.generator.clone(), Some(interrupt), &scratch)
        .by_way_of(pair.as_ref());
    let read = || now(&environment);
    if is_rehearsed {
        let stage = rehearsal::Stage {
            search,
            division: &division,
            environment: &environment,
            read: &read,
            interrupt,
        };
        let starts = stage.starts(&mut asked, &mut local)?;
        form = fit_budget(args, &mut asked, search, &division, &starts)?;
        form.tell(&asked);
    }
    let (store, manifest) = asked.store(&results, &environment, &division)?;
    let crew = crew.as_mut().map(|crew| crew as &mut dyn Generator);
    let mut screen = Screen::new();
    let lab = Lab {
        experiment: &asked.experiment,
        manifest: &manifest,
        store: &store,
        scratch: &scratch,
        host: Host::of(&asked.experiment, &read),
        search,
        division: &division,
        calm: Calm::of(&Here, asked.experiment.calm()),
        generator: crew.unwrap_or(&mut local),
        is_void: &|trial| trial.void.is_some(),
        short: &finish::short,
        budget: args.budget,
        elapsed: &|| clock::monotonic() - begun,
        interrupted: &|| interrupt.is_raised(),
        news: &mut |news| screen.show(news),
    };
    if args.verify {
        let complete = form.is_complete(&asked.experiment, &manifest);
        let right = verify_all(lab)? && complete;
        return Ok(if right { Exit::Done } else { Exit::World });
    }
    let outcome = lab.run();
    screen.end();
    finish::finish(&store, outcome, args.resume.is_none())
}

/// What of an experiment this machine can run.
struct Fitted {
    form: Form,
    division: Division,
    pair: Result<Option<Pair>, LabError>,
}

/// The form of an experiment that fits into the budget.
struct Form {
    servers: Vec<Option<Installed>>,
    missing: Vec<Missing>,
    /// All of it, for people.
    grid: String,
}

impl Form {
    /// Whether all servers are there that have to be.
    fn is_complete(&self, experiment: &Experiment, manifest: &Manifest) -> bool {
        let named = finish::names_its_servers(manifest);
        !named || missed::is_complete(experiment, (&self.servers, &self.missing))
    }

    /// Tells it, and what was changed of what is asked.
    fn tell(&self, asked: &Asked) {
        out::progress(&self.grid);
        asked.tell();
    }
}

/// Fits what is asked to this machine and to the budget.
fn fit(args: &Args, asked: &mut Asked, search: &Search) -> anyhow::Result<Fitted> {
    let environment = environment::of_this_machine(tool::this());
    let division = divide(&environment, &asked.experiment);
    asked.fit_machine(division.server.len());
    let pair = asked.fit_network(Pair::of(&asked.experiment, search));
    let form = fit_budget(args, asked, search, &division, &Starts::new())?;
    Ok(Fitted {
        form,
        division,
        pair,
    })
}

/// Fits it to the budget alone, where starts of servers were seen to take as long as that.
fn fit_budget(
    args: &Args,
    asked: &mut Asked,
    search: &Search,
    division: &Division,
    starts: &Starts,
) -> anyhow::Result<Form> {
    let environment = environment::of_this_machine(tool::this());
    let whole = asked.whole();
    let (servers, _) = present(whole, search, division);
    let known = with_starts(here(&servers), whole, starts);
    let at_once = asked.at_once(&environment);
    asked.fit(&known, at_once, args.budget, !starts.is_empty())?;
    // A budget may have left some of them out.
    let (servers, missing) = present(&asked.experiment, search, division);
    asked.note_shortfall(&here(&servers));
    let known = with_starts(here(&servers), &asked.experiment, starts);
    let grid = grid(
        asked,
        (&servers, &missing),
        &known,
        at_once,
        &division.words,
    );
    Ok(Form {
        servers,
        missing,
        grid,
    })
}

/// The same, where starts of those servers, by their labels, were seen to take that long.
fn with_starts(present: Present, experiment: &Experiment, starts: &Starts) -> Present {
    let servers = experiment.servers();
    let seen = |label: &str| starts.get(label).copied();
    present.with_starts(&|index| seen(&servers[index].label), seen(CEILING))
}

/// The CPUs of the machine, for as many cores as one of the servers is to have.
fn divide(environment: &Environment, experiment: &Experiment) -> Division {
    let cores = experiment.servers().iter().map(|server| server.cores);
    let cores = cores.max().unwrap_or(1);
    let (allowed, siblings) = (&environment.cpus_allowed, &environment.thread_siblings);
    let far = match (experiment.generator(), experiment.host()) {
        (Some(named), _) => agents::told(named),
        (None, Some(_)) => "the machine of the lab".to_owned(),
        (None, None) => return cpus::divide(allowed, siblings, cores),
    };
    cpus::for_servers(allowed, siblings, cores, &far)
}

/// Those of `servers` that are installed.
fn here(servers: &[Option<Installed>]) -> Present {
    let servers = servers.iter().enumerate();
    let here = |(index, server): (usize, &Option<Installed>)| {
        Some((index, server.as_ref()?.product.steady_within()))
    };
    servers.filter_map(here).collect()
}

/// What is to be run, and what of it is left.
fn grid(
    asked: &Asked,
    (servers, missing): (&[Option<Installed>], &[Missing]),
    known: &Present,
    at_once: u32,
    cpus: &str,
) -> String {
    let cost = Cost::of(&asked.experiment, known, at_once);
    let mut grid = listing::grid(&asked.experiment, servers, missing, cost, cpus);
    if let Some((stored, cost)) = asked.left(servers) {
        grid.push_str(&listing::left(stored, cost));
    }
    grid
}

/// Where programs are looked for, and the servers that are known: ours and those of `folders`.
fn search_of(own: PathBuf, folders: &[PathBuf]) -> anyhow::Result<Search> {
    let mut search = Search::of_system(own);
    for folder in folders {
        let added = search.catalogue.add(folder);
        added.map_err(|error| UsageError(error.to_string()))?;
    }
    Ok(search)
}

/// What runs nothing and asks for no experiment: `--keys`, `--new`, `--list` alone or of servers.
/// False if it is none of these.
fn list_what_exists(args: &Args, search: &Search) -> anyhow::Result<bool> {
    if let Some(file) = &args.new {
        listing::begin(file)?;
        return Ok(true);
    }
    match args.experiment.as_deref() {
        _ if args.keys => out::write(&keys::pages::text())?,
        _ if !args.list => return Ok(false),
        None if args.resume.is_some() => return Ok(false),
        None | Some("experiments") => listing::experiments()?,
        Some("servers") => listing::servers(search)?,
        Some(_) => return Ok(false),
    }
    Ok(true)
}

/// An experiment of probes: it has no servers to start, so nothing else of the lab concerns it.
fn ask_the_kernel(args: &Args, question: &Question) -> anyhow::Result<Exit> {
    let concerns_servers =
        !args.overrides.is_empty() || args.budget.is_some() || args.resume.is_some() || args.verify;
    if concerns_servers {
        return Err(UsageError(format!(
            "{} is an experiment of probes: it takes only --results and --list; 'triathlon probe' \
             runs single probes at other sizes",
            question.file.experiment.name
        ))
        .into());
    }
    super::probe::experiment(question, &args.results, args.list)
}

/// Keeps other labs from this machine while we measure.
fn alone(args: &Args) -> Result<Option<Lock>, LabError> {
    if args.no_lock || args.verify {
        return Ok(None);
    }
    Lock::take(&args.lock).map(Some)
}

/// The machine as it is now; the doctor's part of it as it was found at the start.
fn now(at_start: &Environment) -> Environment {
    let mut now = environment::of_this_machine(tool::this());
    now.doctor.clone_from(&at_start.doctor);
    now.doctor_unknown.clone_from(&at_start.doctor_unknown);
    now
}

/// Lets the doctor look at the machine first: what it finds is stored with every trial, and what it
/// could not read. The servers have their turn when they are started.
fn examine(
    mut environment: Environment,
    args: &Args,
    interrupt: Interrupt,
) -> Result<Environment, LabError> {
    let watched = if args.verify {
        Span::ZERO
    } else {
        args.hiccups
    };
    let roots = condition::Roots::default();
    let mut condition = condition::read(&roots, environment.clone(), &args.results, None);
    if !watched.is_zero() {
        out::note(format_args!(
            "watching the CPUs for {watched} for pauses that no program makes (--hiccups 0s skips \
             this)"
        ));
        let is_over = || interrupt.is_raised();
        condition.hiccups = sys::hiccup::watch(&environment.cpus_allowed, watched, is_over);
    }
    if interrupt.is_raised() {
        return Err(LabError::Interrupted);
    }
    let examination = verdict::doctor::examine(&condition);
    environment.doctor = examination.findings();
    environment.doctor_unknown = examination.unknown;
    // Ports that earlier connections still hold belong to other source addresses: each trial has
    // its own.
    environment
        .doctor
        .retain(|finding| finding.rule != "TCP-02");
    Ok(environment)
}
