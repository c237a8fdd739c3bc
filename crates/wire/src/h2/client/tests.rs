use proptest::prelude::*;

use super::*;
use crate::h2::frame::{FrameHead, kind};
use crate::h2::hpack::{Decoder, Form};
use crate::message::{Head, RequestId, RequestParts};

const NOW: Instant = Instant::from_ns(1_000);

/// What the client told, in words.
#[derive(Default)]
struct Log(Vec<String>);

impl Sink for Log {
    fn first_byte(&mut self, _: StreamId) {}

    fn head(&mut self, stream: StreamId, head: &Head<'_>) {
        self.0.push(format!(
            "{} {} {}",
            stream.0,
            head.status,
            head.framing.name()
        ));
    }

    fn content(&mut self, stream: StreamId, bytes: &[u8]) {
        let text = format!("{}: {}", stream.0, bytes.escape_ascii());
        match self.0.last_mut() {
            // Pieces of one content are one.
            Some(last) if last.starts_with(&format!("{}: ", stream.0)) => {
                last.push_str(&bytes.escape_ascii().to_string());
            }
            _ => self.0.push(text),
        }
    }

    fn skipped(&mut self, _: StreamId, _: u64) {}

    fn complete(&mut self, stream: StreamId) {
        self.0.push(format!("{}.", stream.0));
    }

    fn broken(&mut self, stream: StreamId, how: Broken) {
        self.0.push(format!("{} {how:?}", stream.0));
    }

    fn closing(&mut self) {
        self.0.push("closing".to_owned());
    }

    fn unprocessed(&mut self, stream: StreamId) {
        self.0.push(format!("{} unprocessed", stream.0));
    }
}

/// A server by hand.
struct Peer {
    shared: Shared,
    client: Connection,
    decoder: Decoder,
    log: Log,
    /// What the client sent, in words.
    sent: Vec<String>,
}

fn parts<'a>(target: &'a str, content: Option<&'a [u8]>) -> RequestParts<'a> {
    RequestParts {
        method: "GET",
        target,
        authority: "x",
        fields: &[],
        content,
    }
}

