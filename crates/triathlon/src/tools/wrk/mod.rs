//! wrk: a closed loop for a time, and its table of rates and latencies.
//!
//! The rates of threads are those of whole seconds, where wrk's are of tenths.

use model::{Distribution, Outcome, Span, Trial};

use super::figures::{self, Figures, number, quantile};
use super::flag::{Flag, flag};
use super::given::{Given, Grammar};
use super::spread::Spread;
use super::{Asked, Tool, Work};
use crate::exit::UsageError;

pub(super) const TOOL: Tool = Tool {
    name: "wrk",
    usage: "wrk <options> <url>",
    help: "--help",
    grammar: Grammar::Getopt,
    flags: FLAGS,
    examples: &[
        (
            "triathlon wrk -t 2 -c 64 -d 30s --latency http://127.0.0.1:8080/",
            "what wrk would print; the verdict is on standard error",
        ),
        (
            "ln -s triathlon wrk; ./wrk -c 64 http://127.0.0.1:8080/",
            "the same through a link of that name",
        ),
    ],
    differs: &[
        "The rates of threads are those of whole seconds, of right answers alone; wrk's are of \
         tenths of seconds, and of all answers.",
        "All connections of -c are opened; wrk opens as many for each thread as for the others, \
         and leaves out the rest: 2 of -t 2 -c 3.",
        "An answer that takes longer than -T is given up, and its connection is made anew; wrk \
         waits on, and counts an answer that comes later as a timeout. A connect, and a handshake \
         of TLS, are waited for until the end, as wrk does.",
        "Latencies are those of right answers; wrk counts those of wrong answers too.",
        "Where a script hands over several requests at once, each answer is timed by itself; wrk \
         times the batch.",
        "A script has no ffi, no debug and no modules in C.",
        "What a script prints during the run stands before all that is printed; in wrk it stands \
         behind the first two lines.",
        "A script that stops its thread is not called again; requests in flight are still \
         answered and counted.",
        "latency:percentile(100) is the longest time; in wrk it is 0.",
        "A mistake in a script ends the run, with exit code 2.",
        figures::BYTES,
    ],
    work: Work::Load { asked, told },
};

pub(super) const CONNECTIONS: Flag = flag(&["-c", "--connections"], "Connections to keep open")
    .takes("N", metric)
    .load("--connections={}");
pub(super) const DURATION: Flag = flag(&["-d", "--duration"], "Duration of test")
    .takes("T", time)
    .load("--duration={}s");
pub(super) const THREADS: Flag = flag(&["-t", "--threads"], "Number of threads to use")
    .takes("N", metric)
    .load("--threads={}");
pub(super) const SCRIPT: Flag = flag(&["-s", "--script"], "Load Lua script file")
    .text("S")
    .load("--lua={}");
pub(super) const HEADER: Flag = flag(&["-H", "--header"], "Add header to request")
    .text("H")
    .many()
    .load("--header={}");
pub(super) const TIMEOUT: Flag = flag(&["-T", "--timeout"], "Socket/request timeout")
    .takes("T", time)
    .load("--timeout={}s");
pub(super) const VERSION: Flag = flag(&["-v", "--version"], "Print version details").version();
pub(super) const HELP: Flag = flag(&["-h", "--help"], "Print the flags").help();

const FLAGS: &[Flag] = &[
    CONNECTIONS,
    DURATION,
    THREADS,
    SCRIPT,
    HEADER,
    flag(&["-L", "--latency"], "Print latency statistics").done("the quantiles are printed"),
    TIMEOUT,
    VERSION,
    HELP,
];

/// The run.
fn asked(given: &Given, url: &str) -> Result<Asked, UsageError> {
    common(given, url)
}

/// What wrk and wrk2 have in common.
pub(super) fn common(given: &Given, url: &str) -> Result<Asked, UsageError> {
    if !given.rest.is_empty() && !given.is("-s") {
        let why = "arguments after '--' are those of a script: give one with -s";
        return Err(UsageError(why.to_owned()));
    }
    let (threads, connections) = counts(given);
    if connections < threads {
        let why = "number of connections must be >= threads";
        return Err(UsageError(why.to_owned()));
    }
    let mut words = vec!["--warmup=0s".to_owned()];
    // wrk looks at the status alone.
    words.push("--expect=status".to_owned());
    // Nor does it give up a connect or a handshake: one may last as long as all.
    let seconds = given.number("-d", 10).saturating_add(60);
    words.push(format!("--connect-timeout={seconds}s"));
    let usual = [
        ("-c", format!("--connections={connections}")),
        ("-t", format!("--threads={threads}")),
        ("-d", "--duration=10s".to_owned()),
        ("-T", "--timeout=2s".to_owned()),
    ];
    let left_out = usual.into_iter().filter(|(name, _)| !given.is(name));
    words.extend(left_out.map(|(_, word)| word));
    words.extend(super::unverified(url));
    words.extend(given.rest.iter().map(|word| format!("--lua-arg={word}")));
    Ok(Asked { words, most: None })
}

