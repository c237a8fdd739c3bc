//! The machine of the servers: a lab as everywhere, whose generator is whoever gave the order.

use std::collections::VecDeque;
use std::fs;
use std::io::{self, BufRead as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use lab::LabError;
use lab::calm::{Calm, Here};
use lab::execution::{Lab, verify_all};
use lab::generator::{Generator, Watch};
use lab::host::Host;
use lab::scratch::Scratch;
use lab::server::Search;
use model::event::Phase;
use model::{Event, Instant, PlanFile, Span, Trial};
use sys::clock;
use sys::process::Interrupt;

use super::super::progress::Screen;
use super::super::{Args, Asked, agents, alone, examine, finish, fit, now};
use super::mirror::{Change, Mirror, place};
use super::words::{Begin, Ending, Order, Word};
use crate::exit::{Exit, UsageError};
use crate::out;
use crate::tool;

/// So often it is looked whether all of it is to end.
const LOOK: Duration = Duration::from_millis(100);

/// Has the servers of a lab until that is over, or standard input ends.
pub(crate) fn serve() -> Exit {
    let ending = match measure() {
        Ok(ending) => ending,
        Err(error) if matches!(error.downcast_ref(), Some(LabError::Interrupted)) => {
            Ending::Interrupted
        }
        Err(error) => Ending::Failed {
            why: format!("{error:#}"),
            is_usage: Exit::of(&error) == Exit::Usage,
        },
    };
    // Whoever has gone needs no answer.
    match say(&Word::Ended(ending)) {
        Ok(()) => Exit::Done,
        Err(_) => Exit::World,
    }
}

fn say(word: &Word) -> anyhow::Result<()> {
    out::line(word.text())
}

fn measure() -> anyhow::Result<Ending> {
    let begun = clock::monotonic();
    let interrupt = Interrupt::arm().context("cannot catch SIGINT")?;
    let orders = listen(interrupt);
    let scratch = Scratch::create()?;
    let Some(given) = Given::take(&orders, scratch.path())? else {
        return Ok(Ending::Interrupted);
    };
    let args = given.args();
    let search = Search::of_system(std::env::current_exe().context("cannot find this program")?);
    let mut asked = Asked::read(&args, &search.catalogue)?;
    asked.begun_by(&given.begin.source, &given.begin.command);
    if let Some(why) = super::refused(&asked.experiment) {
        return Err(UsageError(why).into());
    }
    // Results to go on with were read without that.
    lab::experiment::check_servers(&asked.experiment, &search.catalogue).map_err(UsageError)?;
    if asked.experiment.host().is_none() {
        let why = "the experiment has no table [host]";
        return Err(UsageError(why.to_owned()).into());
    }
    let fitted = fit(&args, &mut asked, &search)?;
    fitted.form.tell(&asked);
    asked.fit_agents(given.begin.threads)?;
    let _alone = alone(&args)?;
    let environment = lab::environment::of_this_machine(tool::this());
    let environment = examine(environment, &args, interrupt)?;
    let (store, manifest) = asked.store(&args.results, &environment, &fitted.division)?;
    let mut mirror = Mirror::new(store.directory());
    if given.begin.text.is_some() && !args.verify {
        say(&Word::Manifest(Box::new(manifest.clone())))?;
    } else {
        // It is there already.
        mirror.changes().context("cannot read results")?;
    }
    let read = || now(&environment);
    let mut screen = Screen::new();
    let mut elsewhere = Elsewhere {
        orders: &orders,
        interrupt,
    };
    let lab = Lab {
        experiment: &asked.experiment,
        manifest: &manifest,
        store: &store,
        scratch: &scratch,
        host: Host::of(&asked.experiment, &read),
        search: &search,
        division: &fitted.division,
        calm: Calm::of(&Here, asked.experiment.calm()),
        generator: &mut elsewhere,
        is_void: &|trial| trial.void.is_some(),
        short: &finish::short,
        budget: args.budget,
        elapsed: &|| clock::monotonic() - begun,
        interrupted: &|| interrupt.is_raised(),
        news: &mut |news| {
            screen.show(news);
            // Where nobody takes it, nothing more needs to be measured.
            if !args.verify && send(&mut mirror).is_err() {
                interrupt.raise();
            }
        },
    };
    if args.verify {
        let complete = fitted.form.is_complete(&asked.experiment, &manifest);
        return Ok(Ending::Verified(verify_all(lab)? && complete));
    }
    let outcome = lab.run();
    screen.end();
    send(&mut mirror)?;
    outcome?;
    Ok(Ending::Done)
}

/// Sends what has changed of the results.
fn send(mirror: &mut Mirror) -> anyhow::Result<()> {
    for change in mirror.changes().context("cannot read results")? {
        say(&match change {
            Change::File(file) => Word::File(file),
            Change::Gone(name) => Word::Gone(name),
        })?;
    }
    Ok(())
}

/// Reads orders on a thread of its own. At the end of them everything ends.
fn listen(interrupt: Interrupt) -> Receiver<Order> {
    let (sender, orders) = channel();
    thread::spawn(move || {
        for line in io::stdin().lock().lines().map_while(Result::ok) {
            match serde_json::from_str(&line) {
                Ok(Order::Stop) => interrupt.raise(),
                Ok(order) => drop(sender.send(order)),
                Err(error) => {
                    out::note(format_args!("an order cannot be read: {error}"));
                    break;
                }
            }
        }
        interrupt.raise();
    });
    orders
}

/// What is to be measured, with the files that it needs.
struct Given {
    begin: Begin,
    /// The experiment, or the folder of results to go on with.
    place: PathBuf,
    results: PathBuf,
}

impl Given {
    /// Takes all orders up to the beginning; none where it ends before.
    fn take(orders: &Receiver<Order>, scratch: &Path) -> anyhow::Result<Option<Self>> {
        let begun = scratch.join("begun");
        while let Ok(order) = orders.recv() {
            match order {
                Order::File(file) => {
                    let path = place(&begun, &file.name)
                        .with_context(|| format!("results have no file named '{}'", file.name))?;
                    write(&path, &file.text)?;
                }
                Order::Begin(begin) => {
                    let place = match &begin.text {
                        None => begun,
                        Some(text) => {
                            let path = scratch.join("experiment.toml");
                            write(&path, text)?;
                            path
                        }
                    };
                    let results = scratch.join("results");
                    return Ok(Some(Self {
                        begin: *begin,
                        place,
                        results,
                    }));
                }
                _ => {}
            }
        }
        Ok(None)
    }

    /// As the command line of a lab on this machine would have it.
    fn args(&self) -> Args {
        let is_new = self.begin.text.is_some();
        Args {
            experiment: is_new.then(|| self.place.display().to_string()),
            overrides: self.begin.overrides.clone(),
            results: self.results.clone(),
            budget: self.begin.budget,
            resume: (!is_new).then(|| Some(self.place.clone())),
            list: false,
            keys: false,
            new: None,
            servers: Vec::new(),
            verify: self.begin.verify,
            no_lock: self.begin.no_lock,
            lock: PathBuf::from(lab::lock::PLACE),
            hiccups: self.begin.hiccups,
            broker: agents::Broker::default(),
        }
    }
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
    }
    fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

/// The generator of another machine, which says when its window is.
struct Elsewhere<'a> {
    orders: &'a Receiver<Order>,
    interrupt: Interrupt,
}

