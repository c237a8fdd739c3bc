//! What a run writes for other programs, and the searches that it can make.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::Deserializer;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
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
    let flags = "-R 200 -d 2s --warmup 0s -c 2 -t 1 --json t.json --csv t.csv --hgrm t.hgrm \
                 --hlog t.hlog --series t.ndjson";
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
    let all = read_log(&hlog, &trial);
    assert_eq!(all.len(), right);
    read_percentiles(&hgrm, &all);
    let series: Vec<serde_json::Value> = read("t.ndjson")
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    assert_eq!(series.len(), intervals);
    let due: u64 = series.iter().filter_map(|line| line["due"].as_u64()).sum();
    assert_eq!(due, 400, "{series:#?}");
    // The row is that of 'triathlon report'.
    let csv = read("t.csv");
    let mut report = command(["report", "t.json", "--csv", "-"]);
    let reported = Running::start(report.current_dir(folder.path())).finish();
    assert_eq!(reported.expect_code(0).stdout, csv);
    let rows: Vec<Vec<&str>> = csv.lines().map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 2, "{csv}");
    let column = rows[0].iter().position(|name| *name == "ok");
    let column = column.unwrap_or_else(|| panic!("no column of right answers: {csv}"));
    assert_eq!(rows[1][column], right.to_string(), "{csv}");
    triathlon(["load", &url, "-n", "1", "--csv", "-"])
        .expect_code(2)
        .expect_complaint(&["--csv -", "name one"]);
    triathlon(["load", &url, "-n", "1", "--series", "/nowhere/x"])
        .expect_code(1)
        .expect_complaint(&["/nowhere/x"]);
}

/// HdrHistogram's own reader of logs reads each line, and finds in it what the record has of that
/// interval. All of them in one histogram.
#[track_caller]
fn read_log(text: &str, trial: &model::Trial) -> Histogram<u64> {
    let entries = IntervalLogIterator::new(text.as_bytes());
    let entries = entries.map(|entry| entry.expect("an entry of a log"));
    let lines: Vec<_> = entries
        .filter_map(|entry| match entry {
            LogEntry::Interval(line) => Some(line),
            LogEntry::StartTime(_) | LogEntry::BaseTime(_) => None,
        })
        .collect();
    let intervals = &trial.record.intervals;
    assert_eq!(lines.len(), intervals.len(), "{text}");
    let mut all = Histogram::new(3).expect("a histogram");
    for (line, interval) in lines.iter().zip(intervals) {
        // Both are written in milliseconds.
        let is_near = |one: f64, other: f64| (one - other).abs() < 6e-4;
        let (start, length) = (line.start_timestamp(), line.duration());
        assert!(
            is_near(start.as_secs_f64(), interval.start.as_s_f64()),
            "{text}"
        );
        assert!(
            is_near(length.as_secs_f64(), interval.length.as_s_f64()),
            "{text}"
        );
        let times = &interval.response_time;
        let longest = times.max().unwrap_or_default();
        assert!(is_near(line.max(), longest.as_us_f64() / 1e3), "{text}");
        let bytes = STANDARD.decode(line.encoded_histogram()).expect("base64");
        let read = Deserializer::new().deserialize(&mut bytes.as_slice());
        let read: Histogram<u64> = read.expect("a histogram");
        assert_eq!(read.len(), times.count(), "{text}");
        for q in [0.0, 0.25, 0.5, 0.9, 0.99, 1.0] {
            let theirs = read.value_at_quantile(q);
            let ours = times.quantile(q).unwrap_or_default().as_ns();
            // A bucket is 1,024 ns or 1 % wide; the last value is exact in ours.
            let apart = theirs.abs_diff(ours);
            assert!(apart <= 1_024 + ours / 100, "{q}: {theirs} and {ours}");
        }
        all.add(&read).expect("it has room");
    }
    all
}

