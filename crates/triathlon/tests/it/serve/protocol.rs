//! What comes back for what is asked: files, refusals, order.

use std::io::{Read as _, Write as _};
use std::os::unix::ffi::OsStringExt as _;
use std::os::unix::fs::symlink;

use super::{Answer, Served, backends};

const PAGE: &[u8] = b"<p>page";

fn files() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("seven.txt", b"7 bytes"),
        ("empty", b""),
        ("index.html", PAGE),
        ("sub/index.html", PAGE),
        ("none/other.html", PAGE),
        ("with space.txt", b"space"),
    ]
}

#[test]
fn files_are_served() {
    for backend in backends() {
        let large: Vec<u8> = (0..300_000_u32).map(|at| b'a' + (at % 26) as u8).collect();
        let mut files = files();
        files.push(("large.bin", &large));
        let server = Served::start(&files, &format!("--backend {backend}"));

        let seven = server.ask("GET", "/seven.txt", "");
        assert_eq!((seven.status, seven.body.as_str()), (200, "7 bytes"));
        assert_eq!(
            seven.field("Content-Type"),
            Some("text/plain; charset=utf-8")
        );
        assert_eq!(seven.field("Connection"), Some("close"));
        for name in ["Date", "Server", "Last-Modified", "ETag", "Accept-Ranges"] {
            assert!(seven.field(name).is_some(), "no {name}: {seven:?}");
        }
        let head = server.ask("HEAD", "/seven.txt", "");
        assert_eq!(
            (head.status, head.length(), head.body.as_str()),
            (200, 7, "")
        );
        assert_eq!(server.ask("GET", "/empty", "").length(), 0);
        assert_eq!(server.ask("GET", "/", "").body.as_bytes(), PAGE);
        assert_eq!(server.ask("GET", "/sub/?q", "").body.as_bytes(), PAGE);
        assert_eq!(server.ask("GET", "/with%20space.txt", "").body, "space");
        assert_eq!(
            server.ask("GET", "/./sub/..//seven.txt?x=y", "").status,
            200
        );
        assert_eq!(
            server.ask("GET", "http://any.host/seven.txt", "").status,
            200
        );
        assert_eq!(server.ask("GET", "/large.bin", "").body.as_bytes(), large);
        let part = server.ask("GET", "/large.bin", "Range: bytes=100000-199999\r\n");
        assert_eq!(part.status, 206);
        assert_eq!(part.body.as_bytes(), &large[100_000..200_000]);

        let moved = server.ask("GET", "/sub?a=b", "");
        assert_eq!(
            (moved.status, moved.field("Location")),
            (301, Some("/sub/?a=b"))
        );
        let moved = server.ask("GET", "//sub", "");
        assert_eq!(
            (moved.status, moved.field("Location")),
            (301, Some("/sub/"))
        );
    }
}

