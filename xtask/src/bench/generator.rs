//! Those who make load: how each is started, and what it says of its run.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use super::programs::Programs;
use super::server::on_cpu;
use super::speech::Speech;
use crate::command::output;
use crate::packages::find;

/// What is asked, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ask<'a> {
    pub(crate) path: &'a str,
    pub(crate) connections: u32,
    pub(crate) speech: Speech,
    /// What `triathlon load` and wrk are told beside that.
    pub(crate) more: &'a [String],
}

impl<'a> Ask<'a> {
    /// For `path` over 64 connections, in clear.
    pub(crate) const fn of(path: &'a str) -> Self {
        Self {
            path,
            connections: 64,
            speech: Speech::Http1,
            more: &[],
        }
    }

    /// The same in another protocol.
    pub(crate) const fn over(self, speech: Speech) -> Self {
        Self { speech, ..self }
    }

    /// The same with more said.
    pub(crate) const fn with(self, more: &'a [String]) -> Self {
        Self { more, ..self }
    }
}

/// What is asked of whom, on which CPU, for how long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task<'a> {
    pub(crate) address: SocketAddr,
    pub(crate) ask: Ask<'a>,
    pub(crate) seconds: u32,
    /// How long our generator's warm-up lasts, in milliseconds.
    pub(crate) warmup_ms: u32,
    pub(crate) cpu: u32,
}

/// What came of a run.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// Responses per second.
    pub(crate) rate: f64,
    /// CPU time of the generator per response, in microseconds.
    pub(crate) cpu_us: f64,
    /// Open loop: the median response time and the p99 of lateness, in microseconds.
    pub(crate) median_us: f64,
    pub(crate) late_us: f64,
    /// The share of its CPU that the generator used.
    pub(crate) busy: f64,
    /// How many answers it got, where that is another number than its rate by its time.
    pub(crate) answers: Option<f64>,
}

/// A generator.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Generator {
    Ab,
    BareEpoll,
    /// The same, with the kernel dropping what arrives.
    BareEpollDiscard,
    BareUring,
    /// The same without one of its means, by its position in [`WITHOUT`].
    BareUringWithout(usize),
    /// With HTTP/1.1.
    H2load,
    /// With HTTP/2.
    H2loadHttp2,
    Hey,
    /// With HTTP/3.
    OhaHttp3,
    TriathlonReadiness,
    TriathlonUring,
    /// As many requests as its workers can make: it has no other closed loop.
    Vegeta,
    /// So many requests: it has no time.
    Weighttp,
    Wrk,
    /// At a rate far above what any server gives: it has no closed loop.
    Zrk,
}

/// What the bare io_uring loop can do without: what it calls that, and what the table does.
pub(crate) const WITHOUT: [(&str, &str); 7] = [
    ("silent", "each send completes"),
    ("files", "no table of files"),
    ("multishot", "one receive at a time"),
    ("deferred", "work is not deferred"),
    ("issuer", "any thread may submit"),
    ("array", "an array of indexes"),
    ("ring", "the ring is not registered"),
];

/// A rate far above what any server here gives, per second.
pub(crate) const FAR_ABOVE: &str = "1000000";

/// So many requests weighttp makes for each second that others have: below what it gives here, so
/// that it runs no longer than they do.
const WEIGHTTP_PER_SECOND: u32 = 100_000;

/// So many connections h2load makes where each carries one request.
const HANDSHAKES: &str = "960";

