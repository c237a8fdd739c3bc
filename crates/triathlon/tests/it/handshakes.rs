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
use crate::tls::{Files, https, refused};

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

/// h2o sends two tickets with a full handshake and none with a resumed one. Over TLS 1.3 each is
/// used once, so two of three handshakes resume a session: none is left unused.
#[test]
fn all_tickets_of_h2o_are_used() {
    let name = "handshakes::all_tickets_of_h2o_are_used";
    let Some([h2o]) = need(name, ["h2o"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let reserved = reserve();
    let port = reserved.address.port();
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let configuration = format!(
        "num-threads: 1\nlisten:\n  host: 127.0.0.1\n  port: {port}\n  ssl:\n    \
         certificate-file: {}\n    key-file: {}\nhosts:\n  default:\n    paths:\n      /:\n        \
         file.dir: /nowhere\n",
        certificate.display(),
        key.display()
    );
    std::fs::write(files.path("h2o.conf"), configuration).expect("a file");
    let mut command = Command::new(h2o);
    command.arg("-c").arg(files.path("h2o.conf"));
    let mut running = Running::start(&mut command);
    wait_until("h2o listens", || {
        assert!(!running.ended(), "h2o ended: {}", running.stderr());
        std::net::TcpStream::connect(reserved.address).is_ok()
    });
    let flags = format!("-n 200 {ALONE} {} --handshakes resumed:1", files.trust());
    let url = format!("https://127.0.0.1:{port}/");
    for (version, least) in [("1.2", 190), ("1.3", 120)] {
        let trial = all_counted(load(&url, &format!("{flags} --tls-version {version}")), 200);
        let (full, resumed) = trial.record.tls.unwrap().full_and_resumed();
        assert!(
            resumed >= least,
            "{version}: {full} full, {resumed} resumed"
        );
    }
    running.signal("TERM");
    running.finish();
}

/// What counts handshakes that begin with a request: a connection for each of 300.
const EARLY: &str = "-n 300 -c 2 -t 1 --warmup 0s --timeout 5s --requests-per-connection 1 \
                     --handshakes full:1,resumed:1,early:2";

/// All was answered rightly, and what came early is counted as that; how many did.
#[track_caller]
fn counted_early(run: &Run) -> u64 {
    let trial = run.trial();
    let record = &trial.record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 300, "{run:#?}");
    assert_eq!(record.total.outcomes.total(), 300, "{run:#?}");
    let tls = record.tls.as_ref().expect("TLS is recorded");
    let (full, resumed) = tls.full_and_resumed();
    assert_eq!(full + resumed, 300, "{tls:?}");
    assert_eq!(tls.early_time.count(), tls.early(), "{tls:?}");
    assert_eq!(tls.resumed_time.count(), resumed - tls.early(), "{tls:?}");
    assert_eq!(tls.full_time.count(), full, "{tls:?}");
    assert_eq!(record.tls_time.count(), 300, "{tls:?}");
    // About half were to be; what was not has its reason.
    let wanted = tls.early() + tls.early_refused + tls.not_early;
    assert!((100..200).contains(&wanted), "{tls:?}");
    tls.early()
}

#[test]
fn requests_come_before_the_handshake_is_over() {
    let files = Files::new();
    files.sign("site", |_| {});
    let pages: &[(&str, &[u8])] = &[("small", b"seven!\n")];
    let served = files.serve("site", pages, "--tls-early-data --access-log log");
    let flags = format!("{EARLY} {}", files.trust());
    let run = load(&https(&served.url("/small")), &flags);
    assert!(counted_early(&run) > 80, "{run:#?}");
    // Two fetches before the run are in the log, and each request once.
    let read = || std::fs::read_to_string(served.path().join("log")).expect("a log");
    wait_until("the log is whole", || read().lines().count() == 302);
    // Without the flag no session allows it, and nothing is sent early.
    let closed = files.serve("site", pages, "");
    let run = load(&https(&closed.url("/small")), &flags);
    assert_eq!(counted_early(&run), 0);
    let tls = run.trial().record.tls.expect("TLS is recorded");
    assert!(tls.not_early > 80 && tls.early_refused == 0, "{tls:?}");
}

/// A connection that ends with its first answer has brought sessions for others by then: the end of
/// the handshake, and what the server says to it, come before the close.
#[test]
fn connections_of_one_early_request_bring_the_next_sessions() {
    let files = Files::new();
    files.sign("site", |_| {});
    let pages: &[(&str, &[u8])] = &[("small", b"seven!\n")];
    let served = files.serve("site", pages, "--tls-early-data");
    for connections in [1, 4] {
        let flags = format!(
            "-n 200 -c {connections} -t 1 --warmup 0s --timeout 5s --requests-per-connection 1 \
             --handshakes early:1 {}",
            files.trust()
        );
        let run = load(&https(&served.url("/small")), &flags);
        let record = run.trial().record;
        assert_eq!(record.total.outcomes[Outcome::Ok], 200, "{run:#?}");
        let tls = record.tls.expect("TLS is recorded");
        assert!(tls.early() >= 180, "{} of 200: {tls:?}", tls.early());
    }
}

/// nginx says of each request whether it answered before the handshake was over. Where the end of
/// the handshake comes while it still reads what came early, it says no: it counts no more than we.
#[test]
fn nginx_takes_early_requests_and_says_so() {
    let name = "handshakes::nginx_takes_early_requests_and_says_so";
    let Some([nginx]) = need(name, ["nginx"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let (certificate, key) = (files.path("site.pem"), files.path("site.key"));
    let pages: &[(&str, &[u8])] = &[("small", b"seven!\n")];
    let server = Nginx::start_with_early_data(&nginx, pages, &certificate, &key);
    let flags = format!("{EARLY} {}", files.trust());
    let run = load(&server.https_url("small"), &flags);
    let early = counted_early(&run);
    assert!(early > 80, "{run:#?}");
    // Two fetches before the run are in the log, too.
    wait_until("nginx has written its log", || server.answered().0 == 302);
    let (_, at_once) = server.answered();
    assert!(
        at_once > 0 && at_once as u64 <= early,
        "{at_once} of {early}"
    );
}

/// A server that does not read what its tickets allowed: its sessions are resumed, and what came
/// early is to come again.
#[test]
fn early_requests_that_are_not_taken_are_sent_again() {
    let name = "handshakes::early_requests_that_are_not_taken_are_sent_again";
    let Some([openssl]) = need(name, ["openssl"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let reserved = reserve();
    let address = reserved.address.to_string();
    let mut command = Command::new(openssl);
    // Tickets allow early data, and without -early_data nobody reads it: it is refused.
    command.args(["s_server", "-accept", &address, "-WWW", "-cert"]);
    command
        .arg(files.path("site.pem"))
        .arg("-key")
        .arg(files.path("site.key"));
    command.args(["-max_early_data", "16384", "-recv_max_early_data", "16384"]);
    command
        .args(["-no_anti_replay"])
        .current_dir(files.path(""));
    std::fs::write(files.path("page"), "seven!\n").expect("a file");
    let mut running = Running::start(command.stdin(std::process::Stdio::piped()));
    wait_until("openssl listens", || {
        assert!(!running.ended(), "openssl ended: {}", running.stderr());
        std::net::TcpStream::connect(reserved.address).is_ok()
    });
    let flags = format!(
        "-n 30 -c 1 -t 1 --warmup 0s --timeout 5s --requests-per-connection 1 \
         --handshakes early:1 {}",
        files.trust()
    );
    let run = load(&format!("https://{address}/page"), &flags);
    let record = run.trial().record;
    assert_eq!(record.total.outcomes[Outcome::Ok], 30, "{run:#?}");
    let tls = record.tls.expect("TLS is recorded");
    assert!(tls.early_refused > 10, "{run:#?}");
    assert_eq!(tls.early(), 0, "{tls:?}");
}

/// What OpenSSL sends early, origin answers; and what it sends a second time in the same session is
/// not taken early.
#[test]
fn origin_takes_what_openssl_sends_early_once() {
    let name = "handshakes::origin_takes_what_openssl_sends_early_once";
    let Some([openssl]) = need(name, ["openssl"]) else {
        return;
    };
    let files = Files::new();
    files.sign("site", |_| {});
    let served = files.serve(
        "site",
        &[("small", b"seven!\n")],
        "--tls-early-data --synthetic",
    );
    let url = served.url("/small");
    let address = url
        .trim_start_matches("http://")
        .trim_end_matches("/small")
        .to_owned();
    let session = files.path("session");
    let ask = |request: &str, more: &[&std::ffi::OsStr]| {
        std::fs::write(files.path("request"), request).expect("a file");
        let mut command = Command::new(&openssl);
        command.args([
            "s_client", "-connect", &address, "-tls1_3", "-ign_eof", "-CAfile",
        ]);
        command.arg(files.path("ca.pem")).args(more);
        command.stdin(std::fs::File::open(files.path("request")).expect("a file"));
        Running::start(&mut command).finish().stdout
    };
    let get = "GET /small HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    let post = "POST /.triathlon/null HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\
                Content-Length: 2\r\n\r\nhi";
    let (keep, lend) = (
        ["-sess_out".as_ref(), session.as_os_str()],
        "-sess_in".as_ref(),
    );
    let early = files.path("early");
    let begun = [
        lend,
        session.as_os_str(),
        "-early_data".as_ref(),
        early.as_os_str(),
    ];
    for (request, status) in [(get, "200"), (post, "200")] {
        ask(get, &keep);
        std::fs::write(&early, request).expect("a file");
        let shown = ask("", &begun);
        assert!(shown.contains("Early data was accepted"), "{shown}");
        assert!(shown.contains(&format!("HTTP/1.1 {status}")), "{shown}");
        // The same again, as somebody would who saw it: the session is gone.
        let again = ask("", &begun);
        assert!(!again.contains("Early data was accepted"), "{again}");
        assert!(!again.contains("HTTP/1.1 200"), "{again}");
    }
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
    let url = https(&served.url("/small"));
    refused(
        "it has expired",
        &url,
        &format!("{ALONE} {}", files.trust()),
    );
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
    check("http://127.0.0.1:1/", none, &["begin with https://"]);
    check(url, &format!("{none} -R 10"), &["only in a closed loop"]);
    check(url, &format!("{none} --pipeline 2"), &["asks nothing"]);
    check(url, &format!("{none} --think 1ms"), &["who think"]);
    for (flags, words) in [
        ("--http2", "cannot hold a request of HTTP/2"),
        ("-R 10", "closed loop"),
        ("--think 1ms", "no think"),
        (none, "ask nothing"),
        ("--tls-version 1.2", "only TLS 1.3"),
        ("--request POST", "GET, HEAD or OPTIONS"),
    ] {
        let flags = format!("--handshakes full:1,early:1 {flags}");
        check(url, &flags, &["--handshakes", words]);
    }
    check(url, "--handshakes full", &["give a weight"]);
    check(
        url,
        "--handshakes full:1 --no-resumption",
        &["--no-resumption"],
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
