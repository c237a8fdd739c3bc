//! `--agents`: the load is made on other machines, each of which has a part of the plan's workers,
//! and comes back as one trial.

use std::path::PathBuf;
use std::time::Duration;

use fleet::{Coordinator, Ears, Edge, Interval, Member, Seen, Wanted, Wish};
use model::Trial;
use model::event::Phase;
use sys::process::Interrupt;
use verdict::words;

use super::arguments::Chosen;
use super::metrics::Metrics;
use super::view::View;
use super::{Args, output};
use crate::cmd::agent::{access, crew};
use crate::exit::UsageError;
use crate::out;
use crate::tool;

/// Who makes the load, where it is not this machine.
#[derive(clap::Args, Debug)]
pub(super) struct Fleet {
    /// Let agents on other machines make the load together (see triathlon agent): their names, or
    /// KEY=VALUE for all with that label. Connections, rates, sources and users are divided among
    /// them, so that the load is the same however many there are. At a terminal, and with
    /// --metrics, they tell each second what happened in it; otherwise nothing while they work
    #[arg(
        long,
        value_name = "NAME|KEY=VALUE,...",
        value_delimiter = ',',
        group = "elsewhere",
        requires = "nats",
        conflicts_with_all = ["capacity", "cpus", "lua", "proxy", "unix_socket"]
    )]
    agents: Vec<Wanted>,

    /// Show the result of a load by agents whose `triathlon load` has ended meanwhile: the ID that
    /// it printed when it began. The NATS server keeps the result for a day, or until it has been
    /// shown
    #[arg(
        long,
        value_name = "ID",
        group = "elsewhere",
        requires = "nats",
        conflicts_with_all = ["capacity", "duration", "lua", "metrics", "plan", "requests", "urls"]
    )]
    resume: Option<String>,

    /// With --agents and --resume: the NATS server that they listen to, nats://HOST:PORT or
    /// tls://HOST:PORT
    #[arg(long, value_name = "URL", requires = "elsewhere")]
    nats: Option<String>,

    /// With --agents and --resume: the file of credentials for the NATS server
    #[arg(long, value_name = "FILE", requires = "elsewhere")]
    creds: Option<PathBuf>,
}

impl Fleet {
    /// The agents that are to make the load; none where this machine makes it.
    pub(super) fn gather(&self) -> anyhow::Result<Option<Agents>> {
        if self.agents.is_empty() {
            return Ok(None);
        }
        let coordinator = self.connect()?;
        let seen = coordinator.gather(&self.agents, Duration::ZERO)?;
        Ok(Some(Agents { coordinator, seen }))
    }

    /// Whether the result of a load that somebody else has asked for is wanted.
    pub(super) const fn is_resumed(&self) -> bool {
        self.resume.is_some()
    }

    /// That result.
    pub(super) fn resume(&self, args: &Args, interrupt: &Interrupt) -> anyhow::Result<Elsewhere> {
        let order = self.resume.as_deref().unwrap_or_default();
        let coordinator = self.connect()?;
        let (sheet, made) = coordinator.resume(order, &|| interrupt.is_raised())?;
        let trial = crew::together(
            sheet.plan,
            &sheet.crew,
            made.trials,
            output::environment(true),
        );
        let trial = judged(trial, args);
        Ok(Elsewhere {
            coordinator,
            order: made.order,
            crew: sheet.crew,
            trial,
        })
    }

    fn connect(&self) -> anyhow::Result<Coordinator> {
        let url = self.nats.as_deref().unwrap_or_default();
        let access = access(url, self.creds.clone(), "load");
        Ok(Coordinator::connect(&access, tool::BUILD)?)
    }
}

/// What agents made, kept by the broker until it has been told.
pub(super) struct Elsewhere {
    coordinator: Coordinator,
    order: String,
    crew: Vec<Member>,
    trial: Trial,
}

impl Elsewhere {
    /// Has `tell` tell it.
    pub(super) fn told(self, tell: impl FnOnce(Trial) -> anyhow::Result<()>) -> anyhow::Result<()> {
        tell(self.trial)?;
        self.coordinator.forget(&self.order, &self.crew);
        Ok(())
    }

    pub(super) const fn trial(&self) -> &Trial {
        &self.trial
    }
}

/// Agents that are ready for an order.
pub(super) struct Agents {
    coordinator: Coordinator,
    seen: Vec<Seen>,
}

