//! `cargo xtask bench`: how fast we are, in ratios to others, in the same minutes on one machine.
//!
//! The server has one CPU, the generator another. In each round everyone runs once, in an order
//! that rotates; a ratio is taken within a round, and what is printed is the median of the rounds'
//! ratios, the interval that holds the true median, and the worst round. A peer that is not
//! installed is a row that says so. With `--instructions` nothing is timed: instructions are
//! counted.

mod agent;
mod crowd;
mod generator;
mod instructions;
mod open;
mod programs;
mod protocols;
mod server;
mod speech;
mod statistics;
mod table;
mod truth;
mod ways;

use std::path::PathBuf;

use anyhow::{Context as _, Result, bail};

use self::generator::{Ask, Generator, Task, WITHOUT, write_site};
use self::programs::Programs;
use self::server::Server;
use self::speech::Speech;
use self::table::{Row, cpu_ratio, table};

/// What a comparison needs to know.
struct Setting {
    programs: Programs,
    site: PathBuf,
    rounds: usize,
    seconds: u32,
    server_cpu: u32,
    cpu: u32,
    /// How many connections a crowd has, where somebody says so.
    connections: Option<u64>,
}

/// A comparison: its name, what it is about, and how it runs.
type Comparison = (&'static str, &'static str, fn(&Setting) -> Result<()>);

/// All of them. A new one is a function and a line here.
const COMPARISONS: &[Comparison] = &[
    (
        "small",
        "generators: fixed 210-byte answers from the bare null server, 64 connections",
        small,
    ),
    (
        "heads",
        "heads with a Date, an Age and an X-Request-Id that change against the same that do not, \
         64 connections",
        ways::heads,
    ),
    (
        "bare-uring",
        "what each of its means brings the bare io_uring loop, which does without one of them, 64 \
         connections",
        bare_uring,
    ),
    (
        "large",
        "generators: 100,000 bytes from nginx with sendfile, 64 connections",
        large,
    ),
    (
        "origin-small",
        "servers: a 7-byte file, driven by the bare io_uring loop, 64 connections",
        origin_small,
    ),
    (
        "origin-large",
        "servers: 100,000 bytes, driven by the bare epoll loop, discarding, 64 connections",
        origin_large,
    ),
    (
        "open-2000",
        "open loop, 2,000/s, 32 connections, null responder, against the bare spinning client",
        |setting| open::open(setting, 2_000),
    ),
    (
        "open-10000",
        "open loop, 10,000/s, 32 connections, null responder, against the bare spinning client",
        |setting| open::open(setting, 10_000),
    ),
    (
        "tls",
        "generators: a 7-byte file from nginx over TLS 1.3, 64 connections that stay",
        protocols::tls,
    ),
    (
        "handshakes",
        "generators: a 7-byte file from nginx, a full handshake of TLS 1.3 for each; h2load makes \
         960 connections at once, the others 64",
        protocols::handshakes,
    ),
    (
        "http2-1",
        "generators: a 7-byte file over HTTP/2 in clear, 64 connections, 1 stream",
        |setting| protocols::http2(setting, 1),
    ),
    (
        "http2-10",
        "generators: a 7-byte file over HTTP/2 in clear, 64 connections, 10 streams",
        |setting| protocols::http2(setting, 10),
    ),
    (
        "http3",
        "HTTP/3 against HTTP/2 over TLS: a 7-byte file from origin and Caddy, 64 connections, 10 \
         streams",
        protocols::http3,
    ),
    (
        "origin-tls",
        "servers: a 7-byte file over TLS 1.3, 64 connections that stay",
        |setting| protocols::origin(setting, Speech::Tls, 0.8),
    ),
    (
        "origin-handshakes",
        "servers: a 7-byte file, a full handshake of TLS 1.3 for each, 64 connections",
        |setting| protocols::origin(setting, Speech::Handshakes, 1.0),
    ),
    (
        "origin-http2",
        "servers: a 7-byte file over HTTP/2 in clear, 64 connections, 10 streams",
        |setting| protocols::origin(setting, Speech::Http2(10), 0.75),
    ),
    (
        "urls",
        "1,000 URLs, in a list and filled into a script, against one, null server, 64 connections",
        ways::urls,
    ),
    (
        "script",
        "users of a script of two fixed steps against plain requests, null server, 64 connections",
        ways::script,
    ),
    (
        "lua",
        "a script of wrk that makes each request and hears each answer, null server, 64 \
         connections",
        ways::lua,
    ),
    (
        "own-lua",
        "the scripts that come with wrk but stop.lua, null server or (pipeline.lua) origin, 64 \
         connections or (delay.lua) 1,000",
        ways::own_lua,
    ),
    (
        "ceiling",
        "open loop at a rate far above what is reached against closed loop, null server, 64 \
         connections",
        ways::ceiling,
    ),
    (
        "agent",
        "a worker under an agent, watched or not, against one alone, null server, 64 connections",
        agent::agent,
    ),
    (
        "sources",
        "12,000 source addresses against one, 12,000 connections to origin's null responder",
        ways::sources,
    ),
    (
        "truth-constant",
        "response times in open loop against those that a server noted itself, which holds \
         each answer for 1 ms",
        |setting| truth::truth(setting, 0),
    ),
    (
        "truth-two",
        "the same where 1 answer in 20 takes 20 ms",
        |setting| truth::truth(setting, 1),
    ),
    (
        "truth-pareto",
        "the same where answers take 0.3 ms and more, with a heavy tail",
        |setting| truth::truth(setting, 2),
    ),
    (
        "truth-stall",
        "the same where the server does nothing for 200 ms, once in each run",
        |setting| truth::truth(setting, 3),
    ),
    (
        "truth-users-stay",
        "the same of users who follow a script and stay; 1 answer in 20 takes 20 ms",
        truth::users_who_stay,
    ),
    (
        "truth-users-come",
        "the same of users who come at a rate, each for one visit",
        truth::users_who_come,
    ),
    (
        "capacity",
        "the capacity that --capacity finds against one that follows from a server's clock, once",
        truth::capacity,
    ),
    (
        "crowd",
        "as many connections as the machine carries, or --connections, held at origin: memory of \
         each side and of the kernel for each, and which limit stopped it, once",
        crowd::crowd,
    ),
    (
        "soak",
        "ten minutes at full rate: memory, and counters against the server's, once",
        truth::soak,
    ),
];

