//! HTTP/2 from outside, in clear and over TLS: origin asked by curl, h2load, nghttp and
//! Python's h2 and httpx, our load against origin and nginx.

use std::path::Path;
use std::process::Command;

use model::{Outcome, Trial};

use crate::serve::Served;
use crate::support::nginx::Nginx;
use crate::support::process::{Run, Running, command, load, triathlon};
use crate::support::stub::{self, Next, Stub};
use crate::support::{need, needs_python, reserve, wait_until};
use crate::tls::{Files, https};

const LARGE: usize = 500_000;

fn files(large: &[u8]) -> [(&str, &[u8]); 2] {
    [("small", b"7 bytes"), ("large", large)]
}

fn output(command: &mut Command) -> String {
    Running::start(command).finish().expect_code(0).stdout
}

/// What curl gets, with the version and the status.
fn ask_all(curl: &Path, server: &Served, words: &str, urls: &[String]) -> String {
    let mut command = Command::new(curl);
    let format = "|%{http_version} %{http_code} %{num_connects} %{size_download}|";
    command.args(["-sS", "-w", format]);
    command.args(words.split_whitespace()).args(urls);
    output(command.current_dir(server.path()))
}

#[test]
fn curl_is_content() {
    let Some([curl]) = need("http2::curl_is_content", ["curl"]) else {
        return;
    };
    let large = vec![b'x'; LARGE];
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let clear = Served::start(&files(&large), "--synthetic --access-log log");
    let secure = certificates.serve("site", &files(&large), "--synthetic --access-log log");
    let trust = format!("--http2 {}", certificates.trust());
    for (server, flags) in [(&clear, "--http2-prior-knowledge"), (&secure, &trust)] {
        let url = |target: &str| match flags.contains("prior") {
            true => server.url(target),
            false => https(&server.url(target)),
        };
        let ask = |words: &str, target: &str| {
            ask_all(&curl, server, &format!("{flags} {words}"), &[url(target)])
        };
        assert_eq!(ask("", "/small"), "7 bytes|2 200 1 7|");
        assert!(ask("-I", "/small").ends_with("|2 200 1 0|"));
        assert_eq!(ask("-r 2-3", "/small"), "by|2 206 1 2|");
        assert!(ask("", "/none").ends_with("|2 404 1 14|"));
        assert!(ask("-o got", "/large").ends_with("|2 200 1 500000|"));
        let got = std::fs::read(server.path().join("got")).expect("what curl got");
        assert!(got == large, "all of it");
        assert!(ask("-z www/large", "/large").ends_with("|2 304 1 0|"));
        let upload = ask("-T got", "/.triathlon/null");
        assert!(upload.starts_with("origin\n|2 200"), "{upload}");
        let slow = ask("", "/.triathlon/synthetic?delay=20ms&bytes=3");
        assert!(slow.ends_with("|2 200 1 3|"), "{slow}");
        let big = ask("-o got", "/.triathlon/synthetic?bytes=3M");
        assert!(big.contains("|2 200 1 3"), "{big}");
        if flags == trust {
            // In clear, Debian 12's curl cannot use a connection again, whoever the server is.
            let both = format!("{flags} -o a -o b");
            let both = ask_all(&curl, server, &both, &[url("/small"), url("/large")]);
            assert_eq!(both, "|2 200 1 7||2 200 0 500000|");
        }
        let log = std::fs::read_to_string(server.path().join("log")).expect("a log");
        assert!(log.contains("\"GET /small HTTP/2.0\" 200 7"), "{log}");
        // What is not HTTP/2 is answered as before.
        let one = format!("--http1.1 {}", certificates.trust());
        let one = ask_all(&curl, server, &one, &[url("/small")]);
        assert_eq!(one, "7 bytes|1.1 200 1 7|");
    }
}

#[test]
fn h2load_finds_no_fault_with_http2() {
    let name = "http2::h2load_finds_no_fault_with_http2";
    let Some([h2load]) = need(name, ["h2load"]) else {
        return;
    };
    let large = vec![b'x'; LARGE];
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let clear = Served::start(&files(&large), "--workers 2");
    let secure = certificates.serve("site", &files(&large), "--workers 2");
    for (words, target) in [
        ("-n 2000 -c 32 -m 1", "/small"),
        ("-n 4000 -c 8 -m 100", "/small"),
        ("-n 100 -c 4 -m 10", "/large"),
        ("-n 40 -c 4 -m 10 -w 10 -W 10", "/large"),
    ] {
        for url in [clear.url(target), https(&secure.url(target))] {
            let mut command = Command::new(&h2load);
            command.args(words.split_whitespace());
            let text = output(command.arg(&url));
            let verdict = " 0 failed, 0 errored, 0 timeout";
            assert!(text.contains(verdict), "{words} {url}: {text}");
        }
    }
}

