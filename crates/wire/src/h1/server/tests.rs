use proptest::prelude::*;

use super::*;
use crate::service::Repeat;

const LIMITS: ServerLimits = ServerLimits {
    head: Limits {
        request_line: 100,
        head: 300,
    },
    body: 50,
    requests: 1_000,
    head_time: Span::from_s(10),
    body_time: Span::from_s(20),
    idle_time: Span::from_s(30),
};

/// Says what it was asked; `/file` comes from a file and `/broken` breaks off.
#[derive(Default)]
struct Echo {
    copies: u64,
}

impl Handler for Echo {
    type File = &'static str;
    type Kept = &'static str;

    fn repeat(&mut self, bytes: &[u8]) -> Option<Repeat<&'static str, &'static str>> {
        let known = [
            (
                "GET /again HTTP/1.1\r\nHost: x\r\n\r\n",
                "<GET /again Usual>",
                None,
            ),
            (
                "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n",
                "<GET /kept Usual>",
                Some(Part::File {
                    file: "name",
                    offset: 1,
                    length: 2,
                }),
            ),
        ];
        let mut known = known.into_iter();
        let (head, kept, rest) = known.find(|(head, ..)| bytes.starts_with(head.as_bytes()))?;
        Some(Repeat {
            request_length: head.len(),
            kept,
            rest,
        })
    }

    fn copy(&mut self, kept: &&'static str, out: &mut Vec<u8>) {
        self.copies += 1;
        out.extend_from_slice(kept.as_bytes());
    }

    fn wants_body(&mut self, request: &RequestHead<'_>) -> bool {
        request.method == "POST"
    }

    fn answer(
        &mut self,
        request: &RequestHead<'_>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Vec<Part<&'static str>> {
        out.extend_from_slice(
            format!("<{} {} {persistence:?}>", request.method, request.target).as_bytes(),
        );
        match request.target {
            "/file" => vec![
                Part::Bytes(b"[".to_vec()),
                Part::File {
                    file: "name",
                    offset: 3,
                    length: 4,
                },
                Part::Bytes(b"]".to_vec()),
            ],
            "/kept" => vec![Part::File {
                file: "name",
                offset: 1,
                length: 2,
            }],
            "/broken" => vec![Part::Reset],
            "/cycle" => vec![Part::Cycle {
                file: "name",
                block: 4,
                length: 10,
            }],
            _ => Vec::new(),
        }
    }

    fn reject(&mut self, status: u16, line: &[u8], _: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("<{status} {}>", line.escape_ascii()).as_bytes());
    }
}

/// All that a client reads when `bytes` arrive in pieces that end at `cuts`.
fn talk(bytes: &[u8], cuts: &[usize], limits: ServerLimits) -> String {
    let mut server = Server::new(Instant::ZERO, limits);
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut text = String::new();
    let mut start = 0;
    for end in ends {
        if start < end {
            server.handle_bytes(Instant::ZERO, &bytes[start..end], &mut Echo::default());
            start = end;
        }
        if drain(&mut server, &mut text) {
            return text;
        }
    }
    server.handle_end();
    assert!(drain(&mut server, &mut text), "it should close: {text}");
    text
}

/// Whether a server lingers after a close depends on whether it saw that more comes.
fn without_lingering(text: &str) -> String {
    text.replace("|linger", "|end").replace("|close", "|end")
}

/// Sends until there is nothing to send; tells whether the connection is over.
fn drain(server: &mut Server<&'static str, &'static str>, text: &mut String) -> bool {
    loop {
        let mut out = Vec::new();
        match server.poll_transmit(Instant::ZERO, &mut out, &mut Echo::default()) {
            Transmit::Nothing => return false,
            Transmit::Bytes => text.push_str(std::str::from_utf8(&out).unwrap()),
            Transmit::Kept(kept) => text.push_str(kept),
            Transmit::File {
                file,
                offset,
                length,
            } => text.push_str(&format!("{file} {offset}+{length}")),
            Transmit::Pause(span) => text.push_str(&format!("pause {span}")),
            Transmit::Close { linger } => {
                text.push_str(if linger { "|linger" } else { "|close" });
                return true;
            }
            Transmit::Reset => {
                text.push_str("|reset");
                return true;
            }
        }
    }
}

#[track_caller]
fn check(bytes: &str, expected: &str) {
    let each_byte: Vec<usize> = (0..bytes.len()).collect();
    for cuts in [&[][..], &each_byte] {
        let mut text = talk(bytes.as_bytes(), cuts, LIMITS);
        if expected.ends_with("|end") {
            text = without_lingering(&text);
        }
        assert_eq!(text, expected, "{bytes:?} cut at {cuts:?}");
    }
}

