//! What a run writes for other programs, and the searches that it can make.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use model::Outcome;

use crate::support::process::{Running, command, triathlon};
use crate::support::stub::{Next, RIGHT, Stub, read_head, send};
use crate::support::{need, reserve, wait_until};

fn right() -> Stub {
    Stub::start(|stream, _| {
        send(stream, RIGHT);
        Next::Keep
    })
}

#[test]
fn files_for_other_programs_come_from_one_record() {
    let folder = tempfile::tempdir().expect("a folder");
    let server = right();
    let url = server.url();
    let flags = "-R 200 -d 2s --warmup 0s -c 2 -t 1 --json t.json --hgrm t.hgrm --hlog t.hlog \
                 --series t.ndjson";
    let words = || ["load", &url].into_iter().chain(flags.split_whitespace());
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect("it is written");
    let measure = |_| {
        let run = Running::start(command(words()).current_dir(folder.path())).finish();
        let trial: model::Trial = serde_json::from_str(&read("t.json")).expect("a trial");
        (run.expect_measured(), trial)
    };
    // On a busy machine arrivals are left over, which count in distributions; not all of them are
    // failures.
    let is_whole = |(_, trial): &(_, model::Trial)| trial.record.total.outcomes[Outcome::Ok] == 400;
    let found = (0..5).map(measure).find(is_whole);
    let (run, trial) = found.expect("a machine with time for both sides");
    let right = trial.record.total.outcomes[Outcome::Ok];
    let hgrm = read("t.hgrm");
    assert!(
        hgrm.starts_with("       Value     Percentile TotalCount"),
        "{hgrm}"
    );
    assert!(
        hgrm.contains(&format!("Total count    = {right:12}]")),
        "{run:#?} {hgrm}"
    );
    let hlog = read("t.hlog");
    assert!(
        hlog.starts_with("#[Histogram log format version 1.3]\n"),
        "{hlog}"
    );
    let intervals = trial.record.intervals.len();
    let lines = hlog
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_digit()));
    assert_eq!(lines.count(), intervals);
    let series: Vec<serde_json::Value> = read("t.ndjson")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(series.len(), intervals);
    let due: u64 = series.iter().filter_map(|line| line["due"].as_u64()).sum();
    assert_eq!(due, 400, "{series:#?}");
    triathlon(["load", &url, "-n", "1", "--series", "/nowhere/x"])
        .expect_code(1)
        .expect_complaint(&["/nowhere/x"]);
}

#[test]
fn a_line_is_written_as_soon_as_its_second_is_over() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("series.ndjson");
    let server = right();
    let url = server.url();
    let flags = "-d 10m --warmup 0s -c 1 -t 1 -R 100 --series";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let running = Running::start(command(words).arg(&path));
    let written = || fs::read_to_string(&path).unwrap_or_default();
    wait_until("a second is told", || written().ends_with('\n'));
    let early = written();
    running.signal("INT");
    running.finish().expect_code(130);
    let whole = written();
    assert!(
        whole.starts_with(&early),
        "what was written stands: {whole}"
    );
    let lines: Vec<serde_json::Value> = whole
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let mut end = 0.0;
    for line in &lines {
        let number = |key: &str| line[key].as_f64().expect("a number");
        assert!(
            (number("second") - number("length_s") - end).abs() < 1e-6,
            "{whole}"
        );
        end = number("second");
    }
    // What a busy machine takes late counts where it is taken.
    let due = lines[0]["due"].as_u64().expect("a count");
    assert!((50..=100).contains(&due), "{whole}");
    let words = ["load", &url, "-n", "5", "--series", "-"];
    let run = triathlon(words).expect_measured();
    let first: serde_json::Value = serde_json::from_str(&run.stdout).expect("one line");
    assert_eq!(first["right"], 5, "{run:#?}");
    triathlon(["load", &url, "--series", "-", "--json", "-"])
        .expect_code(2)
        .expect_complaint(&["--series -", "name a file"]);
    triathlon(["load", &url, "--series", "x", "--capacity", "errors<1%"])
        .expect_code(2)
        .expect_complaint(&["--capacity makes many trials"]);
}