fn compile(all: &[RequestParts<'_>]) -> Vec<Request> {
    let encoded = encode(all, false).into_iter().zip(all).zip(0..);
    encoded
        .map(|((encoded, parts), id)| {
            Request::compile(RequestId(id), parts, false).with_h2(encoded)
        })
        .collect()
}

impl Peer {
    fn new(streams: u32) -> Self {
        let mut shared = Shared::new(streams, 4_096, 10_000);
        let client = Connection::new(&mut shared);
        let mut peer = Self {
            shared,
            client,
            decoder: Decoder::default(),
            log: Log::default(),
            sent: Vec::new(),
        };
        let mut hello = Vec::new();
        peer.client.poll_transmit(NOW, &mut hello);
        let rest = hello.strip_prefix(PREFACE.as_slice()).expect("the preface");
        peer.read(rest);
        assert_eq!(peer.sent, ["settings", "more 0 2147418112"]);
        peer.say(&settings(&[])).unwrap();
        peer.hear();
        peer.sent.clear();
        peer
    }

    fn ask(&mut self, request: &Request) -> StreamId {
        let stream = self.client.begin(request).unwrap();
        assert_eq!(self.hear(), Some(stream));
        stream
    }

    fn say(&mut self, bytes: &[u8]) -> Result<(), ProtocolError> {
        let (shared, log) = (&mut self.shared, &mut self.log);
        self.client
            .handle_bytes(shared, NOW, &mut bytes.to_vec(), log)
    }

    /// Takes what the client wants to send; the exchange that starts in it.
    fn hear(&mut self) -> Option<StreamId> {
        let mut out = Vec::new();
        let mut started = None;
        while self.client.wants_transmit() {
            let mut piece = Vec::new();
            match self.client.poll_transmit(NOW, &mut piece) {
                Transmit::Written { starts } => started = started.or(starts),
                other => panic!("{other:?}"),
            }
            assert!(piece.len() <= 4_096, "{}", piece.len());
            out.extend(piece);
        }
        self.read(&out);
        started
    }

    fn read(&mut self, bytes: &[u8]) {
        let mut rest = bytes;
        while let Some((head, after)) = rest.split_first_chunk() {
            let head = FrameHead::read(*head);
            let (payload, after) = after.split_at(head.length);
            rest = after;
            let (stream, end) = (
                head.stream,
                if head.has(flag::END_STREAM) { "." } else { "" },
            );
            self.sent.push(match head.kind {
                kind::HEADERS => {
                    let mut fields = Vec::new();
                    let each = |name: &[u8], value: &[u8]| {
                        fields.push(format!("{}={}", name.escape_ascii(), value.escape_ascii()));
                    };
                    self.decoder.decode(payload, each).unwrap();
                    format!("{stream}{end} {} ({})", fields.join(" "), payload.len())
                }
                kind::DATA => format!("{stream}{end} +{}", payload.len()),
                kind::SETTINGS if head.has(flag::ACK) => "ack".to_owned(),
                kind::SETTINGS => "settings".to_owned(),
                kind::PING => format!("ping {}", head.flags),
                kind::RST_STREAM => {
                    format!("reset {stream} {}", frame::code_at(payload, 0).unwrap())
                }
                kind::WINDOW_UPDATE => format!("more {stream} {}", frame::number(payload).unwrap()),
                other => format!("kind {other}"),
            });
        }
    }
}

fn settings(values: &[(u16, u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    frame::settings(&mut out, values);
    out
}

fn head(stream: u32, flags: u8, fields: &[(&str, &str)]) -> Vec<u8> {
    let mut block = Vec::new();
    for (name, value) in fields {
        hpack::field(&mut block, name.as_bytes(), value.as_bytes(), Form::Kept);
    }
    let mut out = Vec::new();
    frame::headers(&mut out, stream, &block, flags);
    out
}

fn data(stream: u32, text: &str, is_last: bool) -> Vec<u8> {
    let mut out = Vec::new();
    frame::data(&mut out, stream, text.len(), is_last);
    out.extend_from_slice(text.as_bytes());
    out
}

fn answer(stream: u32, text: &str) -> Vec<u8> {
    let fields = [
        (":status", "200"),
        ("content-length", &text.len().to_string()),
    ];
    [head(stream, 0, &fields), data(stream, text, true)].concat()
}

fn raw(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let length = payload.len();
    FrameHead {
        length,
        kind,
        flags,
        stream,
    }
    .write(&mut out);
    out.extend_from_slice(payload);
    out
}

fn reset(stream: u32, code: u32) -> Vec<u8> {
    raw(kind::RST_STREAM, 0, stream, &code.to_be_bytes())
}

fn go_away(last: u32, code: u32) -> Vec<u8> {
    let payload = [last.to_be_bytes(), code.to_be_bytes()].concat();
    raw(kind::GOAWAY, 0, 0, &payload)
}

/// After the first request on a connection, what they have in common is a byte for each field.
#[test]
fn repeats_are_indexed() {
    let fields = [("User-Agent".to_owned(), "triathlon".to_owned())];
    let mut peer = Peer::new(3);
    let both = ["/a", "/b"].map(|target| RequestParts {
        fields: &fields,
        ..parts(target, None)
    });
    let requests = compile(&both);
    for request in [&requests[0], &requests[1], &requests[0]] {
        peer.ask(request);
    }
    let of = |path: &str| {
        format!(":method=GET :scheme=http :authority=x :path={path} user-agent=triathlon")
    };
    let expected = [
        format!("1. {} (18)", of("/a")),
        format!("3. {} (8)", of("/b")),
        format!("5. {} (8)", of("/a")),
    ];
    assert_eq!(peer.sent, expected);

    let one = compile(&both[..1]);
    let mut peer = Peer::new(2);
    peer.ask(&one[0]);
    peer.ask(&one[0]);
    assert_eq!(peer.sent[1], format!("3. {} (5)", of("/a")));

    // A peer without a table.
    let mut peer = Peer::new(3);
    peer.ask(&one[0]);
    peer.say(&settings(&[(settings::TABLE_SIZE, 0)])).unwrap();
    peer.ask(&one[0]);
    peer.ask(&one[0]);
    assert_eq!(
        peer.sent[1..],
        [
            "ack".to_owned(),
            expected[0].replace("1. ", "3. ").replace("(18)", "(20)"),
            expected[0].replace("1. ", "5. ").replace("(18)", "(19)")
        ]
    );
}

#[test]
fn streams_share_a_connection() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(3);
    assert_eq!(peer.client.free(), 3);
    for _ in 0..3 {
        peer.ask(&requests[0]);
    }
    assert_eq!(peer.client.begin(&requests[0]), Err(Refused::Busy));
    let mixed = [
        head(3, 0, &[(":status", "103")]),
        head(3, 0, &[(":status", "200")]),
        data(3, "b", false),
        answer(1, "hello"),
        data(3, "c", true),
        head(5, flag::END_STREAM, &[(":status", "404")]),
    ];
    peer.say(&mixed.concat()).unwrap();
    let expected = [
        "1 200 frames",
        "1: b",
        "0 200 length",
        "0: hello",
        "0.",
        "1: c",
        "1.",
        "2 404 frames",
        "2.",
    ];
    assert_eq!(peer.log.0, expected);
    assert_eq!(peer.client.free(), 3);
}

#[test]
fn a_peer_allows_fewer_or_more_streams() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(3);
    peer.say(&settings(&[(settings::STREAMS, 1)])).unwrap();
    peer.hear();
    peer.ask(&requests[0]);
    assert_eq!(peer.client.free(), 0);
    peer.say(&settings(&[(settings::STREAMS, 2)])).unwrap();
    assert_eq!(peer.client.free(), 1);
    let told = peer.shared.tally.tell();
    assert_eq!(told.streams_allowed, Some(1));
    assert_eq!((told.connections_limited, told.settings_changes), (1, 2));
}

/// More than the peer takes would be refused, and how many it takes is the first thing it says.
#[test]
fn one_stream_begins_before_the_peer_has_said_how_many_may() {
    let requests = compile(&[parts("/", None)]);
    let mut shared = Shared::new(10, 4_096, 10_000);
    let mut client = Connection::new(&mut shared);
    assert_eq!(client.free(), 1);
    client.begin(&requests[0]).unwrap();
    assert_eq!(client.free(), 0);
    assert_eq!(client.begin(&requests[0]), Err(Refused::Busy));
    let mut greeting = settings(&[(settings::STREAMS, 6)]);
    let heard = client.handle_bytes(&mut shared, NOW, &mut greeting, &mut Log::default());
    assert_eq!(heard, Ok(()));
    assert_eq!(client.free(), 5);
}

/// RFC 9113 §6.8: what stands behind the last stream may be asked again.
#[test]
fn a_server_goes_away() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(3);
    for _ in 0..3 {
        peer.ask(&requests[0]);
    }
    peer.say(&go_away(3, 0)).unwrap();
    assert_eq!(peer.log.0, ["closing", "2 unprocessed"]);
    assert!(peer.client.is_closing());
    assert_eq!(peer.client.free(), 0);
    peer.say(&[answer(1, "a"), answer(5, "late"), go_away(1, 2)].concat())
        .unwrap();
    let after = ["0 200 length", "0: a", "0.", "closing", "1 unprocessed"];
    assert_eq!(peer.log.0[2..], after);
    let told = peer.shared.tally.tell();
    assert_eq!(
        told.go_aways.into_iter().collect::<Vec<_>>(),
        [("INTERNAL_ERROR".to_owned(), 1), ("NO_ERROR".to_owned(), 1)]
    );
    assert_eq!(told.unprocessed, 2);
}