/// How many rounds there are: where neighbours make a machine noisy, an interval needs more.
const ROUNDS: &str = "--rounds=";
/// How many connections the crowd has.
const CONNECTIONS: &str = "--connections=";

/// Runs the comparisons whose name contains one of the words given, or all of them.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let flag = |name: &str| arguments.iter().any(|word| word == name);
    let known = ["--quick", "--instructions"];
    let unknown = |word: &&String| {
        let takes_number = word.starts_with(ROUNDS) || word.starts_with(CONNECTIONS);
        word.starts_with("--") && !known.contains(&word.as_str()) && !takes_number
    };
    if let Some(word) = arguments.iter().find(unknown) {
        bail!(
            "no such flag: {word}; there are {}, {ROUNDS}N, {CONNECTIONS}N",
            known.join(", ")
        );
    }
    let rounds: Option<usize> = number(arguments, ROUNDS)?;
    if flag("--instructions") {
        return instructions::run();
    }
    let quick = flag("--quick");
    let words: Vec<&String> = arguments.iter().filter(|w| !w.starts_with("--")).collect();
    let chosen: Vec<&Comparison> = COMPARISONS
        .iter()
        .filter(|(name, ..)| words.is_empty() || words.iter().any(|w| name.contains(w.as_str())))
        .collect();
    if chosen.is_empty() {
        let names: Vec<&str> = COMPARISONS.iter().map(|(name, ..)| *name).collect();
        bail!("no such comparison; there are {}", names.join(", "));
    }
    let (server_cpu, cpu) = two_cpus()?;
    let site = std::env::temp_dir().join(format!("bench-{}", std::process::id()));
    write_site(&site).context("no room for the files to serve")?;
    let setting = Setting {
        programs: Programs::build()?,
        site,
        rounds: rounds.unwrap_or(if quick { 5 } else { 10 }),
        seconds: if quick { 1 } else { 2 },
        server_cpu,
        cpu,
        connections: number(arguments, CONNECTIONS)?,
    };
    println!("{}", machine());
    println!(
        "servers on CPU {server_cpu}, generators on CPU {cpu}, {} rounds of {} s each",
        setting.rounds, setting.seconds
    );
    let result = chosen.iter().try_for_each(|(name, about, compare)| {
        println!("\n{name}: {about}");
        compare(&setting)
    });
    for kind in ["", "caddy", "lighttpd", "nginx"] {
        drop(std::fs::remove_dir_all(setting.site.with_extension(kind)));
    }
    result
}

