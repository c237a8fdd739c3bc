use std::fmt::Write as _;

use proptest::prelude::*;

use super::*;
use crate::h1::request::RequestHead;
use crate::h2::PREFACE;
use crate::h2::frame::{FrameHead, flag, kind};
use crate::h2::hpack::{self, Form};
use crate::service::{Part, Persistence, Repeat};
use crate::testing::LIMITS;

const NOW: Instant = Instant::from_ns(1_000);
/// Of `/big` and of `/file`.
const BIG: usize = 100_000;

/// Answers with what it was asked.
#[derive(Default)]
struct Echo {
    asked: u64,
}

impl Handler for Echo {
    type File = char;
    type Kept = String;

    fn repeat(&mut self, bytes: &[u8]) -> Option<Repeat<char, String>> {
        bytes
            .starts_with(b"GET /kept HTTP/2.0\r\n")
            .then(|| Repeat {
                request_length: bytes.len(),
                kept: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkept".to_owned(),
                rest: None,
            })
    }

    fn copy(&mut self, kept: &String, out: &mut Vec<u8>) {
        out.extend_from_slice(kept.as_bytes());
    }

    fn read(&mut self, file: &char, _: u64, length: usize, out: &mut Vec<u8>) -> bool {
        out.resize(out.len() + length, u8::try_from(*file).unwrap());
        true
    }

    fn wants_body(&mut self, request: &RequestHead<'_>) -> bool {
        request.method == "POST"
    }

    fn answer(
        &mut self,
        request: &RequestHead<'_>,
        _: Persistence,
        out: &mut Vec<u8>,
    ) -> Vec<Part<char>> {
        self.asked += 1;
        let file = Part::File {
            file: 'f',
            offset: 0,
            length: BIG as u64,
        };
        let (mut body, mut parts) = (String::new(), Vec::new());
        match request.target {
            "/big" => body = "b".repeat(BIG),
            "/file" => parts = vec![file],
            "/stall" => parts = vec![Part::Stall],
            "/break" => parts = vec![Part::Close],
            "/slow" => {
                let text = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nslow".to_vec();
                return vec![Part::Pause(Span::from_ms(7)), Part::Bytes(text)];
            }
            target => {
                write!(body, "{} {target}", request.method).unwrap();
                for field in request.fields {
                    let value = field.value.escape_ascii();
                    write!(body, " {}={value}", field.name).unwrap();
                }
            }
        }
        out.extend_from_slice(b"HTTP/1.1 200 OK\r\nX-From: echo\r\n\r\n");
        if request.method != "HEAD" {
            out.extend_from_slice(body.as_bytes());
        }
        parts
    }

    fn reject(&mut self, status: u16, _: &[u8], why: &str, out: &mut Vec<u8>) {
        let head = format!("HTTP/1.1 {status} No\r\nConnection: close\r\n\r\n{why}");
        out.extend_from_slice(head.as_bytes());
    }
}

/// A client by hand.
struct Peer {
    server: Server<char, String>,
    site: Echo,
    decoder: Decoder,
    now: Instant,
    /// What came back, in words.
    log: Vec<String>,
    content: usize,
    end: Option<Transmit<char, String>>,
}

impl Peer {
    fn fresh(limits: ServerLimits) -> Self {
        Self {
            server: Server::new(NOW, limits),
            site: Echo::default(),
            decoder: Decoder::default(),
            now: NOW,
            log: Vec::new(),
            content: 0,
            end: None,
        }
    }

    /// One that has exchanged settings.
    fn new() -> Self {
        let mut peer = Self::fresh(LIMITS);
        let mut hello = PREFACE.to_vec();
        frame::settings(&mut hello, &[]);
        peer.say(&hello);
        assert_eq!(peer.log, ["settings", "settings ack"]);
        peer.log.clear();
        peer
    }

    fn say(&mut self, bytes: &[u8]) {
        self.server.handle_bytes(self.now, bytes, &mut self.site);
        self.hear();
    }

