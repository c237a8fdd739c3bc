//! Figures of other people's tools, beside those that triathlon prints by their names: before a
//! server that takes 40 ms for each answer, they can only be nearly the same. A wrong unit, or a
//! sum in place of a mean, is far off.

use std::path::Path;
use std::time::Duration;

use crate::support::need;
use crate::support::stub::{Next, Stub, send};
use crate::tools::both;

/// How long the server takes for an answer.
const SERVER: Duration = Duration::from_millis(40);
/// By how much two figures may be apart: the tools run one after the other, on a machine that may
/// have other work.
const FACTOR: f64 = 1.6;

/// An answer that ab takes for one that keeps the connection.
fn answer() -> Vec<u8> {
    let head = "HTTP/1.1 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2000\r\n\r\n";
    [head.as_bytes(), &[b'x'; 2_000]].concat()
}

fn server() -> Stub {
    let answer = answer();
    Stub::start(move |stream, _| {
        std::thread::sleep(SERVER);
        send(stream, &answer);
        Next::Keep
    })
}

/// The first number behind `label`, in seconds, bytes, or as it stands.
#[track_caller]
fn figure(text: &str, label: &str) -> f64 {
    let found = text.split_once(label);
    let rest = found.unwrap_or_else(|| panic!("no {label:?} in {text}")).1;
    let rest = rest.trim_start_matches(|c: char| !c.is_ascii_digit());
    let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, rest) = rest.split_at(end.unwrap_or(rest.len()));
    let unit = rest.split(|c: char| !c.is_ascii_alphabetic()).next();
    let scale = match unit.unwrap_or_default() {
        "us" => 1e-6,
        "ms" => 1e-3,
        "KB" => 1_024.0,
        "MB" => 1_048_576.0,
        _ => 1.0,
    };
    let number: f64 = number.parse().expect("a number");
    number * scale
}

/// Both tools print nearly the same, if not at once, then when they are asked again: the machine
/// may have kept either from its CPU.
#[track_caller]
fn check(program: &Path, tool: &str, words: &[&str], labels: &[&str]) {
    let apart = || {
        let runs = both(program, tool, words);
        let mut apart = labels.iter().filter_map(|label| {
            let [theirs, ours] = runs.each_ref().map(|run| figure(&run.stdout, label));
            let is_near = (FACTOR.recip()..FACTOR).contains(&(ours / theirs));
            (!is_near).then(|| format!("{tool} {label}: {theirs} there, {ours} here"))
        });
        apart.next().map(|told| format!("{told}: {runs:#?}"))
    };
    let told: Vec<String> = (0..3).map_while(|_| apart()).collect();
    assert!(told.len() < 3, "{told:?}");
}

#[test]
fn rates_and_times_of_wrk_are_those_of_wrk() {
    if let Some([wrk]) = need("figures::rates_and_times_of_wrk_are_those_of_wrk", ["wrk"]) {
        let server = server();
        let url = server.url();
        let words = ["-t", "2", "-c", "4", "-d", "2s", "--latency", &url];
        let labels = [
            "    Latency  ",
            "    Req/Sec  ",
            "     50% ",
            "     90% ",
            " requests in ",
            "s, ",
            "Requests/sec: ",
            "Transfer/sec: ",
        ];
        check(&wrk, "wrk", &words, &labels);
    }
}

#[test]
fn rates_and_times_of_ab_are_those_of_ab() {
    if let Some([ab]) = need("figures::rates_and_times_of_ab_are_those_of_ab", ["ab"]) {
        let server = server();
        let url = server.url();
        let words = ["-q", "-k", "-n", "200", "-c", "4", &url];
        let labels = [
            "Time taken for tests:",
            "Total transferred:",
            "HTML transferred:",
            "Requests per second:",
            "Time per request:",
            "[ms] (mean)\nTime per request:",
            "Transfer rate:",
            "Waiting:",
            "  50% ",
            "  90% ",
        ];
        check(&ab, "ab", &words, &labels);
    }
}

#[test]
fn rates_and_times_of_hey_are_those_of_hey() {
    if let Some([hey]) = need("figures::rates_and_times_of_hey_are_those_of_hey", ["hey"]) {
        let server = server();
        let url = server.url();
        let words = ["-n", "200", "-c", "4", &url];
        let labels = [
            "Total:",
            "Fastest:",
            "Average:",
            "Requests/sec:",
            "Total data:",
            "Size/request:",
            "50% in",
            "90% in",
            "resp wait:",
        ];
        check(&hey, "hey", &words, &labels);
    }
}

#[test]
fn rates_and_times_of_h2load_are_those_of_h2load() {
    let test = "figures::rates_and_times_of_h2load_are_those_of_h2load";
    if let Some([h2load]) = need(test, ["h2load"]) {
        let server = server();
        let url = server.url();
        let words = ["--h1", "-n", "200", "-c", "4", &url];
        let labels = [
            "finished in ",
            "s, ",
            " req/s, ",
            "traffic: ",
            "time for request: ",
            "time to 1st byte: ",
            "req/s           : ",
        ];
        check(&h2load, "h2load", &words, &labels);
    }
}