/// The number behind `flag`, where it is given.
fn number<T: std::str::FromStr>(arguments: &[String], flag: &str) -> Result<Option<T>> {
    let text = arguments.iter().find_map(|word| word.strip_prefix(flag));
    let Some(text) = text else {
        return Ok(None);
    };
    match text.parse() {
        Ok(number) => Ok(Some(number)),
        Err(_) => bail!("{flag}N takes a number, not '{text}'"),
    }
}

/// What these figures are of: they mean nothing without it.
fn machine() -> String {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split_once(": "))
        .map_or("a processor without a name", |(_, name)| name);
    let hypervisor = if cpuinfo.contains(" hypervisor") {
        ", a virtual machine"
    } else {
        ""
    };
    let kernel = read("/proc/sys/kernel/osrelease");
    format!("{model}{hypervisor}, Linux {}", kernel.trim())
}

/// One for servers and one for generators.
fn two_cpus() -> Result<(u32, u32)> {
    let text = std::fs::read_to_string("/proc/self/status").context("this needs Linux")?;
    let list = text
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .context("the kernel tells no list of CPUs")?;
    let mut cpus = Vec::new();
    for range in list.trim().split(',') {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        cpus.extend(first.parse::<u32>()?..=last.parse::<u32>()?);
    }
    match cpus.as_slice() {
        [first, second, ..] => Ok((*first, *second)),
        _ => bail!("two CPUs are needed: one for servers, one for generators"),
    }
}

fn small(setting: &Setting) -> Result<()> {
    let server = Server::null(&setting.programs, setting.server_cpu, &[])?;
    let everyone = [
        Generator::Wrk,
        Generator::Ab,
        Generator::H2load,
        Generator::Hey,
        Generator::Vegeta,
        Generator::Weighttp,
        Generator::BareUring,
        Generator::BareEpoll,
        Generator::TriathlonUring,
        Generator::TriathlonReadiness,
    ];
    let measured = generators(setting, &server, Ask::of("/"), &everyone)?;
    table(&measured, &["wrk", "bare io_uring loop", "bare epoll loop"]);
    let ours = Generator::TriathlonUring.name();
    cpu_ratio(&measured, ours, Generator::BareUring.name(), Some(1.05));
    let peers = [
        Generator::Wrk,
        Generator::H2load,
        Generator::Hey,
        Generator::Vegeta,
        Generator::Weighttp,
    ];
    for peer in peers {
        cpu_ratio(&measured, ours, peer.name(), None);
    }
    Ok(())
}

fn bare_uring(setting: &Setting) -> Result<()> {
    let server = Server::null(&setting.programs, setting.server_cpu, &[])?;
    let without = (0..WITHOUT.len()).map(Generator::BareUringWithout);
    let everyone: Vec<Generator> = [Generator::BareUring].into_iter().chain(without).collect();
    let measured = generators(setting, &server, Ask::of("/"), &everyone)?;
    table(&measured, &["bare io_uring loop"]);
    for (_, name) in WITHOUT {
        cpu_ratio(&measured, name, "bare io_uring loop", None);
    }
    Ok(())
}

