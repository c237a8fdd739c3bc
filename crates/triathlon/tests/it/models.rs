//! The ways to load a server, from the door: pipelines, think times, stages, deadlines.

use std::fs;
use std::io::{Read as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use model::Outcome;

use crate::serve::Served;
use crate::support::need;
use crate::support::nginx::Nginx;
use crate::support::process::{load, triathlon};
use crate::support::stub::{Next, RIGHT, Stub};

/// A server that answers requests by the eight as soon as eight have come, but for the first two,
/// which are the fetches before the run. Whoever asks one at a time waits for ever.
#[test]
fn a_pipeline_is_filled_before_the_first_answer() {
    let most = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&most);
    let server = Stub::start_raw(move |mut stream, requests| {
        let (mut bytes, mut buffer) = (Vec::new(), [0; 4_096]);
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            bytes.extend_from_slice(&buffer[..count]);
            let heads = bytes.windows(4).filter(|end| end == b"\r\n\r\n").count();
            let is_reference = requests.load(Ordering::SeqCst) < 2;
            if heads < 8 && !is_reference {
                continue;
            }
            requests.fetch_add(heads as u64, Ordering::SeqCst);
            seen.fetch_max(heads, Ordering::SeqCst);
            bytes.clear();
            if stream.write_all(&RIGHT.repeat(heads)).is_err() {
                return;
            }
        }
    });
    let run = load(&server.url(), "-n 400 -c 1 -t 1 --pipeline 8 --timeout 20s").expect_measured();
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 400, "{run:#?}");
    assert_eq!(most.load(Ordering::SeqCst), 8, "no more than asked for");
    // Each exchange has a response time of its own.
    assert_eq!(record.response_time.count(), 400);
}

#[test]
fn a_pipeline_to_origin_is_checked_answer_by_answer() {
    let served = Served::start(&[("a", b"seven!\n")], "");
    let flags = "-n 2000 -c 4 -t 1 --pipeline 16";
    let run = load(&served.url("/a"), flags).expect_measured();
    let trial = run.trial();
    assert_eq!(trial.plan.pipeline, 16);
    assert_eq!(trial.record.total.outcomes[Outcome::Ok], 2_000, "{run:#?}");
    assert_eq!(trial.record.total.bytes_content.count(), 14_000);
}

#[test]
fn a_pipeline_has_a_bound() {
    for value in ["0", "65"] {
        triathlon(["load", "http://127.0.0.1:1/", "--pipeline", value])
            .expect_code(2)
            .expect_complaint(&["--pipeline", "from 1 to 64"]);
    }
}

/// Users who think for 20 ms ask 40 times per second at most.
#[test]
fn users_think_before_each_request() {
    let served = Served::start(&[("a", b"seven!\n")], "");
    let run = load(
        &served.url("/a"),
        "-d 1s --warmup 0s -c 4 -t 1 --think 20ms",
    )
    .expect_measured();
    let right = run.trial().record.total.outcomes[Outcome::Ok];
    assert!((4..=200).contains(&right), "{run:#?}");
}

/// All arrivals of the stages become due, whatever the machine does, and each interval says how
/// many those should be.
#[test]
fn stages_make_the_arrivals_that_they_say() {
    let served = Served::start(&[("a", b"seven!\n")], "");
    let flags = "-c 4 -t 2 --stages 1s:200,1s:=50,500ms:!300/100ms";
    let run = load(&served.url("/a"), flags).expect_measured();
    let trial = run.trial();
    // 100, 50, and 25 with 250 x 0.144 x (1 - 1/32) more.
    assert_eq!(trial.record.total.due, 210, "{run:#?}");
    assert_eq!(trial.record.total.outcomes.total(), 210);
    let scheduled: Vec<u64> = trial
        .record
        .intervals
        .iter()
        .map(|one| one.scheduled.expect("the rate changes").as_per_1000_s() / 1_000)
        .collect();
    assert_eq!(scheduled, [100, 50, 119], "{run:#?}");
    let text = triathlon(
        ["load", &served.url("/a"), "-c", "1"]
            .into_iter()
            .chain("--stages 100ms:=20 --poisson --deadline 5s".split(' ')),
    )
    .expect_measured();
    let words: Vec<&str> = text.stdout.split_whitespace().collect();
    let words = words.join(" ");
    for expected in ["stages 100ms:=20,", "given up if not sent within 5.00 s"] {
        assert!(words.contains(expected), "{expected}: {text:#?}");
    }
}

/// nginx logs as many requests as the stages sent.
#[test]
fn nginx_has_as_many_requests_as_the_stages() {
    let name = "models::nginx_has_as_many_requests_as_the_stages";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let server = Nginx::start(&nginx, &[("a", b"seven!\n")]);
    let flags = "-c 2 -t 1 --stages 300ms:200,350ms:=50 --timeout 20s --warmup 0s";
    let trial = load(&server.url("a"), flags).expect_measured().trial();
    // 30 on the way up to 200, and 17.5; the first at once.
    assert_eq!(trial.record.total.due, 48);
    let record = &trial.record;
    let phases = [&record.reference_phase, &record.total, &record.drain_phase];
    let sent: u64 = phases.iter().map(|tally| tally.sent).sum();
    assert_eq!(server.quit().len() as u64, sent, "{record:?}");
}