#[test]
fn nghttp_finds_no_fault() {
    let Some([nghttp]) = need("http2::nghttp_finds_no_fault", ["nghttp"]) else {
        return;
    };
    let large = vec![b'x'; LARGE];
    let server = Served::start(&files(&large), "--synthetic");
    let ask = |words: &str, target: &str| {
        let mut command = Command::new(&nghttp);
        command.args(words.split_whitespace());
        command.arg(server.url(target));
        output(command.current_dir(server.path()))
    };
    assert_eq!(ask("", "/small"), "7 bytes");
    assert_eq!(ask("--padding=100", "/small"), "7 bytes");
    assert_eq!(ask("", "/large").len(), LARGE);
    // A window of 255 bytes for each stream and for all.
    assert_eq!(
        ask("-w 8 -W 8", "/.triathlon/synthetic?bytes=20k").len(),
        20_480
    );
    let upload = "-d www/large --trailer a:b";
    assert_eq!(ask(upload, "/.triathlon/null"), "origin\n");
    let said = ask("-nv -m 20", "/small");
    assert!(
        !said.contains("RST_STREAM") && !said.contains("ERROR,"),
        "{said}"
    );
    assert_eq!(said.matches(":status: 200").count(), 20, "{said}");
}

/// Python's own frames, and windows that open only as content is read.
#[test]
fn h2_and_httpx_are_content() {
    let name = "http2::h2_and_httpx_are_content";
    let Some(mut client) = needs_python(name, ["h2", "httpx"]) else {
        return;
    };
    let large = vec![b'x'; LARGE];
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let served = certificates.serve("site", &files(&large), "--synthetic --workers 2");
    let url = served.url("");
    let port = url.rsplit(':').next().expect("a port");
    client
        .args([include_str!("h2_client.py"), port])
        .arg(certificates.path("ca.pem"));
    assert_eq!(output(&mut client), "content\n");
}

/// The two loops: 120 exchanges over 4 connections.
const LOOPS: [&str; 2] = [
    "-n 120 -c 4 -t 2 --warmup 0s --timeout 5s",
    "-n 120 -R 1000 -c 4 -t 2 --warmup 0s --timeout 5s",
];

#[track_caller]
fn all_right(run: Run) -> Trial {
    let trial = run.trial();
    let outcomes = trial.record.total.outcomes;
    assert_eq!(outcomes[Outcome::Ok], outcomes.total(), "{run:#?}");
    assert_eq!(outcomes.total(), 120, "{run:#?}");
    assert!(trial.record.http2.is_some(), "{run:#?}");
    let reference = trial.record.reference.as_ref().expect("a reference");
    assert_eq!(reference.version, "HTTP/2");
    assert_eq!(reference.status, 200);
    run.expect_measured();
    trial
}

#[test]
fn load_and_origin_agree_on_http2() {
    let large = vec![b'x'; LARGE];
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let clear = Served::start(&files(&large), "");
    let secure = certificates.serve("site", &files(&large), "");
    let trust = certificates.trust();
    for flags in LOOPS {
        for streams in [1, 10] {
            for target in ["/small", "/large"] {
                let flags = format!("{flags} -m {streams}");
                let prior = format!("{flags} --http2-prior-knowledge");
                all_right(load(&clear.url(target), &prior));
                let alpn = format!("{flags} --http2 {trust}");
                let trial = all_right(load(&https(&secure.url(target)), &alpn));
                let tls = trial.record.tls.expect("TLS is recorded");
                let application = tls.negotiated[0].negotiated.application.clone();
                assert_eq!(application.as_deref(), Some("h2"));
                assert_eq!(trial.plan.streams, streams);
            }
        }
    }
    let flags = format!("{} -m 3 --http2-prior-knowledge", LOOPS[0]);
    let words = ["load", &clear.url("/small")];
    let words = words.into_iter().chain(flags.split_whitespace());
    let shown = triathlon(words).expect_measured().stdout;
    assert!(
        shown.contains("4 connections of HTTP/2 with up to 3"),
        "{shown}"
    );
}