fn large(setting: &Setting) -> Result<()> {
    let Some(server) = Server::nginx(&setting.site, setting.server_cpu)? else {
        println!("  nginx is not installed (apt-get install nginx)");
        return Ok(());
    };
    let everyone = [
        Generator::Wrk,
        Generator::H2load,
        Generator::BareEpollDiscard,
        Generator::TriathlonUring,
        Generator::TriathlonReadiness,
    ];
    let measured = generators(setting, &server, Ask::of("/100k.bin"), &everyone)?;
    table(&measured, &["wrk", "bare epoll loop, discarding"]);
    let ours = Generator::TriathlonUring.name();
    cpu_ratio(&measured, ours, Generator::Wrk.name(), Some(0.5));
    println!("  CPU per byte is the CPU per response over 100,000: us / 100 is ns per 1,000 bytes");
    Ok(())
}

/// Lets all of `everyone` ask `server`, round by round.
fn generators(
    setting: &Setting,
    server: &Server,
    ask: Ask<'_>,
    everyone: &[Generator],
) -> Result<Vec<Row>> {
    let contests: Vec<Contest<'_>> = everyone
        .iter()
        .map(|&one| (one.name(), one, server, ask))
        .collect();
    contest(setting, &contests)
}

fn origin_small(setting: &Setting) -> Result<()> {
    servers(setting, "/7.txt", Generator::BareUring)
}

fn origin_large(setting: &Setting) -> Result<()> {
    servers(setting, "/100k.bin", Generator::BareEpollDiscard)
}

/// Lets `generator` ask origin, nginx and lighttpd.
fn servers(setting: &Setting, path: &str, generator: Generator) -> Result<()> {
    let (site, cpu) = (&setting.site, setting.server_cpu);
    let installed = [
        Some(Server::origin(&setting.programs, site, cpu, None)?),
        Server::nginx(site, cpu)?,
        Server::lighttpd(site, cpu)?,
    ];
    for (server, name) in installed.iter().zip(["origin", "nginx", "lighttpd"]) {
        if server.is_none() {
            println!("  {name} is not installed (apt-get install {name})");
        }
    }
    let servers: Vec<Server> = installed.into_iter().flatten().collect();
    let contests: Vec<Contest<'_>> = servers
        .iter()
        .map(|server| (server.name, generator, server, Ask::of(path)))
        .collect();
    table(&contest(setting, &contests)?, &["nginx", "lighttpd"]);
    Ok(())
}

/// Who asks whom for what, and what the table calls that.
type Contest<'a> = (&'static str, Generator, &'a Server, Ask<'a>);

/// Lets each ask once in each round; those servers that are not asked are idle.
fn contest(setting: &Setting, contests: &[Contest<'_>]) -> Result<Vec<Row>> {
    let mut rows: Vec<Row> = contests.iter().map(|one| Row::new(one.0)).collect();
    for round in 0..setting.rounds {
        for position in 0..contests.len() {
            let number = (position + round) % contests.len();
            let (_, generator, server, ask) = contests[number];
            if let Some(package) = generator.missing() {
                rows[number].missing = Some(package);
                continue;
            }
            setting.round(generator, server, ask, &mut rows[number])?;
        }
    }
    Ok(rows)
}

/// Origin's fixed answer of the size that other comparisons use.
const NULL_RESPONDER: &str = "/.triathlon/null?bytes=7";

impl Setting {
    /// Lets `generator` ask `server` once, and adds what came of it to `row`.
    fn round(
        &self,
        generator: Generator,
        server: &Server,
        ask: Ask<'_>,
        row: &mut Row,
    ) -> Result<()> {
        let task = self.task(server, ask);
        let before = server.cpu_ns();
        let reading = generator.run(&self.programs, &task)?;
        let used = server.cpu_ns() - before;
        row.push(reading, used, generator.seconds(&task));
        Ok(())
    }

    const fn task<'a>(&self, server: &Server, ask: Ask<'a>) -> Task<'a> {
        Task {
            address: server.address,
            ask,
            seconds: self.seconds,
            warmup_ms: 500,
            cpu: self.cpu,
        }
    }
}
