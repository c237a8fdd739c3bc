//! hey: so many requests, or a time, over workers that each have a connection.

use model::record::Record;
use model::{Distribution, Outcome, Trial};

use super::figures::{self, Figures, Row, connecting, number, quantile, whole};
use super::flag::{Flag, content, count, flag};
use super::given::{Given, Grammar};
use super::{Asked, Tool, Work};
use crate::exit::UsageError;

pub(super) const TOOL: Tool = Tool {
    name: "hey",
    usage: "hey [options...] <url>",
    help: "-h",
    grammar: Grammar::Go,
    flags: FLAGS,
    examples: &[
        (
            "triathlon hey -n 10000 -c 64 http://127.0.0.1:8080/",
            "what hey would print; the verdict is on standard error",
        ),
        (
            "ln -s triathlon hey; ./hey -z 30s -q 100 -c 8 http://127.0.0.1:8080/",
            "the same through a link of that name: 800 requests per second for 30 seconds",
        ),
    ],
    differs: &[
        "Redirects to another server are not followed, and with several streams on a connection \
         none are: they count as answers with another status.",
        "With -q, requests are due at even intervals over all workers, and times are measured \
         from sending, as in hey; triathlon load --rate measures them from the due time.",
        "The histogram and the times cover right answers only.",
        "The details have no row for writing requests, which is not timed.",
        figures::CONNECTING,
        "The fastest and the slowest of DNS+dialup are those of connecting; hey prints those of \
         whole requests there.",
        "In the rows of -o csv, DNS+dialup is the time of connecting without TLS.",
        "The content of an answer is counted as it comes, compressed or not. hey adds up what \
         Content-Length says: nothing of chunked answers, and the length of content that answers \
         to HEAD leave out.",
        "Requests in flight at the end of -z are waited for and not counted; hey counts them.",
        "Requests/sec counts complete answers; hey's counts requests that failed, too.",
        "A User-Agent given with -H is sent as it is; hey sends its own in its place or behind it.",
    ],
    work: Work::Load { asked, told },
};

const FLAGS: &[Flag] = &[
    flag(&["-n"], "Number of requests to run. Default is 200.")
        .takes("N", count)
        .done("--requests: a multiple of -c, as each worker makes as many; unused with -z"),
    flag(
        &["-c"],
        "Number of workers to run concurrently. Default is 50.",
    )
    .takes("N", count)
    .done("--connections; 50 unless given"),
    flag(
        &["-q"],
        "Rate limit, in queries per second (QPS) per worker",
    )
    .takes("N", rate)
    .done("--rate, times the workers; 0 is none"),
    flag(&["-z"], "Duration of application to send requests")
        .takes("T", duration)
        .load("--duration={}"),
    flag(
        &["-o"],
        "Output type. \"csv\" is the only supported alternative.",
    )
    .takes("TYPE", output)
    .done("a row for each right answer, up to a million; Request-write is 0"),
    flag(&["-m"], "HTTP method")
        .takes("METHOD", method)
        .load("--request={}"),
    flag(&["-H"], "Custom HTTP header, repeatable")
        .text("HEADER")
        .many()
        .load("--header={}"),
    flag(
        &["-t"],
        "Timeout for each request in seconds. Default is 20, 0 is infinite.",
    )
    .takes("S", timeout)
    .load("--timeout={}"),
    flag(&["-A"], "HTTP Accept header.")
        .text("FIELD")
        .load("--header=Accept:{}"),
    flag(&["-d"], "HTTP request body.")
        .text("BODY")
        .load("--data={}"),
    flag(&["-D"], "HTTP request body from file.")
        .takes("FILE", content)
        .load("--data={}"),
    flag(&["-T"], "Content-type, defaults to \"text/html\".")
        .text("TYPE")
        .done("a Content-Type field"),
    flag(&["-a"], "Basic authentication, username:password.")
        .text("NAME:PASSWORD")
        .secret()
        .load("--user={}"),
    flag(&["-x"], "HTTP Proxy address as host:port.")
        .text("HOST:PORT")
        .load("--proxy={}"),
    flag(&["-h2"], "Enable HTTP/2.").done(
        "--http2 for an https URL: workers share connections, up to 100 of them on each; an http \
         URL is asked in HTTP/1.1, as there",
    ),
    flag(&["-host"], "HTTP Host header.")
        .text("HOST")
        .load("--header=Host:{}"),
    flag(&["-disable-compression"], "Disable compression.")
        .done("without it, a field Accept-Encoding: gzip is sent"),
    flag(&["-disable-keepalive"], "Disable keep-alive").load("--requests-per-connection=1"),
    flag(
        &["-disable-redirects"],
        "Disable following of HTTP redirects",
    )
    .done("without it, --follow=10: as many as hey follows"),
    flag(&["-cpus"], "Number of used cpu cores.")
        .takes("N", count)
        .done("--threads, at most one for each worker"),
    flag(&["-h", "-help"], "Print the flags").help(),
];

fn output(text: &str) -> Result<String, String> {
    match text {
        "csv" => Ok(text.to_owned()),
        _ => Err("only csv is supported".to_owned()),
    }
}