impl Agents {
    /// How many CPUs they have for workers, all together.
    pub(super) fn cpus(&self) -> usize {
        self.seen
            .iter()
            .map(|one| one.announcement.cpus.len())
            .sum()
    }

    /// Has the load made, and puts the trial together.
    pub(super) fn measure(
        self,
        chosen: &Chosen,
        args: &Args,
        interrupt: &Interrupt,
    ) -> anyhow::Result<Elsewhere> {
        let plan = chosen.plan.file();
        let crew = self.divide(plan.workers)?;
        let verb = if crew.len() == 1 { "makes" } else { "make" };
        out::note(format_args!("{} {verb} the load", told(&crew)));
        for beyond in crew::beyond(&self.seen, plan) {
            out::note(beyond);
        }
        let mut shown = plan.clone();
        if !args.keep_secrets {
            shown.redact();
        }
        let mut waiting = Waiting {
            interrupt,
            view: View::of_agents(plan),
            metrics: args.exports.metrics.map(Metrics::listen).transpose()?,
        };
        let wish = Wish {
            crew: &crew,
            plan,
            shown: &shown,
            is_watched: waiting.is_watched(),
        };
        let made = self.coordinator.run(&wish, &mut waiting);
        waiting.enter(Phase::Done);
        let made = made?;
        let trial = crew::together(plan.clone(), &crew, made.trials, output::environment(true));
        let trial = judged(trial, args);
        Ok(Elsewhere {
            coordinator: self.coordinator,
            order: made.order,
            crew,
            trial,
        })
    }

    fn divide(&self, workers: u32) -> Result<Vec<Member>, UsageError> {
        crew::divide(&self.seen, workers).ok_or_else(|| {
            UsageError(format!(
                "--agents: {} for {}: each needs at least one, and each thread a connection (-t, \
                 -c)",
                words::plural(u64::from(workers), "thread"),
                words::plural(self.seen.len() as u64, "agent")
            ))
        })
    }
}

/// Whoever waits for a load, and may watch it meanwhile.
struct Waiting<'a> {
    interrupt: &'a Interrupt,
    view: Option<View>,
    metrics: Option<Metrics>,
}

impl Waiting<'_> {
    /// Whether what agents tell while they work is shown anywhere.
    const fn is_watched(&self) -> bool {
        self.view.is_some() || self.metrics.is_some()
    }

    fn enter(&mut self, phase: Phase) {
        if let Some(view) = &mut self.view {
            view.enter(phase);
        }
    }
}

impl Ears for Waiting<'_> {
    fn is_interrupted(&self) -> bool {
        self.interrupt.is_raised()
    }

    fn kept(&mut self, order: &str) {
        out::note(format_args!(
            "this is load {order}; if this program is lost, triathlon load --resume {order} \
             --nats URL shows the result"
        ));
    }

    fn window(&mut self, _edges: Option<[u64; 2]>) {
        self.enter(Phase::Warmup);
    }

    fn interval(&mut self, interval: &Interval) {
        if let Some(view) = &mut self.view {
            view.hear_agents(interval);
        }
        if let Some(metrics) = &mut self.metrics {
            metrics.hear_agents(interval);
        }
    }

    fn edge(&mut self, edge: Edge, _at: u64) {
        self.enter(match edge {
            Edge::Begin => Phase::Measurement,
            Edge::End => Phase::Drain,
        });
    }

    fn connection(&mut self, is_there: bool) {
        let text = match is_there {
            true => "the NATS server is there again",
            false => {
                "the connection to the NATS server is lost: agents go on with their parts, and it \
                 is tried again until it is there (Ctrl-C: no longer)"
            }
        };
        match &mut self.view {
            Some(view) => view.say(text),
            None => out::note(text),
        }
    }
}

/// Who makes what, for whoever watches.
fn told(crew: &[Member]) -> String {
    let each: Vec<String> = crew
        .iter()
        .map(|one| {
            let threads = words::plural(one.workers.len() as u64, "thread");
            format!("{} ({threads})", one.name)
        })
        .collect();
    words::list(&each)
}

/// With the verdicts of all shares and of the whole.
fn judged(mut trial: Trial, args: &Args) -> Trial {
    // Before anything else reads it: no finding can repeat what is not there.
    if !args.keep_secrets {
        trial.redact();
    }
    verdict::judge_shares(&mut trial);
    trial.verdict = verdict::judge(&trial);
    let thresholds = args.thresholds.iter();
    trial.thresholds = thresholds.map(|one| one.judge(&trial.record)).collect();
    trial
}