#[test]
fn metrics_are_told_while_it_runs() {
    let server = right();
    let url = server.url();
    let flags = "-d 10m --warmup 0s -c 1 -t 1 -R 100 --metrics 127.0.0.1:0";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let running = Running::start(&mut command(words));
    let mut address = String::new();
    wait_until("it says where", || {
        let said = running.stderr();
        let found = said
            .split_once("metrics at http://")
            .map(|(_, rest)| rest.to_owned());
        address = found.unwrap_or_default();
        address.contains("/metrics\n")
    });
    let (address, _) = address.split_once('/').expect("a path");
    let ask = || {
        let mut stream = TcpStream::connect(address).expect("it listens");
        stream
            .write_all(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("it reads");
        let mut text = String::new();
        stream.read_to_string(&mut text).expect("it answers");
        text
    };
    wait_until("a second is told", || {
        ask().contains("triathlon_response_time_seconds{quantile=\"0.99\"}")
    });
    let page = ask();
    assert!(
        page.starts_with("HTTP/1.1 200 OK\r\nContent-Type: text/plain"),
        "{page}"
    );
    assert!(
        page.contains("triathlon_exchanges_total{outcome=\"right\"} "),
        "{page}"
    );
    running.signal("INT");
    running.finish().expect_code(130);
}

/// A server that has so many answers to give per second and refuses the others, by a bucket of
/// four: more than that rate cannot be met, however fast the machine is.
#[test]
fn a_capacity_is_an_interval_below_what_the_server_gives() {
    let name = "a_capacity_is_an_interval_below_what_the_server_gives";
    let Some([]) = need(name, []) else { return };
    const GIVES: f64 = 200.0;
    let bucket = Arc::new(Mutex::new((4.0_f64, Instant::now())));
    let server = Stub::start_raw(move |mut stream, _| {
        // The first answer on a connection is free, so that every trial has its reference.
        let mut is_free = true;
        while read_head(&mut stream).is_some() {
            let mut bucket = bucket.lock().expect("nobody panicked");
            let gained = bucket.1.elapsed().as_secs_f64() * GIVES;
            *bucket = ((bucket.0 + gained).min(4.0), Instant::now());
            if std::mem::take(&mut is_free) || bucket.0 >= 1.0 {
                bucket.0 = (bucket.0 - 1.0).max(0.0);
                send(&mut stream, RIGHT);
            } else {
                send(
                    &mut stream,
                    b"HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n",
                );
            }
        }
    });
    let url = server.url();
    let flags = "--capacity errors<2% -d 400ms --warmup 0s -c 4 -t 1 --json -";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let run = Running::start(&mut command(words))
        .finish()
        .expect_one_of(&[0, 3, 4]);
    let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let trials = found["trials"].as_array().expect("a list");
    assert!(trials.len() > 10, "{run:#?}");
    if found["answer"]["kind"] == "between" {
        let rate = |key: &str| found["answer"][key].as_f64().expect("a rate") / 1e3;
        let (lower, upper) = (rate("lower_per_1000_s"), rate("upper_per_1000_s"));
        assert!(
            lower < upper && upper <= lower * 1.02 + 0.01,
            "{lower} to {upper}"
        );
        // In 0.4 s the bucket gives 80, the four that were in it and one to each of four
        // connections, and 2 % may fail.
        assert!(lower <= 88.0 / 0.4 * 1.03, "{lower} to {upper}");
        assert_eq!(found["answer"]["fresh"], 5);
    }
}

/// Whoever has waited long enough is told what the search knows by then.
#[test]
fn a_search_that_is_interrupted_tells_what_it_knows() {
    let server = right();
    let url = server.url();
    let flags = "--capacity errors<2% -d 400ms --warmup 0s -c 2 -t 1";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let running = Running::start(&mut command(words));
    wait_until("two trials were made", || {
        running.stderr().matches(" for ").count() >= 2
    });
    running.signal("INT");
    let run = running.finish().expect_code(130);
    let flat = run.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains("capacity interrupted after"), "{run:#?}");
    assert!(flat.contains("a closed loop reached"), "{run:#?}");
}

