//! Figures of other people's tools, beside those that triathlon prints by their names: before a
//! server whose delays are known, they can only be nearly the same. A wrong unit, a sum in place of
//! a mean, or a mean in place of a median is far off.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::support::need;
use crate::support::stub::{Stub, read_head, send};
use crate::tools::both;

/// How many milliseconds the server takes for each answer on a connection, again and again: 15 % of
/// the answers take 15, 45 % take 30, 25 % take 45 and 15 % take 60. So means, medians, deviations
/// and extremes are all apart, and no quantile that a tool prints lies where one gives way to the
/// next.
const DELAYS: [u64; 20] = [
    30, 45, 15, 30, 60, 30, 45, 30, 15, 30, 60, 45, 30, 30, 45, 15, 30, 60, 45, 30,
];

/// Each of four connections goes twice through the delays.
const REQUESTS: &str = "160";

/// How near a figure of ours has to be to one of theirs.
///
/// The machine may have other work, so that some answers come later than the server means to send
/// them. The programs run in turns, until each figure of ours was as near to one of theirs as it
/// has to be, in the same round or in another: noise drives figures apart, so that their best
/// agreement tells how they are reckoned.
#[derive(Clone, Copy, Debug)]
enum Near {
    /// Counts and bytes, which do not depend on the machine.
    Same,
    /// Rates, means, quantiles up to the 90th percentile, and shares: they are those of the delays.
    /// Tools round to a millisecond, which is 3 % of the median. The mean is a fifth above it.
    Close,
    /// Extremes, quantiles near them, and deviations: one answer of 160 that is late by 20 ms
    /// changes them by a third.
    Wide,
    /// Times of connecting, which are microseconds and nothing but noise.
    Small,
    /// What docs/tools.md says is measured in another way here. It is there.
    Other,
}

use Near::{Close, Other, Same, Small, Wide};

impl Near {
    fn holds(self, theirs: f64, ours: f64) -> bool {
        let within = |factor: f64| ours <= theirs * factor && theirs <= ours * factor;
        match self {
            Self::Same => (theirs - ours).abs() < 1e-9,
            Self::Close => within(1.15),
            Self::Wide => within(1.35),
            Self::Small => (theirs - ours).abs() < 5e-3,
            Self::Other => true,
        }
    }
}

/// A line that both print: what it is known by, and all of its numbers.
struct Row {
    label: &'static str,
    /// What numbers without a unit are multiplied by.
    scale: f64,
    columns: &'static [Near],
}

const fn row(label: &'static str, columns: &'static [Near]) -> Row {
    Row {
        label,
        scale: 1.0,
        columns,
    }
}

/// A line of milliseconds.
const fn ms(label: &'static str, columns: &'static [Near]) -> Row {
    Row {
        label,
        scale: 1e-3,
        columns,
    }
}

/// An answer that ab takes for one that keeps the connection.
fn answer() -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2000\r\n\r\n";
    [head.as_bytes(), &[b'x'; 2_000]].concat()
}

fn server() -> Stub {
    let answer = answer();
    Stub::start_raw(move |mut stream, _| {
        let mut delays = DELAYS.iter().cycle();
        while read_head(&mut stream).is_some() {
            let delay = delays.next().expect("they have no end");
            std::thread::sleep(Duration::from_millis(*delay));
            send(&mut stream, &answer);
        }
    })
}

/// The numbers of the line with `row.label`, the label apart, in seconds, bytes, or as they stand.
#[track_caller]
fn figures(text: &str, row: &Row) -> Vec<f64> {
    let mut lines = text.lines();
    let line = lines.find(|line| line.contains(row.label));
    let line = line.unwrap_or_else(|| panic!("no {:?} in {text}", row.label));
    let line = line.replacen(row.label, " ", 1);
    let mut numbers = Vec::new();
    let mut rest = line.as_str();
    while let Some(at) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[at..].find(|c: char| !c.is_ascii_digit() && c != '.');
        let end = end.map_or(rest.len(), |length| at + length);
        let number: f64 = rest[at..end].parse().expect("a number");
        rest = &rest[end..];
        let unit = rest.split(|c: char| !c.is_ascii_alphabetic()).next();
        let scale = match unit.unwrap_or_default() {
            "us" => 1e-6,
            "ms" => 1e-3,
            "KB" => 1_024.0,
            "MB" => 1_048_576.0,
            _ => row.scale,
        };
        numbers.push(number * scale);
    }
    assert_eq!(numbers.len(), row.columns.len(), "{:?}: {text}", row.label);
    numbers
}

/// How long the programs run in turns at most, but for the turns that they have in any case.
const ENOUGH: Duration = Duration::from_secs(30);
const TURNS: u32 = 3;

/// All that both print is nearly the same, if not in the first round, then after some.
#[track_caller]
fn check(program: &Path, tool: &str, words: &[&str], rows: &[Row]) {
    let began = Instant::now();
    let mut seen: Vec<[Vec<Vec<f64>>; 2]> = rows.iter().map(|_| Default::default()).collect();
    for turn in 1.. {
        let runs = both(program, tool, words);
        let mut apart = Vec::new();
        for (row, [theirs, ours]) in rows.iter().zip(&mut seen) {
            theirs.push(figures(&runs[0].stdout, row));
            ours.push(figures(&runs[1].stdout, row));
            for (at, near) in row.columns.iter().enumerate() {
                let column = |rounds: &[Vec<f64>]| -> Vec<f64> {
                    rounds.iter().map(|figures| figures[at]).collect()
                };
                let (theirs, ours) = (column(theirs), column(ours));
                let is_near = |one: &f64| ours.iter().any(|other| near.holds(*one, *other));
                if !theirs.iter().any(is_near) {
                    let label = row.label.trim();
                    apart.push(format!("{label}, {at}: {theirs:?} there, {ours:?} here"));
                }
            }
        }
        if apart.is_empty() {
            return;
        }
        assert!(
            turn < TURNS || began.elapsed() < ENOUGH,
            "{tool} after {turn} rounds: {apart:#?}: {runs:#?}"
        );
    }
}