    fn hear(&mut self) {
        let mut sent = Vec::new();
        self.end = None;
        loop {
            let next = self
                .server
                .poll_transmit(self.now, &mut sent, &mut self.site);
            if next != Transmit::Bytes {
                self.end = (next != Transmit::Nothing).then_some(next);
                break;
            }
        }
        let mut rest = sent.as_slice();
        while let Some((head, after)) = rest.split_first_chunk() {
            let head = FrameHead::read(*head);
            let (payload, after) = after.split_at(head.length);
            rest = after;
            let line = self.describe(head, payload);
            self.log.push(line);
        }
    }

    fn describe(&mut self, head: FrameHead, payload: &[u8]) -> String {
        let end = if head.has(flag::END_STREAM) { "." } else { "" };
        let stream = head.stream;
        match head.kind {
            kind::HEADERS => {
                let mut text = format!("{stream}{end}");
                let each = |name: &[u8], value: &[u8]| {
                    let (name, value) = (name.escape_ascii(), value.escape_ascii());
                    write!(text, " {name}={value}").unwrap();
                };
                self.decoder.decode(payload, each).unwrap();
                text
            }
            kind::DATA => {
                self.content += payload.len();
                match payload {
                    [b'b' | b'f', ..] | [] => format!("{stream}{end} +{}", payload.len()),
                    text => format!("{stream}{end} {}", text.escape_ascii()),
                }
            }
            kind::SETTINGS if head.has(flag::ACK) => "settings ack".to_owned(),
            kind::SETTINGS => "settings".to_owned(),
            kind::PING => format!("ping {}", head.flags),
            kind::RST_STREAM => {
                format!("reset {stream} {}", frame::code_at(payload, 0).unwrap())
            }
            kind::GOAWAY => {
                let last = frame::number(payload).unwrap();
                format!("bye {last} {}", frame::code_at(payload, 4).unwrap())
            }
            kind::WINDOW_UPDATE => format!("more {stream} {}", frame::number(payload).unwrap()),
            other => format!("kind {other}"),
        }
    }

    /// Says it again and again until the connection ends; how often.
    fn flood(&mut self, most: u32, mut bytes: impl FnMut(u32) -> Vec<u8>) -> u32 {
        for turn in 0..most {
            let bytes = bytes(turn);
            self.say(&bytes);
            assert!(self.server.out.capacity() < 1 << 20, "bounded");
            if self.end.is_some() {
                return turn;
            }
        }
        panic!("it bore {most} of them");
    }
}

fn head(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        hpack::field(&mut block, name.as_bytes(), value.as_bytes(), Form::Passing);
    }
    let mut out = Vec::new();
    frame::headers(&mut out, stream, &block, flags);
    out
}

const GET: [(&str, &str); 3] = [(":method", "GET"), (":scheme", "http"), (":authority", "x")];

fn request(stream: u32, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let fields = [&GET, [(":path", path)].as_slice(), more].concat();
    head(stream, flag::END_STREAM, &fields)
}

fn post(stream: u32, more: &[(&str, &str)]) -> Vec<u8> {
    let fields = [
        (":method", "POST"),
        (":scheme", "http"),
        (":path", "/"),
        (":authority", "x"),
    ];
    head(stream, 0, &[&fields, more].concat())
}

fn data(stream: u32, count: usize, is_last: bool) -> Vec<u8> {
    let mut out = Vec::new();
    frame::data(&mut out, stream, count, is_last);
    out.resize(out.len() + count, b'x');
    out
}

fn raw(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let head = FrameHead {
        length: payload.len(),
        kind,
        flags,
        stream,
    };
    head.write(&mut out);
    out.extend_from_slice(payload);
    out
}

fn more(stream: u32, count: u32) -> Vec<u8> {
    let mut out = Vec::new();
    frame::window_update(&mut out, stream, count);
    out
}

fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::settings(&mut out, values);
    out
}

