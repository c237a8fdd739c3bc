use proptest::prelude::*;

use super::*;

/// What a server would do with a stream of bytes that holds no bodies.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Read {
    Head(String),
    Rejected(Rejection),
}

const SMALL: Limits = Limits {
    request_line: 60,
    head: 200,
};

/// Reads requests without bodies from `bytes` arriving in pieces that end at `cuts`.
fn read_in_pieces(bytes: &[u8], cuts: &[usize], limits: &Limits) -> (Vec<Read>, usize) {
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    ends.push(bytes.len());
    ends.sort_unstable();
    let mut reads = Vec::new();
    let mut start = 0;
    let mut scan = HeadScan::default();
    for end in ends {
        loop {
            match scan.scan(&bytes[start..end], limits) {
                Ok(None) => break,
                Ok(Some(range)) => {
                    let head = &bytes[start + range.start..start + range.end];
                    match parse_request(head, &mut FieldSpace::default()) {
                        Ok(head) => reads.push(Read::Head(format!("{head:?}"))),
                        Err(rejection) => {
                            reads.push(Read::Rejected(rejection));
                            return (reads, start);
                        }
                    }
                    start += range.end;
                    scan = HeadScan::default();
                }
                Err(rejection) => {
                    reads.push(Read::Rejected(rejection));
                    return (reads, start);
                }
            }
        }
    }
    (reads, start)
}

