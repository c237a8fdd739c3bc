//! h2load, in HTTP/2, HTTP/3 and HTTP/1.1: so many requests, or a time, over clients and threads.

mod flags;

use model::plan::{Protocol, Stop};
use model::record::Reference;
use model::units::Span;
use model::{Distribution, Outcome, Trial};

use super::figures::{self, Figures, connecting, number, whole};
use super::given::{Given, Grammar};
use super::spread::Spread;
use super::{Asked, Tool, Work};
use crate::exit::UsageError;

pub(super) const TOOL: Tool = Tool {
    name: "h2load",
    usage: "h2load [OPTIONS]... [URI]",
    help: "--help",
    grammar: Grammar::Getopt,
    flags: flags::FLAGS,
    examples: &[
        (
            "triathlon h2load -n 10000 -c 64 -m 10 -t 2 https://127.0.0.1:8443/",
            "what h2load would print for HTTP/2; the verdict is on standard error",
        ),
        (
            "ln -s triathlon h2load; ./h2load --h1 -D 30 --warm-up-time 5 http://127.0.0.1:8080/",
            "the same through a link of that name: 30 seconds after 5 of warm-up",
        ),
    ],
    differs: &[
        "An https server that does not agree to HTTP/2 (ALPN) is not asked in HTTP/1.1 instead: \
         its handshakes fail. Use --h1 to ask in HTTP/1.1.",
        "In HTTP/1.1, the headers of each answer count as those of the answer before the run.",
        figures::BYTES,
        "In HTTP/2, bytes of frames count as those of headers, and so does what TLS adds; the \
         space savings are relative to the head of the answer before the run.",
        "In HTTP/3, bytes of datagrams count as those of headers, and no space savings are shown.",
        figures::CONNECTING,
        "Of TLS, the deviation of time for connect, and the share within it, are those of these \
         sums: the deviation is at most too large. Connections that are begun together on io_uring \
         are seen to be there together, so that it may be too small there.",
        "The time to the first byte is measured for each answer, from sending its request; h2load \
         measures it for the first answer on each connection, from connecting.",
        "The row req/s has the rate of each thread, divided by its clients; h2load's has the rate \
         of each client. It and the time for request cover right answers only.",
        "With -r, each connection carries the requests of one client, and the next connection \
         follows in its turn until all requests are made.",
        "With -T, a connection that has reached that age is closed with its next answer, and \
         another one is made; h2load gives up the requests in flight on it, and its client ends.",
        "Without -N an answer may take 60 seconds; h2load waits forever.",
        "The field user-agent is that of h2load 1.52.0.",
        "Progress is not shown.",
    ],
    work: Work::Load { asked, told },
};

/// As who it asks.
const USER_AGENT: &str = "h2load nghttp2/1.52.0";

/// Whether HTTP/1.1 is what the flags ask for.
fn is_http1(given: &Given, url: &str) -> bool {
    let list = if super::is_secure(url) {
        "--npn-list"
    } else {
        "-p"
    };
    given.is("--h1") || given.value(list) == Some("http/1.1")
}

/// Whether HTTP/3 is.
fn is_http3(given: &Given, url: &str) -> bool {
    given.is("--h3") || super::is_secure(url) && given.value("--npn-list") == Some("h3")
}

/// The run.
fn asked(given: &Given, url: &str) -> Result<Asked, UsageError> {
    let wrong = |why: &str| Err(UsageError(why.to_owned()));
    let (requests, clients) = (given.number("-n", 1), given.number("-c", 1));
    let threads = given.number("-t", 1);
    if threads > clients {
        return wrong("h2load: -t must not be more than -c: each thread needs a client");
    }
    let is_timed = given.is("-D");
    if given.is("--warm-up-time") && !is_timed {
        return wrong("h2load: --warm-up-time needs -D: it comes before a time");
    }
    if !is_timed && requests < clients {
        return wrong("h2load: -n must not be less than -c: each client asks at least once");
    }
    let mut words = vec!["--expect=status".to_owned()];
    let at_once = given.number("-m", 1);
    if is_http1(given, url) {
        words.push(format!("--pipeline={at_once}"));
    } else if is_http3(given, url) {
        words.push("--http3".to_owned());
        words.push(format!("--streams={at_once}"));
    } else {
        words.push(super::http2(url));
        words.push(format!("--streams={at_once}"));
    }
    if !is_timed {
        words.push(format!("--requests={requests}"));
    }
    if !given.is("--warm-up-time") {
        words.push("--warmup=0s".to_owned());
    }
    let usual = [
        ("-c", "--connections=1"),
        ("-t", "--threads=1"),
        ("-N", "--timeout=60s"),
    ];
    let left_out = usual.into_iter().filter(|(name, _)| !given.is(name));
    words.extend(left_out.map(|(_, word)| word.to_owned()));
    if given.is("--rps") {
        let rate = given.number("--rps", 1) * clients;
        words.push(format!("--rate={rate}"));
    }
    if given.is("-r") {
        words.extend(in_turns(given, requests, clients, threads)?);
    }
    words.extend(super::usual(given, "user-agent", USER_AGENT));
    words.extend(super::unverified(url));
    Ok(Asked { words, most: None })
}

