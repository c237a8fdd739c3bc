//! `triathlon wrk`: takes wrk's command line and prints what wrk prints, so that scripts that read
//! that go on working. What the run is worth stands on standard error.
//!
//! Everything is measured as `triathlon load` does it, without warm-up, as wrk has none. The rates
//! of threads are those of whole seconds, where wrk's are of tenths.

use std::ffi::OsString;

use anyhow::Context as _;
use clap::Parser as _;
use model::{Distribution, Outcome, Span, Trial};
use report::hdr::mean_and_deviation;
use report::text::Style;

use super::load;
use crate::exit::{Exit, UsageError};
use crate::out;

const EXAMPLES: &str = "\
Examples:
  triathlon wrk -t 2 -c 64 -d 30s --latency http://127.0.0.1:8080/
      what wrk would print; the verdict is on standard error
  ln -s triathlon wrk; ./wrk -c 64 http://127.0.0.1:8080/
      the same by the name of the program

Numbers may have a unit (1k, 1M, 1G), times too (2s, 2m, 2h), as wrk has it.";

/// Take the command line of wrk, and print what it prints.
#[derive(clap::Args, Debug)]
#[command(after_help = EXAMPLES, disable_version_flag = true)]
pub(crate) struct Args {
    /// What to ask
    #[arg(value_name = "URL", required_unless_present = "version")]
    url: Option<String>,

    /// Connections to keep open
    #[arg(short, long, value_name = "N", default_value = "10", value_parser = metric)]
    connections: u64,

    /// How long to measure
    #[arg(short, long, value_name = "T", default_value = "10", value_parser = time)]
    duration: u64,

    /// Threads to use
    #[arg(short, long, value_name = "N", default_value = "2", value_parser = metric)]
    threads: u64,

    /// A Lua script: not supported yet
    #[arg(short, long, value_name = "S", num_args = 1)]
    script: Option<String>,

    /// A header field, 'Name: value'; may be given several times
    #[arg(short = 'H', long = "header", value_name = "H")]
    headers: Vec<String>,

    /// Print the distribution of latencies
    #[arg(short = 'L', long)]
    latency: bool,

    /// How long an exchange may take
    #[arg(short = 'T', long, value_name = "T", default_value = "2", value_parser = time)]
    timeout: u64,

    /// Print the version
    #[arg(short = 'v', long)]
    version: bool,

    /// Arguments of the script
    #[arg(last = true, value_name = "ARGUMENT")]
    rest: Vec<String>,
}

/// The flags of `triathlon load`, as a command line of their own.
#[derive(clap::Parser, Debug)]
struct Native {
    #[command(flatten)]
    args: load::Args,
}

/// Runs it.
pub(crate) fn run(args: &Args) -> anyhow::Result<Exit> {
    if args.version {
        let version = env!("CARGO_PKG_VERSION");
        out::line(format_args!("wrk as triathlon {version} has it"))?;
        return Ok(Exit::Done);
    }
    if args.script.is_some() || !args.rest.is_empty() {
        let why = "-s/--script: Lua scripts are not supported yet; triathlon load mixes requests \
                   (--urls), thinks (--think) and pipelines (--pipeline) without one";
        return Err(UsageError(why.to_owned()).into());
    }
    if args.connections < args.threads {
        let why = "number of connections must be >= threads";
        return Err(UsageError(why.to_owned()).into());
    }
    let url = args.url.as_deref().unwrap_or_default();
    let native = Native::try_parse_from(native(args, url)).map_err(|error| {
        UsageError(
            error
                .to_string()
                .trim_start_matches("error: ")
                .trim()
                .to_owned(),
        )
    })?;
    let trial = load::measured(&native.args)?;
    let verdict = report::text::verdict(&trial.verdict, Style::default());
    out::note(verdict.trim_end());
    out::write(&told(args, url, &trial)).context("cannot write the result")?;
    Ok(load::exit_of(&trial))
}

/// The same as flags of `triathlon load`.
fn native(args: &Args, url: &str) -> Vec<OsString> {
    let mut words = vec![
        "load".to_owned(),
        url.to_owned(),
        format!("--threads={}", args.threads),
        format!("--connections={}", args.connections),
        format!("--duration={}s", args.duration),
        format!("--timeout={}s", args.timeout),
        "--warmup=0s".to_owned(),
        // wrk looks at the status alone.
        "--expect=status".to_owned(),
    ];
    words.extend(args.headers.iter().map(|field| format!("--header={field}")));
    words.into_iter().map(OsString::from).collect()
}

/// A number with wrk's units.
fn metric(text: &str) -> Result<u64, String> {
    scan(text, 1_000, &["k", "M", "G", "T", "P"])
        .filter(|count| *count > 0)
        .ok_or_else(|| "write a number from 1, as in 10 or 1k".to_owned())
}