fn parse<T>(text: &str, look: impl FnOnce(&RequestHead<'_>) -> T) -> Result<T, Rejection> {
    let range = HeadScan::default()
        .scan(text.as_bytes(), &Limits::default())?
        .expect("a whole head");
    let mut space = FieldSpace::default();
    let head = parse_request(&text.as_bytes()[range.start..range.end], &mut space)?;
    Ok(look(&head))
}

#[test]
fn a_head_is_read() {
    let text =
        "\r\n\r\nGET /a%20b?c HTTP/1.1\r\nHost: [::1]:80\r\naccept: x\r\nAccept:y\r\n\r\nrest";
    parse(text, |head| {
        assert_eq!((head.method, head.target), ("GET", "/a%20b?c"));
        assert_eq!(head.version, Version::Http11);
        assert_eq!(head.field("ACCEPT"), Some(b"x".as_slice()));
        assert_eq!(head.all_fields("Accept").count(), 2);
        assert_eq!(head.body, RequestBody::Length(0));
        assert!(head.keep_alive && !head.expects_continue);
    })
    .unwrap();
}

#[track_caller]
fn check_keep_alive(text: &str, expected: bool) {
    assert_eq!(parse(text, |head| head.keep_alive), Ok(expected), "{text}");
}

#[test]
fn connections_stay_open_as_asked() {
    check_keep_alive("GET / HTTP/1.1\r\nHost: x\r\n\r\n", true);
    check_keep_alive(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: Close\r\n\r\n",
        false,
    );
    check_keep_alive(
        "GET / HTTP/1.1\r\nHost: x\r\nConnection: te, close\r\n\r\n",
        false,
    );
    check_keep_alive("GET / HTTP/1.0\r\n\r\n", false);
    check_keep_alive("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", true);
    check_keep_alive(
        "GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n",
        false,
    );
}

#[track_caller]
fn check_body(fields: &str, expected: Result<RequestBody, Rejection>) {
    let text = format!("POST / HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    assert_eq!(parse(&text, |head| head.body), expected, "{fields}");
}

#[test]
fn the_end_of_a_body_is_never_guessed() {
    let bad = |why| Err(Rejection::Bad(why));
    check_body("Content-Length: 5\r\n", Ok(RequestBody::Length(5)));
    check_body(
        "Content-Length: 18446744073709551615\r\n",
        Ok(RequestBody::Length(u64::MAX)),
    );
    check_body("Transfer-Encoding: Chunked\r\n", Ok(RequestBody::Chunked));
    check_body(
        "Transfer-Encoding: gzip, chunked\r\n",
        Err(Rejection::TransferCoding),
    );
    for length in [
        "",
        "-1",
        "+1",
        "1 ",
        "0x5",
        "1,1",
        "1, 1",
        "18446744073709551616",
        "5 5",
        "1\t1",
    ] {
        let expected = match length {
            "1 " => Ok(RequestBody::Length(1)), // blanks around a value belong to no value
            _ => bad("the Content-Length field"),
        };
        check_body(&format!("Content-Length: {length}\r\n"), expected);
    }
    check_body(
        "Content-Length: 5\r\nContent-Length: 5\r\n",
        bad("two Content-Length fields"),
    );
    check_body(
        "Content-Length: 5\r\nContent-length: 6\r\n",
        bad("two Content-Length fields"),
    );
    let both = bad("both a length and a transfer coding");
    check_body("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", both);
    check_body("Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", both);
    let endless = bad("a transfer coding that does not end the body");
    check_body("Transfer-Encoding: chunked, chunked\r\n", endless);
    check_body("Transfer-Encoding: chunked, identity\r\n", endless);
    check_body("Transfer-Encoding: identity\r\n", endless);
    check_body("Transfer-Encoding: xchunked\r\n", endless);
    check_body("Transfer-Encoding: \x0bchunked\r\n", bad("a field value"));
    let two = "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n";
    check_body(two, bad("two Transfer-Encoding fields"));
    check_body("Transfer-Encoding : chunked\r\n", bad("a field name"));
    check_body(" Transfer-Encoding: chunked\r\n", bad("a field name"));
    check_body(
        "X: y\r\n Transfer-Encoding: chunked\r\n",
        bad("a field name"),
    );
}

#[track_caller]
fn check_rejection(bytes: &[u8], expected: Rejection) {
    let (reads, _) = read_in_pieces(bytes, &[], &Limits::default());
    assert_eq!(
        reads.last(),
        Some(&Read::Rejected(expected)),
        "{}",
        bytes.escape_ascii()
    );
    let each_byte: Vec<usize> = (0..bytes.len()).collect();
    assert_eq!(
        read_in_pieces(bytes, &each_byte, &Limits::default()).0,
        reads
    );
}

#[test]
fn a_later_minor_version_is_read_as_http_1_1() {
    for minor in 2..=9 {
        let text = format!("GET /a HTTP/1.{minor}\r\nHost: x\r\nA: b\r\n\r\n");
        parse(&text, |head| {
            assert_eq!((head.method, head.target), ("GET", "/a"), "{text}");
            assert_eq!(head.version, Version::Http11, "{text}");
            assert_eq!(head.field("a"), Some(b"b".as_slice()), "{text}");
            assert_eq!(head.bytes, text.as_bytes());
            assert!(head.keep_alive);
        })
        .unwrap();
    }
    check_rejection(b"GET / HTTP/1.2\r\n\r\n", Rejection::Bad("no Host field"));
}

#[track_caller]
fn check_host(host: &str, is_good: bool) {
    for version in ["1.0", "1.1"] {
        let text = format!("GET / HTTP/{version}\r\nHost: {host}\r\n\r\n");
        let expected = if is_good {
            Ok(())
        } else {
            Err(Rejection::Bad("the Host field"))
        };
        assert_eq!(parse(&text, |_| ()), expected, "{text:?}");
    }
}

#[test]
fn a_host_follows_the_grammar() {
    for host in [
        "a",
        "a.example",
        "a:80",
        "a:",
        "127.0.0.1:8080",
        "[::1]",
        "[::1]:80",
        "[::ffff:1.2.3.4]",
        "[v1f.a:b]",
        "a%20b",
        "sub_domain.!$&'()*+,;=~",
    ] {
        check_host(host, true);
    }
    for host in [
        "",
        ":",
        ":80",
        "a:b",
        "a:b:c",
        "a:80:80",
        "[",
        "]",
        "[]",
        "[::1",
        "::1",
        "[::1]x",
        "[::1]:x",
        "[::1%25lo]",
        "[1.2.3.4]",
        "[v.a]",
        "[v1.]",
        "[v1]",
        "a[b]",
        "a%",
        "a%2",
        "a%2g",
        "a@b",
        "a/b",
        "a b",
        "a\u{e9}",
    ] {
        check_host(host, false);
    }
}

#[test]
fn what_is_no_request_is_refused() {
    let bad = Rejection::Bad;
    check_rejection(b"GET / HTTP/1.1\r\n\r\n", bad("no Host field"));
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n",
        bad("two Host fields"),
    );
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
        bad("the Host field"),
    );
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a b\r\n\r\n",
        bad("the Host field"),
    );
    check_rejection(
        b"GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
        bad("a transfer coding in HTTP/1.0"),
    );
    check_rejection(
        b"GET / HTTP/1.1\nHost: a\n\n",
        bad("a line does not end with CRLF"),
    );
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a\n\r\n",
        bad("a line does not end with CRLF"),
    );
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a\rX: y\r\n\r\n",
        bad("a field value"),
    );
    check_rejection(b"\n", bad("it does not start with a method"));
    check_rejection(b"\x16\x03\x01\x02", bad("it does not start with a method"));
    check_rejection(
        b"\r\n GET / HTTP/1.0\r\n\r\n",
        bad("it does not start with a method"),
    );
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a\r\nX\0: y\r\n\r\n",
        bad("a field name"),
    );
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a\r\nX: y\0\r\n\r\n",
        bad("a field value"),
    );
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a\r\nX y\r\n\r\n",
        bad("a field name"),
    );
    check_rejection(
        b"GET / HTTP/1.1\r\nHost: a\r\nExpect: cake\r\n\r\n",
        Rejection::Expectation,
    );
}

