//! HTTP/3 from outside: our load against origin, and against peers that answer nothing, or wrongly;
//! other people's clients and servers in `strangers`.

mod identities;
mod resumption;
mod strangers;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use model::{Outcome, Trial};

use crate::support::process::{Run, Running, command, load, triathlon};
use crate::support::wait_until;
use crate::tls::{Files, https, refused};

const LARGE: usize = 300_000;

fn files(large: &[u8]) -> [(&str, &[u8]); 2] {
    [("small", b"7 bytes"), ("large", large)]
}

/// The two loops: 200 exchanges over 3 connections.
const LOOPS: [&str; 2] = [
    "-n 200 -c 3 -t 1 --warmup 0s --timeout 20s --http3",
    "-n 200 -R 500 -c 3 -t 1 --warmup 0s --timeout 20s --http3",
];

#[track_caller]
fn all_right(run: Run) -> Trial {
    all_of_them_right(200, run)
}

#[track_caller]
fn all_of_them_right(count: u64, run: Run) -> Trial {
    let trial = run.trial();
    let outcomes = trial.record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], outcomes.total(), "{run:#?}");
    assert_eq!(outcomes.total(), count, "{run:#?}");
    let reference = trial.record.reference.as_ref().expect("a reference");
    assert_eq!(reference.version, "HTTP/3");
    assert_eq!(reference.status, 200);
    let quic = trial.record.quic.as_ref().expect("QUIC is recorded");
    assert_eq!(quic.version, 1);
    assert!(quic.datagrams_sent > 0 && quic.datagrams_received > 0);
    assert!(quic.rtt_least <= quic.rtt_most, "{quic:?}");
    assert_eq!(trial.record.tls_time.count(), quic.connections, "{run:#?}");
    let tls = trial.record.tls.as_ref().expect("what TLS came to");
    let (full, resumed) = tls.full_and_resumed();
    assert_eq!(full + resumed, quic.connections, "{tls:?}");
    assert!(full > 0, "{tls:?}");
    for kind in &tls.negotiated {
        let negotiated = &kind.negotiated;
        assert_eq!(negotiated.version, "1.3", "{tls:?}");
        assert_eq!(negotiated.application.as_deref(), Some("h3"), "{tls:?}");
        assert!(negotiated.group.is_some(), "{tls:?}");
        // A session that is resumed shows no certificate.
        let key_type = (!negotiated.resumed).then_some("ECDSA P-256");
        assert_eq!(negotiated.key_type.as_deref(), key_type, "{tls:?}");
        assert_eq!(negotiated.chain_bytes > 0, !negotiated.resumed, "{tls:?}");
    }
    run.expect_measured();
    trial
}

#[test]
fn load_and_origin_agree_on_http3() {
    let large = vec![b'x'; LARGE];
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let served = certificates.serve(
        "site",
        &files(&large),
        "--http3 --workers 2 --access-log log",
    );
    let trust = certificates.trust();
    let mut asked = 0;
    for flags in LOOPS {
        for (target, streams) in [("/small", 1), ("/small", 10), ("/large", 4)] {
            let flags = format!("{flags} -m {streams} {trust}");
            let trial = all_right(load(&https(&served.url(target)), &flags));
            assert_eq!(trial.plan.streams, streams);
            // Its process is found by its socket of UDP.
            let server = trial.context.server.expect("the server's process");
            assert_eq!(server.product, "triathlon");
            // Two fetches before the run are in the log, too.
            asked += 202;
        }
    }
    // Each connection has as many requests as it is to have, and the server hears of its end.
    let each = format!("{} --requests-per-connection 20 {trust}", LOOPS[0]);
    let trial = all_right(load(&https(&served.url("/small")), &each));
    let connections = trial.record.quic.expect("QUIC").connections;
    // The last three may have had fewer.
    assert!((10..=13).contains(&connections), "{connections}");
    asked += 202;
    let words = ["load", &https(&served.url("/small"))];
    let flags = format!("{} -m 3 {trust}", LOOPS[0]);
    let shown = triathlon(words.into_iter().chain(flags.split_whitespace()));
    let shown = shown.expect_measured().stdout;
    assert!(
        shown.contains("3 connections of HTTP/3 with up to 3"),
        "{shown}"
    );
    assert!(shown.contains("\nQUIC        version 1, "), "{shown}");
    asked += 202;
    let read = || std::fs::read_to_string(served.path().join("log")).expect("a log");
    wait_until("the log is whole", || read().lines().count() == asked);
    let log = read();
    assert!(log.contains("127.0.0.1 - - ["), "{log}");
    assert!(log.contains("\"GET /small HTTP/3.0\" 200 7"), "{log}");
    // Who asks over TCP is told where else the site is.
    let flags = format!("-n 2 -c 1 --warmup 0s {trust}");
    let trial = load(&https(&served.url("/small")), &flags).trial();
    let reference = trial.record.reference.expect("a reference");
    let offer = reference.headers.iter();
    let mut offer = offer.filter(|(name, _)| name.eq_ignore_ascii_case("alt-svc"));
    let value = &offer.next().expect("an Alt-Svc field").1;
    assert!(
        value.starts_with("h3=\":") && value.ends_with("\"; ma=86400"),
        "{value}"
    );
    // SIGTERM: all is told, and it ends.
    served.running().signal("TERM");
}