#[test]
fn rates_and_times_of_wrk_are_those_of_wrk() {
    if let Some([wrk]) = need("figures::rates_and_times_of_wrk_are_those_of_wrk", ["wrk"]) {
        let server = server();
        let url = server.url();
        let words = ["-t", "2", "-c", "4", "-d", "2s", "--latency", &url];
        let rows = [
            row("    Latency  ", &[Close, Wide, Wide, Close]),
            // Theirs are of tenths of seconds, in whole requests.
            row("    Req/Sec  ", &[Wide, Other, Other, Other]),
            row("     50% ", &[Close]),
            row("     75% ", &[Close]),
            row("     90% ", &[Close]),
            row("     99% ", &[Wide]),
            row(" requests in ", &[Close, Close, Close]),
            row("Requests/sec: ", &[Close]),
            row("Transfer/sec: ", &[Close]),
        ];
        check(&wrk, "wrk", &words, &rows);
    }
}

#[test]
fn rates_and_times_of_ab_are_those_of_ab() {
    if let Some([ab]) = need("figures::rates_and_times_of_ab_are_those_of_ab", ["ab"]) {
        let server = server();
        let url = server.url();
        let words = ["-q", "-k", "-n", REQUESTS, "-c", "4", &url];
        // Least, mean, deviation, median, greatest.
        let times = &[Wide, Close, Wide, Close, Wide];
        let rows = [
            row("Time taken for tests:", &[Close]),
            row("Complete requests:", &[Same]),
            row("Failed requests:", &[Same]),
            row("Keep-Alive requests:", &[Same]),
            row("Total transferred:", &[Same]),
            row("HTML transferred:", &[Same]),
            row("Requests per second:", &[Close]),
            row("[ms] (mean)", &[Close]),
            row("[ms] (mean, across all concurrent requests)", &[Close]),
            row("Transfer rate:", &[Close]),
            ms("Connect:", &[Small, Small, Small, Small, Small]),
            ms("Processing:", times),
            ms("Waiting:", times),
            ms("Total:", times),
            ms("  50% ", &[Close]),
            ms("  66% ", &[Close]),
            ms("  75% ", &[Close]),
            ms("  80% ", &[Close]),
            ms("  90% ", &[Close]),
            ms("  95% ", &[Wide]),
            ms("  98% ", &[Wide]),
            ms("  99% ", &[Wide]),
            ms(" 100% ", &[Wide]),
        ];
        check(&ab, "ab", &words, &rows);
    }
}

#[test]
fn rates_and_times_of_hey_are_those_of_hey() {
    if let Some([hey]) = need("figures::rates_and_times_of_hey_are_those_of_hey", ["hey"]) {
        let server = server();
        let url = server.url();
        let words = ["-n", REQUESTS, "-c", "4", &url];
        let rows = [
            row("Total:", &[Close]),
            row("Slowest:", &[Wide]),
            row("Fastest:", &[Wide]),
            row("Average:", &[Close]),
            row("Requests/sec:", &[Close]),
            row("Total data:", &[Same]),
            row("Size/request:", &[Same]),
            row("10% in", &[Close]),
            row("25% in", &[Close]),
            row("50% in", &[Close]),
            row("75% in", &[Close]),
            row("90% in", &[Close]),
            row("95% in", &[Wide]),
            row("99% in", &[Wide]),
            // Mean, least, greatest.
            // For the least and the greatest hey prints those of whole requests.
            row("DNS+dialup:", &[Small, Other, Other]),
            row("DNS-lookup:", &[Small, Small, Small]),
            row("resp wait:", &[Close, Wide, Wide]),
            row("resp read:", &[Small, Small, Small]),
            row("[200]", &[Same]),
        ];
        check(&hey, "hey", &words, &rows);
    }
}

#[test]
fn rates_and_times_of_h2load_are_those_of_h2load() {
    let test = "figures::rates_and_times_of_h2load_are_those_of_h2load";
    if let Some([h2load]) = need(test, ["h2load"]) {
        let server = server();
        let url = server.url();
        let words = ["--h1", "-n", REQUESTS, "-c", "4", &url];
        let rows = [
            row("finished in ", &[Close, Close, Close]),
            row("requests: ", &[Same, Same, Same, Same, Same, Same, Same]),
            row("status codes: ", &[Same; 8]),
            // As text and in whole: total, headers, savings, data.
            row("traffic: ", &[Same, Same, Same, Same, Same, Same, Same]),
            // Least, greatest, mean, deviation, and the share within it.
            row("time for request: ", &[Wide, Wide, Close, Wide, Close]),
            row("time for connect: ", &[Small, Small, Small, Small, Other]),
            // Theirs are of the first answer on each connection, and of each client.
            row("time to 1st byte: ", &[Other; 5]),
            row("req/s           : ", &[Wide, Wide, Close, Other, Other]),
        ];
        check(&h2load, "h2load", &words, &rows);
    }
}
