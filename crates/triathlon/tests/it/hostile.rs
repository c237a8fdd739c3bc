//! Servers that do what servers do on a bad day: right counts, right verdict, no panic, no hang.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use model::{Outcome, Status, Trial};

use crate::support::process::load;
use crate::support::stub::{self, Next, RIGHT, Stub, send};

/// Reference fetches that a server must answer rightly for the run to begin.
const GOOD: u64 = 2;

/// Exchanges asked for.
const COUNT: u64 = 40;

/// Runs [`COUNT`] exchanges against a server that misbehaves after the reference was taken: see
/// [`check_both`].
#[track_caller]
fn check(expected: Outcome, answer: impl stub::Answer) -> Trial {
    let answer = Arc::new(answer);
    check_both(expected, || {
        let answer = Arc::clone(&answer);
        Stub::start_after(GOOD, move |stream, number| answer(stream, number))
    })
}

/// Runs [`COUNT`] exchanges in a closed loop and, beside it, in an open one, each against a server
/// of its own. All of them end as `expected`, the first is kept as an example, and nothing hangs.
/// The trial is that of the closed loop.
#[track_caller]
fn check_both(expected: Outcome, start: impl Fn() -> Stub) -> Trial {
    let (paced, server) = (start(), start());
    thread::scope(|scope| {
        let open = scope.spawn(|| check_loop(expected, &paced.url(), "-R 1000"));
        let trial = check_loop(expected, &server.url(), "");
        open.join().expect("the open loop ends as the closed one");
        trial
    })
}

#[track_caller]
fn check_loop(expected: Outcome, url: &str, pace: &str) -> Trial {
    // What is to be answered is not given up before.
    let timeout = match expected {
        Outcome::Timeout => "300ms",
        _ => "20s",
    };
    let run = load(
        url,
        &format!("-n {COUNT} -c 4 -t 2 --warmup 0s --timeout {timeout} {pace}"),
    );
    assert!(run.wall < Duration::from_secs(30), "{run:#?}");
    let trial = run.trial();
    let outcomes = trial.record.total.outcomes;
    assert_eq!(outcomes[expected], COUNT, "{run:#?}");
    assert_eq!(outcomes.total(), COUNT, "{run:#?}");
    assert_eq!(trial.record.total.due, COUNT, "{run:#?}");
    if expected == Outcome::Ok {
        assert!(trial.record.examples.is_empty(), "{run:#?}");
        return trial;
    }
    let example = trial
        .record
        .examples
        .iter()
        .find(|example| example.outcome == expected);
    assert!(
        example.is_some_and(|example| !example.text.is_empty()),
        "{run:#?}"
    );
    assert!(trial.record.achieved_rate <= 0.0, "{run:#?}");
    assert_eq!(trial.verdict.status, Status::Invalid, "{run:#?}");
    assert_eq!(run.code, Some(3), "{run:#?}");
    trial
}

#[test]
fn a_server_that_is_only_busy() {
    let trial = check(Outcome::Status, |stream, _| {
        send(
            stream,
            b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
        );
        Next::Keep
    });
    let example = &trial.record.examples[0];
    assert!(example.text.contains("503"), "{example:?}");
}

/// Without a good answer before the run there is nothing to compare with, and still all is counted.
#[test]
fn a_server_that_was_never_right() {
    check_both(Outcome::Status, || {
        Stub::start(|stream, _| {
            send(
                stream,
                b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy",
            );
            Next::Keep
        })
    });
    check_both(Outcome::Timeout, || {
        Stub::start(|stream, _| {
            stub::hold(stream);
            Next::Close
        })
    });
    check_both(Outcome::Protocol, || {
        Stub::start(|stream, _| {
            send(stream, b"220 mail.example ESMTP\r\n");
            Next::Keep
        })
    });
    check_both(Outcome::Read, || Stub::start(|_, _| Next::Close));
}

#[test]
fn another_length_than_before() {
    check(Outcome::Content, |stream, _| {
        send(
            stream,
            b"HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\nseven!!\n",
        );
        Next::Keep
    });
}

#[test]
fn another_body_of_the_same_length() {
    check(Outcome::Content, |stream, _| {
        send(
            stream,
            b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\neleven\n",
        );
        Next::Keep
    });
}

#[test]
fn a_body_cut_short() {
    let trial = check(Outcome::Read, |stream, _| {
        send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsev");
        Next::Close
    });
    let connections = trial.record.total.connections;
    assert_eq!(connections.broken, COUNT, "{connections:?}");
}

#[test]
fn a_chunked_body_cut_short() {
    check(Outcome::Read, |stream, _| {
        send(
            stream,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7\r\nseven!\n\r\n",
        );
        Next::Close
    });
}

#[test]
fn closed_without_a_byte() {
    check(Outcome::Read, |_, _| Next::Close);
}