#[track_caller]
fn check(bytes: &[u8], expected: &[&str]) {
    let mut peer = Peer::new();
    peer.say(bytes);
    assert_eq!(peer.log, expected);
}

#[test]
fn requests_are_answered() {
    check(
        &request(1, "/a?b", &[("accept", "*/*")]),
        &["1 :status=200 x-from=echo", "1. GET /a?b host=x accept=*/*"],
    );
    check(
        &request(1, "/kept", &[]),
        &["1 :status=200 content-length=4", "1. kept"],
    );
    let several = [request(1, "/a", &[]), request(3, "/b", &[])].concat();
    check(
        &several,
        &[
            "1 :status=200 x-from=echo",
            "1. GET /a host=x",
            "3 :status=200 x-from=echo",
            "3. GET /b host=x",
        ],
    );
    let fields = [
        (":method", "HEAD"),
        (":scheme", "http"),
        (":path", "/"),
        ("host", "y"),
    ];
    check(
        &head(1, flag::END_STREAM, &fields),
        &["1. :status=200 x-from=echo"],
    );
}

#[test]
fn bodies_are_read_and_dropped() {
    let whole = [
        post(1, &[("content-length", "6")]),
        data(1, 4, false),
        data(1, 2, true),
    ]
    .concat();
    let answer = [
        "1 :status=200 x-from=echo",
        "1. POST / host=x content-length=6",
    ];
    check(&whole, &answer);
    let trailers = head(1, flag::END_STREAM, &[("a", "b")]);
    check(
        &[post(1, &[]), data(1, 4, false), trailers].concat(),
        &["1 :status=200 x-from=echo", "1. POST / host=x"],
    );
    for (length, count) in [("5", 6), ("7", 6)] {
        let wrong = [post(1, &[("content-length", length)]), data(1, count, true)].concat();
        check(&wrong, &["reset 1 PROTOCOL_ERROR"]);
    }
    check(
        &post(1, &[("content-length", "100001")]),
        &[
            "1 :status=413",
            "1. the body is too large",
            "reset 1 NO_ERROR",
        ],
    );
    check(&post(1, &[("expect", "100-continue")]), &["1 :status=100"]);
    check(
        &post(1, &[("expect", "x")]),
        &[
            "1 :status=417",
            "1. unknown expectation",
            "reset 1 NO_ERROR",
        ],
    );
    let pieces: Vec<u8> = (0..4).flat_map(|_| data(1, 10_000, false)).collect();
    check(
        &[post(1, &[]), pieces].concat(),
        &["more 0 40000", "more 1 40000"],
    );
}

/// RFC 9113 §8: what is no request is none of the handler's business.
#[test]
fn malformed_requests_are_reset() {
    let malformed: [&[(&str, &str)]; 14] = [
        &[(":method", "GET"), (":path", "/"), (":authority", "x")],
        &[(":scheme", "http"), (":path", "/"), (":authority", "x")],
        &[(":method", "GET"), (":scheme", "http"), (":authority", "x")],
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", ""),
            (":authority", "x"),
        ],
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "x"),
            (":authority", "x"),
        ],
        &[
            (":method", "G T"),
            (":scheme", "http"),
            (":path", "/"),
            (":authority", "x"),
        ],
        &[
            (":method", "GET"),
            (":scheme", "http"),
            (":path", "/ HTTP/1.1"),
            (":authority", "x"),
        ],
        &[GET[0], GET[1], GET[2], (":path", "/"), (":path", "/")],
        &[GET[0], GET[1], GET[2], (":path", "/"), (":other", "/")],
        &[GET[0], GET[1], ("a", "b"), GET[2], (":path", "/")],
        &[GET[0], GET[1], GET[2], (":path", "/"), ("Upper", "b")],
        &[GET[0], GET[1], GET[2], (":path", "/"), ("a", "b\r\nc: d")],
        &[
            GET[0],
            GET[1],
            GET[2],
            (":path", "/"),
            ("connection", "close"),
        ],
        &[GET[0], GET[1], GET[2], (":path", "/"), ("te", "gzip")],
    ];
    for fields in malformed {
        check(
            &head(1, flag::END_STREAM, fields),
            &["reset 1 PROTOCOL_ERROR"],
        );
    }
    let long = "/".repeat(2_000);
    let answer = ["1 :status=414", "1. the target of the request is too long"];
    check(&request(1, &long, &[]), &answer);
    let large = "x".repeat(5_000);
    let answer = ["1 :status=431", "1. the request head is too large"];
    check(&request(1, "/", &[("a", &large)]), &answer);
    check(
        &head(1, flag::END_STREAM, &[GET[0], GET[1], (":path", "/")]),
        &["1 :status=400", "1. malformed request: no Host field"],
    );
}