#[test]
fn a_stream_is_reset() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(2);
    peer.ask(&requests[0]);
    peer.ask(&requests[0]);
    peer.say(&[reset(1, 7), answer(3, "a"), reset(3, 0)].concat())
        .unwrap();
    assert_eq!(
        peer.log.0,
        ["0 Reset(Code(7))", "1 200 length", "1: a", "1."]
    );
    assert_eq!(peer.client.free(), 2);
    let resets = peer.shared.tally.tell().resets;
    assert_eq!(
        resets.into_iter().collect::<Vec<_>>(),
        [("REFUSED_STREAM".to_owned(), 1)]
    );
}

/// What is cancelled ends alone: its place is free, and those beside it are answered. What still
/// comes of it is nobody's, but the table that heads share has to follow.
#[test]
fn a_stream_is_cancelled() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(3);
    for _ in 0..3 {
        peer.ask(&requests[0]);
    }
    peer.sent.clear();
    let begun = [
        head(3, 0, &[(":status", "200"), ("a", "b")]),
        data(3, "be", false),
    ];
    peer.say(&begun.concat()).unwrap();
    assert_eq!(peer.client.free(), 0);
    assert!(peer.client.cancel(StreamId(1)));
    assert_eq!(peer.client.free(), 1);
    assert!(!peer.client.cancel(StreamId(1)), "it has ended");
    assert_eq!(peer.hear(), None);
    assert_eq!(peer.sent, ["reset 3 CANCEL"]);

    // The next has the place and a number of its own.
    assert_eq!(peer.ask(&requests[0]), StreamId(1));
    assert!(peer.sent[1].starts_with("7. "), "{:?}", peer.sent);
    let mut more = Vec::new();
    frame::window_update(&mut more, 3, 10);
    let late = [
        data(3, "gin", false),
        more,
        head(3, flag::END_STREAM, &[("trailer", "c")]),
        reset(3, 8),
        answer(1, "a"),
        answer(7, "b"),
        answer(5, "c"),
    ];
    peer.say(&late.concat()).unwrap();
    let expected = [
        "1 200 frames",
        "1: be",
        "0 200 length",
        "0: a",
        "0.",
        "1 200 length",
        "1: b",
        "1.",
        "2 200 length",
        "2: c",
        "2.",
    ];
    assert_eq!(peer.log.0, expected);
    assert_eq!(peer.client.free(), 3);
    assert!(!peer.client.is_closing());
    for place in 0..4 {
        assert!(!peer.client.cancel(StreamId(place)), "{place}");
    }
    assert!(!peer.client.wants_transmit());
}