/// Percentiles are read as HdrHistogram's plotter reads them, by lines of four numbers below a
/// heading, and are those of the histogram.
#[track_caller]
fn read_percentiles(text: &str, all: &Histogram<u64>) {
    let mut lines = text.lines().skip_while(|line| line.is_empty());
    let heading: Vec<&str> = lines
        .next()
        .expect("a heading")
        .split_whitespace()
        .collect();
    assert_eq!(
        heading,
        ["Value", "Percentile", "TotalCount", "1/(1-Percentile)"]
    );
    let rows = lines.filter(|line| !line.is_empty() && !line.starts_with('#'));
    let rows: Vec<Vec<f64>> = rows
        .map(|line| {
            let words = line.split_whitespace();
            words.map(|word| word.parse().expect("a number")).collect()
        })
        .collect();
    assert!(rows.len() > 10, "{text}");
    for row in &rows {
        let [value, level, count] = row[..3] else {
            panic!("{row:?} has no three numbers: {text}");
        };
        let ms = |ns: u64| ns as f64 / 1e6;
        // Where the rank is a whole number, its last digit decides between two neighbours.
        let [low, high] = [-1e-9, 1e-9].map(|off| ms(all.value_at_quantile(level + off)));
        // The histogram is that of the log, whose buckets are 1,024 ns or 1 % wide.
        let width = 3e-3 + value * 0.012;
        assert!(
            (low - width..=high + width).contains(&value),
            "{row:?}: {low} to {high}"
        );
        assert!(count >= level * all.len() as f64 - 1e-6, "{row:?}");
        match row.get(3) {
            Some(inverse) => assert!((inverse * (1.0 - level) - 1.0).abs() < 0.01, "{row:?}"),
            None => assert_eq!((level, count), (1.0, all.len() as f64), "{row:?}"),
        }
    }
    assert_eq!(
        rows.last().map(Vec::len),
        Some(3),
        "the last one is 100 %: {text}"
    );
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
    let (_, content) = page.split_once("\r\n\r\n").expect("a page");
    let samples = read_metrics(content);
    for (name, labels) in [
        ("triathlon_exchanges_total", "outcome=\"right\""),
        ("triathlon_exchanges_total", "outcome=\"failed\""),
        ("triathlon_connections", ""),
        ("triathlon_right_answers_per_second", ""),
        ("triathlon_response_time_seconds", "quantile=\"0.99\""),
    ] {
        let found = samples.iter().find(|one| (one.0, one.1) == (name, labels));
        let (.., value) = found.unwrap_or_else(|| panic!("no {name} {labels}: {page}"));
        assert!(*value >= 0.0, "{name} {labels} {value}");
    }
    running.signal("INT");
    running.finish().expect_code(130);
}

/// Reads a page by the rules of Prometheus' text format 0.0.4: before the samples of a name stand
/// its help and its type, each once and nothing between them; names, labels and values have their
/// forms; no sample is there twice. Names, labels and values of the samples.
#[track_caller]
fn read_metrics(page: &str) -> Vec<(&str, &str, f64)> {
    assert!(page.ends_with('\n'), "the last line ends, too: {page}");
    let is_name = |name: &str| {
        let mut letters = name.chars();
        letters
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && letters.all(|c| c.is_ascii_alphanumeric() || c == '_')
    };
    let mut told: Vec<(&str, &str)> = Vec::new();
    let mut samples: Vec<(&str, &str, f64)> = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').expect("a name and a text");
            assert!(is_name(name) && !text.is_empty(), "{line}");
            assert!(
                told.iter().all(|(other, _)| *other != name),
                "{name} is there twice"
            );
            let kind = lines.next().and_then(|line| line.strip_prefix("# TYPE "));
            let (named, kind) = kind.and_then(|text| text.split_once(' ')).expect("a type");
            assert_eq!(named, name, "{page}");
            assert!(["counter", "gauge", "summary"].contains(&kind), "{page}");
            told.push((name, kind));
            continue;
        }
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let value = match value {
            "NaN" => f64::NAN,
            "+Inf" => f64::INFINITY,
            number => number
                .parse()
                .unwrap_or_else(|_| panic!("{line} has no number")),
        };
        let (name, labels) = match series.split_once('{') {
            Some((name, labels)) => (name, labels.strip_suffix('}').expect("an end of labels")),
            None => (series, ""),
        };
        // They belong to what was told last.
        let (last, kind) = told.last().expect("a type comes first");
        assert_eq!(name, *last, "{page}");
        assert_eq!(*kind == "counter", name.ends_with("_total"), "{line}");
        if !labels.is_empty() {
            let (label, text) = labels.split_once('=').expect("a label and its value");
            let text = text
                .strip_prefix('"')
                .and_then(|text| text.strip_suffix('"'));
            let text = text.unwrap_or_else(|| panic!("{line} has no value in quotes"));
            assert!(is_name(label) && !text.contains(['"', '\\']), "{line}");
            assert_eq!(*kind == "summary", label == "quantile", "{line}");
        }
        let is_new = !samples.iter().any(|one| (one.0, one.1) == (name, labels));
        assert!(is_new, "{series} is there twice");
        samples.push((name, labels, value));
    }
    samples
}