/// Each side counts the same, and a connection that nginx ends after so many requests is not held
/// against it.
#[test]
fn load_and_nginx_agree_on_http2() {
    let Some([nginx]) = need("http2::load_and_nginx_agree_on_http2", ["nginx"]) else {
        return;
    };
    let large = vec![b'x'; LARGE];
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let (certificate, key) = (certificates.path("site.pem"), certificates.path("site.key"));
    let trust = certificates.trust();
    for flags in LOOPS {
        for (target, streams) in [("small", 1), ("small", 10), ("large", 4), ("small", 200)] {
            let server = Nginx::start_http2(&nginx, &files(&large), None);
            let flags = format!("{flags} -m {streams}");
            let prior = format!("{flags} --http2-prior-knowledge");
            let trial = all_right(load(&server.url(target), &prior));
            let http2 = trial.record.http2.expect("HTTP/2 is recorded");
            assert_eq!(http2.streams_allowed, Some(128));
            assert_eq!(http2.connections_limited > 0, streams > 128);
            // Two fetches before the run are in its log, too.
            assert_eq!(server.quit().len(), 122);

            let tls = Some((certificate.as_path(), key.as_path()));
            let server = Nginx::start_http2(&nginx, &files(&large), tls);
            all_right(load(
                &server.https_url(target),
                &format!("{flags} --http2 {trust}"),
            ));
        }
        let server = Nginx::start_http2_ending(&nginx, &files(&large), 10);
        let flags = format!("{flags} -m 10 --http2-prior-knowledge");
        let trial = all_right(load(&server.url("small"), &flags));
        let http2 = trial.record.http2.expect("HTTP/2 is recorded");
        assert!(http2.go_aways.contains_key("NO_ERROR"), "{http2:?}");
    }
}