/// RFC 9113 §5.1, §6: what ends the connection.
#[test]
fn what_breaks_the_protocol_ends_the_connection() {
    let get = request(1, "/stall", &[]);
    let open = head(1, flag::END_STREAM, &[])[..9].to_vec();
    let mut unfinished = open;
    unfinished[4] = flag::END_STREAM;
    let cases: [(Vec<u8>, &str); 17] = [
        (raw(kind::HEADERS, 5, 2, &[]), "PROTOCOL_ERROR"),
        (raw(kind::HEADERS, 5, 0, &[]), "PROTOCOL_ERROR"),
        (raw(kind::HEADERS, 0xd, 1, &[9]), "PROTOCOL_ERROR"),
        (raw(kind::HEADERS, 5, 1, &[0xbe]), "COMPRESSION_ERROR"),
        ([unfinished, more(0, 1)].concat(), "PROTOCOL_ERROR"),
        (raw(kind::CONTINUATION, 4, 1, &[]), "PROTOCOL_ERROR"),
        (data(1, 1, false), "PROTOCOL_ERROR"),
        ([get.clone(), data(1, 1, false)].concat(), "STREAM_CLOSED"),
        ([get.clone(), get].concat(), "STREAM_CLOSED"),
        (raw(kind::SETTINGS, 0, 0, &[0; 5]), "FRAME_SIZE_ERROR"),
        (
            settings(&[(settings::WINDOW, 1 << 31)]),
            "FLOW_CONTROL_ERROR",
        ),
        (settings(&[(settings::PUSH, 2)]), "PROTOCOL_ERROR"),
        (more(0, 0), "PROTOCOL_ERROR"),
        (more(0, 0x7fff_ffff), "FLOW_CONTROL_ERROR"),
        (raw(kind::PING, 0, 0, &[0; 7]), "FRAME_SIZE_ERROR"),
        (raw(kind::RST_STREAM, 0, 1, &[0; 4]), "PROTOCOL_ERROR"),
        (raw(kind::PUSH_PROMISE, 4, 1, &[0; 4]), "PROTOCOL_ERROR"),
    ];
    for (bytes, code) in cases {
        let mut peer = Peer::new();
        peer.say(&bytes);
        let bye = peer.log.last().unwrap();
        assert!(
            bye.starts_with("bye") && bye.ends_with(code),
            "{:?}: {code}",
            peer.log
        );
        assert_eq!(peer.end, Some(Transmit::Close { linger: true }));
    }
    let mut peer = Peer::fresh(LIMITS);
    peer.say(b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n");
    assert_eq!(peer.log, ["bye 0 PROTOCOL_ERROR"]);
    let mut peer = Peer::fresh(LIMITS);
    peer.say(&[PREFACE.as_slice(), &more(0, 1)].concat());
    assert_eq!(peer.log, ["settings", "bye 0 PROTOCOL_ERROR"]);
}

#[test]
fn windows_hold_answers_back() {
    let mut peer = Peer::new();
    peer.say(&request(1, "/big", &[]));
    assert_eq!(peer.content, 65_535, "{:?}", peer.log);
    peer.say(&more(1, 1_000_000));
    assert_eq!(peer.content, 65_535, "the connection has its own");
    peer.say(&more(0, 20_000));
    assert_eq!(peer.content, 85_535);
    peer.say(&more(0, 20_000));
    assert_eq!(peer.content, BIG);
    assert!(
        peer.log.last().unwrap().starts_with("1. +"),
        "{:?}",
        peer.log
    );

    let mut peer = Peer::new();
    peer.say(&settings(&[(settings::WINDOW, 0)]));
    peer.say(&request(1, "/file", &[]));
    assert_eq!(peer.content, 0);
    peer.say(&settings(&[(settings::WINDOW, 10_000)]));
    assert_eq!(peer.content, 10_000);
    peer.say(&settings(&[(settings::WINDOW, 0)]));
    peer.say(&more(1, 5_000));
    assert_eq!(peer.content, 10_000, "the window is below nothing now");
    peer.say(&[more(1, 1 << 20), more(0, 1 << 20)].concat());
    assert_eq!(peer.content, BIG);
}

#[test]
fn answers_take_turns() {
    let mut peer = Peer::new();
    let hello = [more(0, 1 << 20), settings(&[(settings::WINDOW, 1 << 20)])].concat();
    peer.say(&hello);
    peer.log.clear();
    peer.say(
        &[
            request(1, "/file", &[]),
            request(3, "/file", &[]),
            request(5, "/", &[]),
        ]
        .concat(),
    );
    let ends = peer.log.iter().filter(|line| line.contains('.'));
    let order: Vec<&str> = ends.map(|line| &line[..1]).collect();
    assert_eq!(order, ["5", "1", "3"], "{:?}", peer.log);
    assert_eq!(peer.content, 2 * BIG + "GET / host=x".len());
}

#[test]
fn a_delay_holds_up_nobody_else() {
    let mut peer = Peer::new();
    peer.say(&request(1, "/slow", &[]));
    assert_eq!(peer.end, Some(Transmit::Pause(Span::from_ms(7))));
    peer.now = NOW + Span::from_ms(2);
    peer.say(&request(3, "/kept", &[]));
    assert_eq!(peer.log, ["3 :status=200 content-length=4", "3. kept"]);
    assert_eq!(peer.end, Some(Transmit::Pause(Span::from_ms(5))));
    peer.now = NOW + Span::from_ms(7);
    peer.hear();
    assert_eq!(peer.log[2..], ["1 :status=200 content-length=4", "1. slow"]);
}

#[test]
fn a_connection_ends_in_order() {
    let mut peer = Peer::new();
    peer.say(&settings(&[(settings::WINDOW, 0)]));
    peer.say(&[request(1, "/kept", &[])].concat());
    peer.log.clear();
    peer.server.finish();
    peer.say(&request(3, "/", &[]));
    assert_eq!(peer.log, ["bye 1 NO_ERROR", "reset 3 REFUSED_STREAM"]);
    assert_eq!(peer.end, None);
    peer.say(&more(1, 100));
    assert_eq!(peer.log[2..], ["1. kept"]);
    assert_eq!(peer.end, Some(Transmit::Close { linger: true }));

    let mut peer = Peer::new();
    peer.server.handle_end();
    peer.hear();
    assert_eq!(peer.end, Some(Transmit::Close { linger: false }));

    let mut peer = Peer::new();
    peer.say(&request(1, "/break", &[]));
    assert_eq!(peer.end, Some(Transmit::Close { linger: false }));
}

#[test]
fn after_as_many_requests_as_are_allowed_the_client_is_told() {
    let limits = ServerLimits {
        requests: 2,
        ..LIMITS
    };
    let mut peer = Peer::fresh(limits);
    peer.say(&[PREFACE.as_slice(), &settings(&[])].concat());
    peer.say(&[request(1, "/kept", &[]), request(3, "/kept", &[])].concat());
    assert_eq!(peer.log.last().unwrap(), "bye 3 NO_ERROR");
    assert_eq!(peer.end, Some(Transmit::Close { linger: true }));
}

/// A client that is silent is not waited for: neither idle, nor within a head, nor with an answer
/// that it does not take.
#[test]
fn silence_ends_the_connection() {
    let head_only = &request(1, "/", &[])[..12];
    let blocked = [settings(&[(settings::WINDOW, 0)]), request(1, "/kept", &[])].concat();
    for bytes in [b"".as_slice(), head_only, &blocked] {
        let mut peer = Peer::new();
        peer.say(bytes);
        peer.log.clear();
        let deadline = peer.server.poll_timeout();
        assert!(deadline <= NOW + LIMITS.idle_time);
        peer.now = deadline;
        peer.server.handle_timeout(&mut peer.site);
        peer.hear();
        assert!(peer.log[0].starts_with("bye"), "{:?}", peer.log);
        assert_eq!(peer.end, Some(Transmit::Close { linger: false }));
    }
}

/// Each body has a time of its own, whatever else happens on the connection.
#[test]
fn a_body_that_does_not_grow_is_refused_and_the_others_go_on() {
    let mut peer = Peer::new();
    peer.say(&[post(1, &[("content-length", "9")]), data(1, 1, false)].concat());
    for turn in 1..5 {
        peer.now = NOW + Span::from_s(turn);
        let stream = u32::try_from(turn).unwrap() * 2 + 1;
        peer.say(&request(stream, "/kept", &[]));
    }
    peer.say(&post(21, &[]));
    assert_eq!(peer.server.poll_timeout(), NOW + LIMITS.body_time);
    peer.log.clear();
    peer.now = NOW + LIMITS.body_time;
    peer.server.handle_timeout(&mut peer.site);
    peer.hear();
    let refused = [
        "1 :status=408",
        "1. the request took too long to arrive",
        "reset 1 NO_ERROR",
    ];
    assert_eq!(peer.log, refused);
    // What it sends before it hears of that harms nothing.
    peer.log.clear();
    let late = [data(1, 3, false), head(1, flag::END_STREAM, &[("a", "b")])].concat();
    peer.say(&[late, data(21, 2, true)].concat());
    let answered = ["21 :status=200 x-from=echo", "21. POST / host=x"];
    assert_eq!(peer.log, answered);
    // Then it is idle, from the last answer on.
    assert_eq!(peer.server.poll_timeout(), peer.now + LIMITS.idle_time);
}

/// A body that grows keeps its connection open for longer than an idle one stays.
#[test]
fn a_body_that_grows_is_not_silence() {
    let mut peer = Peer::new();
    peer.say(&post(1, &[]));
    for turn in 1..4 {
        peer.now = NOW + Span::from_s(19 * turn);
        peer.say(&data(1, 16_384, false));
        peer.say(&data(1, 16_384, false));
        assert_eq!(peer.server.poll_timeout(), peer.now + LIMITS.body_time);
    }
    peer.log.clear();
    // It is given up after all: the connection is idle from now on.
    peer.say(&raw(kind::RST_STREAM, 0, 1, &[0, 0, 0, 8]));
    assert_eq!(peer.server.poll_timeout(), peer.now + LIMITS.idle_time);
    assert_eq!((peer.end, peer.log.len()), (None, 0));
}

/// RFC 9113 §5.1: what was under way when we ended a stream is no mistake of the client.
#[test]
fn trailers_after_an_early_answer_are_no_error() {
    let mut peer = Peer::new();
    peer.say(&request(1, "/slow", &[]));
    let refused = post(3, &[("content-length", "100001")]);
    let trailers = head(3, flag::END_STREAM, &[("a", "b")]);
    peer.say(&[refused, data(3, 5, false), trailers].concat());
    let heard = [
        "3 :status=413",
        "3. the body is too large",
        "reset 3 NO_ERROR",
    ];
    assert_eq!(peer.log, heard);
    peer.now = NOW + Span::from_ms(7);
    peer.hear();
    assert_eq!(peer.log[3..], ["1 :status=200 content-length=4", "1. slow"]);
    // A stream that the client ended itself is over.
    peer.say(&head(1, flag::END_STREAM, &[("a", "b")]));
    assert_eq!(peer.log[5..], ["bye 3 STREAM_CLOSED"]);
}

/// RFC 7541 §4.2: a client that allows a smaller table hears of it in the next block, once.
#[test]
fn a_smaller_table_is_told_before_the_next_head() {
    let first_byte = |said: &[Vec<u8>]| {
        let mut server: Server<char, String> = Server::new(NOW, LIMITS);
        let mut site = Echo::default();
        server.handle_bytes(NOW, PREFACE, &mut site);
        let mut firsts = Vec::new();
        for said in said {
            let mut sent = Vec::new();
            server.handle_bytes(NOW, said, &mut site);
            while server.poll_transmit(NOW, &mut sent, &mut site) == Transmit::Bytes {}
            let mut rest = sent.as_slice();
            while let Some((head, after)) = rest.split_first_chunk() {
                let head = FrameHead::read(*head);
                if head.kind == kind::HEADERS {
                    firsts.push(after[0]);
                }
                rest = &after[head.length..];
            }
        }
        firsts
    };
    let size = |size: u32| settings(&[(settings::TABLE_SIZE, size)]);
    let get = |stream: u32| request(stream, "/kept", &[]);
    let (changed, ok) = (0x20, 0x88);
    assert_eq!(first_byte(&[size(4_096), get(1), get(3)]), [ok, ok]);
    assert_eq!(
        first_byte(&[size(0), get(1), get(3), size(0), get(5)]),
        [changed, ok, ok]
    );
    let both = settings(&[(settings::TABLE_SIZE, 100), (settings::TABLE_SIZE, 8_000)]);
    assert_eq!(
        first_byte(&[size(8_000), get(1), both, get(3)]),
        [ok, changed]
    );
    let expects = post(1, &[("expect", "100-continue")]);
    assert_eq!(first_byte(&[size(0), expects, get(3)]), [changed, ok]);
}

/// Each kind of frame that costs us something and the client nothing ends the connection, and soon.
#[test]
fn floods_are_cut_off() {
    let empty = |kind: u8, stream: u32| raw(kind, 0, stream, &[]);
    let check = |name: &str, first: &[u8], bytes: &dyn Fn(u32) -> Vec<u8>| {
        let mut peer = Peer::new();
        peer.say(first);
        let count = peer.flood(2_000, bytes);
        let bye = peer.log.last().unwrap();
        assert!(
            bye.ends_with("ENHANCE_YOUR_CALM"),
            "{name}: {bye} after {count}"
        );
    };
    let get = |turn: u32| request(turn * 2 + 1, "/big", &[]);
    let open = {
        let mut open = head(1, 0, &GET);
        open[4] = 0;
        open
    };
    check("settings", &[], &|_| settings(&[(settings::STREAMS, 1)]));
    check("settings ack", &[], &|_| {
        raw(kind::SETTINGS, flag::ACK, 0, &[])
    });
    check("ping", &[], &|_| raw(kind::PING, 0, 0, &[0; 8]));
    check("priority", &[], &|_| raw(kind::PRIORITY, 0, 1, &[0; 5]));
    check("unknown", &[], &|_| empty(99, 0));
    check("empty frames", &post(1, &[]), &|_| data(1, 0, false));
    check("continuation", &open, &|_| empty(kind::CONTINUATION, 1));
    check("long continuation", &open, &|_| {
        raw(kind::CONTINUATION, 0, 1, &[0x82; 1_000])
    });
    check(
        "tiny windows",
        &settings(&[(settings::WINDOW, 0)]),
        &|turn| match turn {
            0 => request(1, "/big", &[]),
            _ => more(1, 1),
        },
    );
    check(
        "rapid reset",
        &settings(&[(settings::WINDOW, 0)]),
        &|turn| {
            let reset = raw(kind::RST_STREAM, 0, turn * 2 + 1, &[0, 0, 0, 8]);
            [get(turn), reset].concat()
        },
    );
    check("refused", &settings(&[(settings::WINDOW, 0)]), &get);
    check("malformed", &[], &|turn| request(turn * 2 + 1, "x", &[]));
}

/// A byte can stand for a field of 4 KiB.
#[test]
fn a_bomb_in_a_head_is_not_unpacked() {
    let mut peer = Peer::new();
    let mut block = Vec::new();
    let value = "x".repeat(3_000);
    hpack::field(&mut block, b"bomb", value.as_bytes(), Form::Kept);
    block.resize(block.len() + 1_000, 0x80 | 62);
    peer.say(&raw(
        kind::HEADERS,
        flag::END_HEADERS | flag::END_STREAM,
        1,
        &block,
    ));
    assert_eq!(peer.log, ["bye 0 ENHANCE_YOUR_CALM"]);
    assert_eq!(peer.site.asked, 0);
}

/// A client that asks for much and takes nothing costs no more memory than one that takes it.
#[test]
fn answers_wait_for_windows_in_bounded_memory() {
    let mut peer = Peer::new();
    peer.say(&settings(&[(settings::WINDOW, 0)]));
    for stream in 0..120 {
        peer.say(&request(stream * 2 + 1, "/big", &[]));
    }
    assert_eq!(peer.site.asked, 1, "the others wait as requests");
    peer.say(&settings(&[(settings::WINDOW, 1 << 20)]));
    peer.say(&more(0, 1 << 30));
    assert_eq!(peer.content, 120 * BIG);
}

proptest! {
    #[test]
    fn any_split_gives_the_same_answers(cuts in prop::collection::vec(0usize..4_000, 0..20)) {
        let padded = {
            let mut padded = raw(kind::DATA, flag::PADDED | flag::END_STREAM, 3, &[0; 700]);
            padded[9] = 255;
            padded
        };
        let mut split = head(5, flag::END_STREAM, &[&GET, [(":path", "/kept")].as_slice()].concat());
        let rest = split.split_off(12);
        split[2] = 3;
        split[4] = flag::END_STREAM;
        let rest = raw(kind::CONTINUATION, flag::END_HEADERS, 5, &rest);
        let bytes = [
            PREFACE.to_vec(),
            settings(&[(settings::WINDOW, 70_000)]),
            request(1, "/a", &[("a", "b")]),
            post(3, &[]),
            data(3, 500, false),
            padded,
            split,
            rest,
            request(7, "/file", &[]),
            more(7, 50_000),
            more(0, 50_000),
            request(9, "x", &[]),
        ].concat();
        let whole = talk(&bytes, &[]);
        prop_assert!(whole.iter().any(|line| line == "reset 9 PROTOCOL_ERROR"), "{:?}", whole);
        prop_assert_eq!(talk(&bytes, &cuts), whole);
    }

    #[test]
    fn nothing_makes_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..2_000),
        frames in prop::collection::vec(
            (0u8..11, any::<u8>(), 0u32..6, prop::collection::vec(any::<u8>(), 0..40)), 0..40,
        ),
    ) {
        let mut peer = Peer::new();
        for (kind, flags, stream, payload) in frames {
            peer.say(&raw(kind, flags, stream, &payload));
        }
        peer.say(&bytes);
    }
}

/// All that is answered when `bytes` come in pieces, the frames of each stream by themselves.
fn talk(bytes: &[u8], cuts: &[usize]) -> Vec<String> {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % bytes.len()).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut peer = Peer::fresh(LIMITS);
    let mut from = 0;
    for end in ends {
        peer.say(&bytes[from..end]);
        from = end;
    }
    // How content is cut into frames depends on when windows grew.
    let content = std::mem::take(&mut peer.content);
    let is_piece = |line: &String| line.contains(" +") && !line.contains('.');
    peer.log.retain(|line| !is_piece(line));
    for line in &mut peer.log {
        if let Some(at) = line.find(" +") {
            line.truncate(at);
        }
    }
    peer.log.sort();
    peer.log.push(content.to_string());
    peer.log
}