/// What is told of the turns in which a thread makes connections, if it does.
fn turns(given: &Given, share: &dyn Fn(u64, u64) -> u64, thread: u64) -> String {
    if !given.is("-r") {
        return String::new();
    }
    let period = given.value("--rate-period").unwrap_or("1000ms");
    let period = match period.strip_suffix("000ms") {
        Some(seconds) => format!("{seconds}s"),
        None => period.to_owned(),
    };
    let rate = share(given.number("-r", 1), thread);
    format!("Up to {rate} client(s) will be created every {period} ")
}

/// Connections that are made in turns, each for its share of the requests.
fn in_turns(
    given: &Given,
    requests: u64,
    clients: u64,
    threads: u64,
) -> Result<[String; 2], UsageError> {
    let wrong = |why: &str| Err(UsageError(format!("h2load: {why}")));
    if given.is("-D") {
        return wrong("-r, -D: they are mutually exclusive.");
    }
    let rate = given.number("-r", 1);
    if rate > clients {
        return wrong(
            "-r, -c: the connection rate must be smaller than or equal to the number of clients.",
        );
    }
    if rate < threads {
        return wrong(
            "-r, -t: the connection rate must be greater than or equal to the number of threads.",
        );
    }
    let period = given.value("--rate-period").unwrap_or("1000ms");
    let period: Span = period
        .parse()
        .map_err(|_| UsageError(format!("h2load: --rate-period: '{period}' is not a time")))?;
    if period.is_zero() {
        return wrong("--rate-period: give more than 0");
    }
    let each = requests.div_ceil(clients);
    Ok([
        format!("--connect-rate={}", number(rate) / period.as_s_f64()),
        format!("--requests-per-connection={each}"),
    ])
}

/// What h2load prints.
fn told(given: &Given, _url: &str, trial: &Trial) -> anyhow::Result<String> {
    let figures = Figures::new(trial);
    let mut out = beginning(given, trial);
    let seconds = figures.seconds();
    let complete = figures.complete();
    let warmup = trial.plan.warmup.as_s_f64();
    out.push_str(&format!(
        "\nfinished in {}, {:.2} req/s, {}B/s\n",
        duration(seconds + warmup),
        number(complete) / seconds,
        binary(number(figures.received()) / seconds)
    ));
    let timeout = figures.of(Outcome::Timeout);
    let broken = figures.connect() + figures.read() + figures.of(Outcome::Write) + timeout;
    let total = if given.is("-D") {
        complete + broken
    } else {
        given.number("-n", 1)
    };
    let started = trial.record.total.sent_in_it().min(total);
    let failed = broken + complete - figures.succeeded();
    out.push_str(&format!(
        "requests: {total} total, {started} started, {complete} done, {} succeeded, {failed} \
         failed, {broken} errored, {timeout} timeout\n",
        figures.succeeded()
    ));
    let [two, three, four, five] = [2, 3, 4, 5].map(|hundred| figures.hundred(hundred));
    out.push_str(&format!(
        "status codes: {two} 2xx, {three} 3xx, {four} 4xx, {five} 5xx\n"
    ));
    let (all, content) = (figures.received(), figures.content());
    let heads = match figures.reference_of_http1() {
        Some(reference) => complete * fields(reference),
        None => all.saturating_sub(content),
    };
    let size = |bytes: u64| format!("{}B ({bytes})", binary(number(bytes)));
    out.push_str(&format!(
        "traffic: {} total, {} headers (space savings {:.2}%), {} data\n",
        size(all),
        size(heads),
        savings(trial, heads, complete),
        size(content)
    ));
    out.push_str(&table(trial));
    Ok(out)
}

/// Bytes of the names and values in the head of an answer of HTTP/1.1. It has a status line
/// besides, and a colon, a blank and a line end for each field, and an empty line.
const fn fields(reference: &Reference) -> u64 {
    let line = reference.version.len() + " 200 \r\n".len() + reason(reference.status).len();
    let frame = line + 4 * reference.headers.len() + 2;
    reference.head_bytes.saturating_sub(frame as u64)
}

/// What servers call a status.
const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        304 => "Not Modified",
        400 => "Bad Request",
        403 => "Forbidden",
        404 => "Not Found",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        _ => "",
    }
}

