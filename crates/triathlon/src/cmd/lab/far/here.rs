//! The machine of the lab: it makes the load, or has agents make it, and keeps the results.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use fleet::desk::allowed;
use fleet::{FleetError, Name, Said, Talk};
use lab::LabError;
use lab::store::Store;
use model::experiment::HostFile;
use model::{Manifest, PlanFile, Prefix, Span, Trial};
use sys::process::Interrupt;

use super::super::{Args, Asked, agents, alone, finish};
use super::maker::Maker;
use super::mirror::{Change, Mirror, place};
use super::words::{Begin, Ending, Order, Word};
use crate::cmd::agent::host::resolve;
use crate::cmd::load::is_ours;
use crate::exit::{Exit, UsageError};
use crate::out;

/// So long the servers' machine may take to end.
const STOP_LIMIT: Duration = Duration::from_secs(90);

/// Has an agent measure what is asked, and stores it here.
pub(crate) fn run(args: &Args, asked: &Asked, host: &HostFile) -> anyhow::Result<Exit> {
    refuse(args, asked)?;
    let name = host.server.parse::<Name>();
    let name = name.map_err(|why| UsageError(format!("host.server: {why}")))?;
    let coordinator = args.broker.to_servers(&name)?;
    let interrupt = Interrupt::arm().context("cannot catch Ctrl-C")?;
    // On one machine the lab of its servers keeps others away, and agents have their own ones.
    let is_apart = !is_ours((host.address, 0).into()) && asked.experiment.generator().is_none();
    let _alone = is_apart.then(|| alone(args)).transpose()?;
    let maker = Maker::of(args, asked, &name, interrupt)?;
    let seen = coordinator.starter(&name, agents::FREE)?;
    out::note(format_args!(
        "agent {name} has the servers, and {}",
        maker.told(asked)
    ));
    let mut lab = Here {
        talk: coordinator.talk(&seen)?,
        maker,
        interrupt,
        host,
        results: &args.results,
        name: asked.experiment.name().to_owned(),
        text: asked.text().to_owned(),
        store: asked.stored().cloned(),
    };
    let outcome = lab.begin(args, asked).and_then(|()| lab.follow());
    let outcome = outcome.map_err(|error| match error {
        Lost::Agent(FleetError::Interrupted) => LabError::Interrupted,
        Lost::Agent(error) => LabError::Host {
            why: error.to_string(),
        },
        Lost::Results(error) => error,
    });
    let ending = match outcome {
        // What it says of its own is said as it is.
        Ok(Ending::Failed {
            why,
            is_usage: true,
        }) => return Err(UsageError(why).into()),
        Ok(Ending::Failed { why, .. }) => Err(LabError::Host { why }),
        Ok(Ending::Interrupted) if !interrupt.is_raised() => Err(LabError::Host {
            why: format!("agent '{name}' was told to end"),
        }),
        Ok(Ending::Interrupted) => Err(LabError::Interrupted),
        Ok(Ending::Verified(right)) => return Ok(if right { Exit::Done } else { Exit::World }),
        Ok(Ending::Done) => Ok(()),
        Err(error) => Err(error),
    };
    match (&lab.store, ending) {
        (Some(store), ending) => finish::finish(store, ending, args.resume.is_none()),
        (None, Err(LabError::Interrupted)) => Ok(Exit::Interrupted),
        (None, Err(error)) => Err(error.into()),
        (None, Ok(())) => Ok(Exit::World),
    }
}

/// What cannot be asked of an agent.
fn refuse(args: &Args, asked: &Asked) -> Result<(), UsageError> {
    let why = match super::refused(&asked.experiment) {
        Some(why) => why,
        None if args.list => "--list: only the machine of the servers knows what it can run: \
                              leave out [host], or list it there"
            .to_owned(),
        None if !args.servers.is_empty() => "--servers: an agent starts servers as its own \
                                             program knows them"
            .to_owned(),
        None => return Ok(()),
    };
    Err(UsageError(why))
}

/// Why it does not go on.
enum Lost {
    Agent(FleetError),
    Results(LabError),
}

impl From<FleetError> for Lost {
    fn from(error: FleetError) -> Self {
        Self::Agent(error)
    }
}

impl From<LabError> for Lost {
    fn from(error: LabError) -> Self {
        Self::Results(error)
    }
}

/// A lab whose servers are elsewhere.
struct Here<'a> {
    talk: Talk<'a>,
    maker: Maker,
    interrupt: Interrupt,
    host: &'a HostFile,
    results: &'a Path,
    name: String,
    text: String,
    /// Where its results are, once there are any.
    store: Option<Store>,
}