#[test]
fn a_request_line_has_three_words() {
    let bad = Rejection::Bad;
    check_rejection(b"GET / HTTP/2.0\r\nHost: a\r\n\r\n", Rejection::Version);
    check_rejection(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", Rejection::Version);
    check_rejection(b"GET / HTTP/0.9\r\nHost: a\r\n\r\n", Rejection::Version);
    check_rejection(
        b"GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
        bad("the request line"),
    );
    check_rejection(
        b"GET /a b HTTP/2.0\r\nHost: a\r\n\r\n",
        bad("the request line"),
    );
    check_rejection(
        b"GET /a b HTTP/1.2\r\nHost: a\r\n\r\n",
        bad("the request line"),
    );
    check_rejection(
        b"GET / HTTP/x\r\n\r\n",
        bad("the request line has no version"),
    );
    check_rejection(b"GET /\r\n\r\n", bad("the request line"));
    check_rejection(
        b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
        bad("the request line"),
    );
    check_rejection(
        b"G\0T / HTTP/1.1\r\nHost: a\r\n\r\n",
        bad("the request line"),
    );
}

#[test]
fn bombs_are_refused_before_they_are_whole() {
    let mut long_line = b"GET /".to_vec();
    long_line.resize(8 * 1024 + 1, b'a');
    check_rejection(&long_line, Rejection::TargetTooLong);
    let mut long_field = b"GET / HTTP/1.1\r\nX: ".to_vec();
    long_field.resize(32 * 1024, b'a');
    check_rejection(&long_field, Rejection::HeadTooLarge);
    let mut many_fields = b"GET / HTTP/1.1\r\nHost: a\r\n".to_vec();
    many_fields.extend_from_slice(&b"X: y\r\n".repeat(FIELDS_LIMIT));
    many_fields.extend_from_slice(b"\r\n");
    check_rejection(&many_fields, Rejection::HeadTooLarge);
    check_rejection(&b"\r\n".repeat(20_000), Rejection::HeadTooLarge);
}

proptest! {
    #[test]
    fn any_split_gives_the_same_requests(
        targets in prop::collection::vec("/[a-z?%]{0,50}", 1..4),
        fields in prop::collection::vec("[A-Za-z-]{1,6}: ?[ -~]{0,30}\r\n", 0..5),
        newline in prop::sample::select(vec!["\r\n", "\r\n", "\r\n", "\n", "\r"]),
        rest in "[\r\na-z ]{0,20}",
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let mut text = String::new();
        for target in &targets {
            text += &format!("GET {target} HTTP/1.1{newline}Host: x\r\n{}\r\n", fields.concat());
        }
        text += &rest;
        let whole = read_in_pieces(text.as_bytes(), &[], &SMALL);
        prop_assert_eq!(read_in_pieces(text.as_bytes(), &cuts, &SMALL), whole);
    }

    #[test]
    fn garbage_is_judged_the_same_however_split(
        bytes in prop::collection::vec(
            prop::sample::select(b"GET / HTTP/1.1\r\n\r\n:x\n\0\t\r".to_vec()), 0..300),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let whole = read_in_pieces(&bytes, &[], &SMALL);
        prop_assert_eq!(read_in_pieces(&bytes, &cuts, &SMALL), whole);
    }
}