#[test]
fn ranges_and_conditions_are_honoured() {
    let server = Served::start(&files(), "");
    let seven = server.ask("GET", "/seven.txt", "");
    let etag = seven.field("ETag").expect("a tag").to_owned();
    let date = seven.field("Last-Modified").expect("a date").to_owned();

    let many = server.ask("GET", "/seven.txt", "Range: bytes=0-0, 2-3 ,-1\r\n");
    assert_eq!((many.status, many.length()), (206, many.body.len()));
    let kind = many.field("Content-Type").expect("a type");
    let boundary = kind
        .strip_prefix("multipart/byteranges; boundary=")
        .expect("a boundary");
    let parts: Vec<&str> = many.body.split(&format!("\r\n--{boundary}")).collect();
    let [_, first, second, third, end] = *parts.as_slice() else {
        panic!("three parts and an end: {many:?}");
    };
    assert!(first.contains("Content-Range: bytes 0-0/7\r\n") && first.ends_with("\r\n\r\n7"));
    assert!(second.contains("Content-Range: bytes 2-3/7\r\n") && second.ends_with("\r\n\r\nby"));
    assert!(third.contains("Content-Range: bytes 6-6/7\r\n") && third.ends_with("\r\n\r\ns"));
    assert_eq!(end, "--\r\n");

    let check = |fields: String, status: u16, body: &str| {
        let answer = server.ask("GET", "/seven.txt", &fields);
        assert_eq!(
            (answer.status, answer.body.as_str()),
            (status, body),
            "{fields}"
        );
        answer
    };
    let out = check("Range: bytes=7-\r\n".to_owned(), 416, "");
    assert_eq!(out.field("Content-Range"), Some("bytes */7"));
    let same = check(format!("If-None-Match: {etag}\r\n"), 304, "");
    assert_eq!(same.field("ETag"), Some(etag.as_str()));
    check(format!("If-Modified-Since: {date}\r\n"), 304, "");
    check("If-None-Match: \"x\"\r\n".to_owned(), 200, "7 bytes");
    check(format!("If-Match: {etag}\r\n"), 200, "7 bytes");
    check(
        "If-Match: \"x\"\r\n".to_owned(),
        412,
        "412 Precondition Failed\n",
    );
    check(
        format!("Range: bytes=0-1\r\nIf-Range: {etag}\r\n"),
        206,
        "7 ",
    );
    check(
        "Range: bytes=0-1\r\nIf-Range: \"x\"\r\n".to_owned(),
        200,
        "7 bytes",
    );
}

#[test]
fn what_is_not_served_is_refused() {
    let server = Served::start(&files(), "--max-body 1k");
    let check = |method: &str, target: &str, fields: &str, status: u16| {
        let answer = server.ask(method, target, fields);
        assert_eq!(
            answer.status, status,
            "{method} {target} {fields:?}: {answer:?}"
        );
        answer
    };
    check("GET", "/missing", "", 404);
    check("GET", "/none/", "", 404);
    check("GET", "/seven.txt/", "", 404);
    check("GET", "/seven.txt/x", "", 404);
    check("GET", "/.triathlon/null", "", 404);
    check("GET", "seven.txt", "", 400);
    check("GET", "*", "", 400);
    let allow = check("POST", "/seven.txt", "", 405);
    assert_eq!(allow.field("Allow"), Some("GET, HEAD, OPTIONS"));
    check("DELETE", "/seven.txt", "", 405);
    check("CONNECT", "host:80", "", 405);
    check("BREW", "/seven.txt", "", 501);
    check("get", "/seven.txt", "", 501);
    check("OPTIONS", "*", "", 204);
    check("GET", &format!("/{}", "a".repeat(9_000)), "", 414);
    check("GET", "/", &format!("X: {}\r\n", "a".repeat(40_000)), 431);
    check("GET", "/", &"X: y\r\n".repeat(200), 431);
    check("GET", "/", "Expect: cake\r\n", 417);
    check("POST", "/", "Content-Length: 1025\r\n", 413);
    check("POST", "/", "Transfer-Encoding: gzip, chunked\r\n", 501);
    assert_eq!(
        Answer::of(&server.raw("GET / HTTP/2.0\r\n\r\n")).status,
        505
    );
    assert_eq!(
        Answer::of(&server.raw("GET / HTTP/1.1\r\n\r\n")).status,
        400
    );
    for (head, status) in [
        ("GET /a b HTTP/1.1\r\nHost: x\r\n", 400),
        ("GET /seven.txt HTTP/1.1\r\nHost:\r\n", 400),
        ("GET /seven.txt HTTP/1.1\r\nHost: a:b:c\r\n", 400),
        ("GET /seven.txt HTTP/1.1\r\nHost: [\r\n", 400),
        ("GET /seven.txt HTTP/1.1\r\nHost: [::1]:80\r\n", 200),
        ("GET /seven.txt HTTP/1.1\r\nHost: a:65535\r\n", 200),
        ("GET /seven.txt HTTP/1.1\r\nHost: a:65536\r\n", 400),
        ("GET http://a:b:c/seven.txt HTTP/1.1\r\nHost: x\r\n", 400),
        ("GET http://y/seven.txt HTTP/1.1\r\nHost: x\r\n", 200),
        ("GET /seven.txt HTTP/1.2\r\nHost: x\r\n", 200),
    ] {
        let text = server.raw(format!("{head}\r\n"));
        assert_eq!(Answer::of(&text).status, status, "{head:?}");
    }
    assert_eq!(Answer::of(&server.raw(b"\x16\x03\x01\x00\xa5")).status, 400);
    let is_head = server.ask("HEAD", "/missing", "");
    assert_eq!((is_head.status, is_head.body.as_str()), (404, ""));
    // Nor has HEAD content where it is no request.
    for (rest, status) in [("Host: x\r\nExpect: x\r\n", 417), ("", 400)] {
        let text = server.raw(format!("HEAD / HTTP/1.1\r\n{rest}\r\n"));
        assert_eq!(Answer::of(&text).status, status, "{text}");
        assert!(text.ends_with("\r\n\r\n"), "{text}");
    }
}