impl Generator {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Ab => "ab",
            Self::BareEpoll => "bare epoll loop",
            Self::BareEpollDiscard => "bare epoll loop, discarding",
            Self::BareUring => "bare io_uring loop",
            Self::BareUringWithout(which) => WITHOUT[which].1,
            Self::H2load => "h2load --h1",
            Self::H2loadHttp2 => "h2load",
            Self::Hey => "hey",
            Self::OhaHttp3 => "oha",
            Self::TriathlonReadiness => "triathlon load, readiness",
            Self::TriathlonUring => "triathlon load, io_uring",
            Self::Vegeta => "vegeta",
            Self::Weighttp => "weighttp",
            Self::Wrk => "wrk",
            Self::Zrk => "zrk",
        }
    }

    /// Whether it can run here; else what is missing.
    pub(crate) fn missing(self) -> Option<&'static str> {
        let (program, package) = match self {
            Self::Ab => ("ab", "apache2-utils"),
            Self::H2load | Self::H2loadHttp2 => ("h2load", "nghttp2-client"),
            Self::Hey => ("hey", "hey"),
            Self::Vegeta => ("vegeta", "go install github.com/tsenart/vegeta/v12"),
            Self::Weighttp => ("weighttp", "weighttp, of lighttpd"),
            Self::Wrk => ("wrk", "wrk"),
            Self::OhaHttp3 => ("oha", "oha"),
            Self::Zrk => ("zrk", "zrk"),
            _ => return None,
        };
        find(program).is_none().then_some(package)
    }

    /// How long a run is for the server, warm-up included.
    pub(crate) fn seconds(self, task: &Task<'_>) -> f64 {
        let warmup = match self {
            Self::Ab
            | Self::H2load
            | Self::H2loadHttp2
            | Self::Hey
            | Self::OhaHttp3
            | Self::Vegeta
            | Self::Weighttp
            | Self::Wrk
            | Self::Zrk => 0.0,
            Self::BareEpoll
            | Self::BareEpollDiscard
            | Self::BareUring
            | Self::BareUringWithout(_) => 1.0,
            Self::TriathlonReadiness | Self::TriathlonUring => f64::from(task.warmup_ms) / 1e3,
        };
        f64::from(task.seconds) + warmup
    }

    /// Runs it once.
    pub(crate) fn run(self, programs: &Programs, task: &Task<'_>) -> Result<Reading> {
        match self {
            Self::Vegeta => run_vegeta(task),
            Self::Weighttp => self.run_peer("weighttp", task),
            Self::Wrk => self.run_peer("wrk", task),
            Self::Ab => self.run_peer("ab", task),
            Self::H2load | Self::H2loadHttp2 => self.run_peer("h2load", task),
            Self::Hey => self.run_peer("hey", task),
            Self::OhaHttp3 => self.run_peer("oha", task),
            Self::Zrk => self.run_peer("zrk", task),
            Self::BareEpoll => run_bare(programs, "bare_epoll", task, &[]),
            Self::BareEpollDiscard => run_bare(programs, "bare_epoll", task, &["--discard", "1"]),
            Self::BareUring => run_bare(programs, "bare_uring", task, &[]),
            Self::BareUringWithout(which) => {
                let without = ["--without", WITHOUT[which].0];
                run_bare(programs, "bare_uring", task, &without)
            }
            Self::TriathlonReadiness => run_triathlon(programs, task, &["--backend", "readiness"]),
            // HTTP/3 has one backend.
            Self::TriathlonUring if matches!(task.ask.speech, Speech::Http3(_)) => {
                run_triathlon(programs, task, &[])
            }
            Self::TriathlonUring => run_triathlon(programs, task, &["--backend", "uring"]),
        }
    }

    fn run_peer(self, program: &str, task: &Task<'_>) -> Result<Reading> {
        let path = find(program).with_context(|| format!("{program} is not installed"))?;
        let mut command = on_cpu(&path, task.cpu);
        let ask = &task.ask;
        let connections = ask.connections.to_string();
        let seconds = task.seconds.to_string();
        let seconds_f64 = f64::from(task.seconds);
        let is_brief = ask.speech == Speech::Handshakes;
        match self {
            Self::Wrk => command
                .args(["-t1", "-c", &connections, "-d", &seconds])
                .args(ask.more),
            Self::Zrk => command
                .args(["-t1", "-c", &connections, "-d", &format!("{seconds}s")])
                // Its timeout costs it a timer for each request.
                .args(["-R", FAR_ABOVE, "--timeout", "0"]),
            Self::Weighttp => command
                .args(["-t", "1", "-k", "-c", &connections])
                .args(["-n", &(task.seconds * WEIGHTTP_PER_SECOND).to_string()]),
            Self::Ab => command
                .args((!is_brief).then_some("-k"))
                .args(["-q", "-c", &connections, "-t", &seconds])
                .args(["-n", "100000000"]),
            Self::Hey => command.args(["-c", &connections, "-z", &format!("{seconds}s")]),
            Self::OhaHttp3 => command
                .args(["--no-tui", "--insecure", "--http-version", "3"])
                .args(["-c", &connections, "-p", &ask.speech.streams().to_string()])
                .args(["-z", &format!("{seconds}s")]),
            // It makes a connection no second time, so that all of them are made at once.
            _ if is_brief => command.args(["--h1", "-t1", "-c", HANDSHAKES, "-n", HANDSHAKES]),
            Self::H2load => command.args(["--h1", "-t1", "-c", &connections, "-D", &seconds]),
            _ => command
                .args(["-t1", "-c", &connections, "-D", &seconds])
                .args(["-m", &ask.speech.streams().to_string()]),
        };
        command.arg(ask.speech.url(task.address, ask.path));
        let before = children_cpu_us();
        let text = output(&mut command).with_context(|| format!("{program} failed"))?;
        let cpu_us = children_cpu_us() - before;
        let rate = match self {
            Self::Zrk => number_after(&text, &["requests in", "read", "\u{b7}"]),
            Self::Wrk | Self::Hey => number_after(&text, &["Requests/sec:"]),
            // Over HTTP/3 it waits for 30 s when its time is over, and divides by that, too.
            Self::OhaHttp3 => number_after(&text, &["[200]"]).map(|count| count / seconds_f64),
            Self::Ab => number_after(&text, &["Requests per second:"]),
            Self::Weighttp => number_after(&text, &["\"reqs_per_sec\":"]),
            _ => number_after(&text, &["finished in", ", "]),
        };
        let rate = rate.with_context(|| format!("{program} told no rate:\n{text}"))?;
        let answers = match self {
            Self::H2load if is_brief => HANDSHAKES.parse()?,
            Self::Weighttp => f64::from(task.seconds * WEIGHTTP_PER_SECOND),
            _ => rate * seconds_f64,
        };
        Ok(Reading {
            rate,
            cpu_us: cpu_us / answers,
            answers: Some(answers),
            ..Reading::default()
        })
    }
}