fn rate(text: &str) -> Result<String, String> {
    let number: Option<f64> = text.parse().ok().filter(|rate| *rate >= 0.0);
    let number = number.ok_or_else(|| "write a number from 0".to_owned())?;
    Ok(number.to_string())
}

fn timeout(text: &str) -> Result<String, String> {
    match text.parse::<u64>() {
        Ok(0) => Err("a timeout cannot be infinite: write seconds from 1".to_owned()),
        Ok(seconds) => Ok(format!("{seconds}s")),
        Err(_) => Err("write whole seconds from 1".to_owned()),
    }
}

/// As Go writes times: 1m30s, 500ms.
pub(super) fn duration(text: &str) -> Result<String, String> {
    let wrong = || "write a time, as in 10s, 1m30s or 500ms".to_owned();
    let mut rest = text;
    let mut ms = 0.0;
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(wrong)?;
        let number: f64 = rest[..end].parse().map_err(|_| wrong())?;
        let behind = &rest[end..];
        let unit = behind
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(behind.len());
        ms += number
            * match &behind[..unit] {
                "h" => 3.6e6,
                "m" => 6e4,
                "s" => 1e3,
                "ms" => 1.0,
                _ => return Err(wrong()),
            };
        rest = &behind[unit..];
    }
    if ms < 1.0 {
        return Err(wrong());
    }
    Ok(format!("{}ms", whole(ms)))
}

/// hey asks by the method in capitals, however it was written.
fn method(text: &str) -> Result<String, String> {
    Ok(text.to_uppercase())
}

/// Workers that share a connection of HTTP/2: as many streams as Go takes a server to allow before
/// it has said so.
const SHARE: u64 = 100;

/// The run.
fn asked(given: &Given, url: &str) -> Result<Asked, UsageError> {
    let (requests, workers) = (given.number("-n", 200), given.number("-c", 50));
    if !given.is("-z") && requests < workers {
        return Err(UsageError("hey: -n cannot be less than -c.".to_owned()));
    }
    let is_http2 = given.is("-h2") && super::is_secure(url);
    let connections = match is_http2 && !given.is("-disable-keepalive") {
        true => workers.div_ceil(SHARE),
        false => workers,
    };
    let mut words = vec![
        format!("--connections={connections}"),
        "--warmup=0s".to_owned(),
        "--expect=status".to_owned(),
    ];
    let kind = given.value("-T").unwrap_or("text/html");
    words.extend(super::usual(given, "Content-Type", kind));
    words.extend(super::usual(given, "User-Agent", "hey/0.0.1"));
    if !given.is("-z") {
        // Each worker makes as many as the others.
        words.push(format!("--requests={}", requests / workers * workers));
    }
    if !given.is("-t") {
        words.push("--timeout=20s".to_owned());
    }
    if !given.is("-disable-compression") {
        words.extend(super::usual(given, "Accept-Encoding", "gzip"));
    }
    if given.is("-cpus") {
        let threads = given.number("-cpus", 1).min(connections);
        words.push(format!("--threads={threads}"));
    }
    let has_content = given.is("-d") || given.is("-D");
    match given.value("-m") {
        // hey sends content with any method, and GET is its usual one.
        None if has_content => words.push("--request=GET".to_owned()),
        // Go says of these that there is none.
        Some("POST" | "PUT" | "PATCH") if !has_content => words.push("--data=".to_owned()),
        _ => {}
    }
    let each: f64 = given
        .value("-q")
        .map_or(0.0, |rate| rate.parse().unwrap_or(0.0));
    if each > 0.0 {
        words.push(format!("--rate={}", each * number(workers)));
    }
    let streams = workers.div_ceil(connections);
    if is_http2 {
        words.extend([super::http2(url), format!("--streams={streams}")]);
    }
    if streams == 1 && !given.is("-disable-redirects") {
        words.push("--follow=10".to_owned());
    }
    if given.is("-o") {
        // They are kept for the rows, and written nowhere else.
        words.push("--samples=-".to_owned());
    }
    words.extend(super::unverified(url));
    Ok(Asked { words, most: None })
}