#[test]
fn nothing_outside_the_folder_is_served() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let www = folder.path().join("www");
    std::fs::create_dir_all(www.join("sub")).expect("a folder");
    std::fs::write(www.join("inside"), "inside").expect("a file");
    std::fs::write(folder.path().join("secret"), "secret").expect("a file");
    symlink("../secret", www.join("out")).expect("a link");
    symlink("..", www.join("up")).expect("a link");
    symlink(folder.path().join("secret"), www.join("absolute")).expect("a link");
    let server = Served::start_in(folder, "");
    assert_eq!(server.ask("GET", "/inside", "").body, "inside");
    for target in [
        "/../secret",
        "/sub/../../secret",
        "/%2e%2e/secret",
        "/..%2fsecret",
        "/%2e%2e%2fsecret",
        "/sub/%2e%2e/%2e%2e/secret",
        "/..%5csecret",
        "/%252e%252e/secret",
        "/..%c0%afsecret",
        "/.%00./secret",
        "/out",
        "/up/secret",
        "/absolute",
        "/inside%00.txt",
        "//../secret",
        "http://x/../secret",
        "/./../secret",
    ] {
        let answer = server.ask("GET", target, "");
        assert!(matches!(answer.status, 400 | 404), "{target}: {answer:?}");
        assert!(!answer.body.contains("secret"), "{target}: {answer:?}");
    }
}

#[test]
fn dot_files_are_served_only_on_request() {
    let files: [(&str, &[u8]); 4] = [
        (".git/config", b"secret"),
        (".env", b"secret"),
        ("sub/.htpasswd", b"secret"),
        (".well-known/security.txt", b"public"),
    ];
    let closed = Served::start(&files, "");
    for target in [
        "/.git/config",
        "/%2egit/config",
        "/sub/../.git/config",
        "/.git",
        "/.git/",
        "/.env",
        "/sub/.htpasswd",
        "http://x/.env",
    ] {
        for method in ["GET", "HEAD"] {
            let answer = closed.ask(method, target, "");
            assert_eq!(answer.status, 404, "{method} {target}: {answer:?}");
        }
    }
    assert_eq!(
        closed.ask("GET", "/.well-known/security.txt", "").body,
        "public"
    );
    let open = Served::start(&files, "--dot-files");
    assert_eq!(open.ask("GET", "/.git/config", "").body, "secret");
    assert_eq!(open.ask("GET", "/.git", "").status, 301);
    assert_eq!(open.ask("GET", "/sub/.htpasswd", "").body, "secret");
}