impl Here<'_> {
    fn say(&mut self, order: &Order, silence: Span) -> Result<(), FleetError> {
        self.talk.say(order.text(), silence)
    }

    /// Says what is to be measured, and what was measured already.
    fn begin(&mut self, args: &Args, asked: &Asked) -> Result<(), Lost> {
        let begun = asked.stored().map(Store::directory);
        if let Some(folder) = begun {
            let changes = Mirror::new(folder).changes();
            let changes = changes.map_err(|error| LabError::Resume {
                why: format!("cannot read {}: {error}", folder.display()),
            })?;
            for change in changes {
                if let Change::File(file) = change {
                    self.say(&Order::File(file), Span::ZERO)?;
                }
            }
        }
        let begin = Begin {
            text: begun.is_none().then(|| self.text.clone()),
            source: asked.source_name().to_owned(),
            command: crate::shell::command_line(),
            overrides: args.overrides.clone(),
            budget: args.budget,
            hiccups: args.hiccups,
            no_lock: args.no_lock,
            verify: args.verify,
            threads: self.maker.threads(),
        };
        self.say(&Order::Begin(Box::new(begin)), Span::ZERO)?;
        Ok(())
    }

    /// Does what the machine of the servers asks for, until it has ended.
    fn follow(&mut self) -> Result<Ending, Lost> {
        let mut stopped: Option<Instant> = None;
        loop {
            match stopped {
                None if self.interrupt.is_raised() => {
                    self.say(&Order::Stop, Span::ZERO)?;
                    stopped = Some(Instant::now());
                }
                Some(at) if at.elapsed() > STOP_LIMIT => {
                    return Err(Lost::Agent(FleetError::Interrupted));
                }
                _ => {}
            }
            let line = match self.talk.hear()? {
                Said::Nothing => continue,
                Said::Line(line) => line,
                Said::Closed(why) => {
                    let why = why.unwrap_or_else(|| "it ended without a result".to_owned());
                    return Err(LabError::Host { why }.into());
                }
            };
            match understood(&line)? {
                Word::Note(text) => out::note(text.replace(char::is_control, " ")),
                Word::Manifest(manifest) => self.create(&manifest)?,
                Word::File(file) => self.store(&file.name, Some(&file.text))?,
                Word::Gone(name) => self.store(&name, None)?,
                Word::Run(plan) => self.answer(*plan)?,
                Word::Ended(ending) => return Ok(ending),
            }
        }
    }

    /// Makes the folder of results, which is named after what was asked and the time.
    fn create(&mut self, manifest: &Manifest) -> Result<(), LabError> {
        let is_of_times = |c: char| c.is_ascii_digit() || "-:TZ".contains(c);
        let is_same = manifest.experiment.experiment.name == self.name;
        if !is_same || !manifest.time.chars().all(is_of_times) {
            return Err(LabError::Host {
                why: "it measures something else than what was asked".to_owned(),
            });
        }
        if self.store.is_none() {
            self.store = Some(Store::create(self.results, manifest, &self.text)?);
        }
        Ok(())
    }

    /// Stores a file of the results, or takes it away.
    fn store(&self, name: &str, text: Option<&str>) -> Result<(), LabError> {
        let Some(store) = &self.store else {
            return Ok(());
        };
        let path = place(store.directory(), name).ok_or_else(|| LabError::Host {
            why: format!("results have no file named '{name}'"),
        })?;
        let Some(text) = text else {
            // One that is not there is gone.
            drop(fs::remove_file(path));
            return Ok(());
        };
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| LabError::File {
                doing: "create",
                path: folder.to_owned(),
                source: error,
            })?;
        }
        store.put_file(name, text)?;
        Ok(())
    }

    /// Makes the load of `plan`, and says what came of it.
    fn answer(&mut self, plan: PlanFile) -> Result<(), FleetError> {
        let order = match self.make(plan) {
            Ok(trial) => Order::Made(Box::new(trial)),
            // It is told to end by the next look.
            Err(LabError::Interrupted) => return Ok(()),
            Err(LabError::Generator { why }) => Order::Failed(why),
            Err(error) => Order::Failed(error.to_string()),
        };
        self.say(&order, Span::ZERO)
    }

    fn make(&mut self, plan: PlanFile) -> Result<Trial, LabError> {
        let failed = |why: String| LabError::Generator { why };
        let target: Prefix = format!("{}/32", self.host.address)
            .parse()
            .map_err(|_| failed("the servers have no address".to_owned()))?;
        let addresses = allowed(&plan, &[target], &resolve)
            .map_err(|why| failed(format!("the plan does not lead to the servers: {why}")))?;
        self.maker.make(plan, addresses, &mut self.talk)
    }
}

fn understood(line: &str) -> Result<Word, LabError> {
    serde_json::from_str(line).map_err(|error| LabError::Host {
        why: format!("this program does not understand its message: {error}"),
    })
}