#[test]
fn content_goes_up() {
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let served = certificates.serve("site", &files(b"x"), "--http3 --synthetic");
    std::fs::write(served.path().join("up"), vec![b'y'; 300_000]).expect("a file");
    let flags = format!(
        "{} -m 4 --data @up --json - {}",
        LOOPS[0],
        certificates.trust()
    );
    let url = https(&served.url("/.triathlon/null"));
    let words = ["load", &url].into_iter().chain(flags.split_whitespace());
    all_right(Running::start(command(words).current_dir(served.path())).finish());
}

/// The outcome that all exchanges of a short run have, and the words of the first.
#[track_caller]
fn all_are(outcome: Outcome, url: &str, flags: &str) -> Trial {
    let flags = format!("-n 3 -c 1 -t 1 --warmup 0s --timeout 1s --http3 {flags}");
    let run = load(url, &flags);
    let trial = run.trial();
    let outcomes = trial.record.total.outcomes;
    assert_eq!(outcomes[outcome], outcomes.total(), "{run:#?}");
    assert!(outcomes.total() > 0, "{run:#?}");
    trial
}

#[test]
fn peers_that_are_not_trusted_or_say_nothing() {
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let served = certificates.serve("site", &files(b"x"), "--http3");
    let others = Files::new();
    let url = https(&served.url("/small"));
    for pace in ["", "-R 50"] {
        let unknown = format!("--http3 {pace} {}", others.trust());
        refused("its issuer is not known", &url, &unknown);
        let trusted = certificates.trust();
        let name = format!("--http3 {pace} --servername elsewhere {trusted}");
        refused("it is for another name", &url, &name);
        // Nothing is ever said there.
        let silent = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = silent.local_addr().expect("its address");
        let unknown = format!("{pace} -k");
        all_are(Outcome::Tls, &format!("https://{address}/"), &unknown);
        // What is said there is not QUIC.
        for answer in [Answer::Echo, Answer::Text] {
            let server = NoQuic::start(answer);
            let url = format!("https://{}/", server.address);
            all_are(Outcome::Tls, &url, &unknown);
        }
    }
    // Without --http3 a server has no such port.
    let plain = certificates.serve("site", &files(b"x"), "");
    let url = https(&plain.url("/small"));
    let flags = format!("-n 3 --http3 {}", certificates.trust());
    load(&url, &flags)
        .expect_code(1)
        .expect_complaint(&["cannot connect", "refused"]);
}

/// A server that speaks versions of QUIC that nobody knows.
#[test]
fn no_version_in_common() {
    let server = NoQuic::start(Answer::Versions);
    for pace in ["", "-R 50"] {
        let url = format!("https://{}/", server.address);
        let trial = all_are(Outcome::Protocol, &url, &format!("{pace} -k"));
        let told = format!("{:?}", trial.record.examples);
        assert!(told.contains("no version of QUIC"), "{told}");
    }
}

