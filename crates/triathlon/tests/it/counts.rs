//! Two sets of books: what the generator counted and what nginx counted are the same.

use std::time::Duration;

use model::event::Phase;
use model::plan::{Backend, PlanFile, Renewal};
use model::record::Tally;
use model::{Outcome, Record, Span};

use crate::support::nginx::{Line, Nginx, per_connection};
use crate::support::process::triathlon;
use crate::support::{need, plan, wait_until};

/// Everything a record counted, in all phases.
fn books(record: &Record) -> Tally {
    let mut sum = record.reference_phase;
    sum.merge(&record.warmup_phase);
    sum.merge(&record.total);
    sum.merge(&record.drain_phase);
    sum
}

/// Runs a drained, counted plan with `change` made to it; compares all that both sides count.
fn check(test: &str, file: &[u8], change: impl FnOnce(&mut PlanFile)) -> Option<Vec<Line>> {
    let [program] = need(test, ["nginx"])?;
    let nginx = Nginx::start(&program, &[("file", file)]);
    let before = nginx.status();
    let mut wanted = plan::counted(&nginx.url("file"), 5_000);
    change(&mut wanted);
    let (run, trial) = plan::run(&wanted);
    let after = nginx.status();
    let lines = nginx.quit();
    let ours = books(&trial.record);
    let context = format!("{ours:#?}\n{}", run.stderr);
    let count = lines.len() as u64;
    assert_eq!(trial.record.total.outcomes[Outcome::Ok], 5_000, "{context}");
    assert_eq!(ours.sent, count, "requests: log, {context}");
    // Asking for the status afterwards was one connection and one request more.
    assert_eq!(
        ours.sent + 1,
        after.requests - before.requests,
        "requests: status, {context}"
    );
    let connections = after.accepts - before.accepts - 1;
    assert_eq!(
        ours.connections.established, connections,
        "connections: status, {context}"
    );
    let seen = per_connection(&lines).len() as u64;
    assert_eq!(
        ours.connections.established, seen,
        "connections: log, {context}"
    );
    let sent: u64 = lines.iter().map(|line| line.bytes_sent).sum();
    assert_eq!(ours.bytes_received.count(), sent, "bytes to us, {context}");
    let received: u64 = lines.iter().map(|line| line.request_length).sum();
    assert_eq!(
        ours.bytes_sent.count(),
        received,
        "bytes from us, {context}"
    );
    assert!(lines.iter().all(|line| line.status == 200), "{lines:?}");
    Some(lines)
}

#[test]
fn readiness_and_nginx_count_the_same() {
    check("readiness_and_nginx_count_the_same", b"seven!\n", |plan| {
        plan.backend = Backend::Readiness;
    });
}

#[test]
fn io_uring_and_nginx_count_the_same() {
    check("io_uring_and_nginx_count_the_same", b"seven!\n", |plan| {
        plan.backend = Backend::Uring;
    });
}

#[test]
fn large_bodies_are_counted_whole() {
    let body: Vec<u8> = (0..100_000_u32).map(|i| i.to_le_bytes()[1]).collect();
    for backend in [Backend::Readiness, Backend::Uring] {
        check("large_bodies_are_counted_whole", &body, |plan| {
            plan.backend = backend;
        });
    }
}

#[test]
fn exactly_so_many_requests_on_a_connection() {
    for (backend, n) in [
        (Backend::Readiness, 7),
        (Backend::Uring, 7),
        (Backend::Auto, 1),
    ] {
        let lines = check(
            "exactly_so_many_requests_on_a_connection",
            b"seven!\n",
            |plan| {
                plan.backend = backend;
                plan.requests_per_connection = Some(n);
            },
        );
        let Some(lines) = lines else {
            return;
        };
        let counts = per_connection(&lines);
        let full = counts
            .values()
            .filter(|count| **count == u64::from(n))
            .count();
        // The reference fetches and what was left when the count was reached are the exceptions.
        assert!(
            counts.values().all(|count| *count <= u64::from(n)),
            "{counts:?}"
        );
        assert!(
            counts.len() - full <= 4 + 2,
            "{} of {} full",
            full,
            counts.len()
        );
    }
}