/// The rest of a frame, or of a head, that is cut by it.
#[test]
fn a_stream_is_cancelled_within_a_frame() {
    let requests = compile(&[parts("/", None)]);
    let open = head(1, 0, &[(":status", "200"), ("a", "b")]);
    let content = data(1, "content", true);
    let block = &open[frame::HEAD..];
    let continued = [
        raw(kind::HEADERS, 0, 1, &block[..2]),
        raw(kind::CONTINUATION, flag::END_HEADERS, 1, &block[2..]),
    ];
    for whole in [
        [open, content.clone()].concat(),
        [continued.concat(), content].concat(),
    ] {
        for cut in 0..whole.len() {
            let mut peer = Peer::new(1);
            peer.ask(&requests[0]);
            peer.say(&whole[..cut]).unwrap();
            assert!(peer.client.cancel(StreamId(0)), "{cut}");
            let told = peer.log.0.len();
            peer.say(&whole[cut..]).unwrap();
            assert_eq!(peer.log.0.len(), told, "{cut}: {:?}", peer.log.0);
            peer.ask(&requests[0]);
            peer.say(
                &[
                    head(3, 0, &[(":status", "200"), ("a", "b")]),
                    data(3, "d", true),
                ]
                .concat(),
            )
            .unwrap();
            assert_eq!(peer.log.0[told..], ["0 200 frames", "0: d", "0."], "{cut}");
        }
    }
}

/// What comes of what was cancelled uses the window of the connection, which is given back.
#[test]
fn what_is_cancelled_keeps_no_window() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(1);
    let piece = data(0, &"x".repeat(16_000), false);
    let (mut used, mut given) = (0, 0);
    for number in 0..3 {
        peer.ask(&requests[0]);
        let id = number * 2 + 1;
        peer.say(&head(id, 0, &[(":status", "200")])).unwrap();
        assert!(peer.client.cancel(StreamId(0)));
        // So much of it is under way already.
        let mut piece = piece.clone();
        piece[5..9].copy_from_slice(&id.to_be_bytes());
        for _ in 0..40_000 {
            peer.say(&piece).unwrap();
            used += 16_000;
        }
        peer.hear();
        for line in peer.sent.drain(..) {
            if let Some(more) = line.strip_prefix("more 0 ") {
                given += more.parse::<u64>().unwrap();
            }
        }
        assert!(used - given < WINDOW_USED + 16_000, "{used} {given}");
    }
    assert!(given > 0);
}