#[test]
fn requests_are_answered_in_order() {
    check(
        "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /again HTTP/1.1\r\nHost: x\r\n\r\n\r\nHEAD /3 HTTP/1.1\r\nHost: x\r\n\r\n",
        "<GET /1 Usual><GET /again Usual><HEAD /3 Usual>|close",
    );
    check(
        "GET /file HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        "<GET /file Usual>[name 3+4]<GET /2 Usual>|close",
    );
    check(
        "GET /kept HTTP/1.1\r\nHost: x\r\n\r\nGET /again HTTP/1.1\r\nHost: x\r\n\r\nGET /kept HTTP/1.1\r\nHost: x\r\n\r\n",
        "<GET /kept Usual>name 1+2<GET /again Usual><GET /kept Usual>name 1+2|close",
    );
    check(
        "GET /cycle HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        "<GET /cycle Usual>name 0+4name 0+4name 0+2<GET /2 Usual>|close",
    );
    check(
        "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\nGET /2 HTTP/1.0\r\n\r\nGET /3 HTTP/1.0\r\n\r\n",
        "<GET /1 KeepAlive><GET /2 Close>|end",
    );
    check(
        "GET /broken HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        "<GET /broken Usual>|reset",
    );
}

#[test]
fn only_answers_that_are_sent_together_are_copied() {
    let request = "GET /again HTTP/1.1\r\nHost: x\r\n\r\n";
    let mut server = Server::new(Instant::ZERO, LIMITS);
    let mut echo = Echo::default();
    for _ in 0..3 {
        server.handle_bytes(Instant::ZERO, request.as_bytes(), &mut echo);
        let mut out = Vec::new();
        let next = server.poll_transmit(Instant::ZERO, &mut out, &mut echo);
        assert_eq!(next, Transmit::Kept("<GET /again Usual>"));
        assert!(!server.is_full() && server.is_idle() && out.is_empty());
    }
    assert_eq!(echo.copies, 0);
    server.handle_bytes(Instant::ZERO, request.repeat(2).as_bytes(), &mut echo);
    let mut out = Vec::new();
    let next = server.poll_transmit(Instant::ZERO, &mut out, &mut echo);
    assert_eq!(next, Transmit::Bytes);
    assert_eq!(out, b"<GET /again Usual><GET /again Usual>");
    assert_eq!(echo.copies, 2);
}

#[test]
fn an_idle_connection_keeps_no_buffer() {
    let mut server = Server::new(Instant::ZERO, LIMITS);
    for request in [
        "GET /file HTTP/1.1\r\nHost: x\r\n\r\n",
        "GET /1 HTTP/1.1\r\nHo",
    ] {
        sent(&mut server, request);
    }
    assert!(server.input.capacity() > 0);
    assert_eq!(sent(&mut server, "st: x\r\n\r\n"), "<GET /1 Usual>");
    assert!(server.is_idle());
    let capacities = [
        server.input.capacity(),
        server.out.capacity(),
        server.parts.capacity(),
    ];
    assert_eq!(capacities, [0, 0, 0]);
}

#[test]
fn bodies_are_dropped_before_the_answer() {
    check(
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /GET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        "<POST /1 Usual><GET /2 Usual>|close",
    );
    check(
        "POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /2 HTTP/1.1\r\nHost: x\r\n\r\n",
        "<POST /1 Usual><GET /2 Usual>|close",
    );
    check(
        "POST /1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
        "HTTP/1.1 100 Continue\r\n\r\n<POST /1 Usual>|close",
    );
    check(
        "PUT /1 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\nab",
        "<PUT /1 Close>|linger",
    );
    check(
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 51\r\n\r\n",
        "<413 POST /1 HTTP/1.1>|linger",
    );
    check(
        "POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n33\r\n0123456789012345678901234567890123456789012345678901234567890\r\n",
        "<413 POST /1 HTTP/1.1>|linger",
    );
    check(
        "POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcd",
        "<400 POST /1 HTTP/1.1>|linger",
    );
    check(
        "POST /1 HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nabc",
        "|close",
    );
}

#[test]
fn nothing_is_answered_after_a_rejection() {
    check(
        "GET /1 HTTP/1.1\r\nHost: x\r\n\r\nGET /2 HTTP/1.1\nHost: x\r\n\r\nGET /3 HTTP/1.1\r\nHost: x\r\n\r\n",
        "<GET /1 Usual><400 GET /2 HTTP/1.1>|linger",
    );
    check(
        "POST /1 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n3 \r\nabc\r\n0\r\n\r\n",
        "<400 POST /1 HTTP/1.1>|linger",
    );
    check("GET /1 HTTP/3.0\r\n\r\n", "<505 GET /1 HTTP/3.0>|linger");
}