/// What a server that cannot speak QUIC with us says to each datagram.
#[derive(Clone, Copy)]
enum Answer {
    Echo,
    Text,
    Versions,
}

/// It says it until dropped.
struct NoQuic {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl NoQuic {
    fn start(answer: Answer) -> Self {
        let server = UdpSocket::bind("127.0.0.1:0").expect("a socket");
        let address = server.local_addr().expect("its address");
        server
            .set_read_timeout(Some(Duration::from_millis(20)))
            .expect("a limit");
        let over = Arc::new(AtomicBool::new(false));
        let is_over = Arc::clone(&over);
        let thread = std::thread::spawn(move || {
            let mut buffer = [0; 2_048];
            while !is_over.load(Ordering::Relaxed) {
                let Ok((length, from)) = server.recv_from(&mut buffer) else {
                    continue;
                };
                let said = match answer {
                    Answer::Echo => buffer[..length].to_vec(),
                    Answer::Text => b"HTTP/1.1 400 Bad Request\r\n\r\n".to_vec(),
                    Answer::Versions => versions(&buffer[..length]),
                };
                let _lost_at_most = server.send_to(&said, from);
            }
        });
        Self {
            address,
            over,
            thread: Some(thread),
        }
    }
}

impl Drop for NoQuic {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
        let ended = self.thread.take().map(JoinHandle::join);
        assert!(matches!(ended, Some(Ok(()))), "the server of the test");
    }
}

/// The answer to a first packet that names versions nobody knows (RFC 9000 §17.2.1): the two names
/// of the connection change places.
fn versions(initial: &[u8]) -> Vec<u8> {
    let (theirs, rest) = initial[5..].split_at(1 + usize::from(initial[5]));
    let (ours, _) = rest.split_at(1 + usize::from(rest[0]));
    let mut answer = vec![0xc0, 0, 0, 0, 0];
    answer.extend_from_slice(ours);
    answer.extend_from_slice(theirs);
    answer.extend_from_slice(&[0x1a, 0x2a, 0x3a, 0x4a]);
    answer
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |url: &str, flags: &str, words: &[&str]| {
        load(url, flags).expect_code(2).expect_complaint(words);
    };
    refused("http://127.0.0.1:1/", "--http3", &["--http3", "https://"]);
    refused("https://127.0.0.1:1/", "--http3 --http2", &["--http2"]);
    refused(
        "https://127.0.0.1:1/",
        "--http3 --backend uring",
        &["backend", "readiness"],
    );
    for flag in ["--http3", "--tls-early-data"] {
        let words = ["serve", ".", "--listen", "127.0.0.1:0", flag];
        triathlon(words)
            .expect_code(2)
            .expect_complaint(&[flag, "--tls-self-signed"]);
    }
}

/// Ctrl-C ends a run and keeps what was measured.
#[test]
fn a_signal_keeps_what_was_measured() {
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let served = certificates.serve("site", &files(b"x"), "--http3 --access-log log");
    let flags = "-d 60s -c 2 --warmup 0s --http3 --json trial.json";
    let url = https(&served.url("/small"));
    let trust = certificates.trust();
    let words = ["load", &url].into_iter();
    let words = words
        .chain(flags.split_whitespace())
        .chain(trust.split_whitespace());
    let running = Running::start(command(words).current_dir(served.path()));
    wait_until("something was measured", || {
        let log = std::fs::read_to_string(served.path().join("log"));
        log.is_ok_and(|log| log.lines().count() > 50)
    });
    running.signal("INT");
    running.finish().expect_code(130);
    let text = std::fs::read(served.path().join("trial.json")).expect("a trial");
    let trial: Trial = serde_json::from_slice(&text).expect("a trial");
    assert!(trial.record.interrupted);
    let outcomes = trial.record.total.outcomes;
    let right = outcomes[Outcome::Ok] + outcomes[Outcome::Unfinished];
    assert_eq!(right, outcomes.total());
}