/// Threads and connections.
fn counts(given: &Given) -> (u64, u64) {
    (given.number("-t", 2), given.number("-c", 10))
}

/// What wrk measures: from sending to the last byte, without the wait for a connection. Where
/// requests are due at a rate, as in wrk2, from then on.
pub(super) fn latencies(trial: &Trial) -> &Distribution {
    match trial.plan.arrivals.is_closed() {
        true => &trial.record.service_time,
        false => &trial.record.response_time,
    }
}

/// What wrk prints.
fn told(given: &Given, url: &str, trial: &Trial) -> anyhow::Result<String> {
    let times = latencies(trial);
    let mut out = head(given, url, trial);
    if given.is("-L") {
        out.push_str("  Latency Distribution\n");
        for percent in [50.0, 75.0, 90.0, 99.0] {
            let value = quantile(times, percent / 100.0);
            out.push_str(&format!("{percent:7.0}%{}\n", padded(&time_us(value), 10)));
        }
    }
    out.push_str(&foot(trial));
    Ok(out)
}

/// What stands before the latencies.
pub(super) fn head(given: &Given, url: &str, trial: &Trial) -> String {
    let times = latencies(trial);
    let (threads, connections) = counts(given);
    let mut out = format!(
        "Running {} test @ {url}\n  {threads} threads and {connections} connections\n",
        seconds_of(given.number("-d", 10)),
    );
    out.push_str(&format!(
        "  Thread Stats{:>6}{:>11}{:>8}{:>12}\n",
        "Avg", "Stdev", "Max", "+/- Stdev"
    ));
    out.push_str(&latency_row(times));
    let (rates, within) = rates(trial);
    out.push_str(&row("Req/Sec", rates, within, |rate| {
        units(rate, 1_000.0, "", &["k", "M", "G", "T", "P"])
    }));
    out
}

fn latency_row(times: &Distribution) -> String {
    let spread = Spread::of(times);
    let longest = times.max().unwrap_or_default().as_us_f64();
    let values = [spread.mean, spread.deviation, longest];
    row("Latency", values, spread.within, time_us)
}

/// What stands behind them.
pub(super) fn foot(trial: &Trial) -> String {
    let figures = Figures::new(trial);
    let (complete, seconds) = (figures.complete(), figures.seconds());
    let received = number(figures.received());
    let mut out = format!(
        "  {complete} requests in {}, {}B read\n",
        time_us(seconds * 1e6),
        binary(received)
    );
    let (connect, read) = (figures.connect(), figures.read());
    let write = figures.of(Outcome::Write);
    let timeout = figures.of(Outcome::Timeout);
    if connect + read + write + timeout > 0 {
        out.push_str(&format!(
            "  Socket errors: connect {connect}, read {read}, write {write}, timeout {timeout}\n"
        ));
    }
    let wrong = figures.wrong();
    if wrong > 0 {
        out.push_str(&format!("  Non-2xx or 3xx responses: {wrong}\n"));
    }
    out.push_str(&format!(
        "Requests/sec: {:9.2}\nTransfer/sec: {:>10}B\n",
        number(complete) / seconds,
        binary(received / seconds)
    ));
    out
}

/// A number with wrk's units.
pub(super) fn metric(text: &str) -> Result<String, String> {
    scan(text, 1_000, &["k", "M", "G", "T", "P"])
        .filter(|count| *count > 0)
        .map(|count| count.to_string())
        .ok_or_else(|| "write a number from 1, as in 10 or 1k".to_owned())
}

/// Seconds. wrk knows no smaller unit.
fn time(text: &str) -> Result<String, String> {
    let end = text.find(|c: char| !c.is_ascii_digit());
    let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
    let scale = match unit.to_ascii_lowercase().as_str() {
        "" | "s" => 1,
        "m" => 60,
        "h" => 3_600,
        _ => 0,
    };
    let seconds = digits.parse().ok();
    seconds
        .and_then(|seconds: u64| seconds.checked_mul(scale))
        .filter(|seconds| *seconds > 0)
        .map(|seconds| seconds.to_string())
        .ok_or_else(|| "write a time in whole seconds from 1s, as in 2s, 2m or 2h".to_owned())
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

/// Mean, standard deviation and maximum of the rates of one thread over whole intervals, and how
/// many of them are within a deviation.
fn rates(trial: &Trial) -> ([f64; 3], f64) {
    let threads = f64::from(trial.plan.workers.max(1));
    let intervals = trial.record.intervals.iter();
    let rates: Vec<f64> = intervals
        .filter(|interval| interval.length > Span::ZERO)
        .map(|interval| number(interval.tally.right_in_it()) / interval.length.as_s_f64() / threads)
        .collect();
    let max = rates.iter().copied().fold(0.0, f64::max);
    let spread = Spread::of_numbers(&rates);
    ([spread.mean, spread.deviation, max], spread.within)
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
pub(super) fn padded(text: &str, width: usize) -> String {
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

pub(super) fn time_us(us: f64) -> String {
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

#[cfg(test)]
mod tests;