/// What is left of its content is not sent, and what others send is.
#[test]
fn a_request_is_cancelled_while_it_is_sent() {
    let content = vec![b'x'; 50_000];
    let requests = compile(&[parts("/", Some(&content)), parts("/", None)]);
    let mut peer = Peer::new(2);
    peer.say(&settings(&[(settings::WINDOW, 10)])).unwrap();
    peer.hear();
    peer.sent.clear();
    peer.ask(&requests[0]);
    peer.ask(&requests[0]);
    assert_eq!(peer.sent[1], "1 +10");
    assert_eq!(peer.sent.last().unwrap(), "3 +10");
    assert!(peer.client.cancel(StreamId(0)));
    let mut more = Vec::new();
    frame::window_update(&mut more, 1, 100_000);
    frame::window_update(&mut more, 3, 100_000);
    peer.say(&more).unwrap();
    peer.sent.clear();
    peer.hear();
    assert_eq!(peer.sent[0], "reset 1 CANCEL");
    assert!(peer.sent[1..].iter().all(|line| line.starts_with('3')));
    assert!(peer.sent.last().unwrap().starts_with("3. +"));
    // Nothing waits for a window any more.
    assert!(peer.client.uploads.is_empty());
    assert_eq!(peer.ask(&requests[1]), StreamId(0));
}

/// One whose head has not gone out: what others say of it in the peer's table holds.
#[test]
fn a_request_is_cancelled_before_it_is_sent() {
    let fields = [("User-Agent".to_owned(), "triathlon".to_owned())];
    let requests = compile(&[RequestParts {
        fields: &fields,
        ..parts("/", None)
    }]);
    let mut peer = Peer::new(2);
    peer.client.begin(&requests[0]).unwrap();
    peer.client.begin(&requests[0]).unwrap();
    assert!(peer.client.cancel(StreamId(0)));
    assert_eq!(peer.client.begin(&requests[0]), Ok(StreamId(0)));
    assert_eq!(peer.hear(), Some(StreamId(1)));
    let told: Vec<&str> = (peer.sent.iter())
        .map(|line| line.split(' ').next().unwrap())
        .collect();
    assert_eq!(told, ["1.", "3.", "reset", "5."]);
    assert!(peer.sent[3].contains("user-agent=triathlon"));
    peer.say(&[answer(3, "a"), answer(5, "b")].concat())
        .unwrap();
    assert_eq!(peer.log.0.len(), 6);
}

/// Before the peer has said anything nothing is cancelled alone, and after the end nothing is.
#[test]
fn who_is_not_there_is_told_nothing() {
    let requests = compile(&[parts("/", None)]);
    let mut shared = Shared::new(1, 4_096, 10_000);
    let mut client = Connection::new(&mut shared);
    client.begin(&requests[0]).unwrap();
    assert!(!client.cancel(StreamId(0)));
    assert_eq!(client.in_flight(), 1);

    let mut peer = Peer::new(1);
    peer.ask(&requests[0]);
    let (shared, log) = (&mut peer.shared, &mut peer.log);
    peer.client.handle_end(shared, NOW, End::Reset, log);
    assert!(!peer.client.cancel(StreamId(0)));
    assert!(!peer.client.wants_transmit());
}

/// One that has taken leave answers what it has begun, of which some may be cancelled.
#[test]
fn a_stream_is_cancelled_after_leave() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(2);
    peer.ask(&requests[0]);
    peer.ask(&requests[0]);
    peer.say(&go_away(3, 0)).unwrap();
    assert!(peer.client.cancel(StreamId(0)));
    peer.say(&answer(3, "a")).unwrap();
    assert_eq!(peer.log.0.last().unwrap(), "1.");
    assert_eq!((peer.client.free(), peer.client.in_flight()), (0, 0));
}

