//! Handshakes as what is counted: with nothing asked behind them, and of kinds that are drawn.

use std::io::Read as _;
use std::process::Command;
use std::time::Duration;

use model::{Outcome, Trial};
use rcgen::date_time_ymd;

use crate::serve::Served;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, Running, load, triathlon};
use crate::support::stub::{self, Stub};
use crate::support::{need, reserve, wait_until};
use crate::tls::{Files, https};

/// What counts them alone.
const ALONE: &str = "-c 4 -t 2 --warmup 0s --timeout 2s --requests-per-connection 0";

/// All went well, and each exchange was a handshake of its own.
#[track_caller]
fn all_counted(run: Run, count: u64) -> Trial {
    let trial = run.trial();
    let record = &trial.record;
    let total = &record.total;
    assert_eq!(total.outcomes[Outcome::Ok], count, "{run:#?}");
    assert_eq!(total.outcomes.total(), count, "{run:#?}");
    let tls = record.tls.as_ref().expect("TLS is recorded");
    let (full, resumed) = tls.full_and_resumed();
    assert_eq!(full + resumed, count, "{tls:?}");
    assert_eq!(tls.full_time.count(), full);
    assert_eq!(tls.resumed_time.count(), resumed);
    assert_eq!(record.tls_time.count(), count);
    assert_eq!(record.connect_time.count(), count);
    assert_eq!(record.service_time.count(), count);
    assert_eq!(total.sent, count);
    assert_eq!(total.connections.closed_by_client, count, "{run:#?}");
    assert_eq!(total.bytes_content.count(), 0);
    // The connect is part of what is waited for, and not of the handshake.
    let means =
        [&record.response_time, &record.service_time].map(|times| times.mean().expect("a time"));
    assert!(means[0] > means[1], "{means:?}");
    run.expect_measured();
    trial
}

#[test]
fn handshakes_alone_are_counted() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", &[("small", b"seven!\n")], "");
    let url = https(&served.url("/small"));
    for words in ["--tls-version 1.2", "--tls-version 1.3", "--http2"] {
        let flags = format!("-n 60 {ALONE} {} {words}", files.trust());
        let trial = all_counted(load(&url, &flags), 60);
        let (full, resumed) = trial.record.tls.unwrap().full_and_resumed();
        assert!(full >= 1 && resumed >= 10, "{full} full, {resumed} resumed");
        let flags = format!("{flags} --no-resumption");
        let trial = all_counted(load(&url, &flags), 60);
        assert_eq!(trial.record.tls.unwrap().full_and_resumed(), (60, 0));
    }
    let flags = format!("-d 500ms {ALONE} {}", files.trust());
    let trial = load(&url, &flags).trial();
    let outcomes = trial.record.total.outcomes;
    assert!(outcomes[Outcome::Ok] > 0, "{outcomes:?}");
    assert_eq!(outcomes.total(), outcomes[Outcome::Ok], "{outcomes:?}");
}

#[test]
fn what_was_counted_is_said() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", &[("small", b"seven!\n")], "");
    let url = https(&served.url("/small"));
    let flags = format!(
        "-n 3000 {ALONE} {} --handshakes full:2,resumed:1",
        files.trust()
    );
    let words = ["load", &url].into_iter().chain(flags.split_whitespace());
    let shown = triathlon(words).expect_measured().stdout;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        &*format!("handshakes with {url}"),
        "connections of a handshake of TLS alone",
        "handshakes, without a request",
        "An exchange is a handshake",
        "drawn by full:2,resumed:1",
        " full ",
        " resumed ",
    ] {
        assert!(shown.contains(words), "no '{words}' in {shown}");
    }
}

#[test]
fn kinds_are_drawn_from_the_seed() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", &[("small", b"seven!\n")], "");
    let url = https(&served.url("/small"));
    let drawn = |flags: &str| {
        let flags = format!(
            "-n 600 -c 1 -t 1 --warmup 0s {} --handshakes full:60,resumed:30 {flags}",
            files.trust()
        );
        let trial = load(&url, &flags).trial();
        assert_eq!(trial.record.total.outcomes[Outcome::Ok], 600, "{trial:?}");
        let tls = trial.record.tls.expect("TLS is recorded");
        let (full, resumed) = tls.full_and_resumed();
        assert_eq!(full + resumed, 600);
        assert_eq!(tls.full_time.count(), full);
        assert!(tls.not_resumed < 30, "{tls:?}");
        resumed + tls.not_resumed
    };
    for each in ["--requests-per-connection 0", "--requests-per-connection 1"] {
        let one = drawn(&format!("{each} --seed 1"));
        assert!((150..250).contains(&one), "{one} of 600 are a third");
        assert_eq!(drawn(&format!("{each} --seed 1")), one);
        let others = (2..6).map(|seed| drawn(&format!("{each} --seed {seed}")));
        assert!(others.into_iter().any(|other| other != one));
    }
}