/// A server that refuses whoever comes while five others are there: more connections than that do
/// not meet the objective.
#[test]
fn a_capacity_in_connections_is_found() {
    let name = "a_capacity_in_connections_is_found";
    let Some([]) = need(name, []) else { return };
    let here = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let server = Stub::start_raw(move |mut stream, _| {
        use std::sync::atomic::Ordering::SeqCst;
        let is_late = here.fetch_add(1, SeqCst) >= 5;
        // The first two answers on a connection are free, so that every trial has its reference.
        let mut free = 2;
        while read_head(&mut stream).is_some() {
            if free > 0 || !is_late {
                send(&mut stream, RIGHT);
            } else {
                send(
                    &mut stream,
                    b"HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n",
                );
            }
            free -= i32::from(free > 0);
        }
        here.fetch_sub(1, SeqCst);
    });
    let url = server.url();
    let flags = "--capacity errors<2% --capacity-of connections -c 40 -d 100ms --warmup 0s -t 1";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let run = Running::start(&mut command(words.chain(["--json", "-"])))
        .finish()
        .expect_one_of(&[0, 3, 4]);
    let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
    let trials = found["trials"].as_array().expect("a list");
    assert!(
        trials
            .iter()
            .all(|trial| trial["connections"].as_u64() <= Some(40))
    );
    // Who closed a moment ago may still be counted by that server, but nobody more gets in.
    if found["answer"]["kind"] == "between" {
        let lower = found["answer"]["lower_connections"].as_u64();
        assert!(lower <= Some(5), "{run:#?}");
        assert_eq!(found["answer"]["fresh"], 5);
    }
    let server = right();
    let url = server.url();
    let flags = "--capacity errors<2% --capacity-of connections -c 3 -d 400ms --warmup 0s -t 1";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let run = triathlon(words).expect_one_of(&[0, 3]);
    let said = "capacity    at least 3 connections, the most that was asked for";
    assert!(run.stdout.contains(said), "{run:#?}");
    triathlon([
        "load",
        &url,
        "--capacity",
        "errors<1%",
        "--capacity-of",
        "connections",
        "--poisson",
    ])
    .expect_code(2)
    .expect_complaint(&["--capacity-of", "--poisson"]);
}

#[test]
fn a_search_refuses_what_does_not_go_with_it() {
    let server = right();
    let url = server.url();
    let steps = tempfile::NamedTempFile::new().expect("a file");
    fs::write(steps.path(), "[[step]]\nget = \"/\"\n").expect("a script");
    let script = format!("--capacity errors<1% --script {}", steps.path().display());
    for (flags, words) in [
        ("--capacity rate>100", "met by a higher load"),
        ("--capacity p(99)<5s,count>=10", "'count>=10'"),
        ("--capacity errors<1% --metrics 127.0.0.1:0", "--metrics"),
        ("--capacity errors<1% --latency", "--latency"),
        ("--capacity errors<1% --split", "--split"),
        (&script, "--capacity-of connections"),
    ] {
        let flags = format!("{flags} -d 40ms --warmup 0s -c 1 -t 1");
        let words_of = ["load", &url].into_iter().chain(flags.split(' '));
        triathlon(words_of)
            .expect_code(2)
            .expect_complaint(&["--capacity", words]);
    }
    assert_eq!(
        server.requests(),
        0,
        "it was refused before anything was asked"
    );
}

/// A run of a count would wait for each of its requests.
#[test]
fn a_run_of_a_count_ends_when_its_server_has_gone_for_good() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("index.html"), "hello").expect("a file");
    let address = reserve();
    let listen = address.address.to_string();
    let site = folder.path().display().to_string();
    let server = Running::start(&mut command(["serve", &site, "--listen", &listen]));
    wait_until("it listens", || TcpStream::connect(address.address).is_ok());
    let url = format!("http://{listen}/");
    let flags = "-n 100000000 -c 2 -t 1 --warmup 0s --timeout 1s --series -";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let running = Running::start(&mut command(words));
    wait_until("it measures", || running.stdout().contains("{\"second\""));
    server.signal("KILL");
    drop(server.finish());
    let run = running.finish();
    let said = format!("{}{}", run.stdout, run.stderr);
    assert!(
        said.contains("the server took no connection for 10"),
        "{run:#?}"
    );
    assert_ne!(run.code, Some(0), "{run:#?}");
}

#[test]
fn a_capacity_that_nobody_has_is_told() {
    let server = right();
    let url = server.url();
    let flags = "--capacity p(50)<1ns -d 40ms --warmup 0s -c 1 -t 1";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let run = triathlon(words).expect_one_of(&[3, 4]);
    assert!(run.stdout.contains("capacity    "), "{run:#?}");
    triathlon(["load", &url, "--capacity", "errors<1%", "-R", "5"])
        .expect_code(2)
        .expect_complaint(&["--capacity", "--rate"]);
}
