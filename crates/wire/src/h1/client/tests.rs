use model::Instant;
use proptest::prelude::*;

use super::{Connection, HEAD_BYTES, Shared};
use crate::client::{Broken, Client, End, ProtocolError, Sink, StreamId, Transmit};
use crate::message::{Framing, Head, Request, RequestId, RequestParts, Version};

/// What a sink was told, neighbouring slices of content joined.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Told {
    Head(u32, u16, Version, Framing, bool),
    Content(u32, Vec<u8>),
    Complete(u32),
    Broken(u32, Broken),
}

#[derive(Default)]
struct Log(Vec<Told>);

impl Sink for Log {
    fn first_byte(&mut self, _stream: StreamId) {}

    fn head(&mut self, stream: StreamId, head: &Head<'_>) {
        self.0.push(Told::Head(
            stream.0,
            head.status,
            head.version,
            head.framing,
            head.keep_alive,
        ));
    }

    fn content(&mut self, stream: StreamId, bytes: &[u8]) {
        if let Some(Told::Content(_, content)) = self.0.last_mut() {
            content.extend_from_slice(bytes);
        } else {
            self.0.push(Told::Content(stream.0, bytes.to_vec()));
        }
    }

    fn skipped(&mut self, stream: StreamId, count: u64) {
        self.content(stream, &vec![0; usize::try_from(count).unwrap()]);
    }

    fn complete(&mut self, stream: StreamId) {
        self.0.push(Told::Complete(stream.0));
    }

    fn broken(&mut self, stream: StreamId, how: Broken) {
        self.0.push(Told::Broken(stream.0, how));
    }
}

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn request(method: &str) -> Request {
    Request::compile(
        RequestId(0),
        &RequestParts {
            method,
            target: "/",
            authority: "a",
            fields: &[],
            content: None,
        },
        false,
    )
}

/// Asks once per method, feeds `answer` cut at `cuts`, then ends the stream.
fn exchange(
    shared: &mut Shared,
    methods: &[&str],
    answer: &[u8],
    cuts: &[usize],
) -> (Vec<Told>, Result<(), ProtocolError>) {
    let mut connection = Connection::new(shared);
    let mut log = Log::default();
    for method in methods {
        connection.begin(&request(method)).unwrap();
        let sent = connection.poll_transmit(Instant::ZERO, &mut Vec::new());
        assert!(matches!(sent, Transmit::Fixed { .. }));
    }
    let mut at = 0;
    for cut in cuts.iter().copied().chain([answer.len()]) {
        let mut piece = answer[at..cut.max(at)].to_vec();
        at = cut.max(at);
        if let Err(error) = connection.handle_bytes(shared, Instant::ZERO, &mut piece, &mut log) {
            return (log.0, Err(error));
        }
    }
    connection.handle_end(shared, Instant::ZERO, End::Finished, &mut log);
    (log.0, Ok(()))
}

fn shared() -> Shared {
    Shared::new(16, 1, HEAD_BYTES)
}

#[track_caller]
fn check(methods: &[&str], answer: &str, expected: &[Told]) {
    let (told, result) = exchange(&mut shared(), methods, answer.as_bytes(), &[]);
    assert_eq!((told.as_slice(), result), (expected, Ok(())), "{answer:?}");
}

#[track_caller]
fn check_error(answer: &[u8], expected: ProtocolError) {
    let (_, result) = exchange(&mut shared(), &["GET"], answer, &[]);
    assert_eq!(result, Err(expected));
}

const fn head(stream: u32, status: u16, framing: Framing, keep_alive: bool) -> Told {
    Told::Head(stream, status, Version::Http11, framing, keep_alive)
}

fn content(stream: u32, text: &str) -> Told {
    Told::Content(stream, text.as_bytes().to_vec())
}