#[test]
fn content_is_sent_as_windows_allow() {
    let content = vec![b'x'; 70_000];
    let requests = compile(&[parts("/", Some(&content))]);
    let mut peer = Peer::new(2);
    peer.ask(&requests[0]);
    let sum = |peer: &Peer| -> usize {
        let counts = peer.sent.iter().filter_map(|line| line.split_once(" +"));
        counts
            .map(|(_, count)| count.parse::<usize>().unwrap())
            .sum()
    };
    assert_eq!(sum(&peer), 65_535);
    let mut more = Vec::new();
    frame::window_update(&mut more, 1, 100_000);
    peer.say(&more).unwrap();
    assert!(!peer.client.wants_transmit(), "the connection has its own");
    let mut more = Vec::new();
    frame::window_update(&mut more, 0, 100_000);
    peer.say(&more).unwrap();
    peer.hear();
    assert_eq!(sum(&peer), 70_000);
    assert!(
        peer.sent.last().unwrap().starts_with("1. +"),
        "{:?}",
        peer.sent
    );
    assert!(peer.shared.tally.tell().window_stalls > 0);
    peer.say(&answer(1, "a")).unwrap();
    assert_eq!(peer.log.0.last().unwrap(), "0.");

    // One that answers without the rest gets none of it.
    let mut peer = Peer::new(2);
    peer.say(&settings(&[(settings::WINDOW, 10)])).unwrap();
    peer.ask(&requests[0]);
    peer.say(&answer(1, "no")).unwrap();
    peer.hear();
    assert_eq!(peer.sent.last().unwrap(), "reset 1 NO_ERROR");
    assert_eq!(peer.client.free(), 2);
}

/// RFC 9113 §6.9.2: a change concerns streams that are open. One that is over has no window,
/// however large its last one was.
#[test]
fn a_change_of_windows_does_not_concern_streams_that_are_over() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(2);
    peer.ask(&requests[0]);
    peer.ask(&requests[0]);
    let mut wide = Vec::new();
    frame::window_update(&mut wide, 3, 0x7fff_ffff - 65_535);
    peer.say(&[wide, answer(3, "b")].concat()).unwrap();
    peer.say(&settings(&[(settings::WINDOW, 100_000)])).unwrap();
    peer.say(&answer(1, "a")).unwrap();
    assert_eq!(peer.log.0.last().unwrap(), "0.");
}

#[test]
fn what_a_server_must_not_send() {
    let requests = compile(&[parts("/", None)]);
    let check = |bytes: &[u8], expected: ProtocolError| {
        let mut peer = Peer::new(2);
        peer.ask(&requests[0]);
        assert_eq!(peer.say(bytes), Err(expected), "{}", bytes.escape_ascii());
        assert!(peer.client.is_closing());
    };
    let protocol = ProtocolError::Http2(Code::PROTOCOL);
    check(&answer(3, "a"), protocol);
    check(&data(1, "a", true), protocol);
    check(
        &raw(kind::PUSH_PROMISE, 4, 1, &[0, 0, 0, 2, 0x82]),
        protocol,
    );
    check(
        &raw(kind::HEADERS, 4, 1, &[0xbe]),
        ProtocolError::Http2(Code::COMPRESSION),
    );
    check(
        &head(1, 0, &[("a", "b")]),
        ProtocolError::BadHead("it has no :status"),
    );
    check(
        &head(1, 0, &[(":status", "abc")]),
        ProtocolError::BadHead("its :status"),
    );
    check(&head(1, 0, &[(":status", "101")]), ProtocolError::Switched);
    check(
        &head(1, 0, &[(":status", "200"), ("content-length", "x")]),
        ProtocolError::BadLength,
    );
    let long = "x".repeat(11_000);
    check(
        &head(1, 0, &[(":status", "200"), ("a", &long)]),
        ProtocolError::HeadTooLong(10_000),
    );
    check(
        &raw(kind::SETTINGS, 0, 0, &[0; 5]),
        ProtocolError::Http2(Code::FRAME_SIZE),
    );
    check(&raw(kind::WINDOW_UPDATE, 0, 0, &[0; 4]), protocol);

    let mut shared = Shared::new(1, 4_096, 10_000);
    for no_http2 in [
        b"HTTP/1.1 400 Bad Request\r\n".as_slice(),
        &raw(kind::PING, 0, 0, &[0; 8]),
    ] {
        let mut client = Connection::new(&mut shared);
        let told = client.handle_bytes(
            &mut shared,
            NOW,
            &mut no_http2.to_vec(),
            &mut Log::default(),
        );
        assert_eq!(told, Err(ProtocolError::NotHttp2));
    }
    let pings = raw(kind::PING, 0, 0, &[0; 8]).repeat(20_000);
    check(&pings, ProtocolError::Http2(Code::CALM));
}

