//! `--measure-ceiling`: what one thread of this machine's generator reaches, against a responder on
//! the other CPUs.

use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use fleet::Ceiling;
use lab::generator::{Generator as _, Local};
use lab::scratch::Scratch;
use lab::trial::{self, Load, Place, Speaks, Target, Wanted};
use model::plan::Stop;
use model::{Outcome, Span, Trial};
use sys::process::{Child, Confinement, Interrupt, Signal};

/// What is asked for: an answer that the responder has in memory.
const PATH: &str = "/.triathlon/null?bytes=7";
const BYTES: u64 = 7;
/// Over so many connections.
const CONNECTIONS: u32 = 64;
/// Before anything counts, and for how long it does.
const SETTLE: Span = Span::from_ms(500);
const WINDOW: Span = Span::from_s(2);
/// An answer takes no longer.
const TIMEOUT: Span = Span::from_s(5);
/// The responder listens within this time, and ends within this one.
const START_LIMIT: Duration = Duration::from_secs(10);
const STOP_LIMIT: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(20);
/// A thread that was less busy waited for the responder.
const BUSY: f64 = 0.90;

/// Measures it on the last of `cpus`; the others are the responder's.
pub(super) fn measure(
    cpus: &[u32],
    interrupt: Interrupt,
    scratch: &Scratch,
) -> anyhow::Result<Ceiling> {
    let Some((own, others)) = cpus.split_last().filter(|(_, others)| !others.is_empty()) else {
        bail!("--measure-ceiling needs two CPUs: one to ask, and one to answer");
    };
    let program = std::env::current_exe().context("cannot find this program")?;
    let folder = scratch.path().join("nothing");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot create {}", folder.display()))?;
    let reserved = sys::socket::reserve((Ipv4Addr::LOCALHOST, 0).into());
    let reserved = reserved.context("cannot reserve a port for the responder")?;
    let address = sys::socket::local_address(&reserved).context("the port has no number")?;
    let list: Vec<String> = others.iter().map(ToString::to_string).collect();
    let mut command = Command::new(&program);
    command
        .arg("serve")
        .arg(&folder)
        .args(["--synthetic", "--listen", &address.to_string()])
        .args(["--workers", &others.len().to_string()])
        .args(["--cpus", &list.join(",")])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let confinement = Confinement {
        cpus: others,
        ..Confinement::default()
    };
    let responder = sys::process::start(&mut command, confinement);
    let mut responder = responder.context("the responder does not start")?;
    let measured = wait(&mut responder, address).and_then(|()| {
        let cpus = vec![*own];
        let plan = trial::plan(&target(address), &load(), &cpus);
        let mut generator = Local::new(program, cpus, Some(interrupt), scratch);
        Ok(generator.run(&plan, &mut |_, _| ())?)
    });
    responder.stop(Signal::Terminate, STOP_LIMIT, None);
    ceiling(&measured?)
}

fn target(address: SocketAddr) -> Target {
    Target {
        place: Place::at(Ipv4Addr::LOCALHOST, address.port(), Speaks::default()),
        requests: vec![Wanted::file(PATH, BYTES, None)],
        script: None,
    }
}

fn load() -> Load {
    Load {
        connections: CONNECTIONS,
        settle: SETTLE,
        stop: Stop::DurationNs(WINDOW),
        workers: Some(1),
        ..Load::one_exchange(TIMEOUT, 1)
    }
}

/// Waits until the responder listens.
fn wait(responder: &mut Child, address: SocketAddr) -> anyhow::Result<()> {
    let until = Instant::now() + START_LIMIT;
    while TcpStream::connect(address).is_err() {
        if let Some(ended) = responder.ended() {
            bail!("the responder of --measure-ceiling ended: {ended}");
        }
        if Instant::now() >= until {
            bail!("the responder of --measure-ceiling does not listen");
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

fn ceiling(trial: &Trial) -> anyhow::Result<Ceiling> {
    let record = &trial.record;
    if record.interrupted || record.total.outcomes[Outcome::Ok] == 0 {
        bail!("--measure-ceiling: the responder gave no right answer, or it was interrupted");
    }
    let busiest = record.busiest_worker();
    Ok(Ceiling {
        rate: record.achieved_rate,
        at_least: busiest.is_none_or(|(_, busy)| busy < BUSY),
        time: lab::environment::rfc3339(sys::clock::realtime()),
    })
}
