//! Servers of HTTP/2 that are broken, slow or malicious, written by hand: each outcome is named and
//! counted, in both loops, and nothing hangs.

use std::io::{Read as _, Write as _};
use std::sync::atomic::Ordering;

use model::Outcome;

use crate::support::process::load;
use crate::support::stub::Stub;
use crate::tls::{Files, LOOPS, check, https, secured};

/// A frame (RFC 9113 §4.1).
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("a short frame");
    let length = length.to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;
const SETTINGS: u8 = 4;
const PING: u8 = 6;
const GOAWAY: u8 = 7;
const WINDOW_UPDATE: u8 = 8;
const CONTINUATION: u8 = 9;

/// Of HEADERS and DATA; of the others it is an acknowledgement.
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Room for any content of a test.
const ROOM: u32 = 1 << 20;

/// `:status: 200` of the static table, and content.
fn right(stream: u32) -> Vec<u8> {
    let head = frame(HEADERS, END_HEADERS, stream, &[0x88]);
    [head, frame(DATA, END_STREAM, stream, b"seven!\n")].concat()
}

fn go_away(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    frame(GOAWAY, 0, 0, &payload)
}

/// A server in clear that answers two requests rightly, so that a reference can be taken, and each
/// one after them with what `answer` gives for its stream and its number on its connection; nothing
/// closes the connection. Connections after those two allow content of `window` bytes.
fn server(window: u32, answer: impl Fn(u32, u32) -> Vec<u8> + Send + Sync + 'static) -> Stub {
    Stub::start_raw(move |mut stream, requests| {
        let is_reference = requests.load(Ordering::SeqCst) < 2;
        let window = if is_reference { ROOM } else { window };
        let settings = [&[0, 4], window.to_be_bytes().as_slice()].concat();
        let mut hello = frame(SETTINGS, 0, 0, &settings);
        if is_reference {
            hello.extend(frame(WINDOW_UPDATE, 0, 0, &ROOM.to_be_bytes()));
        }
        let mut preface = [0; 24];
        if stream.read_exact(&mut preface).is_err() || stream.write_all(&hello).is_err() {
            return;
        }
        let mut count = 0;
        let mut head = [0; 9];
        while stream.read_exact(&mut head).is_ok() {
            let length = usize::from(head[1]) << 8 | usize::from(head[2]);
            let mut payload = vec![0; length];
            if stream.read_exact(&mut payload).is_err() {
                return;
            }
            let id = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            let is_ack = head[4] & 1 != 0;
            let said = match head[3] {
                HEADERS | DATA if head[4] & END_STREAM != 0 => {
                    requests.fetch_add(1, Ordering::SeqCst);
                    count += 1;
                    match is_reference {
                        true => right(id),
                        false => answer(id, count),
                    }
                }
                SETTINGS if !is_ack => frame(SETTINGS, 1, 0, &[]),
                PING if !is_ack => frame(PING, 1, 0, &payload),
                _ => continue,
            };
            if said.is_empty() || stream.write_all(&said).is_err() {
                return;
            }
        }
    })
}

const FLAGS: &str = "--http2-prior-knowledge -m 4";
/// Where nothing is heard on a connection any more, what shares it with an exchange that times out
/// has lost it, which is another outcome.
const ONE_BY_ONE: &str = "--http2-prior-knowledge";

#[test]
fn streams_that_are_reset() {
    let server = server(65_535, |id, _| {
        frame(RST_STREAM, 0, id, &11u32.to_be_bytes())
    });
    check(Outcome::Read, "ENHANCE_YOUR_CALM", &server.url(), FLAGS);
}

/// Content that may not be sent is waited for as long as any answer. Until the server has said so,
/// 65,535 bytes may be (RFC 9113 §6.9.2).
#[test]
fn windows_that_never_open() {
    let server = server(0, |id, _| right(id));
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("content");
    std::fs::write(&file, vec![b'x'; 100_000]).expect("a file");
    let flags = format!("{ONE_BY_ONE} --data @{}", file.display());
    check(Outcome::Timeout, "no answer within", &server.url(), &flags);
}

/// What is larger than any window may be is a violation, and not a larger window.
#[test]
fn windows_that_overflow() {
    let server = server(65_535, |_, _| {
        let most = (1u32 << 31) - 1;
        let more = frame(WINDOW_UPDATE, 0, 0, &most.to_be_bytes());
        [more.clone(), more].concat()
    });
    check(Outcome::Protocol, "FLOW_CONTROL", &server.url(), FLAGS);
}