/// nginx sends a kilobyte per second, so that its answer occupies the one connection for a second,
/// and all that waits for it meanwhile is given up.
#[test]
fn nginx_that_is_slow_leaves_what_is_overdue_unsent() {
    let name = "models::nginx_that_is_slow_leaves_what_is_overdue_unsent";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let text = "x".repeat(2_000);
    let slow = format!("location / {{ limit_rate 1000; return 200 '{text}'; }}");
    let server = Nginx::start_answering(&nginx, "", &slow);
    let flags = "-d 1s --warmup 0s -c 1 -t 1 -R 100 --deadline 50ms --timeout 20s";
    let run = load(&server.url("a"), flags).expect_measured();
    let total = run.trial().record.total;
    assert_eq!(total.due, 100, "{run:#?}");
    assert!(total.outcomes[Outcome::Shed] >= 80, "{run:#?}");
    // What was given up was never sent.
    let asked = server.quit_and_list().len() as u64;
    assert!(asked <= 20 + 2, "{asked} {run:#?}");
}

/// A server that answers nothing after the fetches before the run: what waits is given up long
/// before the timeout.
#[test]
fn what_is_overdue_is_shed() {
    let server = Stub::start_after(2, |_, _| Next::Keep);
    let folder = tempfile::tempdir().expect("a folder");
    let flags = format!(
        "-d 1s --warmup 0s -c 1 -t 1 -R 100 --deadline 50ms --timeout 3s --series {}/series",
        folder.path().display()
    );
    let run = load(&server.url(), &flags).expect_measured();
    let record = run.trial().record;
    assert_eq!(record.total.due, 100, "{run:#?}");
    assert!(record.total.outcomes[Outcome::Shed] >= 90, "{run:#?}");
    let shed = record
        .examples
        .iter()
        .find(|one| one.outcome == Outcome::Shed);
    let said = shed.map(|one| one.text.as_str());
    assert_eq!(said, Some("it was not sent within 50.0 ms of its due time"));
    // So do the lines of each second, in whichever of them they were given up.
    let path = folder.path().join("series");
    let series = fs::read_to_string(path).expect("it was written");
    let failed = series.lines().map(|line| {
        let line: serde_json::Value = serde_json::from_str(line).expect("JSON");
        line["failed"].as_u64().expect("a count")
    });
    let in_window: u64 = failed.sum();
    assert!((50..=100).contains(&in_window), "{series} {run:#?}");
}

#[test]
fn flags_that_contradict_each_other_are_refused() {
    let check = |flags: &str, words: &[&str]| {
        let url = ["load", "http://127.0.0.1:1/"];
        triathlon(url.into_iter().chain(flags.split(' ')))
            .expect_code(2)
            .expect_complaint(words);
    };
    check("--think 1s -R 100", &["--think", "--rate"]);
    check("--think soon", &["--think", "a time"]);
    check("--think 1s --pipeline 2", &["--think", "one request"]);
    check("--deadline 1s", &["--rate", "--stages"]);
    check("--uniform", &["--rate", "--stages"]);
    check("--stages 1s:1k -R 5", &["--stages", "--rate"]);
    check("--stages 1s:1k -d 5s", &["--stages", "--duration"]);
    check("--stages 1s:0", &["--stages", "nobody comes"]);
    check("--stages 1s", &["--stages", "TIME:RATE"]);
    check(
        "--threshold p(99)<5mx",
        &["column 7", "p(99)<5mx\n          ^"],
    );
    check("--threshold {a}:rate>1", &["--threshold", "leave out"]);
    check(
        "--threshold page_time:max<1s",
        &["'page_time:max<1s'", "whole pages", "--script"],
    );
}

#[test]
fn thresholds_are_told_with_their_values() {
    let served = Served::start(&[("a", b"seven!\n")], "");
    let run = |conditions: &[&str], more: &[&str]| {
        let url = served.url("/a");
        let mut words = vec!["load", &url, "-n", "200", "-c", "2", "-t", "1"];
        for condition in conditions {
            words.extend(["--threshold", condition]);
        }
        words.extend(more);
        triathlon(words)
    };
    let met = [
        "errors<0.1%",
        "count==200",
        "p(99)<1m",
        "service_time: max<1m",
    ];
    let text = run(&met, &[]).expect_measured();
    assert!(
        text.stdout.contains("thresholds  errors<0.1%: 0%, met"),
        "{text:#?}"
    );
    let failed = ["errors<0.1%", "rate>100M"];
    // A run that is worth nothing says that first.
    let told = run(&failed, &["--json", "-"]).expect_one_of(&[3, 4]);
    let trial = told.trial();
    let judged: Vec<bool> = trial.thresholds.iter().map(|one| one.met).collect();
    assert_eq!(judged, [true, false], "{told:#?}");
    let nothing_left = trial.verdict.nothing_left();
    assert_eq!(
        told.code,
        Some(if nothing_left { 3 } else { 4 }),
        "{told:#?}"
    );
    assert!(trial.thresholds[1].value.is_some_and(|value| value > 0.0));
}