/// After `first`, a server says `bytes` without end: the connection ends as `expected`, or goes on
/// and holds none of it once the client has said what it owes. What waits to be said is bounded.
#[track_caller]
fn flood(name: &str, first: &[u8], bytes: &[u8], expected: Option<ProtocolError>) {
    let content = vec![b'x'; 5_000];
    let requests = compile(&[parts("/", Some(&content))]);
    for is_heard in [false, true] {
        let mut peer = Peer::new(2);
        peer.say(&settings(&[(settings::WINDOW, 0)])).unwrap();
        peer.ask(&requests[0]);
        peer.say(first).unwrap();
        let mut told = Ok(());
        for _ in 0..30_000 {
            told = peer.say(bytes);
            if told.is_err() {
                break;
            }
            if is_heard {
                peer.hear();
                peer.sent.clear();
            }
            let held = peer.client.out.len() + peer.shared.text.len();
            assert!(held <= OUT_LIMIT + 20_000, "{name}: {held}");
        }
        // Answers that are sent as they come pile up nowhere.
        let is_calm = expected == Some(ProtocolError::Http2(Code::CALM));
        match expected {
            Some(error) if !(is_heard && is_calm) => assert_eq!(told, Err(error), "{name}"),
            _ => assert_eq!(told, Ok(()), "{name}"),
        }
        assert!(!is_heard || peer.client.out.is_empty(), "{name}");
    }
}

#[test]
fn floods_are_dropped() {
    let right = head(1, 0, &[(":status", "200")]);
    let check = |name, bytes: &[u8]| flood(name, &[], bytes, None);
    check("settings ack", &raw(kind::SETTINGS, flag::ACK, 0, &[]));
    check("ping ack", &raw(kind::PING, flag::ACK, 0, &[0; 8]));
    check("priority", &raw(kind::PRIORITY, 0, 1, &[0; 5]));
    check("unknown", &raw(99, 0, 0, &[]));
    check("go away", &go_away(1, 0));
    let mut tiny = Vec::new();
    frame::window_update(&mut tiny, 1, 1);
    check("tiny windows", &tiny);
    flood("empty frames", &right, &data(1, "", false), None);
    let mut padded = vec![100];
    padded.resize(101, 0);
    let padded = raw(kind::DATA, flag::PADDED, 1, &padded);
    flood("padding", &right, &padded, None);
    flood("resets of no stream", &reset(1, 8), &reset(1, 8), None);
}

#[test]
fn floods_are_cut_off() {
    let calm = Some(ProtocolError::Http2(Code::CALM));
    let long = Some(ProtocolError::HeadTooLong(10_000));
    let open = raw(kind::HEADERS, 0, 1, &[0x88]);
    let changes = settings(&[(settings::STREAMS, 9)]);
    flood("settings", &[], &changes, calm);
    flood("ping", &[], &raw(kind::PING, 0, 0, &[0; 8]), calm);
    let empty = raw(kind::CONTINUATION, 0, 1, &[]);
    flood("empty continuation", &open, &empty, long);
    let piece = raw(kind::CONTINUATION, 0, 1, &[0x88; 1_000]);
    flood("long continuation", &open, &piece, long);
    let interim = head(1, 0, &[(":status", "103")]);
    let many = ProtocolError::TooManyInterim(32);
    flood("interim", &[], &interim, Some(many));
    // A byte stands for a field of 3,000.
    let mut bomb = vec![0x88];
    hpack::field(&mut bomb, b"bomb", &[b'x'; 3_000], Form::Kept);
    bomb.resize(bomb.len() + 1_000, 0x80 | 62);
    let bomb = raw(kind::HEADERS, flag::END_HEADERS, 1, &bomb);
    flood("bomb", &[], &bomb, long);
}