#[test]
fn connections_that_end_with_an_error() {
    let server = server(65_535, |id, _| go_away(id, 2));
    let words = "no answer within";
    check(Outcome::Timeout, words, &server.url(), ONE_BY_ONE);
}

/// A server that takes leave in mid-run, again and again, loses nothing of what was asked.
#[test]
fn leave_that_is_taken_in_mid_run() {
    let server = server(65_535, |id, count| match count {
        1..3 => right(id),
        3 => [right(id), go_away(id, 0)].concat(),
        _ => Vec::new(),
    });
    for of_loop in LOOPS {
        let trial = load(&server.url(), &format!("{of_loop} {FLAGS}")).trial();
        let record = &trial.record;
        let outcomes = record.total.outcomes;
        assert_eq!(outcomes[Outcome::Ok], 40, "{:?}", record.examples);
        let http2 = record.http2.as_ref().expect("HTTP/2 is recorded");
        assert!(http2.go_aways["NO_ERROR"] >= 5, "{http2:?}");
    }
}

/// A server that says of every request that it has not processed it is not asked for ever.
#[test]
fn leave_that_is_always_taken() {
    let server = server(65_535, |_, _| go_away(0, 0));
    let words = "closed 8 connections in a row";
    check(Outcome::Read, words, &server.url(), FLAGS);
}

/// What a server says beside its answers, as much as it is, keeps no answer from being heard.
#[test]
fn floods_beside_right_answers() {
    let server = server(65_535, |id, _| {
        let noise = [
            frame(SETTINGS, 0, 0, &[]),
            frame(PING, 0, 0, &[7; 8]),
            frame(PING, 1, 0, &[7; 8]),
            frame(WINDOW_UPDATE, 0, 0, &1u32.to_be_bytes()),
            frame(99, 0, 0, b"unknown"),
        ];
        let noise = noise.concat().repeat(200);
        let head = frame(HEADERS, END_HEADERS, id, &[0x88]);
        let empty = frame(DATA, 0, id, &[]).repeat(1_000);
        let content = frame(DATA, END_STREAM, id, b"seven!\n");
        [noise, head, empty, content].concat()
    });
    for of_loop in LOOPS {
        let trial = load(&server.url(), &format!("{of_loop} {FLAGS}")).trial();
        let record = &trial.record;
        let outcomes = record.total.outcomes;
        assert_eq!(outcomes[Outcome::Ok], 40, "{:?}", record.examples);
        let http2 = record.http2.as_ref().expect("HTTP/2 is recorded");
        assert!(http2.settings_changes >= 40 * 200, "{http2:?}");
    }
}

/// Heads that would never end, and heads of a few bytes that stand for many.
#[test]
fn heads_without_end() {
    // The 100 of an interim answer, as a literal.
    let interim = |id| frame(HEADERS, END_HEADERS, id, b"\x08\x03100").repeat(100);
    let endless = |id| {
        let more = frame(CONTINUATION, 0, id, &[0x88; 10_000]);
        [frame(HEADERS, 0, id, &[0x88]), more.repeat(14)].concat()
    };
    let bomb = |id| {
        let value = [b"\x40\x01x\x7f\xa1\x16".as_slice(), &[b'x'; 2_976]].concat();
        let block = [&[0x88], value.as_slice(), &[0x80 | 62; 8_000]].concat();
        frame(HEADERS, END_HEADERS, id, &block)
    };
    let check = |words: &str, answer: fn(u32) -> Vec<u8>| {
        let server = server(65_535, move |id, _| answer(id));
        for of_loop in LOOPS {
            // Patience for a machine that is busy: none of it is used where there is an answer.
            let of_loop = of_loop.replace("--timeout 2s", "--timeout 30s");
            let run = load(&server.url(), &format!("{of_loop} {FLAGS}"));
            let trial = run.trial();
            let outcomes = trial.record.total.outcomes;
            let told = outcomes[Outcome::Protocol];
            assert_eq!(told + outcomes[Outcome::Shed], 40, "{run:#?}");
            let mut examples = trial.record.examples.iter();
            assert!(examples.any(|e| e.text.contains(words)), "{run:#?}");
        }
    };
    check("interim answers came before the final one", interim);
    check("the head of the answer is longer than", endless);
    check("the head of the answer is longer than", bomb);
}

/// A server that does not agree to HTTP/2 is not asked in it.
#[test]
fn no_word_about_http2() {
    let files = Files::new();
    files.sign("site", |_| {});
    let silent = secured(&files, rustls::ALL_VERSIONS, |_| {});
    let flags = format!("{} --http2", files.trust());
    let words = "did not agree to HTTP/2";
    check(Outcome::Protocol, words, &https(&silent.url()), &flags);
}
