//! `[generator]` of an experiment: agents on other machines make the load, and this machine has the
//! servers, or the agent that `[host]` names.

use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use fleet::{Coordinator, Ears, Edge, FleetError, Interval, Name, Seen, Wanted, Wish};
use lab::LabError;
use lab::generator::{Generator, Watch};
use model::event::Phase;
use model::experiment::GeneratorFile;
use model::{Event, Instant, PlanFile, Trial};
use sys::clock;
use sys::process::Interrupt;
use verdict::words;

use super::asked::Asked;
use crate::cmd::agent::{access, crew};
use crate::exit::UsageError;
use crate::tool;

/// An agent that a lab has left behind, which was killed, is free again within this time.
pub(super) const FREE: Duration = Duration::from_secs(150);

/// How the agents of an experiment are reached.
#[derive(clap::Args, Debug, Default)]
pub(super) struct Broker {
    /// The NATS server that the agents of the experiment listen to (the tables `[generator]` and
    /// `[host]`): nats://HOST:PORT, or tls://HOST:PORT to insist on TLS.
    #[arg(long, value_name = "URL")]
    nats: Option<String>,
    /// With --nats: the file of credentials for it, as nsc writes them.
    #[arg(long, value_name = "FILE", requires = "nats")]
    creds: Option<PathBuf>,
}

/// Agents that make the load of a lab.
pub(super) struct Crew {
    coordinator: Coordinator,
    seen: Vec<Seen>,
    interrupt: Interrupt,
}

impl Broker {
    /// A connection to the agent `name`, which has the servers of the experiment.
    pub(super) fn to_servers(&self, name: &Name) -> anyhow::Result<Coordinator> {
        let servers = format!("the servers of this experiment are started by agent {name}");
        let url = self.nats.as_deref().ok_or_else(|| unreachable(&servers))?;
        self.connect(url)
    }

    fn connect(&self, url: &str) -> anyhow::Result<Coordinator> {
        let access = access(url, self.creds.clone(), "lab");
        Ok(Coordinator::connect(&access, tool::BUILD)?)
    }

    /// The agents that the experiment names, each of which is there, and whose CPUs its load then
    /// fits; none where this machine makes the load.
    pub(super) fn gather(
        &self,
        asked: &mut Asked,
        interrupt: Interrupt,
    ) -> anyhow::Result<Option<Crew>> {
        let (url, named) = match (&self.nats, asked.experiment.generator()) {
            (None, None) => return Ok(None),
            (Some(url), Some(named)) => (url, named),
            (Some(_), None) => {
                let why = "--nats: the experiment names no agents; it does so in a table \
                           [generator] or [host]";
                return Err(UsageError(why.to_owned()).into());
            }
            (None, Some(named)) => {
                let load = format!("the load of this experiment comes from {}", told(named));
                return Err(unreachable(&load).into());
            }
        };
        is_of_this_machine(named)?;
        let crew = self.meet(url, named, interrupt)?;
        asked.fit_agents(crew.threads())?;
        Ok(Some(crew))
    }

    /// The agents that make the load of servers which another agent has.
    pub(super) fn beside(
        &self,
        servers: &Name,
        named: &GeneratorFile,
        interrupt: Interrupt,
    ) -> anyhow::Result<Crew> {
        let load = || unreachable(&format!("the load comes from {}", told(named)));
        let url = self.nats.as_deref().ok_or_else(load)?;
        let crew = self.meet(url, named, interrupt)?;
        match crew
            .seen
            .iter()
            .find(|one| one.announcement.name == *servers)
        {
            None => Ok(crew),
            Some(_) => Err(UsageError(format!(
                "generator.agents: agent {servers} has the servers: name other agents to make the \
                 load"
            ))
            .into()),
        }
    }

    fn meet(&self, url: &str, named: &GeneratorFile, interrupt: Interrupt) -> anyhow::Result<Crew> {
        let wanted = named.agents.iter().map(|text| text.parse::<Wanted>());
        let wanted = wanted.collect::<Result<Vec<_>, _>>();
        let wanted = wanted.map_err(|why| UsageError(format!("generator.agents: {why}")))?;
        let coordinator = self.connect(url)?;
        let seen = coordinator.gather(&wanted, FREE)?;
        Ok(Crew {
            coordinator,
            seen,
            interrupt,
        })
    }
}

/// What an experiment says of its agents is of no use without their broker.
fn unreachable(what: &str) -> UsageError {
    UsageError(format!(
        "{what}: say where their NATS server is (--nats nats://HOST:PORT)"
    ))
}