/// By how many per cent heads of so many answers were shorter than as text; 0 but in HTTP/2.
fn savings(trial: &Trial, heads: u64, answers: u64) -> f64 {
    let reference = trial.record.reference.as_ref();
    let plain = reference.map_or(0, |reference| reference.head_bytes * answers);
    if trial.plan.protocol != Protocol::Http2 || plain == 0 {
        return 0.0;
    }
    (100.0 * (1.0 - number(heads) / number(plain))).max(0.0)
}

/// What connections spoke, as h2load names it.
fn spoken(trial: &Trial) -> &'static str {
    match trial.plan.protocol {
        Protocol::Http1 => "http/1.1",
        Protocol::Http3 => "h3",
        Protocol::Http2 if trial.record.tls.is_some() => "h2",
        Protocol::Http2 => "h2c",
    }
}

/// What is told before the results.
fn beginning(given: &Given, trial: &Trial) -> String {
    let mut out = String::from("starting benchmark...\n");
    let threads = given.number("-t", 1);
    let share = |all: u64, thread: u64| all / threads + u64::from(thread < all % threads);
    for thread in 0..threads {
        let clients = share(given.number("-c", 1), thread);
        let task = if given.is("-D") {
            let main = match trial.plan.stop {
                Stop::DurationNs(span) => span,
                Stop::Count(_) => trial.record.window,
            };
            format!(
                "Timing-based test with {}s of warm-up time and {}s of main duration for \
                 measurements.",
                trial.plan.warmup.as_s_f64(),
                main.as_s_f64()
            )
        } else {
            let requests = share(given.number("-n", 1), thread);
            format!("{}{requests} total requests", turns(given, &share, thread))
        };
        out.push_str(&format!(
            "spawning thread #{thread}: {clients} total client(s). {task}\n"
        ));
    }
    let reference = trial.record.reference.as_ref();
    if let Some(tls) = reference.and_then(|reference| reference.tls.as_ref()) {
        out.push_str(&format!(
            "TLS Protocol: TLSv{}\nCipher: {}\n",
            tls.version, tls.suite
        ));
        if let Some(group) = &tls.group {
            out.push_str(&format!("Server Temp Key: {group}\n"));
        }
    }
    out.push_str(&format!("Application protocol: {}\n", spoken(trial)));
    out
}

/// Times and rates.
fn table(trial: &Trial) -> String {
    let record = &trial.record;
    let connecting = connecting(record);
    let mut out = String::from(
        "                     min         max         mean         sd        +/- sd\n",
    );
    for (name, times) in [
        ("time for request:", &record.service_time),
        ("time for connect:", &connecting),
        ("time to 1st byte:", &record.first_byte_time),
    ] {
        let (values, within) = times_of(times);
        out.push_str(&row(name, values.map(duration), within));
    }
    let rates: Vec<f64> = record
        .workers
        .iter()
        .filter(|worker| worker.connections > 0 && !worker.window.is_zero())
        .map(|worker| number(worker.ok) / worker.window.as_s_f64() / f64::from(worker.connections))
        .collect();
    let spread = Spread::of_numbers(&rates);
    let min = rates.iter().copied().fold(f64::INFINITY, f64::min);
    let min = if min.is_finite() { min } else { 0.0 };
    let max = rates.iter().copied().fold(0.0, f64::max);
    let rates = [min, max, spread.mean, spread.deviation].map(|rate| format!("{rate:.2}"));
    out.push_str(&row("req/s           :", rates, spread.within));
    out
}

/// Least, greatest, mean and deviation in seconds; and how many values are within a deviation.
fn times_of(times: &Distribution) -> ([f64; 4], f64) {
    let spread = Spread::of(times);
    let seconds = |span: Option<Span>| span.unwrap_or_default().as_s_f64();
    let values = [
        seconds(times.min()),
        seconds(times.max()),
        spread.mean / 1e6,
        spread.deviation / 1e6,
    ];
    (values, spread.within)
}

fn row(name: &str, values: [String; 4], within: f64) -> String {
    let [min, max, mean, deviation] = values;
    format!("{name} {min:>10}  {max:>10}  {mean:>10}  {deviation:>10}{within:9.2}%\n")
}

fn duration(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{seconds:.2}s")
    } else if seconds >= 1e-3 {
        format!("{:.2}ms", seconds * 1e3)
    } else {
        format!("{}us", whole(seconds * 1e6))
    }
}

fn binary(bytes: f64) -> String {
    let (kib, mib, gib) = (1024.0, 1024.0 * 1024.0, 1024.0 * 1024.0 * 1024.0);
    if bytes >= gib {
        format!("{:.2}G", bytes / gib)
    } else if bytes >= mib {
        format!("{:.2}M", bytes / mib)
    } else if bytes >= kib {
        format!("{:.2}K", bytes / kib)
    } else {
        whole(bytes).to_string()
    }
}

#[cfg(test)]
mod tests;
