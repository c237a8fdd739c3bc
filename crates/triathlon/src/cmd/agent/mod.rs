//! `triathlon agent`: makes parts of loads, or has the servers of a lab, for whoever a NATS server
//! lets ask, as far as its flags allow.

mod broker;
mod ceiling;
pub(crate) mod crew;
pub(crate) mod host;
mod servers;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use fleet::clock::Clock;
use fleet::{Access, Announcement, Coordinator, Limits, Name, Role};
use model::{Prefix, Span};
use sys::process::Interrupt;

use self::host::Machine;
use crate::exit::{Exit, UsageError};
use crate::out;
use crate::tool;

const EXAMPLES: &str = "\
Examples:
  triathlon agent broker /srv/broker
      write the configuration of a NATS server for agents, and say how to start everything
  triathlon agent --nats nats://198.51.100.1:4222 --targets 192.0.2.0/24
      an agent that loads servers at 192.0.2.0 to 192.0.2.255 and nobody else
  triathlon agent --nats tls://broker.test:4222 --creds agent.creds --name gen1 --labels rack=7 \\
      --targets 192.0.2.10/32
      the same over TLS, with credentials, under a name and with a label
  triathlon agent --nats nats://198.51.100.1:4222 --name rig1 --role server --may-start-servers
      one that starts the servers of a lab
  triathlon agent list --nats nats://198.51.100.1:4222
      the agents that are connected
  triathlon load http://192.0.2.10/ --agents gen1,gen2 --nats nats://198.51.100.1:4222
      a load that two of them make together

An agent obeys whoever the NATS server lets publish to triathlon.agent.NAME; docs/agents.md says how
to let nobody else. It works on one order at a time, until Ctrl-C.";

/// Make load for others: an agent on this machine takes orders over NATS.
#[derive(clap::Args, Debug)]
#[command(
    after_help = EXAMPLES,
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,

    #[command(flatten)]
    broker: Broker,

    /// Its name, in letters, digits, - and _ [default: the name of this machine]
    #[arg(long, value_name = "NAME")]
    name: Option<Name>,

    /// What others should know of it; load --agents can choose it by that
    #[arg(long, value_name = "KEY=VALUE,...", value_delimiter = ',', value_parser = label)]
    labels: Vec<(String, String)>,

    /// What it may be used for
    #[arg(long, value_name = "ROLE", value_enum, default_value_t = For::Load)]
    role: For,

    /// The addresses that it may load, as in 192.0.2.0/24 or 192.0.2.10/32; may be given several
    /// times. 0.0.0.0/0 and ::/0 stand for all
    #[arg(long, value_name = "CIDR")]
    targets: Vec<Prefix>,

    /// Measure first what one thread of its generator reaches against a responder on its other
    /// CPUs, for three seconds, and announce that
    #[arg(long)]
    measure_ceiling: bool,

    /// Let it start the servers of a lab whose experiment names this agent: those that this program
    /// knows, with their stock or tuned configuration
    #[arg(long)]
    may_start_servers: bool,
}

/// What else `agent` does.
#[derive(clap::Subcommand, Debug)]
enum Action {
    /// Write the configuration of a nats-server for agents, with passwords of its own, and say how
    /// to start it, agents and load
    Broker(broker::Args),
    /// List the agents that are connected
    List {
        #[command(flatten)]
        broker: Broker,

        /// Write all that they announce of themselves, as JSON
        #[arg(long)]
        json: bool,
    },
    /// Have the servers of a lab, by lines on standard input: what an agent starts
    #[command(hide = true)]
    Servers,
}

/// How the broker is reached.
#[derive(clap::Args, Debug)]
struct Broker {
    /// The NATS server: nats://HOST:PORT, or tls://HOST:PORT to insist on TLS; several of a cluster
    /// divided by commas
    #[arg(long, value_name = "URL", required = true)]
    nats: Option<String>,

    /// The file of credentials for it, as nsc writes them
    #[arg(long, value_name = "FILE")]
    creds: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq, clap::ValueEnum)]
enum For {
    /// Making load
    Load,
    /// Starting servers
    Server,
    /// Both
    Both,
}

impl From<For> for Role {
    fn from(purpose: For) -> Self {
        match purpose {
            For::Both => Self::Both,
            For::Load => Self::Load,
            For::Server => Self::Server,
        }
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err(format!("'{text}' is not a label: write KEY=VALUE")),
    }
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    match &args.action {
        Some(Action::Broker(args)) => broker::run(args),
        Some(Action::List { broker, json }) => list(broker, *json),
        Some(Action::Servers) => Ok(super::lab::serve()),
        None => serve(args),
    }
}

/// How the broker at `url` is reached.
pub(crate) fn access(url: &str, creds: Option<PathBuf>, name: &str) -> Access {
    Access {
        url: url.to_owned(),
        credentials: creds,
        name: format!("triathlon {name}"),
        now: || sys::clock::realtime().as_ns(),
    }
}

impl Broker {
    fn access(&self, name: &str) -> Access {
        let url = self.nats.as_deref().unwrap_or_default();
        access(url, self.creds.clone(), name)
    }
}