#[test]
fn the_last_request_of_a_connection_is_told() {
    let limits = ServerLimits {
        requests: 2,
        ..LIMITS
    };
    let text = "GET /again HTTP/1.1\r\nHost: x\r\n\r\n".repeat(3);
    let expected = "<GET /again Usual><GET /again Close>|end";
    assert_eq!(
        without_lingering(&talk(text.as_bytes(), &[], limits)),
        expected
    );
    let each_byte: Vec<usize> = (0..text.len()).collect();
    assert_eq!(
        without_lingering(&talk(text.as_bytes(), &each_byte, limits)),
        expected
    );
}

fn sent(server: &mut Server<&'static str, &'static str>, bytes: &str) -> String {
    let mut text = String::new();
    server.handle_bytes(Instant::ZERO, bytes.as_bytes(), &mut Echo::default());
    drain(server, &mut text);
    text
}

#[test]
fn who_takes_too_long_is_told_so_if_he_asked_something() {
    let mut server = Server::new(Instant::ZERO, LIMITS);
    assert_eq!(server.poll_timeout(), Instant::ZERO + LIMITS.head_time);
    server.handle_bytes(Instant::ZERO, b"GET / HT", &mut Echo::default());
    server.handle_bytes(Instant::ZERO + Span::from_s(5), b"TP", &mut Echo::default());
    assert_eq!(server.poll_timeout(), Instant::ZERO + LIMITS.head_time);
    server.handle_timeout(&mut Echo::default());
    assert_eq!(sent(&mut server, ""), "<408 GET / HTTP>|linger");

    let mut server = Server::new(Instant::ZERO, LIMITS);
    sent(&mut server, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(server.poll_timeout(), Instant::ZERO + LIMITS.idle_time);
    sent(&mut server, "G");
    assert_eq!(server.poll_timeout(), Instant::ZERO + LIMITS.head_time);

    let mut server = Server::new(Instant::ZERO, LIMITS);
    let head = "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 50\r\n\r\n";
    assert_eq!(sent(&mut server, head), "");
    assert_eq!(server.poll_timeout(), Instant::ZERO + LIMITS.body_time);
    server.handle_timeout(&mut Echo::default());
    assert_eq!(sent(&mut server, ""), "<408 POST / HTTP/1.1>|linger");

    let mut idle = Server::new(Instant::ZERO, LIMITS);
    idle.handle_timeout(&mut Echo::default());
    assert_eq!(sent(&mut idle, ""), "|close");
}

#[test]
fn a_server_that_stops_finishes_what_is_under_way() {
    let mut idle = Server::new(Instant::ZERO, LIMITS);
    assert_eq!(
        sent(&mut idle, "GET /1 HTTP/1.1\r\nHost: x\r\n\r\n"),
        "<GET /1 Usual>"
    );
    idle.finish();
    assert_eq!(sent(&mut idle, ""), "|close");

    let mut busy = Server::new(Instant::ZERO, LIMITS);
    assert_eq!(sent(&mut busy, "GET /1 HTTP"), "");
    busy.finish();
    assert_eq!(
        sent(&mut busy, "/1.1\r\nHost: x\r\n\r\n"),
        "<GET /1 Close>|close"
    );
}

#[test]
fn a_client_that_does_not_read_is_not_read_either() {
    let limits = ServerLimits {
        requests: u64::MAX,
        ..LIMITS
    };
    let mut server = Server::new(Instant::ZERO, limits);
    let many = "GET /again HTTP/1.1\r\nHost: x\r\n\r\n".repeat(100);
    let mut total = 0;
    while !server.is_full() {
        server.handle_bytes(Instant::ZERO, many.as_bytes(), &mut Echo::default());
        total += 100;
        assert!(total < 10_000, "it takes everything");
    }
    let mut text = String::new();
    drain(&mut server, &mut text);
    assert_eq!(text.matches("/again").count(), total);
}

proptest! {
    #[test]
    fn any_split_gives_the_same_answers(
        requests in prop::collection::vec(prop::sample::select(vec![
            "GET /again HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /kept HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /file HTTP/1.1\r\nHost: x\r\n\r\n",
            "GET /1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
            "\r\nHEAD /2 HTTP/1.1\r\nHost: x\r\nX: y\r\n\r\n",
            "POST /3 HTTP/1.1\r\nHost: x\r\nContent-Length: 7\r\n\r\nGET / H",
            "POST /4 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n",
            "PUT /5 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
            "POST /6 HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx",
            "GET /7 HTTP/1.1\r\n\r\n",
            "POST /8 HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhix\r\n",
            "GET /9 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
        ]), 1..8),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let bytes = requests.concat();
        let whole = without_lingering(&talk(bytes.as_bytes(), &[], LIMITS));
        prop_assert_eq!(without_lingering(&talk(bytes.as_bytes(), &cuts, LIMITS)), whole);
    }
}
