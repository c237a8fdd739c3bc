//! `triathlon doctor`: what is wrong with the machine, or with a file of kernel settings.

use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::Context as _;
use lab::condition::{self, Roots};
use lab::meter::{Before, Group, Way};
use model::{Bytes, Span};
use sys::counters::process;
use verdict::doctor::examine;
use verdict::sysctl::{Kernel, Machine, judge, parse};

use crate::exit::{Exit, UsageError};
use crate::out;
use crate::whole;

const EXAMPLES: &str = "\
Examples:
  triathlon doctor
      Examine this machine, and watch its CPUs for a second.
  triathlon doctor --server 127.0.0.1:8080
      Examine the server that listens there, too: limits, backlog, CPUs.
  triathlon doctor --fix-script > fix.sh
      Write a script that mends it; 'sh fix.sh undo' restores the old settings.
  triathlon doctor --sysctl /etc/sysctl.conf --kernel 3.10
      Judge a file of settings for another kernel, without applying it.";

/// Arguments of `triathlon doctor`.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A server to examine too: its process id, or where it listens, as in localhost:8080
    #[arg(long, value_name = "PID|ADDR", conflicts_with = "sysctl")]
    server: Option<Server>,
    /// Judge this file of kernel settings instead of the machine
    #[arg(long, value_name = "FILE")]
    sysctl: Option<PathBuf>,
    /// With --sysctl: the kernel that would read the file [default: the running one]
    #[arg(long, value_name = "VERSION")]
    kernel: Option<Kernel>,
    /// With --sysctl: the memory of the machine that would read the file, as in 4G [default: this
    /// machine's]
    #[arg(long, value_name = "SIZE")]
    memory: Option<Bytes>,
    /// With --sysctl: connections that the benchmark will hold at once; sizes are judged by it
    /// [default: 1000]
    #[arg(long, value_name = "N", value_parser = whole::at_least_one::<u64>())]
    connections: Option<u64>,
    /// Watch the CPUs for this long for pauses that no program makes (CPU-02) and for programs that
    /// use them (CPU-08); 0s watches none
    #[arg(
        long,
        value_name = "TIME",
        default_value = "1s",
        conflicts_with = "sysctl"
    )]
    hiccups: Span,
    /// Print a shell script that mends what was found and can undo it; nothing is changed
    #[arg(long, conflicts_with_all = ["sysctl", "json"])]
    fix_script: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// The folder that results would go to: its file system is examined
    #[arg(long, value_name = "DIR", default_value = "results")]
    results: PathBuf,
}

/// A server as it is named on the command line.
#[derive(Clone, Debug)]
enum Server {
    Process(u32),
    /// At one of these: a name may stand for several.
    Listening(Vec<SocketAddr>),
}

impl FromStr for Server {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(pid) = text.parse() {
            return Ok(Self::Process(pid));
        }
        if let Ok(address) = text.parse() {
            return Ok(Self::Listening(vec![address]));
        }
        text.to_socket_addrs()
            .map(|found| Self::Listening(found.collect()))
            .map_err(|error| {
                format!("give a process id or an address such as 127.0.0.1:8080 ({error})")
            })
    }
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    // Not said to clap: it forgets what a flag requires where another one conflicts with that.
    let of_files = [
        ("--kernel", args.kernel.is_some()),
        ("--memory", args.memory.is_some()),
        ("--connections", args.connections.is_some()),
    ];
    if let Some((flag, _)) = of_files.iter().find(|(_, is_given)| *is_given)
        && args.sysctl.is_none()
    {
        return Err(UsageError(format!("{flag} is about a file: give --sysctl FILE, too")).into());
    }
    let roots = Roots::default();
    let environment = lab::environment::of_this_machine(crate::tool::this());
    if let Some(file) = &args.sysctl {
        let kernel = match (args.kernel, &environment.kernel) {
            (Some(kernel), _) => kernel,
            (None, Some(text)) => text
                .parse()
                .context("cannot read the running kernel's version")?,
            (None, None) => return Err(UsageError("give --kernel VERSION".to_owned()).into()),
        };
        let memory = args.memory.or(environment.memory);
        let stock = Machine::new(kernel);
        let machine = Machine {
            page: sys::counters::page_size().map_or(stock.page, Bytes::count),
            memory,
            connections: args.connections.unwrap_or(1_000),
            ..stock
        };
        return judge_file(file, machine, args.json);
    }
    let server = args
        .server
        .as_ref()
        .map(|server| find(&roots.proc, server))
        .transpose()?;
    let mut condition = condition::read(&roots, environment, &args.results, server);
    if !args.hiccups.is_zero() && !args.fix_script {
        let cpus = &condition.environment.cpus_allowed;
        let before = Before::look(&roots.proc, &[], Way::default());
        condition.hiccups = sys::hiccup::watch(cpus, args.hiccups, || false);
        let ours = [Some(std::process::id()), server].into_iter().flatten();
        let ours: Vec<_> = ours.map(Group::alone).collect();
        condition.others = before.others(&roots.proc, &ours);
    }
    let examination = examine(&condition);
    if args.fix_script {
        out::write(&report::doctor::fix_script(&examination))?;
    } else if args.json {
        out::write_json(&examination)?;
    } else {
        out::write(&report::doctor::examination(&examination))?;
    }
    Ok(Exit::Done)
}

fn find(proc: &Path, server: &Server) -> anyhow::Result<u32> {
    match server {
        Server::Process(pid) if !proc.join(pid.to_string()).is_dir() => {
            anyhow::bail!("there is no process {pid}")
        }
        Server::Process(pid) if process::stat(proc, *pid).is_ok_and(|stat| stat.state == 'Z') => {
            anyhow::bail!(
                "process {pid} has ended: it is a zombie that its parent has not waited for"
            )
        }
        Server::Process(pid) => Ok(*pid),
        Server::Listening(addresses) => addresses
            .iter()
            .find_map(|address| condition::owner_at(proc, *address))
            .with_context(|| {
                let at: Vec<String> = addresses.iter().map(ToString::to_string).collect();
                format!(
                    "no process is seen to listen at {}: start the server, or run as its user",
                    at.join(" or ")
                )
            }),
    }
}

fn judge_file(file: &Path, machine: Machine, json: bool) -> anyhow::Result<Exit> {
    let text = std::fs::read_to_string(file)
        .with_context(|| format!("cannot read the settings file {}", file.display()))?;
    let objections = judge(&text, machine);
    if json {
        out::write_json(&objections)?;
    } else {
        let name = file.display().to_string();
        let (settings, _) = parse(&text);
        let told = report::doctor::settings(&name, machine.kernel, &settings, &objections);
        out::write(&told)?;
    }
    Ok(Exit::Done)
}
