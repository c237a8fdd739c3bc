//! HTTP/2 from outside: origin asked by curl, h2load and nghttp, in clear and over TLS.

use std::path::Path;
use std::process::Command;

use crate::serve::Served;
use crate::support::need;
use crate::support::process::Running;
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
        ("-n 5000 -c 32 -m 1", "/small"),
        ("-n 10000 -c 8 -m 100", "/small"),
        ("-n 500 -c 4 -m 10", "/large"),
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