#[test]
fn folders_are_listed_only_on_request() {
    let files: [(&str, &[u8]); 5] = [
        ("b & <c>.txt", b"1"),
        ("a.txt", b"2"),
        (".hidden", b"3"),
        ("sub/deep/x", b"4"),
        ("own/index.html", b"own"),
    ];
    let closed = Served::start(&files, "");
    assert_eq!(closed.ask("GET", "/", "").status, 404);
    let open = Served::start(&files, "--listing");
    symlink("../secret", open.path().join("www/out")).expect("a link");
    symlink("sub", open.path().join("www/within")).expect("a link");
    let page = open.ask("GET", "/", "");
    assert_eq!(page.status, 200);
    assert_eq!(page.field("Content-Type"), Some("text/html; charset=utf-8"));
    let links: Vec<&str> = page
        .body
        .lines()
        .filter_map(|line| line.split('"').nth(1).filter(|_| line.contains("href")))
        .collect();
    let expected = [
        "./a.txt",
        "./b%20&amp;%20%3Cc%3E.txt",
        "./own/",
        "./sub/",
        "./within/",
    ];
    assert_eq!(links, expected);
    let folder = open.path().display().to_string();
    assert!(!page.body.contains(&folder), "{}", page.body);
    let head = open.ask("HEAD", "/", "");
    assert_eq!((head.status, head.body.as_str()), (200, ""));
    assert_eq!(head.length(), page.body.len());
    assert!(open.ask("GET", "/sub/", "").body.contains("./deep/"));
    assert_eq!(open.ask("GET", "/own/", "").body, "own");
    assert_eq!(open.ask("GET", "/sub", "").status, 301);
    for target in ["/none/", "/a.txt/", "/out/", "/../"] {
        let status = open.ask("GET", target, "").status;
        assert!(matches!(status, 400 | 404), "{target}: {status}");
    }
    let all = Served::start(&files, "--listing --dot-files");
    assert!(all.ask("GET", "/", "").body.contains("./.hidden"));
}

#[test]
fn names_that_are_not_utf_8_are_served_and_listed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let www = folder.path().join("www");
    let name = |bytes: &[u8]| std::ffi::OsString::from_vec(bytes.to_vec());
    std::fs::create_dir_all(www.join(name(b"caf\xe9"))).expect("a folder");
    std::fs::write(www.join(name(b"caf\xe9/\xff.txt")), "latin").expect("a file");
    // Long enough to be sent otherwise than by a copy.
    for number in 0..1_000 {
        let file = name(format!("{number:04}-{}", "x".repeat(60)).as_bytes());
        std::fs::write(www.join(name(b"caf\xe9")).join(file), "").expect("a file");
    }
    let server = Served::start_in(folder, "--listing");
    let answer = server.ask("GET", "/caf%e9/%FF.txt", "");
    assert_eq!(
        (
            answer.status,
            answer.body.as_str(),
            answer.field("Content-Type")
        ),
        (200, "latin", Some("text/plain; charset=utf-8"))
    );
    assert!(server.ask("GET", "/", "").body.contains("./caf%E9/"));
    let moved = server.ask("GET", "/caf%e9", "");
    assert_eq!(moved.field("Location"), Some("/caf%E9/"));
    let list = server.ask("GET", "/caf%e9/", "");
    assert!(list.body.contains("./%FF.txt\""), "{}", list.body);
    assert!(list.body.ends_with("</html>\n") && list.body.len() > 100_000);
}