/// Who makes the load, in words.
pub(super) fn told(named: &GeneratorFile) -> String {
    let noun = if named.agents.len() == 1 {
        "agent"
    } else {
        "agents"
    };
    format!("{noun} {}", words::list(&named.agents))
}

/// No server would start elsewhere, and each would say so.
fn is_of_this_machine(named: &GeneratorFile) -> Result<(), UsageError> {
    let address = SocketAddr::from((named.address, 0));
    TcpListener::bind(address).map(drop).map_err(|error| {
        UsageError(format!(
            "generator.address: servers cannot listen at {}: {error}",
            named.address
        ))
    })
}

impl Crew {
    /// How many CPUs they have.
    pub(super) fn threads(&self) -> u32 {
        let cpus = self.seen.iter().map(|one| one.announcement.cpus.len());
        u32::try_from(cpus.sum::<usize>()).unwrap_or(u32::MAX)
    }

    /// Makes the load of servers on another machine, which is told of the window.
    pub(super) fn make_for(
        &self,
        plan: &PlanFile,
        window: &mut dyn FnMut(Option<[u64; 2]>),
    ) -> Result<Trial, LabError> {
        self.make(plan, &mut |_, _| (), window)
    }

    fn make(
        &self,
        plan: &PlanFile,
        watch: &mut Watch<'_>,
        window: &mut dyn FnMut(Option<[u64; 2]>),
    ) -> Result<Trial, LabError> {
        if self.interrupt.is_raised() {
            return Err(LabError::Interrupted);
        }
        self.ask(plan, watch, window).map_err(|error| match error {
            FleetError::Interrupted => LabError::Interrupted,
            error => LabError::Generator {
                why: error.to_string(),
            },
        })
    }

    fn ask(
        &self,
        plan: &PlanFile,
        watch: &mut Watch<'_>,
        window: &mut dyn FnMut(Option<[u64; 2]>),
    ) -> Result<Trial, FleetError> {
        // A plan with few workers, as one of a single exchange, needs few of them.
        let many = (plan.workers.max(1) as usize).min(self.seen.len());
        let seen = self.coordinator.gather_again(&self.seen[..many])?;
        let crew = crew::divide(&seen, plan.workers)
            .ok_or_else(|| FleetError::Agents("the plan has no workers".to_owned()))?;
        let mut shown = plan.clone();
        shown.redact();
        let wish = Wish {
            crew: &crew,
            plan,
            shown: &shown,
            // Nothing is said that a trial could be disturbed by.
            is_watched: false,
        };
        let mut watching = Watching {
            watch,
            window,
            interrupt: self.interrupt,
        };
        watching.tell(Phase::Reference, clock::monotonic());
        let made = self.coordinator.run(&wish, &mut watching)?;
        self.coordinator.forget(&made.order, &crew);
        let environment = model::Environment::default();
        let mut trial = crew::together(shown, &crew, made.trials, environment);
        trial.redact();
        Ok(trial)
    }
}

impl Generator for Crew {
    fn run(&mut self, plan: &PlanFile, watch: &mut Watch<'_>) -> Result<Trial, LabError> {
        // Meters here are read when an edge is reached.
        self.make(plan, watch, &mut |_| ())
    }
}

/// A lab that meters its servers while agents make the load.
struct Watching<'a, 'w> {
    watch: &'a mut Watch<'w>,
    window: &'a mut dyn FnMut(Option<[u64; 2]>),
    interrupt: Interrupt,
}

impl Watching<'_, '_> {
    fn tell(&mut self, phase: Phase, at: Instant) {
        let event = Event::Phase {
            phase,
            monotonic_ns: at,
        };
        (self.watch)(&event, None);
    }
}

impl Ears for Watching<'_, '_> {
    fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn kept(&mut self, _order: &str) {}

    fn window(&mut self, edges: Option<[u64; 2]>) {
        (self.window)(edges);
    }

    fn interval(&mut self, _interval: &Interval) {}

    fn edge(&mut self, edge: Edge, at: u64) {
        let ago = clock::realtime().as_ns().saturating_sub(at);
        let now = clock::monotonic().as_ns();
        let at = Instant::from_ns(now.saturating_sub(ago));
        self.tell(
            match edge {
                Edge::Begin => Phase::Measurement,
                Edge::End => Phase::Drain,
            },
            at,
        );
    }
}