/// Content that is not as long as its head says is wrong, and that alone.
#[test]
fn lengths_are_held_against_each_other() {
    let requests = compile(&[parts("/", None)]);
    // What is too much is not handed on.
    for (text, told) in [("abc", "0: abc"), ("abcde", "0: abcd")] {
        let mut peer = Peer::new(2);
        peer.ask(&requests[0]);
        let fields = [(":status", "200"), ("content-length", "4")];
        peer.say(&[head(1, 0, &fields), data(1, text, true)].concat())
            .unwrap();
        assert_eq!(peer.log.0, ["0 200 length", told, "0 Length"]);
        assert!(!peer.client.is_closing());
        assert_eq!(peer.client.free(), 2);
    }
}

#[test]
fn the_end_of_the_connection_ends_all() {
    let requests = compile(&[parts("/", None)]);
    let mut peer = Peer::new(2);
    peer.ask(&requests[0]);
    peer.ask(&requests[0]);
    peer.say(&head(3, 0, &[(":status", "200")])).unwrap();
    let (shared, log) = (&mut peer.shared, &mut peer.log);
    peer.client.handle_end(shared, NOW, End::Finished, log);
    assert_eq!(peer.log.0[1..], ["0 Unanswered", "1 InContent"]);
}

proptest! {
    #[test]
    fn any_split_tells_the_same(cuts in prop::collection::vec(0usize..2_000, 0..20)) {
        let requests = compile(&[parts("/", None)]);
        let bytes = [
            head(3, 0, &[(":status", "200"), ("a", "b")]),
            data(3, &"y".repeat(700), false),
            answer(1, "hello"),
            raw(kind::DATA, flag::PADDED, 3, &[&[9], b"yyy".as_slice(), &[0; 9]].concat()),
            reset(5, 2),
            head(3, flag::END_STREAM, &[("trailer", "c")]),
            head(7, 0, &[(":status", "200"), ("a", "b")]),
            answer(9, "nobody's"),
            go_away(9, 0),
            data(7, "z", true),
        ].concat();
        let talk = |cuts: &[usize]| {
            let mut peer = Peer::new(5);
            for _ in 0..5 {
                peer.ask(&requests[0]);
            }
            assert!(peer.client.cancel(StreamId(4)));
            let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % bytes.len()).collect();
            ends.push(bytes.len());
            ends.sort_unstable();
            let mut from = 0;
            for end in ends {
                peer.say(&bytes[from..end]).unwrap();
                from = end;
            }
            peer.log.0
        };
        prop_assert_eq!(talk(&cuts), talk(&[]));
    }

    #[test]
    fn nothing_makes_it_panic(
        bytes in prop::collection::vec(any::<u8>(), 0..1_000),
        frames in prop::collection::vec(
            (0u8..11, any::<u8>(), 0u32..8, prop::collection::vec(any::<u8>(), 0..40)), 0..40,
        ),
        cancelled in prop::collection::vec(0u32..12, 40),
    ) {
        let requests = compile(&[parts("/", Some(b"content"))]);
        let mut peer = Peer::new(3);
        for ((kind, flags, stream, payload), place) in frames.into_iter().zip(cancelled) {
            if peer.client.cancel(StreamId(place)) {
                let place = usize::try_from(place).unwrap();
                prop_assert_eq!(peer.client.slots[place].id, 0);
            }
            if peer.client.free() > 0 {
                peer.client.begin(&requests[0]).unwrap();
            }
            if peer.say(&raw(kind, flags, stream, &payload)).is_err() {
                return Ok(());
            }
            peer.client.poll_transmit(NOW, &mut Vec::new());
        }
        let _any = peer.say(&bytes);
    }
}
