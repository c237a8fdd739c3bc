//! Who makes the load of servers on another machine: this one, or agents that the experiment names.
//!
//! The machine of the servers is told the edges of the window by its own clock as soon as the start
//! is known, before they come.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use anyhow::Context as _;
use fleet::clock::Clock;
use fleet::{FleetError, Member, Name, Talk};
use lab::LabError;
use lab::generator::Told;
use model::plan::Stop;
use model::trial::Offset;
use model::{Environment, PlanFile, Span, Trial};
use sys::clock;
use sys::process::Interrupt;

use super::super::agents::Crew;
use super::super::{Args, Asked, agents};
use super::words::Order;
use crate::cmd::agent::host::{Machine, here};
use crate::cmd::agent::{crew, name_of_this_machine};

/// From the moment when all is ready to the first exchange: the servers' machine knows it by then.
const LEAD: Span = Span::from_s(1);
/// How long a load may take beyond what its plan says, until the servers' machine asks whether
/// somebody is here.
const PATIENCE: Span = Span::from_s(5);
/// So often the connection to the servers' machine is looked after.
const LOOK: Duration = Duration::from_millis(100);

/// Who makes the load.
pub(super) enum Maker {
    /// Agents, together.
    Agents(Box<Crew>),
    /// This machine.
    Here(Box<Machine>),
}

impl Maker {
    /// As what is asked says; agents are there, and none of them is `servers`.
    pub(super) fn of(
        args: &Args,
        asked: &Asked,
        servers: &Name,
        interrupt: Interrupt,
    ) -> anyhow::Result<Self> {
        if let Some(named) = asked.experiment.generator() {
            let crew = args.broker.beside(servers, named, interrupt)?;
            return Ok(Self::Agents(Box::new(crew)));
        }
        sys::process::raise_open_files(u64::MAX).context("cannot raise the limit of open files")?;
        Ok(Self::Here(Box::new(Machine::new(interrupt)?)))
    }

    /// In words.
    pub(super) fn told(&self, asked: &Asked) -> String {
        match asked.experiment.generator() {
            Some(named) => format!("the load comes from {}", agents::told(named)),
            None => "this machine makes the load".to_owned(),
        }
    }

    /// How many CPUs there are for its workers.
    pub(super) fn threads(&self) -> u32 {
        match self {
            Self::Agents(crew) => crew.threads(),
            Self::Here(machine) => u32::try_from(machine.threads()).unwrap_or(u32::MAX),
        }
    }

    /// Makes the load of `plan`, which leads to `addresses` and nowhere else: agents look for
    /// themselves, and go where their owners allow it.
    pub(super) fn make(
        &mut self,
        plan: PlanFile,
        addresses: Vec<SocketAddr>,
        talk: &mut Talk<'_>,
    ) -> Result<Trial, LabError> {
        let clock = talk.clock().map_err(failed)?;
        match self {
            Self::Agents(crew) => by_agents(crew, &plan, clock, talk),
            Self::Here(machine) => {
                let asked = PlanFile {
                    addresses,
                    cpus: Vec::new(),
                    ..plan.clone()
                };
                by_this_machine(machine, plan, asked, clock, talk)
            }
        }
    }
}

fn failed(error: FleetError) -> LabError {
    LabError::Generator {
        why: error.to_string(),
    }
}

fn by_this_machine(
    machine: &Machine,
    plan: PlanFile,
    asked: PlanFile,
    clock: Clock,
    talk: &mut Talk<'_>,
) -> Result<Trial, LabError> {
    let workers = 0..plan.workers;
    let (mut begun, mut lost) = (false, None);
    let mut told = |is_ready: bool| {
        talk.breathe();
        if begun || !is_ready {
            return Told::Nothing;
        }
        begun = true;
        let start = clock::realtime().as_ns().saturating_add(LEAD.as_ns());
        match say_window(talk, &plan, clock, fleet::window(&plan, start)) {
            Ok(()) => Told::Begin(here(start)),
            Err(error) => {
                lost = Some(error);
                Told::Stop
            }
        }
    };
    let made = machine.make(asked, workers.clone(), &mut told, &mut |_| ());
    if let Some(error) = lost {
        return Err(failed(error));
    }
    let member = Member {
        name: Name::like(&name_of_this_machine()),
        workers,
        // The servers' machine asked for the load, and what is known is how far that is ahead.
        clock: Clock {
            offset_ns: clock.offset_ns.saturating_neg(),
            within: clock.within,
        },
    };
    let environment = Environment::default();
    let mut trial = crew::together(plan, &[member], vec![made?], environment);
    trial.redact();
    Ok(trial)
}

/// The load of agents takes a thread, so that the servers' machine is told of it meanwhile.
fn by_agents(
    crew: &Crew,
    plan: &PlanFile,
    clock: Clock,
    talk: &mut Talk<'_>,
) -> Result<Trial, LabError> {
    let (sender, windows) = channel();
    let silent = Order::Window(None).text();
    talk.say(silent, longest(plan)).map_err(failed)?;
    thread::scope(|scope| {
        let made = scope.spawn(move || {
            let mut window = |edges| {
                // Nobody waits for it where the servers' machine has gone.
                let _sent = sender.send(edges);
            };
            crew.make_for(plan, &mut window)
        });
        let told = tell_window(&windows, plan, clock, talk);
        let made = made.join().expect("what makes the load does not panic");
        told.map_err(failed).and(made)
    })
    .map(|made| Trial {
        servers_clock: Some(Offset {
            offset_ns: clock.offset_ns,
            within: clock.within,
        }),
        ..made
    })
}

/// Tells the edges of the window, and returns when nothing more happens.
fn tell_window(
    windows: &Receiver<Option<[u64; 2]>>,
    plan: &PlanFile,
    clock: Clock,
    talk: &mut Talk<'_>,
) -> Result<(), FleetError> {
    let mut told = Ok(());
    loop {
        match windows.recv_timeout(LOOK) {
            Ok(edges) => told = told.and_then(|()| say_window(talk, plan, clock, edges)),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return told,
        }
        talk.breathe();
    }
}

/// Says the edges of the window of a plan as the servers' machine has them; none where a count ends
/// it.
fn say_window(
    talk: &mut Talk<'_>,
    plan: &PlanFile,
    clock: Clock,
    edges: Option<[u64; 2]>,
) -> Result<(), FleetError> {
    let window = edges.map(|edges| edges.map(|at| clock.there(at)));
    talk.say(Order::Window(window).text(), longest(plan))
}

/// How long nothing is said of a load.
fn longest(plan: &PlanFile) -> Span {
    let window = match plan.stop {
        Stop::Count(_) => plan.longest_wait(),
        Stop::DurationNs(length) => length,
    };
    LEAD + plan.warmup + window + plan.longest_wait() + PATIENCE
}