#[test]
fn reset_after_the_headers() {
    check_both(Outcome::Read, || {
        Stub::start_raw(move |mut stream, requests| {
            while requests.load(Ordering::SeqCst) < GOOD {
                if stub::read_head(&mut stream).is_none() {
                    return;
                }
                requests.fetch_add(1, Ordering::SeqCst);
                send(&mut stream, RIGHT);
            }
            // Closing with bytes of the request unread makes the kernel send a reset.
            wait_readable(&stream);
            send(&mut stream, b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\n");
        })
    });
}

fn wait_readable(stream: &TcpStream) {
    // A peer that is gone is its own business.
    stream.peek(&mut [0]).unwrap_or_default();
}

#[test]
fn no_answer_ever() {
    let trial = check(Outcome::Timeout, |stream, _| {
        stub::hold(stream);
        Next::Close
    });
    assert_eq!(
        trial.record.response_time.quantile(0.5),
        None,
        "a quantile among the unanswered"
    );
}

#[test]
fn half_an_answer_and_silence() {
    check(Outcome::Timeout, |stream, _| {
        send(stream, b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nsev");
        stub::hold(stream);
        Next::Close
    });
}

#[test]
fn bytes_one_at_a_time() {
    check(Outcome::Ok, |stream, _| {
        for byte in RIGHT.chunks(1) {
            send(stream, byte);
        }
        Next::Keep
    });
}

#[test]
fn hints_before_the_answer() {
    check(Outcome::Ok, |stream, _| {
        send(stream, b"HTTP/1.1 100 Continue\r\n\r\n");
        send(
            stream,
            b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n",
        );
        send(stream, RIGHT);
        Next::Keep
    });
}

#[test]
fn chunks_with_extensions_and_trailers() {
    check(Outcome::Ok, |stream, _| {
        send(
            stream,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: Sum\r\n\r\n\
              5;name=\"a;b\"\r\nseven\r\n02\r\n!\n\r\n0\r\nSum: 7\r\nOther: x\r\n\r\n",
        );
        Next::Keep
    });
}

#[test]
fn a_body_that_ends_with_the_connection() {
    let trial = check(Outcome::Ok, |stream, _| {
        send(stream, b"HTTP/1.1 200 OK\r\n\r\nseven!\n");
        Next::Close
    });
    let connections = trial.record.total.connections;
    assert_eq!(connections.closed_by_server, COUNT, "{connections:?}");
    assert_eq!(connections.broken, 0, "{connections:?}");
    assert_eq!(connections.backed_off, 0, "{connections:?}");
}

#[test]
fn an_old_server_that_closes() {
    let trial = check(Outcome::Ok, |stream, _| {
        send(
            stream,
            b"HTTP/1.0 200 OK\r\nContent-Length: 7\r\n\r\nseven!\n",
        );
        Next::Close
    });
    assert_eq!(trial.record.total.close_announced, COUNT);
}

/// A right answer with `count` further fields of 1 KiB each.
fn padded(count: usize) -> impl stub::Answer {
    let field = format!("X-Filler: {}\r\n", "x".repeat(1012));
    let fields = field.repeat(count);
    move |stream: &mut TcpStream, _| {
        send(stream, b"HTTP/1.1 200 OK\r\n");
        send(stream, fields.as_bytes());
        send(stream, b"Content-Length: 7\r\n\r\nseven!\n");
        Next::Keep
    }
}

#[test]
fn headers_of_64_kilobytes() {
    check(Outcome::Ok, padded(64));
}

#[test]
fn headers_without_end() {
    check(Outcome::Protocol, padded(1024));
}

#[test]
fn garbage() {
    check(Outcome::Protocol, |stream, _| {
        send(
            stream,
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03 not a web server\r\n\r\n",
        );
        Next::Keep
    });
}

#[test]
fn lengths_that_contradict_each_other() {
    check(Outcome::Protocol, |stream, _| {
        send(
            stream,
            b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\nContent-Length: 8\r\n\r\nseven!\n",
        );
        Next::Keep
    });
}

#[test]
fn a_chunk_size_that_is_no_number() {
    check(Outcome::Protocol, |stream, _| {
        send(
            stream,
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nseven!\n",
        );
        Next::Keep
    });
}

#[test]
fn a_server_that_falls_silent_in_an_open_loop() {
    let silent = || Stub::start_after(GOOD, |_, _| Next::Keep);
    for flags in [
        // No answer within the window, and none within the timeout.
        "-R 200 -c 4 -d 300ms --timeout 2s",
        "-R 200 -c 4 -d 300ms --timeout 100ms",
        "-c 4 -d 300ms --timeout 2s",
    ] {
        let server = silent();
        let run = load(&server.url(), &format!("{flags} -t 1 --warmup 0s"));
        let trial = run.trial();
        let findings = &trial.verdict.findings;
        let found = findings.iter().find(|finding| finding.rule == "HTTP-01");
        let said = found.map_or("", |finding| &finding.say);
        assert!(said.ends_with("nothing was measured."), "{flags}: {run:#?}");
        assert!(trial.verdict.nothing_left(), "{flags}: {run:#?}");
        run.expect_code(3);
    }
}
