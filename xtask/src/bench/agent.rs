//! A worker under an agent against one that this machine starts by itself: the same load from the
//! same CPU, in turn, through a broker of its own.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use super::Setting;
use super::generator::{Ask, run_triathlon, run_triathlon_by};
use super::server::{Server, free_address, on_cpu};
use super::table::{Row, cpu_ratio, table};
use crate::packages::find;

/// The agent's name.
const NAME: &str = "bench";
/// The broker listens within this time.
const LIMIT: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(20);
/// An agent does not spin where the server is on its machine.
const MORE: [&str; 4] = ["--backend", "uring", "--spin", "never"];
/// An agent tells each interval where somebody watches.
const WATCHED: [&str; 2] = ["--metrics", "127.0.0.1:0"];
/// All are warmed up for so long.
const WARMUP_S: f64 = 0.5;

/// A program that is killed when nobody needs it any more.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        // One that has ended needs neither.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

pub(super) fn agent(setting: &Setting) -> Result<()> {
    let Some(nats) = find("nats-server") else {
        println!("  nats-server is not installed (apt-get install nats-server)");
        return Ok(());
    };
    let server = Server::null(&setting.programs, setting.server_cpu, &[])?;
    let folder = setting.site.join("broker");
    fs::create_dir_all(&folder)?;
    let address = free_address()?;
    let _broker = broker(&nats, &folder, address, setting.server_cpu)?;
    let url = format!("nats://{address}");
    let _agent = start_agent(setting, &url)?;
    let mut rows = ["under an agent", "under one that is watched", "alone"].map(Row::new);
    for round in 0..setting.rounds {
        for position in 0..rows.len() {
            let which = (position + round) % rows.len();
            let task = setting.task(&server, Ask::of("/"));
            let before = server.cpu_ns();
            let reading = match which {
                0 | 1 => {
                    let whose = ["--agents", NAME, "--nats", &url];
                    let watched = if which == 1 { &WATCHED[..] } else { &[] };
                    let more = [&MORE[..], watched].concat();
                    run_triathlon_by(&setting.programs, &task, &whose, &more)?
                }
                _ => run_triathlon(&setting.programs, &task, &MORE)?,
            };
            let used = server.cpu_ns() - before;
            let seconds = f64::from(task.seconds) + WARMUP_S;
            rows[which].push(reading, used, seconds);
        }
    }
    table(&rows, &["alone"]);
    cpu_ratio(&rows, "under an agent", "alone", Some(1.01));
    cpu_ratio(&rows, "under one that is watched", "alone", Some(1.01));
    Ok(())
}

fn broker(nats: &Path, folder: &Path, address: SocketAddr, cpu: u32) -> Result<Running> {
    let mut command = on_cpu(nats, cpu);
    command
        .args(["-js", "-a", &address.ip().to_string()])
        .args(["-p", &address.port().to_string(), "-sd"])
        .arg(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut broker = Running(command.spawn().context("nats-server does not start")?);
    let until = Instant::now() + LIMIT;
    while TcpStream::connect(address).is_err() {
        let ended = broker.0.try_wait()?;
        if ended.is_some() || Instant::now() >= until {
            bail!("nats-server does not listen at {address}");
        }
        thread::sleep(LOOK);
    }
    Ok(broker)
}

/// An agent on the generators' CPU, which waits for orders.
fn start_agent(setting: &Setting, url: &str) -> Result<Running> {
    let mut command: Command = on_cpu(&setting.programs.triathlon, setting.cpu);
    command
        .args(["agent", "--nats", url, "--name", NAME])
        .args(["--targets", "127.0.0.0/8"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut agent = Running(command.spawn().context("the agent does not start")?);
    let stderr = agent.0.stderr.take().context("stderr was piped")?;
    let mut lines = BufReader::new(stderr).lines();
    let is_waiting = |line: &std::io::Result<String>| {
        line.as_ref()
            .is_ok_and(|line| line.contains("waits for orders"))
    };
    if !lines.any(|line| is_waiting(&line)) {
        bail!("the agent ended before it waited for orders");
    }
    // What it says later must not wait for somebody to read it.
    thread::spawn(move || lines.for_each(drop));
    Ok(agent)
}