/// Each request of a pipeline is one line in the server's log, and one answer in our books.
#[test]
fn pipelined_requests_are_counted_one_by_one() {
    for (backend, n) in [
        (Backend::Readiness, None),
        (Backend::Uring, None),
        (Backend::Auto, Some(40)),
    ] {
        check(
            "pipelined_requests_are_counted_one_by_one",
            b"seven!\n",
            |plan| {
                plan.backend = backend;
                plan.pipeline = 16;
                plan.requests_per_connection = n;
            },
        );
    }
}

#[test]
fn a_server_stopped_for_two_seconds_is_seen_by_those_who_wait() {
    let name = "a_server_stopped_for_two_seconds_is_seen_by_those_who_wait";
    let Some([program]) = need(name, ["nginx"]) else {
        return;
    };
    let nginx = Nginx::start(&program, &[("file", b"seven!\n")]);
    let mut wanted = plan::paced(&nginx.url("file"), 200, 6);
    wanted.connections = 16;
    let running = plan::start(&wanted);
    wait_until("the window began", || {
        plan::reached(&running, Phase::Measurement)
    });
    std::thread::sleep(Duration::from_secs(1));
    nginx.running().signal_group("STOP");
    std::thread::sleep(Duration::from_secs(2));
    nginx.running().signal_group("CONT");
    let (run, trial) = plan::finish(running);
    let record = &trial.record;
    let outcomes = record.total.outcomes;
    let context = format!("{:#?} {}", record.total, run.stderr);
    // All 16 connections wait for the timeout of one second at least once.
    assert!(outcomes[Outcome::Timeout] >= 16, "{context}");
    assert_eq!(outcomes.total(), record.total.due, "{context}");
    // 300 arrivals came due more than half a second before it went on; a few dozen timed out.
    let slow = record.response_time.count_above(Span::from_ms(500));
    assert!(slow >= 150, "{slow} {context}");
    assert!(
        record.blocked_time.max() >= Some(Span::from_ms(900)),
        "{context}"
    );
    // Nobody knows how long those would have taken that were given up, before they were sent or
    // after.
    assert_eq!(
        record.response_time.censored(),
        outcomes[Outcome::Timeout] + outcomes[Outcome::Shed],
        "{context}"
    );
    assert!(
        record
            .examples
            .iter()
            .any(|example| example.outcome == Outcome::Timeout)
    );
}

/// Connections that the plan makes anew are as many for nginx, which closes them when it is asked.
#[test]
fn connections_that_are_made_anew_are_counted_the_same() {
    let test = "counts::connections_that_are_made_anew_are_counted_the_same";
    let renewals = [
        Renewal {
            last_of_million: Some(100_000),
            ..Renewal::default()
        },
        Renewal {
            lifetime: Some(Span::from_ms(1)),
            ..Renewal::default()
        },
    ];
    for renewal in renewals {
        let lines = check(test, b"seven!\n", |file| file.renewal = renewal);
        let Some(lines) = lines else { return };
        let seen = per_connection(&lines).len();
        assert!(seen > 20, "{renewal:?}: {seen} connections");
    }
}

/// Four connections in turns of 50 ms, each for ten requests, and the warm-up that they need.
#[test]
fn connections_are_opened_one_after_the_other() {
    let test = "counts::connections_are_opened_one_after_the_other";
    let Some([program]) = need(test, ["nginx"]) else {
        return;
    };
    let nginx = Nginx::start(&program, &[("file", b"seven!\n")]);
    let url = nginx.url("file");
    let flags = "-n 40 -c 4 -t 2 --connect-rate 20 --requests-per-connection 10 --json -";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let run = triathlon(words).expect_measured();
    let trial: model::Trial = serde_json::from_str(&run.stdout).expect("a trial");
    assert_eq!(trial.record.total.outcomes[Outcome::Ok], 40);
    assert!(
        trial.record.window >= Span::from_ms(150),
        "{}",
        trial.record.window
    );
    let flags = "-d 100ms -c 2 -t 1 --connect-rate 10 --reconnect 50%";
    let words = ["load", &url].into_iter().chain(flags.split(' '));
    let run = triathlon(words).expect_measured();
    let told = "2 connections (opened at 10/s, replaced after 50 % of the requests), 1 thread";
    assert!(run.stdout.replace('\n', " ").contains(told), "{run:#?}");
    assert!(run.stdout.contains("1.20 s of warm-up"), "{run:#?}");
    triathlon(["load", &url, "--connect-rate", "0"]).expect_code(2);
    triathlon(["load", &url, "--reconnect", "0%"])
        .expect_code(2)
        .expect_complaint(&["above 0%"]);
}