/// What hey prints.
fn told(given: &Given, _url: &str, trial: &Trial) -> anyhow::Result<String> {
    if given.is("-o") {
        return Ok(rows(trial));
    }
    let figures = Figures::new(trial);
    let record = &trial.record;
    let times = &record.service_time;
    let complete = figures.complete();
    let seconds = |span: Option<model::Span>| span.unwrap_or_default().as_s_f64();
    let mut out = format!(
        "\nSummary:\n  Total:\t{:.4} secs\n  Slowest:\t{:.4} secs\n  Fastest:\t{:.4} secs\n  \
         Average:\t{:.4} secs\n  Requests/sec:\t{:.4}\n  \n",
        figures.seconds(),
        seconds(times.max()),
        seconds(times.min()),
        seconds(times.mean()),
        number(complete) / figures.seconds()
    );
    if figures.content() > 0 {
        let content = figures.content();
        out.push_str(&format!(
            "  Total data:\t{content} bytes\n  Size/request:\t{} bytes\n",
            content / complete.max(1)
        ));
    }
    out.push_str("\nResponse time histogram:\n");
    for (upper, count, bar) in histogram(times, 40) {
        out.push_str(&format!("  {upper:.3} [{count}]\t|{bar}\n"));
    }
    out.push_str("\n\nLatency distribution:\n");
    if times.count() > 0 {
        for percent in [10, 25, 50, 75, 90, 95, 99] {
            let value = quantile(times, f64::from(percent) / 100.0) / 1e6;
            out.push_str(&format!("  {percent}% in {value:.4} secs\n"));
        }
    }
    out.push_str(&details(record));
    out.push_str("\nStatus code distribution:\n");
    for (status, count) in figures.statuses() {
        out.push_str(&format!("  [{status}]\t{count} responses\n"));
    }
    let errors = errors(trial);
    if !errors.is_empty() {
        out.push_str("\nError distribution:\n");
    }
    for (count, text) in errors {
        out.push_str(&format!("  [{count}]\t{text}\n"));
    }
    out.push_str("\n\n");
    Ok(out)
}

/// A row for each right answer, in the order of their ends.
#[expect(
    clippy::cast_precision_loss,
    reason = "instants of a run stay far below 2^53"
)]
fn rows(trial: &Trial) -> String {
    let record = &trial.record;
    let status = record.reference.as_ref().map_or(0, |answer| answer.status);
    let mut out = "response-time,DNS+dialup,DNS,Request-write,Response-delay,Response-read,\
                   status-code,offset\n"
        .to_owned();
    let mut right: Vec<_> = record.samples.iter().collect();
    right.retain(|sample| sample.outcome == Outcome::Ok);
    right.sort_by_key(|sample| sample.ended_ns);
    for sample in right {
        let Some(sent) = sample.sent_ns else { continue };
        let seconds = |ns: i64| ns as f64 / 1e9;
        let delay = sample.first_byte_ns.unwrap_or(sample.ended_ns) - sent;
        out.push_str(&format!(
            "{:.4},{:.4},0.0000,0.0000,{:.4},{:.4},{status},{:.4}\n",
            seconds(sample.ended_ns - sent),
            sample.connect_ns.unwrap_or(0) as f64 / 1e9,
            seconds(delay),
            seconds(sample.ended_ns - sent - delay),
            seconds(sent.max(0))
        ));
    }
    out
}

fn details(record: &Record) -> String {
    let row = |name: &str, times: &Distribution, zeros: u64| {
        let Row { mean, min, max, .. } = Row::of(times, zeros);
        let [mean, min, max] = [mean, min, max].map(|ms| ms / 1e3);
        format!("  {name}:\t{mean:.4} secs, {min:.4} secs, {max:.4} secs\n")
    };
    let connecting = connecting(record);
    // Requests on a connection that is there take no time to connect.
    let kept = record.service_time.count();
    let kept = kept.saturating_sub(connecting.count());
    format!(
        "\nDetails (average, fastest, slowest):\n{}  DNS-lookup:\t0.0000 secs, 0.0000 secs, 0.0000 \
         secs\n{}{}",
        row("DNS+dialup", &connecting, kept),
        row("resp wait", &record.first_byte_time, 0),
        row("resp read", &record.transfer_time, 0)
    )
}

/// Eleven bins from the fastest to the slowest: upper bounds in seconds, counts and bars.
pub(super) fn histogram(times: &Distribution, width: u64) -> Vec<(f64, u64, String)> {
    let (Some(fastest), Some(slowest)) = (times.min(), times.max()) else {
        return Vec::new();
    };
    let (fastest, slowest) = (fastest.as_s_f64(), slowest.as_s_f64());
    let step = (slowest - fastest) / 10.0;
    let bounds = (0..=10_u32).map(|bin| fastest + step * f64::from(bin));
    let mut bins: Vec<(f64, u64)> = bounds.map(|bound| (bound, 0)).collect();
    for (lowest, _, count) in times.buckets() {
        let value = lowest.as_s_f64();
        let fits = bins.iter().position(|(bound, _)| value <= *bound);
        bins[fits.unwrap_or(10)].1 += count;
    }
    let most = bins.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let bar = |count: u64| {
        let length = (count * width + most / 2).checked_div(most).unwrap_or(0);
        "■".repeat(usize::try_from(length).unwrap_or(0))
    };
    bins.into_iter()
        .map(|(bound, count)| (bound, count, bar(count)))
        .collect()
}

/// Exchanges that got no complete answer: how many of each kind, and what the first was.
pub(super) fn errors(trial: &Trial) -> Vec<(u64, String)> {
    let record = &trial.record;
    let those = record.total.outcomes.iter().filter(|(outcome, count)| {
        let is_answer = matches!(outcome, Outcome::Status | Outcome::Content);
        *count > 0 && outcome.is_failure() && !is_answer
    });
    those
        .map(|(outcome, count)| {
            let mut examples = record.examples.iter();
            let first = examples.find(|example| example.outcome == outcome);
            let text = first.map_or_else(|| outcome.name(), |example| example.text.as_str());
            (count, text.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests;