impl Generator for Elsewhere<'_> {
    fn run(&mut self, plan: &PlanFile, watch: &mut Watch<'_>) -> Result<Trial, LabError> {
        let word = Word::Run(Box::new(plan.clone()));
        say(&word).map_err(|_| LabError::Interrupted)?;
        let mut edges = VecDeque::new();
        tell(watch, Phase::Reference, clock::monotonic());
        loop {
            if self.interrupt.is_raised() {
                return Err(LabError::Interrupted);
            }
            let wait = tell_edges(&mut edges, watch);
            match self.orders.recv_timeout(wait.min(LOOK)) {
                Ok(Order::Window(Some([begin, end]))) => {
                    edges = [(Phase::Measurement, begin), (Phase::Drain, end)].into();
                }
                Ok(Order::Made(trial)) => return Ok(*trial),
                Ok(Order::Failed(why)) => return Err(LabError::Generator { why }),
                Ok(_) | Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Err(LabError::Interrupted),
            }
        }
    }
}

/// Tells the edges that have been reached, and how far the next one is.
fn tell_edges(edges: &mut VecDeque<(Phase, u64)>, watch: &mut Watch<'_>) -> Duration {
    while let Some(&(phase, at)) = edges.front() {
        let now = clock::realtime().as_ns();
        if at > now {
            return Duration::from_nanos(at - now);
        }
        let ago = Span::from_ns(now - at);
        let monotonic = clock::monotonic().as_ns().saturating_sub(ago.as_ns());
        tell(watch, phase, Instant::from_ns(monotonic));
        edges.pop_front();
    }
    LOOK
}

fn tell(watch: &mut Watch<'_>, phase: Phase, at: Instant) {
    let event = Event::Phase {
        phase,
        monotonic_ns: at,
    };
    watch(&event, None);
}
