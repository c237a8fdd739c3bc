//! `--agents`: the load is made on other machines, each of which has a part of the plan's workers,
//! and comes back as one trial.

use std::path::PathBuf;

use fleet::{Coordinator, Member, Seen, Wanted, Wish, division};
use model::plan::FORMAT;
use model::record::Record;
use model::trial::{Context, Share};
use model::{PlanFile, Trial, Usage, Verdict};
use sys::process::Interrupt;
use verdict::words;

use super::arguments::Chosen;
use super::{Args, output};
use crate::cmd::agent::access;
use crate::exit::UsageError;
use crate::out;

/// Who makes the load, where it is not this machine.
#[derive(clap::Args, Debug)]
pub(super) struct Fleet {
    /// Let agents on other machines make the load together (see triathlon agent): their names, or
    /// KEY=VALUE for all with that label. Connections, rates, sources and users are divided among
    /// them, so that the load is the same however many there are
    #[arg(
        long,
        value_name = "NAME|KEY=VALUE,...",
        value_delimiter = ',',
        group = "elsewhere",
        requires = "nats",
        conflicts_with_all = ["capacity", "cpus", "lua", "metrics", "proxy", "unix_socket"]
    )]
    agents: Vec<Wanted>,

    /// Tell the result of a load by agents whose `triathlon load` has gone meanwhile: the ID that
    /// it gave when it began. The NATS server keeps it for a day, or until it has been told
    #[arg(
        long,
        value_name = "ID",
        group = "elsewhere",
        requires = "nats",
        conflicts_with_all = ["capacity", "duration", "lua", "plan", "requests", "urls"]
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
        let seen = coordinator.gather(&self.agents)?;
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
        let trial = judged(together(sheet.plan, &sheet.crew, made.trials), args);
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
        Ok(Coordinator::connect(&access, env!("CARGO_PKG_VERSION"))?)
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
        out::note(format_args!("{} make the load", told(&crew)));
        let mut shown = plan.clone();
        if !args.keep_secrets {
            shown.redact();
        }
        let wish = Wish {
            crew: &crew,
            plan,
            shown: &shown,
        };
        let begun = |order: &str| {
            out::note(format_args!(
                "it is load {order}; should this program be lost, triathlon load --resume {order} \
                 --nats URL tells the result"
            ));
        };
        let made = self
            .coordinator
            .run(&wish, &|| interrupt.is_raised(), &begun)?;
        let trial = judged(together(plan.clone(), &crew, made.trials), args);
        Ok(Elsewhere {
            coordinator: self.coordinator,
            order: made.order,
            crew,
            trial,
        })
    }

    fn divide(&self, workers: u32) -> Result<Vec<Member>, UsageError> {
        let cpus = self.seen.iter().map(|one| one.announcement.cpus.len());
        let cpus: Vec<usize> = cpus.collect();
        let parts = division::divide(workers, &cpus).ok_or_else(|| {
            UsageError(format!(
                "--agents: {} for {}: each needs one at least, and each thread a connection \
                 (-t, -c)",
                words::plural(u64::from(workers), "thread"),
                words::plural(cpus.len() as u64, "agent")
            ))
        })?;
        let members = self.seen.iter().zip(parts).map(|(one, workers)| Member {
            name: one.announcement.name.clone(),
            workers,
            clock: one.clock,
        });
        Ok(members.collect())
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
    let verdicts = trial.agents.iter();
    let verdicts: Vec<Verdict> = verdicts
        .map(|share| verdict::judge(&trial.of_share(share)))
        .collect();
    for (share, verdict) in trial.agents.iter_mut().zip(verdicts) {
        share.verdict = verdict;
    }
    trial.verdict = verdict::judge(&trial);
    let thresholds = args.thresholds.iter();
    trial.thresholds = thresholds.map(|one| one.judge(&trial.record)).collect();
    trial
}

/// One trial of what all measured.
fn together(plan: PlanFile, crew: &[Member], trials: Vec<Trial>) -> Trial {
    let mut record = Record::default();
    let mut agents = Vec::with_capacity(crew.len());
    for (member, mut trial) in crew.iter().zip(trials) {
        for worker in &mut trial.record.workers {
            worker.agent = Some(member.name.to_string());
        }
        record.merge(trial.record.clone());
        agents.push(Share {
            agent: member.name.to_string(),
            workers: member.workers.clone(),
            clock_offset_ns: member.clock.offset_ns,
            clock_offset_within: member.clock.within,
            environment: trial.environment,
            record: trial.record,
            usage: trial.usage,
            context: trial.context,
            verdict: Verdict::default(),
        });
    }
    record.notes.extend(differing(&agents));
    let mut environment = output::environment(true);
    environment.time = Some(lab::environment::rfc3339(sys::clock::realtime()));
    let tools = || agents.iter().map(|share| &share.environment.tool);
    environment.tool.debug_build |= tools().any(|tool| tool.debug_build);
    environment.tool.traced |= tools().any(|tool| tool.traced);
    let are_apart = |share: &Share| {
        let shared = share.context.shared_cpus.as_ref();
        shared.is_some_and(Vec::is_empty)
    };
    Trial {
        format: FORMAT,
        point: None,
        plan,
        environment,
        record,
        usage: Usage::default(),
        context: Context {
            cpu_choice: Some("each agent's own".to_owned()),
            shared_cpus: agents.iter().all(are_apart).then(Vec::new),
            ..Context::default()
        },
        verdict: Verdict::default(),
        void: None,
        thresholds: Vec::new(),
        agents,
    }
}

/// Agents that were answered otherwise before the run: they may have asked another server.
fn differing(agents: &[Share]) -> Option<String> {
    let digest = |share: &Share| {
        share
            .record
            .reference
            .as_ref()
            .map(|one| one.sha256.clone())
    };
    let first = digest(agents.first()?)?;
    let others = agents
        .iter()
        .filter(|share| digest(share).as_ref() != Some(&first));
    let others: Vec<&str> = others.map(|share| share.agent.as_str()).collect();
    (!others.is_empty()).then(|| {
        format!(
            "{} got another answer before the run than {}: do all of them ask the same server?",
            words::list(&others),
            agents[0].agent
        )
    })
}