#[test]
fn handshakes_with_nginx_and_openssl() {
    let name = "handshakes::handshakes_with_nginx_and_openssl";
    let Some([nginx, openssl]) = need(name, ["nginx", "openssl"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let pages: &[(&str, &[u8])] = &[("small", b"seven!\n")];
    let server = Nginx::start_with_tls(&nginx, pages, &certificate, &key);
    for version in ["1.2", "1.3"] {
        let flags = format!("-n 200 {ALONE} {} --tls-version {version}", files.trust());
        let mix = format!("{flags} --handshakes full:1,resumed:1");
        let trial = all_counted(load(&server.https_url("small"), &mix), 200);
        let (full, _) = trial.record.tls.unwrap().full_and_resumed();
        assert!(full >= 60, "{full} of 200 are full");
    }
    assert_eq!(server.quit().len(), 0, "nothing was asked");
    let reserved = reserve();
    let address = reserved.address.to_string();
    let mut command = Command::new(openssl);
    command.args(["s_server", "-accept", &address, "-quiet", "-cert"]);
    command.arg(&certificate).arg("-key").arg(&key);
    command.stdin(std::process::Stdio::piped());
    let mut running = Running::start(&mut command);
    wait_until("openssl listens", || {
        assert!(!running.ended(), "openssl ended: {}", running.stderr());
        std::net::TcpStream::connect(reserved.address).is_ok()
    });
    let flags = format!(
        "-n 20 -c 1 -t 1 --warmup 0s --requests-per-connection 0 {}",
        files.trust()
    );
    all_counted(load(&format!("https://{address}/"), &flags), 20);
}

#[test]
fn handshakes_of_quic_are_counted() {
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve("site", &[("small", b"seven!\n")], "--http3");
    let flags = format!("-n 40 {ALONE} {} --http3", files.trust());
    let trial = load(&https(&served.url("/small")), &flags).trial();
    let record = trial.record;
    assert_eq!(
        record.total.outcomes[Outcome::Ok],
        40,
        "{:?}",
        record.examples
    );
    assert_eq!(record.total.outcomes.total(), 40);
    assert_eq!(record.tls_time.count(), 40);
}

#[test]
fn handshakes_that_fail_are_told() {
    let files = Files::new();
    files.sign("expired", |params| {
        params.not_after = date_time_ymd(2020, 1, 1);
    });
    let check = |url: &str, words: &str| {
        let flags = format!("-n 40 {ALONE} {}", files.trust());
        let run = load(url, &flags.replace("--timeout 2s", "--timeout 300ms"));
        assert!(run.wall < Duration::from_secs(40), "{run:#?}");
        let trial = run.trial();
        let total = &trial.record.total;
        assert_eq!(total.outcomes[Outcome::Tls], 40, "{run:#?}");
        assert_eq!(total.outcomes.total(), 40, "{run:#?}");
        let mut examples = trial.record.examples.iter();
        assert!(examples.any(|one| one.text.contains(words)), "{run:#?}");
        let findings = &trial.verdict.findings;
        assert!(findings.iter().all(|one| one.rule != "GEN-13"), "{run:#?}");
    };
    let served = files.serve("expired", &[("small", b"seven!\n")], "");
    check(&https(&served.url("/small")), "it has expired");
    let silent = Stub::start_raw(|mut stream, _| stub::hold(&mut stream));
    check(&https(&silent.url()), "was not over within 300");
    let leaving = Stub::start_raw(|mut stream, _| {
        let _hello = stream.read(&mut [0; 4_096]);
    });
    check(&https(&leaving.url()), "within the TLS handshake");
}

#[test]
fn what_cannot_be_counted_is_refused() {
    let check = |url: &str, flags: &str, words: &[&str]| {
        load(url, flags).expect_code(2).expect_complaint(words);
    };
    let url = "https://127.0.0.1:1/";
    let none = "--requests-per-connection 0";
    check("http://127.0.0.1:1/", none, &["begins with https://"]);
    check(url, &format!("{none} -R 10"), &["closed loop alone"]);
    check(url, &format!("{none} --pipeline 2"), &["asks nothing"]);
    check(url, &format!("{none} --think 1ms"), &["who think"]);
    check(
        url,
        "--handshakes full:1,early:1",
        &["0-RTT", "full and resumed"],
    );
    check(url, "--handshakes full", &["give a weight"]);
    check(
        url,
        "--handshakes full:1 --no-resumption",
        &["--no-resumption"],
    );
    check(
        url,
        "--handshakes full:1 --http3",
        &["--handshakes", "HTTP/3"],
    );
    check(
        "http://127.0.0.1:1/",
        "--handshakes full:1",
        &["http://, which has none"],
    );
    let clear = Served::start(&[("small", b"seven!\n")], "");
    let flags = format!("-n 4 {ALONE}");
    let run = load(
        &https(&clear.url("/small")),
        &flags.replace("-c 4 -t 2", "-c 1"),
    );
    let trial = run.trial();
    assert_eq!(trial.record.total.outcomes[Outcome::Tls], 4, "{run:#?}");
}