/// Runs vegeta, which writes what it measured into a file, and lets it count that afterwards.
fn run_vegeta(task: &Task<'_>) -> Result<Reading> {
    let path = find("vegeta").context("vegeta is not installed")?;
    let folder = crate::root().join("target/vegeta");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let (asked, results) = (folder.join("asked"), folder.join("results"));
    let url = task.ask.speech.url(task.address, task.ask.path);
    fs::write(&asked, format!("GET {url}\n")).context("cannot write what is asked")?;
    let connections = task.ask.connections.to_string();
    let mut command = on_cpu(&path, task.cpu);
    command
        .args(["attack", "-rate", "0", "-max-workers", &connections])
        .args(["-connections", &connections, "-workers", &connections])
        .args(["-duration", &format!("{}s", task.seconds), "-max-body", "0"])
        .arg(format!("-targets={}", asked.display()))
        .arg(format!("-output={}", results.display()));
    let before = children_cpu_us();
    output(&mut command).context("vegeta failed")?;
    let cpu_us = children_cpu_us() - before;
    let mut report = Command::new(&path);
    let text = output(report.args(["report", "-type=json"]).arg(&results));
    let text = text.context("vegeta counts nothing")?;
    let told: serde_json::Value = serde_json::from_str(&text).context("vegeta told no JSON")?;
    let number = |name: &str| {
        told[name]
            .as_f64()
            .with_context(|| format!("no {name}: {text}"))
    };
    Ok(Reading {
        rate: number("throughput")?,
        cpu_us: cpu_us / number("requests")?,
        answers: Some(number("requests")?),
        ..Reading::default()
    })
}

/// Runs a bare loop, or the bare spinning client.
pub(crate) fn run_bare(
    programs: &Programs,
    name: &str,
    task: &Task<'_>,
    more: &[&str],
) -> Result<Reading> {
    let mut command = Command::new(programs.bare(name)?);
    command
        .args(["--target", &task.address.to_string()])
        .args(["--path", task.ask.path])
        .args(["--connections", &task.ask.connections.to_string()])
        .args(["--seconds", &task.seconds.to_string()])
        .args(["--cpu", &task.cpu.to_string()])
        .args(more);
    let text = output(&mut command).with_context(|| format!("{name} failed"))?;
    let number = |key: &str| number_after(&text, &[key]).unwrap_or(0.0);
    Ok(Reading {
        rate: number("rate "),
        cpu_us: number("cpu_us "),
        median_us: number("median_us "),
        late_us: number("late_p99_us "),
        busy: number("busy "),
        ..Reading::default()
    })
}

/// Runs our generator and reads the trial that it writes.
pub(crate) fn run_triathlon(
    programs: &Programs,
    task: &Task<'_>,
    more: &[&str],
) -> Result<Reading> {
    run_triathlon_by(programs, task, &["--cpus", &task.cpu.to_string()], more)
}

/// The same by whoever these flags name.
pub(crate) fn run_triathlon_by(
    programs: &Programs,
    task: &Task<'_>,
    whose: &[&str],
    more: &[&str],
) -> Result<Reading> {
    let text = trial_of(programs, task, whose, more)?;
    read_trial(&text).context("the trial lacks a number that the benchmark reads")
}