/// Seconds.
fn time(text: &str) -> Result<u64, String> {
    let seconds = scan(text.trim_end_matches(['s', 'S']), 60, &["m", "h"]);
    seconds
        .filter(|seconds| *seconds > 0)
        .ok_or_else(|| "write a time from 1s, as in 2s, 2m or 2h".to_owned())
}

fn scan(text: &str, scale: u64, units: &[&str]) -> Option<u64> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let number: u64 = text[..end].parse().ok()?;
    let unit = &text[end..];
    if unit.is_empty() {
        return Some(number);
    }
    let place = units
        .iter()
        .position(|one| one.eq_ignore_ascii_case(unit))?;
    let power = u32::try_from(place + 1).ok()?;
    number.checked_mul(scale.checked_pow(power)?)
}

/// What wrk prints.
fn told(args: &Args, url: &str, trial: &Trial) -> String {
    let record = &trial.record;
    let outcomes = &record.total.outcomes;
    let times = &record.response_time;
    let seconds = record.window.as_s_f64().max(1e-9);
    let wrong = outcomes[Outcome::Status] + outcomes[Outcome::Content];
    let complete = outcomes[Outcome::Ok] + wrong;
    let received = record.total.bytes_received.count();
    let mut out = format!(
        "Running {} test @ {url}\n  {} threads and {} connections\n",
        seconds_of(args.duration),
        args.threads,
        args.connections
    );
    out.push_str(&format!(
        "  Thread Stats{:>6}{:>11}{:>8}{:>12}\n",
        "Avg", "Stdev", "Max", "+/- Stdev"
    ));
    let (mean, deviation) = mean_and_deviation(times);
    let (mean, deviation) = (mean * 1e3, deviation * 1e3);
    let longest = times.max().unwrap_or_default().as_us_f64();
    let within = within(times, mean, deviation);
    out.push_str(&row("Latency", [mean, deviation, longest], within, time_us));
    let (rates, within) = rates(trial);
    out.push_str(&row("Req/Sec", rates, within, |rate| {
        units(rate, 1_000.0, "", &["k", "M", "G", "T", "P"])
    }));
    if args.latency {
        out.push_str("  Latency Distribution\n");
        for percent in [50.0, 75.0, 90.0, 99.0] {
            let value = quantile(times, percent / 100.0);
            out.push_str(&format!("{percent:7.0}%{}\n", padded(&time_us(value), 10)));
        }
    }
    out.push_str(&format!(
        "  {complete} requests in {}, {}B read\n",
        time_us(seconds * 1e6),
        binary(number(received))
    ));
    let connect = outcomes[Outcome::Connect] + outcomes[Outcome::Tls];
    let read = outcomes[Outcome::Read] + outcomes[Outcome::Protocol];
    let (write, timeout) = (outcomes[Outcome::Write], outcomes[Outcome::Timeout]);
    if connect + read + write + timeout > 0 {
        out.push_str(&format!(
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}\n"
        ));
    }
    if wrong > 0 {
        out.push_str(&format!("  Non-2xx or 3xx responses: {wrong}\n"));
    }
    out.push_str(&format!(
        "Requests/sec: {:9.2}\nTransfer/sec: {:>10}B\n",
        number(complete) / seconds,
        binary(number(received) / seconds)
    ));
    out
}

/// A quantile of the answers that came, as wrk counts no others. In microseconds.
fn quantile(times: &Distribution, q: f64) -> f64 {
    let rank = (number(times.count()) * q).ceil().max(1.0);
    let value = times.value_at_rank(whole(rank).min(times.count()));
    value.unwrap_or_default().as_us_f64()
}

/// The share of values within a standard deviation of the mean, in per cent.
fn within(times: &Distribution, mean: f64, deviation: f64) -> f64 {
    let inside = |us: f64| (us - mean).abs() <= deviation;
    let count: u64 = times
        .buckets()
        .filter(|(lowest, width, _)| inside((*lowest + *width / 2).as_us_f64()))
        .map(|(_, _, count)| count)
        .sum();
    100.0 * number(count) / number(times.count().max(1))
}

/// Mean, standard deviation and maximum of the rates of one thread over whole intervals, and how
/// many of them are within a deviation.
fn rates(trial: &Trial) -> ([f64; 3], f64) {
    let threads = f64::from(trial.plan.workers.max(1));
    let intervals = trial.record.intervals.iter();
    let rates: Vec<f64> = intervals
        .filter(|interval| interval.length > Span::ZERO)
        .map(|interval| number(interval.tally.right_in_it()) / interval.length.as_s_f64() / threads)
        .collect();
    let count = number(rates.len().max(1) as u64);
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / count;
    let deviation = variance.sqrt();
    let max = rates.iter().copied().fold(0.0, f64::max);
    let inside = rates
        .iter()
        .filter(|rate| (**rate - mean).abs() <= deviation);
    let share = 100.0 * number(inside.count() as u64) / count;
    ([mean, deviation, max], share)
}

