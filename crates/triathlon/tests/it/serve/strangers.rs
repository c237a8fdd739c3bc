//! Clients of other people: curl, ab, wrk, h2load, Python's http.client.

use std::process::Command;

use super::Served;
use crate::support::need;
use crate::support::process::{Run, Running};

fn site() -> Served {
    let large = b"0123456789".repeat(50_000);
    let files: [(&str, &[u8]); 2] = [("small", b"7 bytes"), ("large", &large)];
    Served::start(&files, "--synthetic --access-log log")
}

#[track_caller]
fn output(command: &mut Command) -> Run {
    Running::start(command).finish().expect_code(0)
}

#[test]
fn curl_is_content() {
    let Some([curl]) = need("serve::strangers::curl_is_content", ["curl"]) else {
        return;
    };
    let server = site();
    let ask = |words: &str, target: &str| {
        let mut command = Command::new(&curl);
        command.args([
            "-sS",
            "-w",
            "|%{http_code} %{num_connects} %{size_download}",
        ]);
        command
            .args(words.split_whitespace())
            .arg(server.url(target));
        output(command.current_dir(server.path())).stdout
    };
    assert_eq!(ask("", "/small"), "7 bytes|200 1 7");
    assert!(ask("-I", "/small").ends_with("|200 1 0"));
    assert_eq!(ask("-r 2-3", "/small"), "by|206 1 2");
    assert!(ask("-r 0-1,4-", "/small").contains("\r\n\r\ntes\r\n--"));
    assert_eq!(ask("--path-as-is", "/../log"), "400 Bad Request\n|400 1 16");
    assert_eq!(ask("-0", "/small"), "7 bytes|200 1 7");
    assert!(ask("-o got", "/large").ends_with("|200 1 500000"));
    assert!(ask("-o got -C 123456", "/large").ends_with("|206 1 376544"));
    ask("-o got", "/large");
    assert!(ask("-z www/large", "/large").ends_with("|304 1 0"));
    ask("--etag-save tag -o got", "/small");
    assert!(ask("--etag-compare tag", "/small").ends_with("|304 1 0"));
    let upload = "-T got --expect100-timeout 30";
    assert!(ask(upload, "/.triathlon/null").starts_with("origin\n|200"));
    let chunked = "-X POST -T got -H Transfer-Encoding:chunked";
    assert!(ask(chunked, "/.triathlon/null").starts_with("origin\n|200"));
    assert!(ask("--data-binary @got", "/small").ends_with("|405 1 23"));
    let again = format!("{} {}", server.url("/small"), server.url("/large"));
    assert!(ask(&format!("-o a -o b -o c {again}"), "/small").contains("|200 0 7"));
    let lines = std::fs::read_to_string(server.path().join("log")).expect("a log");
    assert_eq!(lines.lines().count(), 18, "{lines}");
}

#[test]
fn ab_and_wrk_find_no_fault() {
    let name = "serve::strangers::ab_and_wrk_find_no_fault";
    let Some([ab, wrk]) = need(name, ["ab", "wrk"]) else {
        return;
    };
    for backend in super::backends() {
        let large = vec![b'x'; 100_000];
        let files: [(&str, &[u8]); 2] = [("small", b"7 bytes"), ("large", &large)];
        let server = Served::start(&files, &format!("--backend {backend} --workers 2"));
        for (words, target) in [
            ("-n 2000 -c 20", "/small"),
            ("-n 2000 -c 20 -k", "/small"),
            ("-n 500 -c 20 -k", "/large"),
        ] {
            let mut command = Command::new(&ab);
            command.arg("-q").args(words.split_whitespace());
            let text = output(command.arg(server.url(target))).stdout;
            assert!(
                text.contains("Failed requests:        0\n"),
                "{words}: {text}"
            );
            assert!(!text.contains("Non-2xx"), "{words}: {text}");
        }
        for target in ["/small", "/large"] {
            let mut command = Command::new(&wrk);
            command.args(["-t", "1", "-c", "50", "-d", "1s"]);
            let text = output(command.arg(server.url(target))).stdout;
            assert!(
                text.contains("requests in") && !text.contains("errors"),
                "{text}"
            );
        }
    }
}

#[test]
fn h2load_finds_no_fault() {
    let name = "serve::strangers::h2load_finds_no_fault";
    let Some([h2load]) = need(name, ["h2load"]) else {
        return;
    };
    let server = site();
    for (words, target) in [
        ("--h1 -n 5000 -c 32 -m 1", "/small"),
        ("--h1 -n 2000 -c 32 -m 8", "/small"),
        ("--h1 -n 500 -c 32 -m 1", "/large"),
    ] {
        let mut command = Command::new(&h2load);
        command.args(words.split_whitespace());
        let text = output(command.arg(server.url(target))).stdout;
        let verdict = " 0 failed, 0 errored, 0 timeout";
        assert!(text.contains(verdict), "{words}: {text}");
    }
}

const PYTHON: &str = "
import http.client, sys
connection = http.client.HTTPConnection(sys.argv[1], timeout=30)
def ask(method, target, body=None, headers={}, chunked=False):
    connection.request(method, target, body=body, headers=headers, encode_chunked=chunked)
    answer = connection.getresponse()
    return answer.status, answer.read()
assert ask('GET', '/small') == (200, b'7 bytes')
socket = connection.sock
assert ask('HEAD', '/small') == (200, b'')
assert ask('GET', '/missing')[0] == 404
chunks = iter([b'abc'] * 1000)
chunked = {'Transfer-Encoding': 'chunked'}
assert ask('POST', '/.triathlon/null', chunks, chunked, True) == (200, b'origin\\n')
assert ask('GET', '/large', headers={'Range': 'bytes=-3'}) == (206, b'789')
assert ask('GET', '/.triathlon/synthetic?status=204') == (204, b'')
assert ask('GET', '/small') == (200, b'7 bytes')
assert connection.sock is socket, 'it was one connection'
print('content')
";

#[test]
fn python_is_content() {
    let Some([python]) = need("serve::strangers::python_is_content", ["python3"]) else {
        return;
    };
    let server = site();
    let mut command = Command::new(python);
    command.args(["-c", PYTHON, &server.address.to_string()]);
    assert_eq!(output(&mut command).stdout, "content\n");
}