#[test]
fn every_framing_is_read() {
    check(
        &["GET"],
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        &[
            head(0, 200, Framing::Length(3), true),
            content(0, "abc"),
            Told::Complete(0),
        ],
    );
    check(
        &["GET"],
        "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
        &[head(0, 200, Framing::Length(0), true), Told::Complete(0)],
    );
    check(
        &["GET"],
        "HTTP/1.1 200 OK\r\ntransfer-encoding: gzip, Chunked\r\n\r\n3;x=y\r\nabc\r\n0\r\nT: v\r\n\r\n",
        &[
            head(0, 200, Framing::Chunked, true),
            content(0, "abc"),
            Told::Complete(0),
        ],
    );
    check(
        &["GET"],
        "HTTP/1.1 200 OK\r\n\r\nto the end",
        &[
            head(0, 200, Framing::Close, false),
            content(0, "to the end"),
            Told::Complete(0),
        ],
    );
    check(
        &["HEAD"],
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n",
        &[head(0, 200, Framing::None, true), Told::Complete(0)],
    );
    for status in [204, 304] {
        check(
            &["GET"],
            &format!("HTTP/1.1 {status} x\r\nContent-Length: 3\r\n\r\n"),
            &[head(0, status, Framing::None, true), Told::Complete(0)],
        );
    }
    check(
        &["GET"],
        "HTTP/1.1 200 OK\nContent-Length: 1\n\nx",
        &[
            head(0, 200, Framing::Length(1), true),
            content(0, "x"),
            Told::Complete(0),
        ],
    );
}

#[test]
fn who_keeps_the_connection() {
    let answer = |line: &str| format!("{line}\r\nContent-Length: 0\r\n\r\n");
    let check = |line: &str, version, keep| {
        let (told, _) = exchange(&mut shared(), &["GET"], answer(line).as_bytes(), &[]);
        assert_eq!(
            told[0],
            Told::Head(0, 200, version, Framing::Length(0), keep),
            "{line}"
        );
    };
    check("HTTP/1.1 200 OK", Version::Http11, true);
    check(
        "HTTP/1.1 200 OK\r\nConnection: Close",
        Version::Http11,
        false,
    );
    check(
        "HTTP/1.1 200 OK\r\nConnection: te, close",
        Version::Http11,
        false,
    );
    check("HTTP/1.0 200 OK", Version::Http10, false);
    check(
        "HTTP/1.0 200 OK\r\nConnection: Keep-Alive",
        Version::Http10,
        true,
    );
}

#[test]
fn interim_answers_are_passed_over() {
    check(
        &["GET"],
        "HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
        &[head(0, 204, Framing::None, true), Told::Complete(0)],
    );
    check_error(b"HTTP/1.1 101 Switching\r\n\r\n", ProtocolError::Switched);
    check_error(
        "HTTP/1.1 100 C\r\n\r\n".repeat(40).as_bytes(),
        ProtocolError::TooManyInterim(32),
    );
}

#[test]
fn pipelined_answers_go_to_their_requests() {
    check(
        &["GET", "HEAD", "GET"],
        "HTTP/1.1 200 a\r\nContent-Length: 1\r\n\r\nx\
         HTTP/1.1 200 b\r\nContent-Length: 9\r\n\r\n\
         HTTP/1.1 200 c\r\nContent-Length: 5\r\n\r\nab",
        &[
            head(0, 200, Framing::Length(1), true),
            content(0, "x"),
            Told::Complete(0),
            head(1, 200, Framing::None, true),
            Told::Complete(1),
            head(2, 200, Framing::Length(5), true),
            content(2, "ab"),
            Told::Broken(2, Broken::InContent),
        ],
    );
}

#[test]
fn the_end_of_the_stream_breaks_what_is_under_way() {
    check(&["GET"], "", &[Told::Broken(0, Broken::Unanswered)]);
    check(&["GET"], "HTTP/1.1 2", &[Told::Broken(0, Broken::InHead)]);
    check(
        &["GET", "GET"],
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n",
        &[
            head(0, 200, Framing::Chunked, true),
            content(0, "a"),
            Told::Broken(0, Broken::InContent),
            Told::Broken(1, Broken::Unanswered),
        ],
    );
}