fn row(name: &str, values: [f64; 3], within: f64, shown: impl Fn(f64) -> String) -> String {
    let [mean, deviation, max] = values.map(shown);
    format!(
        "    {name:<10}{}{}{}{within:8.2}%\n",
        padded(&mean, 8),
        padded(&deviation, 10),
        padded(&max, 9)
    )
}

/// Right-aligned such that units of one and two letters stand below each other.
fn padded(text: &str, width: usize) -> String {
    let letters = |from_end: usize| {
        let letter = text.chars().rev().nth(from_end);
        usize::from(letter.is_some_and(|c| c.is_ascii_alphabetic()))
    };
    let behind = 2 - letters(0) - letters(1);
    format!("{text:>0$}{1:2$}", width - behind, "", behind)
}

/// wrk goes to the next unit at 85 % of it, and never to its last.
fn units(value: f64, scale: f64, base: &str, units: &[&str]) -> String {
    let (mut value, mut unit) = (value, base);
    for larger in &units[..units.len() - 1] {
        if value < scale * 0.85 {
            break;
        }
        value /= scale;
        unit = larger;
    }
    format!("{value:.2}{unit}")
}

fn time_us(us: f64) -> String {
    if us >= 1e6 {
        units(us / 1e6, 60.0, "s", &["m", "h"])
    } else {
        units(us, 1_000.0, "us", &["ms", "s"])
    }
}

fn binary(bytes: f64) -> String {
    units(bytes, 1_024.0, "", &["K", "M", "G", "T", "P"])
}

/// Whole seconds, or minutes from 51 seconds on.
fn seconds_of(seconds: u64) -> String {
    let seconds = number(seconds);
    if seconds < 60.0 * 0.85 {
        format!("{seconds:.0}s")
    } else {
        format!("{:.0}m", seconds / 60.0)
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
const fn number(count: u64) -> f64 {
    count as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a rank below 2^53"
)]
const fn whole(rank: f64) -> u64 {
    rank as u64
}

#[cfg(test)]
mod tests {
    use model::fixture;

    use super::*;

    #[test]
    fn numbers_are_read_as_wrk_reads_them() {
        let check = |text: &str, count: Option<u64>, seconds: Option<u64>| {
            assert_eq!(metric(text).ok(), count, "{text}");
            assert_eq!(time(text).ok(), seconds, "{text}");
        };
        check("10", Some(10), Some(10));
        check("1k", Some(1_000), None);
        check("2M", Some(2_000_000), Some(120));
        check("2m", Some(2_000_000), Some(120));
        check("3s", None, Some(3));
        check("1h", None, Some(3_600));
        check("0", None, None);
        check("", None, None);
        check("1.5s", None, None);
    }

    #[test]
    fn numbers_are_shown_as_wrk_shows_them() {
        let check = |is: String, should: &str| assert_eq!(is, should);
        check(time_us(635.91), "635.91us");
        check(time_us(850.0), "0.85ms");
        check(time_us(12_920.0), "12.92ms");
        check(time_us(999_000.0), "999.00ms");
        check(time_us(30_000_000.0), "30.00s");
        check(time_us(60_000_000.0), "1.00m");
        check(binary(636_000_000.0), "606.54M");
        check(binary(100.0), "100.00");
        check(seconds_of(30), "30s");
        check(seconds_of(60), "1m");
        check(padded("635.91us", 8), "635.91us");
        check(padded("56.20k", 8), " 56.20k ");
        check(padded("56.20", 8), " 56.20  ");
    }

    /// The lines that programs look for, each in its form.
    #[test]
    fn the_text_has_the_lines_of_wrk() {
        let trial = fixture::closed();
        let args = Args {
            url: Some("http://h/".to_owned()),
            connections: 64,
            duration: 10,
            threads: 2,
            script: None,
            headers: Vec::new(),
            latency: true,
            timeout: 2,
            version: false,
            rest: Vec::new(),
        };
        let text = told(&args, "http://h/", &trial);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], "Running 10s test @ http://h/");
        assert_eq!(lines[1], "  2 threads and 64 connections");
        assert_eq!(
            lines[2],
            "  Thread Stats   Avg      Stdev     Max   +/- Stdev"
        );
        assert!(lines[3].starts_with("    Latency   ") && lines[3].ends_with('%'));
        assert!(lines[4].starts_with("    Req/Sec   ") && lines[4].len() == lines[3].len());
        assert_eq!(lines[5], "  Latency Distribution");
        assert!(lines[6].starts_with("     50%  "), "{text}");
        assert!(lines[9].starts_with("     99%  "), "{text}");
        assert!(lines[10].contains(" requests in ") && lines[10].ends_with("B read"));
        assert!(text.contains("\nRequests/sec: ") && text.contains("\nTransfer/sec: "));
    }
}