/// The same: what it writes.
pub(crate) fn trial_of(
    programs: &Programs,
    task: &Task<'_>,
    whose: &[&str],
    more: &[&str],
) -> Result<String> {
    let file = std::env::temp_dir().join(format!("bench-{}.json", std::process::id()));
    let mut command = trial_command(programs, task, whose, more);
    command
        .arg("--json")
        .arg(&file)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    // The exit code tells the verdict; here the numbers are asked for.
    command.status().context("cannot start triathlon load")?;
    let text = fs::read_to_string(&file).context("triathlon load wrote no trial")?;
    drop(fs::remove_file(&file));
    Ok(text)
}

/// What is run for that.
pub(crate) fn trial_command(
    programs: &Programs,
    task: &Task<'_>,
    whose: &[&str],
    more: &[&str],
) -> Command {
    let mut command = Command::new(&programs.triathlon);
    command
        .arg("load")
        .arg(task.ask.speech.url(task.address, task.ask.path))
        .args(["-t", "1", "-c", &task.ask.connections.to_string()])
        .args(["-d", &format!("{}s", task.seconds)])
        .args(["--warmup", &format!("{}ms", task.warmup_ms)])
        .args(whose)
        .args(task.ask.speech.flags())
        .args(task.ask.more)
        .args(more);
    command
}

fn read_trial(text: &str) -> Option<Reading> {
    let record = &text[text.find("\"record\"")?..];
    let worker = |key| number_after(record, &["\"workers\"", key]).unwrap_or(0.0);
    let ok = worker("\"ok\":").max(1.0);
    let cpu_ns = worker("\"cpu_ns\":");
    let window_ns = number_after(record, &["\"window_ns\":"])?;
    let totals = &record[record.find("\"achieved_rate\"")?..];
    let rate = number_after(totals, &["\"achieved_rate\":"])?;
    // Of an overload most answers in the window were due before it.
    let answers = ok.max(rate * window_ns / 1e9);
    Some(Reading {
        rate,
        cpu_us: cpu_ns / 1e3 / answers,
        median_us: number_after(totals, &["\"response_time\":", "\"p50\":"]).unwrap_or(0.0),
        late_us: number_after(totals, &["\"late_time\":", "\"p99\":"]).unwrap_or(0.0),
        busy: cpu_ns / window_ns,
        ..Reading::default()
    })
}

/// The number that follows all of `marks`, one after the other.
pub(crate) fn number_after(text: &str, marks: &[&str]) -> Option<f64> {
    let mut rest = text;
    for mark in marks {
        rest = &rest[rest.find(mark)? + mark.len()..];
    }
    let rest = rest.trim_start();
    let end = rest
        .find(|c: char| !(c.is_ascii_digit() || c == '.'))
        .unwrap_or(rest.len());
    rest[..end].parse().ok()
}

/// CPU time of all programs that we started and that have ended, in microseconds (in steps of the
/// kernel's tick, 10 ms).
fn children_cpu_us() -> f64 {
    let text = fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // After the name in parentheses, the 14th and 15th field: cutime and cstime of proc(5).
    let fields: Vec<f64> = text
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(13)
        .take(2)
        .filter_map(|field| field.parse().ok())
        .collect();
    fields.iter().sum::<f64>() * 10_000.0
}

/// A folder with the files that servers serve.
pub(crate) fn write_site(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join("7.txt"), "1234567")?;
    let large: Vec<u8> = (0..100_000_u32).map(|n| (n % 251) as u8).collect();
    fs::write(folder.join("100k.bin"), large)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_where_they_stand() {
        let wrk = "Running\n  10 requests in 1s\nRequests/sec:  138123.45\nTransfer/sec: 1MB";
        assert_eq!(number_after(wrk, &["Requests/sec:"]), Some(138_123.45));
        let h2load = "finished in 2.00s, 125000.50 req/s, 1MB/s";
        assert_eq!(
            number_after(h2load, &["finished in", ", "]),
            Some(125_000.5)
        );
        assert_eq!(number_after(wrk, &["nothing"]), None);
    }

    #[test]
    fn a_trial_is_read() {
        let text = r#"{"plan":{},"record":{"window_ns":2000000000,"achieved_rate":100.5,
            "response_time":{"unit":"us","p50":35.5},"late_time":{"p99":0.3},
            "workers":[{"ok":201,"cpu_ns":1000000000}]}}"#;
        let reading = read_trial(text).unwrap();
        let numbers = [
            reading.rate,
            reading.median_us,
            reading.late_us,
            reading.busy,
        ];
        assert_eq!(format!("{numbers:?}"), "[100.5, 35.5, 0.3, 0.5]");
        assert!((reading.cpu_us - 4_975.1).abs() < 0.1);
    }
}