/// nghttpd is made by those who made h2load; it allows as many streams as it is told.
#[test]
fn load_and_nghttpd_agree_on_http2() {
    let Some([nghttpd]) = need("http2::load_and_nghttpd_agree_on_http2", ["nghttpd"]) else {
        return;
    };
    let large = vec![b'x'; LARGE];
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    for (name, content) in files(&large) {
        std::fs::write(certificates.path(name), content).expect("a file");
    }
    for is_secure in [false, true] {
        let reserved = reserve();
        let port = reserved.address.port();
        let mut command = Command::new(&nghttpd);
        command.args(["-a", "127.0.0.1", "-m", "6", "-d"]);
        command.arg(certificates.path("")).arg(port.to_string());
        if is_secure {
            command.args([certificates.path("site.key"), certificates.path("site.pem")]);
        } else {
            command.arg("--no-tls");
        }
        let mut running = Running::start(&mut command);
        wait_until("nghttpd listens", || {
            assert!(!running.ended(), "nghttpd ended: {}", running.stderr());
            std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let (scheme, speaks) = match is_secure {
            false => ("http", "--http2-prior-knowledge".to_owned()),
            true => ("https", format!("--http2 {}", certificates.trust())),
        };
        for flags in LOOPS {
            for (target, streams) in [("small", 1), ("small", 10), ("large", 4)] {
                let url = format!("{scheme}://127.0.0.1:{port}/{target}");
                let trial = all_right(load(&url, &format!("{flags} -m {streams} {speaks}")));
                let http2 = trial.record.http2.expect("HTTP/2 is recorded");
                assert_eq!(http2.streams_allowed, Some(6));
                assert_eq!(http2.connections_limited > 0, streams > 6);
            }
        }
        running.signal("TERM");
        running.finish();
    }
}

/// Content goes up, and what a server without HTTP/2 says is told.
#[test]
fn what_does_not_speak_http2_is_told() {
    let served = Served::start(&files(b"x"), "--synthetic");
    let flags = format!("{} --http2-prior-knowledge -m 4", LOOPS[0]);
    let upload = format!("{flags} --data @www/large");
    std::fs::write(served.path().join("www/large"), vec![b'y'; 300_000]).expect("a file");
    let words = ["load", &served.url("/.triathlon/null"), "--json", "-"];
    let words = words.into_iter().chain(upload.split_whitespace());
    let run = Running::start(command(words).current_dir(served.path())).finish();
    all_right(run);

    let stub = Stub::start(|stream, _| {
        stub::send(stream, stub::RIGHT);
        Next::Keep
    });
    let run = load(
        &stub.url(),
        "-n 4 -c 1 -t 1 --http2-prior-knowledge --timeout 2s",
    );
    let outcomes = run.trial().record.total.outcomes;
    assert_eq!(outcomes[Outcome::Protocol], 4, "{run:#?}");

    let refused = |url: &str, flags: &str, words: &[&str]| {
        load(url, flags).expect_code(2).expect_complaint(words);
    };
    refused(
        "http://127.0.0.1:1/",
        "--http2",
        &["--http2-prior-knowledge"],
    );
    refused(
        "https://127.0.0.1:1/",
        "--http2-prior-knowledge",
        &["--http2"],
    );
    refused("http://127.0.0.1:1/", "-m 4", &["--streams", "only HTTP/2"]);
    refused(
        "https://127.0.0.1:1/",
        "--http2 --pipeline 2",
        &["--pipeline"],
    );
}

/// Whoever agreed to HTTP/2 inside TLS and says something else is not answered in HTTP/1.1.
#[test]
fn who_agreed_to_http2_is_answered_in_nothing_else() {
    let name = "http2::who_agreed_to_http2_is_answered_in_nothing_else";
    let Some([openssl]) = need(name, ["openssl"]) else {
        return;
    };
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let served = certificates.serve("site", &files(b"x"), "");
    let address = served.url("").replace("http://", "");
    let asked = certificates.path("asked");
    let request = "GET /small HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    std::fs::write(&asked, request).expect("a file");
    for (application, is_answered) in [("http/1.1", true), ("h2", false)] {
        let mut command = Command::new(&openssl);
        command.args([
            "s_client",
            "-quiet",
            "-connect",
            address.trim_end_matches('/'),
        ]);
        command.args(["-alpn", application, "-CAfile"]);
        command.arg(certificates.path("ca.pem"));
        command.stdin(std::fs::File::open(&asked).expect("a file"));
        let run = Running::start(&mut command).finish();
        assert_eq!(run.stdout.contains("HTTP/1.1 200"), is_answered, "{run:#?}");
        assert_eq!(run.stdout.contains("HTTP/1.1"), is_answered, "{run:#?}");
    }
}

/// Answers of which half comes and then nothing time out, each by itself: what shares their
/// connection is answered on it, in HTTP/2 with and without TLS, and in HTTP/3.
#[test]
fn answers_that_stall_cost_no_others() {
    let certificates = Files::new();
    certificates.sign("site", |_| {});
    let clear = Served::start(&files(b"x"), "--synthetic");
    let secure = certificates.serve("site", &files(b"x"), "--synthetic --http3");
    let trust = certificates.trust();
    for (server, flags) in [
        (&clear, "--http2-prior-knowledge"),
        (&secure, &format!("--http2 {trust}")),
        (&secure, &format!("--http3 {trust}")),
    ] {
        let url = |target: &str| match flags.contains("prior") {
            true => server.url(target),
            false => https(&server.url(target)),
        };
        let stall = url("/.triathlon/synthetic?fault=stall&bytes=10");
        let of_loop = "-n 60 -c 1 -t 1 -m 4 --weights 9,1 --warmup 0s --timeout 1s";
        let trial = load(&url("/small"), &format!("{stall} {of_loop} {flags}")).trial();
        let examples = &trial.record.examples;
        let [small, stalled] = trial.record.classes.as_slice() else {
            panic!("{:?}", trial.record.classes);
        };
        let [small, stalled] = [small.outcomes, stalled.outcomes];
        assert_eq!(small[Outcome::Ok], small.total(), "{flags}: {examples:?}");
        assert_eq!(
            stalled[Outcome::Timeout],
            stalled.total(),
            "{flags}: {examples:?}"
        );
        assert_eq!(small.total() + stalled.total(), 60, "{flags}");
        assert!(stalled.total() > 0, "{flags}");
        let told = examples.first().map_or("", |one| one.text.as_str());
        assert!(
            told.contains("5 bytes of content had come"),
            "{flags}: {told}"
        );
        let counts = &trial.record.total.connections;
        assert_eq!(
            (counts.established, counts.broken),
            (1, 0),
            "{flags}: {counts:?}"
        );
    }
}