/// What the search with `flags` finds, up to the attempt whose answer is an interval and `is_near`:
/// on a machine with other work a search may end in another way, or lower.
#[track_caller]
fn searched(
    url: &str,
    flags: &str,
    is_near: impl Fn(&serde_json::Value) -> bool,
) -> serde_json::Value {
    let mut others = Vec::new();
    for seed in 1..=5 {
        let flags = format!("{flags} --seed {seed} --json -");
        let words = ["load", url].into_iter().chain(flags.split(' '));
        let run = Running::start(&mut command(words))
            .finish()
            .expect_one_of(&[0, 3, 4]);
        let found: serde_json::Value = serde_json::from_str(&run.stdout).expect("JSON");
        let answer = &found["answer"];
        if answer["kind"] == "between" && is_near(answer) {
            return found;
        }
        others.push(format!("seed {seed}: {answer}"));
    }
    panic!("no such interval in five searches: {others:#?}");
}

/// More than the rate at which the server gives answers cannot be met, however fast the machine is.
#[test]
fn a_capacity_is_an_interval_below_what_the_server_gives() {
    let name = "a_capacity_is_an_interval_below_what_the_server_gives";
    let Some([]) = need(name, []) else { return };
    const GIVES: f64 = 200.0;
    let server = Stub::start_paced(GIVES, 20.0);
    let flags = "--capacity errors<2% -d 400ms --warmup 0s -c 4 -t 1";
    let bounds = |answer: &serde_json::Value| {
        let rate = |key: &str| answer[key].as_f64().expect("a rate") / 1e3;
        (rate("lower_per_1000_s"), rate("upper_per_1000_s"))
    };
    // Whoever is late sends what is due at once, and the bucket carries a tenth of a second.
    let is_near = |answer: &serde_json::Value| bounds(answer).0 >= GIVES / 2.0;
    let found = searched(&server.url(), flags, is_near);
    let trials = found["trials"].as_array().expect("a list");
    assert!(trials.len() > 10, "{trials:#?}");
    let (lower, upper) = bounds(&found["answer"]);
    assert!(
        lower < upper && upper <= lower * 1.02 + 0.01,
        "{lower} to {upper}"
    );
    // In 0.4 s the bucket gives 80, the twenty that were in it and one to each of four connections,
    // and 2 % may fail.
    assert!(lower <= 104.0 / 0.4 * 1.03, "{lower} to {upper}");
    assert_eq!(found["answer"]["fresh"], 5);
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

/// A server that refuses whoever came while five others are there: more connections than that do
/// not meet the objective.
#[test]
fn a_capacity_in_connections_is_found() {
    let name = "a_capacity_in_connections_is_found";
    let Some([]) = need(name, []) else { return };
    // Who is there, by when they came.
    let here = Arc::new(Mutex::new((0_u64, BTreeSet::new())));
    let server = Stub::start_raw(move |mut stream, _| {
        let number = {
            let mut here = here.lock().expect("nobody panicked");
            here.0 += 1;
            let number = here.0;
            here.1.insert(number);
            number
        };
        // The first two answers on a connection are free, so that every trial has its reference.
        let mut free = 2;
        while read_head(&mut stream).is_some() {
            let before = here
                .lock()
                .expect("nobody panicked")
                .1
                .range(..number)
                .count();
            if free > 0 || before < 5 {
                send(&mut stream, RIGHT);
            } else {
                send(
                    &mut stream,
                    b"HTTP/1.1 503 Full\r\nContent-Length: 0\r\n\r\n",
                );
            }
            free -= i32::from(free > 0);
        }
        here.lock().expect("nobody panicked").1.remove(&number);
    });
    let flags = "--capacity errors<2% --capacity-of connections -c 40 -d 100ms --warmup 0s -t 1";
    let lower = |answer: &serde_json::Value| answer["lower_connections"].as_u64();
    // Who closed a moment ago may still be counted by that server, but nobody more gets in.
    let found = searched(&server.url(), flags, |answer| lower(answer) >= Some(3));
    assert!(lower(&found["answer"]) <= Some(5), "{found:#?}");
    assert_eq!(found["answer"]["fresh"], 5);
    let trials = found["trials"].as_array().expect("a list");
    assert!(
        trials
            .iter()
            .all(|trial| trial["connections"].as_u64() <= Some(40))
    );
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