#[test]
fn a_reset_does_not_complete_an_answer_that_only_the_close_delimits() {
    let mut shared = shared();
    let mut connection = Connection::new(&mut shared);
    let mut log = Log::default();
    connection.begin(&request("GET")).unwrap();
    let mut answer = b"HTTP/1.1 200 OK\r\n\r\nhalf".to_vec();
    connection
        .handle_bytes(&mut shared, Instant::ZERO, &mut answer, &mut log)
        .unwrap();
    connection.handle_end(&mut shared, Instant::ZERO, End::Reset, &mut log);
    assert_eq!(log.0.last(), Some(&Told::Broken(0, Broken::InContent)));
}

#[test]
fn what_is_not_http_is_refused() {
    check_error(b"SSH-2.0-OpenSSH_9.2\r\n", ProtocolError::NotHttp);
    check_error(b"HTTP/2 200\r\n\r\n", ProtocolError::NotHttp);
    check_error(
        b"HTTP/1.1 2x0 OK\r\n\r\n",
        ProtocolError::BadHead("the status line"),
    );
    for value in ["x", "-1", "1, 2", "", "99999999999999999999"] {
        check_error(
            format!("HTTP/1.1 200 OK\r\nContent-Length: {value}\r\n\r\n").as_bytes(),
            ProtocolError::BadLength,
        );
    }
    check_error(
        b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxyz",
        ProtocolError::Excess,
    );
    check_error(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz",
        ProtocolError::BadChunk,
    );
}

#[test]
fn a_head_may_be_long_but_not_endless() {
    let long = format!(
        "HTTP/1.1 204 OK\r\n{}\r\n",
        "X-Padding: 0123456789abcdef0123456789abcdef\r\n".repeat(1_400)
    );
    check(
        &["GET"],
        &long,
        &[head(0, 204, Framing::None, true), Told::Complete(0)],
    );
    let one_at_a_time: Vec<usize> = (0..long.len()).collect();
    let (told, result) = exchange(&mut shared(), &["GET"], long.as_bytes(), &one_at_a_time);
    assert_eq!((told.len(), result), (2, Ok(())));
    check_error(
        format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(HEAD_BYTES)).as_bytes(),
        ProtocolError::HeadTooLong(HEAD_BYTES),
    );
}

#[test]
fn bytes_nobody_asked_for_are_refused() {
    let mut shared = shared();
    let mut connection = Connection::new(&mut shared);
    let result = connection.handle_bytes(
        &mut shared,
        Instant::ZERO,
        &mut HELLO.to_vec(),
        &mut Log::default(),
    );
    assert_eq!(result, Err(ProtocolError::Unsolicited));
}

#[test]
fn a_goodbye_to_an_idle_connection_is_a_close() {
    let mut shared = shared();
    let mut connection = Connection::new(&mut shared);
    let mut log = Log::default();
    for mut bytes in [b"HTTP/1.1 408 Timeout\r\n".to_vec(), b"\r\nbye".to_vec()] {
        let result = connection.handle_bytes(&mut shared, Instant::ZERO, &mut bytes, &mut log);
        assert_eq!(result, Ok(()));
        assert!(connection.is_closing());
    }
    connection.handle_end(&mut shared, Instant::ZERO, End::Finished, &mut log);
    assert_eq!(log.0, []);
}