fn serve(args: &Args) -> anyhow::Result<Exit> {
    let role = Role::from(args.role);
    if args.targets.is_empty() && role != Role::Server {
        let why = "--targets: name the addresses that this agent may load, as in --targets \
                   192.0.2.0/24";
        return Err(UsageError(why.to_owned()).into());
    }
    if role != Role::Load && !args.may_start_servers {
        let also = if role == Role::Server {
            "nothing"
        } else {
            "no servers"
        };
        out::note(format_args!(
            "this agent may start {also}: --may-start-servers lets it start the servers of a lab"
        ));
    }
    let interrupt = Interrupt::arm().context("cannot catch SIGINT")?;
    sys::process::raise_open_files(u64::MAX).context("cannot raise the limit of open files")?;
    let name = args.name.clone();
    let name = name.unwrap_or_else(|| Name::like(&name_of_this_machine()));
    let labels: BTreeMap<String, String> = args.labels.iter().cloned().collect();
    let limits = Limits {
        version: tool::BUILD.to_owned(),
        role,
        targets: args.targets.clone(),
        may_start_servers: args.may_start_servers,
    };
    let access = args.broker.access(&format!("agent {name}"));
    let mut machine = Machine::new(interrupt)?;
    if args.measure_ceiling {
        machine.measure_ceiling()?;
    }
    fleet::serve(&access, name, labels, limits, Arc::new(machine))?;
    Ok(Exit::Done)
}

pub(crate) fn name_of_this_machine() -> String {
    let read = std::fs::read_to_string("/proc/sys/kernel/hostname");
    read.unwrap_or_default().trim().to_owned()
}

/// An agent with all that it announces, as JSON has it.
#[derive(serde::Serialize)]
struct Listed<'a> {
    #[serde(flatten)]
    announcement: &'a Announcement,
    /// None, as the other, where several agents have its name: each would answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_offset_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clock_offset_within_ns: Option<Span>,
}

impl<'a> From<&'a (Announcement, Option<Clock>)> for Listed<'a> {
    fn from((announcement, clock): &'a (Announcement, Option<Clock>)) -> Self {
        Self {
            announcement,
            clock_offset_ns: clock.map(|clock| clock.offset_ns),
            clock_offset_within_ns: clock.map(|clock| clock.within),
        }
    }
}

fn list(broker: &Broker, json: bool) -> anyhow::Result<Exit> {
    let coordinator = Coordinator::connect(&broker.access("agent list"), tool::BUILD)?;
    let seen = coordinator.list()?;
    if seen.is_empty() {
        out::note("there is no agent: start one with triathlon agent --nats URL --targets CIDR");
    }
    if json {
        let listed: Vec<Listed<'_>> = seen.iter().map(Listed::from).collect();
        out::write_json(&listed)?;
        return Ok(Exit::Done);
    }
    let mut namesakes: Vec<&str> = seen
        .iter()
        .filter(|(_, clock)| clock.is_none())
        .map(|(one, _)| one.name.as_str())
        .collect();
    namesakes.dedup();
    for name in namesakes {
        out::note(format!(
            "several agents are called {name}, and no load can use one of them: start all but one \
             with another --name"
        ));
    }
    for (one, clock) in &seen {
        out::line(line(one, *clock))?;
    }
    Ok(Exit::Done)
}

/// One agent, for people; its clock is not known where others have its name.
fn line(one: &Announcement, clock: Option<Clock>) -> String {
    let mut parts = vec![
        format!("role {}", one.role.name()),
        verdict::words::plural(one.cpus.len() as u64, "CPU"),
        match &one.busy {
            None => "idle".to_owned(),
            Some(order) => format!("at work on {order}"),
        },
        format!("version {}", one.version),
    ];
    parts.extend(one.ceiling.as_ref().map(crew::ceiling));
    parts.extend(one.environment.kernel.clone());
    let files = one.environment.open_files_limit;
    parts.extend(files.map(|files| verdict::words::plural(files, "open file")));
    let locked = one.environment.locked_memory_limit;
    let locked = locked.map(verdict::words::limit_of_memory);
    parts.extend(locked.map(|locked| format!("memory that may be locked: {locked}")));
    let found = one.environment.doctor.len() as u64;
    if found > 0 {
        let found = verdict::words::plural(found, "finding");
        parts.push(format!("{found} of the doctor"));
    }
    let may = match one.targets.is_empty() {
        true => "no address".to_owned(),
        false => one.targets.join(" "),
    };
    parts.push(format!("may load {may}"));
    if one.may_start_servers {
        parts.push("may start servers".to_owned());
    }
    parts.extend(
        one.labels
            .iter()
            .map(|(key, value)| format!("{key}={value}")),
    );
    parts.extend(clock.map(|clock| {
        let sign = if clock.offset_ns < 0 { '-' } else { '+' };
        let away = Span::from_ns(clock.offset_ns.unsigned_abs());
        format!("clock {sign}{away} within {}", clock.within)
    }));
    let kept = one.environment.timekeeping.as_ref();
    parts.extend(kept.map(verdict::words::timekeeping));
    format!("{}: {}", one.name, parts.join(", "))
}