#[test]
fn what_two_readers_could_read_in_two_ways_is_refused() {
    let server = Served::start(&files(), "--synthetic");
    let smuggled = "GET /seven.txt HTTP/1.1\r\nHost: x\r\n\r\n";
    for (head, status) in [
        (
            "Content-Length: 40\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
            400,
        ),
        ("Content-Length: 0\r\nContent-Length: 40\r\n\r\n", 400),
        ("Content-Length: 0, 40\r\n\r\n", 400),
        ("Content-Length: +0\r\n\r\n", 400),
        ("Content-Length : 40\r\n\r\n", 400),
        ("Transfer-Encoding: xchunked\r\n\r\n", 400),
        ("Transfer-Encoding: chunked, identity\r\n\r\n", 400),
        ("Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n", 400),
        ("X: y\r\n Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("X: y\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n0x0\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n0\n\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n0;\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n0;bad[=x\r\n\r\n", 400),
        ("Transfer-Encoding: chunked\r\n\r\n0 \r\n\r\n", 400),
        (
            "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n",
            400,
        ),
        (
            "Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n",
            400,
        ),
    ] {
        let text = format!("POST /.triathlon/null HTTP/1.1\r\nHost: x\r\n{head}{smuggled}");
        let all = server.raw(&text);
        assert_eq!(Answer::of(&all).status, status, "{head:?}: {all}");
        assert_eq!(
            all.matches("HTTP/1.1 ").count(),
            1,
            "{head:?} was answered twice: {all}"
        );
    }
}

#[test]
fn connections_carry_many_requests_in_order() {
    for backend in backends() {
        let server = Served::start(&files(), &format!("--backend {backend} --synthetic"));
        let text = server.raw(
            "GET /seven.txt HTTP/1.1\r\nHost: x\r\n\r\n\
             HEAD /seven.txt HTTP/1.1\r\nHost: x\r\n\r\n\
             POST /.triathlon/null HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nGET /\
             POST /.triathlon/null HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
             3;x=y\r\nabc\r\n0\r\nX: y\r\n\r\n\
             GET /.triathlon/synthetic?delay=20ms&status=418 HTTP/1.1\r\nHost: x\r\n\r\n\
             GET /missing HTTP/1.1\r\nHost: x\r\n\r\n\
             GET /seven.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n\
             GET /seven.txt HTTP/1.1\r\nHost: x\r\n\r\n",
        );
        let statuses: Vec<&str> = text
            .match_indices("HTTP/1.1 ")
            .map(|(at, _)| &text[at + 9..at + 12])
            .collect();
        assert_eq!(
            statuses,
            ["200", "200", "200", "200", "418", "404", "200"],
            "{text}"
        );
        assert!(text.ends_with("7 bytes"), "{text}");

        let deep = "GET /seven.txt HTTP/1.1\r\nHost: x\r\n\r\n".repeat(5_000);
        assert_eq!(server.raw(deep).matches("HTTP/1.1 200 OK").count(), 5_000);
    }
}

#[test]
fn old_clients_get_what_they_expect() {
    let server = Served::start(&files(), "");
    let text = server.raw("GET /seven.txt HTTP/1.0\r\n\r\nGET /seven.txt HTTP/1.0\r\n\r\n");
    assert_eq!(text.matches("7 bytes").count(), 1, "{text}");
    let keep = "GET /seven.txt HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n";
    let text = server.raw(keep.repeat(2));
    assert_eq!(
        text.matches("Connection: keep-alive\r\n").count(),
        2,
        "{text}"
    );
}

#[test]
fn the_last_request_of_a_connection_is_told() {
    let server = Served::start(&files(), "--requests-per-connection 3");
    let text = server.raw("GET /seven.txt HTTP/1.1\r\nHost: x\r\n\r\n".repeat(5));
    assert_eq!(text.matches("HTTP/1.1 200").count(), 3, "{text}");
    assert_eq!(text.matches("Connection: close").count(), 1, "{text}");
}

#[test]
fn a_client_that_asks_first_is_told_to_go_on() {
    let server = Served::start(&files(), "--synthetic");
    let mut stream = server.connect();
    stream
        .write_all(b"POST /.triathlon/null HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n")
        .expect("it is sent");
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).expect("an interim answer");
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(b"body").expect("it is sent");
    let mut status = [0; 12];
    stream.read_exact(&mut status).expect("an answer");
    assert_eq!(&status, b"HTTP/1.1 200");

    let refused = server.raw(
        "PUT /seven.txt HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n",
    );
    assert!(refused.starts_with("HTTP/1.1 405 "), "{refused}");
}

#[test]
fn heads_may_come_byte_by_byte() {
    let server = Served::start(&files(), "");
    let mut stream = server.connect();
    stream.set_nodelay(true).expect("an option");
    for byte in b"GET /seven.txt HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" {
        stream.write_all(&[*byte]).expect("it is sent");
    }
    let answer = Answer::of(&super::read_all(&mut stream));
    assert_eq!((answer.status, answer.body.as_str()), (200, "7 bytes"));
}