#[test]
fn places_of_exchanges_are_used_again_in_turn() {
    let mut shared = Shared::new(3, 1, HEAD_BYTES);
    let mut connection = Connection::new(&mut shared);
    let mut log = Log::default();
    let begin = |connection: &mut Connection| {
        let stream = connection.begin(&request("GET")).unwrap();
        connection.poll_transmit(Instant::ZERO, &mut Vec::new());
        stream.0
    };
    let mut begun: Vec<u32> = (0..3).map(|_| begin(&mut connection)).collect();
    assert_eq!(connection.free(), 0);
    for _ in 0..4 {
        connection
            .handle_bytes(&mut shared, Instant::ZERO, &mut HELLO.to_vec(), &mut log)
            .unwrap();
        begun.push(begin(&mut connection));
    }
    assert_eq!(begun, [0, 1, 2, 0, 1, 2, 0]);
    let ended = log.0.iter().filter_map(|told| match told {
        Told::Complete(stream) => Some(*stream),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [0, 1, 2, 0]);
}

#[test]
fn a_known_head_is_recognised_and_its_date_may_change() {
    let mut shared = shared();
    let answer = |second: u32, length: u32| {
        format!(
            "HTTP/1.1 200 OK\r\nDate: Fri, 20 Nov 2026 10:00:{second:02} GMT\r\n\
             Content-Length: {length}\r\n\r\nabc"
        )
    };
    for (second, length) in [(1, 3), (1, 3), (2, 3), (3, 2), (3, 3)] {
        let (told, result) = exchange(
            &mut shared,
            &["GET"],
            answer(second, length).as_bytes(),
            &[],
        );
        if length == 3 {
            assert_eq!(told[1..], [content(0, "abc"), Told::Complete(0)]);
        } else {
            assert_eq!(result, Err(ProtocolError::Excess));
        }
    }
    // A line end where the date was is another head: it must be parsed, and here it is two fields.
    let forged = answer(4, 3).replace("10:00:04 GMT", "\r\nConnection:x");
    let (told, _) = exchange(&mut shared, &["GET"], forged.as_bytes(), &[]);
    assert_eq!(told[0], head(0, 200, Framing::Length(3), true));
}

#[test]
fn a_closing_connection_takes_no_more() {
    let mut shared = shared();
    let mut connection = Connection::new(&mut shared);
    let mut log = Log::default();
    assert_eq!((connection.free(), connection.is_closing()), (16, false));
    connection.begin(&request("GET")).unwrap();
    assert_eq!(connection.free(), 0, "nothing was sent yet");
    assert!(connection.wants_transmit());
    let mut answer = b"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n".to_vec();
    connection
        .handle_bytes(&mut shared, Instant::ZERO, &mut answer, &mut log)
        .unwrap();
    assert_eq!((connection.free(), connection.is_closing()), (0, true));
}

#[test]
fn content_can_be_drained_unread() {
    let mut shared = shared();
    let mut connection = Connection::new(&mut shared);
    let mut log = Log::default();
    connection.begin(&request("GET")).unwrap();
    assert_eq!(connection.skippable(), 0);
    let mut answer = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nab".to_vec();
    connection
        .handle_bytes(&mut shared, Instant::ZERO, &mut answer, &mut log)
        .unwrap();
    assert_eq!(connection.skippable(), 8);
    connection.handle_skipped(Instant::ZERO, 8, &mut log);
    assert_eq!(log.0.last(), Some(&Told::Complete(0)));
}

/// Valid answers of every kind, and the methods they answer.
fn answers() -> impl Strategy<Value = (Vec<&'static str>, Vec<u8>)> {
    let field = prop_oneof![
        Just("Server: x\r\n"),
        Just("Date: Fri, 20 Nov 2026 10:00:00 GMT\r\n"),
        Just("X-Empty:\r\n"),
        Just("Connection: keep-alive\r\n"),
        Just("X-Folded: a\r\n b\r\n"),
    ];
    let fields = proptest::collection::vec(field, 0..6).prop_map(|fields| fields.concat());
    let one = (fields, 0u8..6, "[a-z\r\n]{0,40}").prop_map(|(fields, kind, body)| {
        let length = body.len();
        match kind {
            0 => ("HEAD", format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: 77\r\n\r\n")),
            1 => ("GET", format!("HTTP/1.1 304 NM\r\n{fields}\r\n")),
            2 => (
                "GET",
                format!("HTTP/1.1 100 C\r\n{fields}\r\nHTTP/1.1 404 NF\r\n{fields}Content-Length: {length}\r\n\r\n{body}"),
            ),
            3 => (
                "GET",
                format!("HTTP/1.1 200 OK\r\n{fields}Transfer-Encoding: chunked\r\n\r\n{}0\r\nT: x\r\n\r\n",
                    if body.is_empty() { String::new() } else { format!("{length:x}\r\n{body}\r\n") }),
            ),
            _ => (
                "GET",
                format!("HTTP/1.1 200 OK\r\n{fields}Content-Length: {length}\r\n\r\n{body}"),
            ),
        }
    });
    proptest::collection::vec(one, 1..6).prop_map(|answers| {
        let (methods, texts): (Vec<_>, Vec<_>) = answers.into_iter().unzip();
        (methods, texts.concat().into_bytes())
    })
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_tells_the_same(
        (methods, answer) in answers(),
        cuts in proptest::collection::vec(any::<prop::sample::Index>(), 0..12),
    ) {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(answer.len() + 1)).collect();
        cuts.sort_unstable();
        let mut shared = shared();
        let (whole, result) = exchange(&mut shared, &methods, &answer, &[]);
        prop_assert_eq!(result, Ok(()));
        prop_assert_eq!(
            whole.iter().filter(|told| matches!(told, Told::Complete(_))).count(),
            methods.len()
        );
        // The second time the worker may know the head already.
        for _ in 0..2 {
            let (pieces, result) = exchange(&mut shared, &methods, &answer, &cuts);
            prop_assert_eq!(result, Ok(()));
            prop_assert_eq!(&pieces, &whole);
        }
    }

    /// Around `httparse` there is a search for the end and an interpretation: neither changes what
    /// it says.
    #[test]
    fn heads_are_read_as_httparse_reads_them(
        status in "[1-5][0-9]{2}",
        lines in proptest::collection::vec("([A-Za-z-]{1,12}: ?[ -~]{0,20}|[ -~]{0,20})\r?\n", 0..6),
        end in "\r?\n",
    ) {
        let bytes = format!("HTTP/1.1 {status} OK\r\n{}{end}", lines.concat()).into_bytes();
        let mut fields = [httparse::EMPTY_HEADER; 16];
        let mut theirs = httparse::Response::new(&mut fields);
        let verdict = httparse::ParserConfig::default()
            .allow_obsolete_multiline_headers_in_responses(true)
            .parse_response(&mut theirs, &bytes);
        let ours = crate::h1::parse::head_end(&bytes, 0);
        match (ours, verdict) {
            (Ok(Some(end)), Ok(httparse::Status::Complete(length))) => {
                prop_assert_eq!(end, length);
                if let Ok(head) = crate::h1::parse::response(&bytes[..end]) {
                    prop_assert_eq!(Some(head.status), theirs.code);
                }
            }
            (Ok(Some(end)), Err(_)) => {
                prop_assert!(crate::h1::parse::response(&bytes[..end]).is_err());
            }
            (ours, verdict) => prop_assert!(false, "{ours:?}, {verdict:?}"),
        }
    }

    #[test]
    fn garbage_never_panics_and_any_split_gives_the_same_verdict(
        mut answer in proptest::collection::vec(any::<u8>(), 0..200),
        prefixed in any::<bool>(),
        cut in any::<prop::sample::Index>(),
    ) {
        if prefixed {
            answer.splice(0..0, *b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n");
        }
        let cut = cut.index(answer.len() + 1);
        let whole = exchange(&mut shared(), &["GET"], &answer, &[]);
        let pieces = exchange(&mut shared(), &["GET"], &answer, &[cut]);
        prop_assert_eq!(whole.1.is_ok(), pieces.1.is_ok());
    }
}
