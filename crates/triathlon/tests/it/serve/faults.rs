//! Clients that misbehave, limits that hold, and answers that go wrong to order.

use std::io::{ErrorKind, Read as _, Write as _};

use super::{Answer, Served, backends, read_all};
use crate::support::wait_until;

// Each limit has a server of its own, whose other limits are far away: a client that the machine
// keeps waiting between connecting and writing must not meet the wrong one.

#[test]
fn a_client_slow_with_its_head_is_told_and_let_go() {
    for backend in backends() {
        let flags = format!("--header-timeout 100ms --backend {backend}");
        let server = Served::start(&[("a", b"a")], &flags);
        let mut head = server.connect();
        head.write_all(b"GET /a HTTP/1.1\r\n").expect("it is sent");
        assert_eq!(Answer::of(&read_all(&mut head)).status, 408);
    }
}

#[test]
fn a_client_slow_with_its_body_is_told_and_let_go() {
    for backend in backends() {
        let flags = format!("--body-timeout 100ms --backend {backend}");
        let server = Served::start(&[("a", b"a")], &flags);
        let mut body = server.connect();
        let request = b"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1234";
        body.write_all(request).expect("it is sent");
        assert_eq!(Answer::of(&read_all(&mut body)).status, 408);
    }
}

#[test]
fn idle_clients_are_let_go_in_silence() {
    for backend in backends() {
        let flags = format!("--idle-timeout 2s --backend {backend}");
        let server = Served::start(&[("a", b"a")], &flags);
        let mut silent = server.connect();
        let mut idle = server.connect();
        idle.write_all(b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n")
            .expect("it is sent");
        let text = read_all(&mut idle);
        assert_eq!(
            text.matches("HTTP/1.1 ").count(),
            1,
            "closed in silence: {text}"
        );
        assert_eq!(read_all(&mut silent), "");
    }
}

#[test]
fn a_client_that_does_not_read_harms_nobody() {
    for backend in backends() {
        let flags = format!("--synthetic --send-timeout 300ms --backend {backend}");
        let server = Served::start(&[("a", b"a")], &flags);
        let mut deaf = server.connect();
        let request = "GET /.triathlon/null?bytes=50M HTTP/1.1\r\nHost: x\r\n\r\n";
        deaf.write_all(request.as_bytes()).expect("it is sent");
        let mut chatty = server.connect();
        chatty.set_nonblocking(true).expect("an option");
        let many = "GET /a HTTP/1.1\r\nHost: x\r\n\r\n".repeat(1_000);
        let mut sent = 0;
        // It sends and never reads: at some point the server stops reading too.
        wait_until("the chatty client cannot send", || {
            match chatty.write(many.as_bytes()) {
                Ok(count) => {
                    sent += count;
                    assert!(sent < 1 << 30, "the server takes everything");
                    false
                }
                Err(error) => {
                    assert!(matches!(
                        error.kind(),
                        ErrorKind::WouldBlock | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe
                    ));
                    true
                }
            }
        });
        assert_eq!(server.ask("GET", "/a", "").body, "a");
        wait_until("the deaf client is cut off", || {
            deaf.write_all(b"x").is_err()
        });
    }
}

#[test]
fn too_many_connections_are_closed() {
    for backend in backends() {
        let flags = format!("--connections 2 --backend {backend}");
        let server = Served::start(&[("a", b"a")], &flags);
        let request = b"GET /a HTTP/1.1\r\nHost: x\r\n\r\n";
        let mut kept = [server.connect(), server.connect()];
        for stream in &mut kept {
            stream.write_all(request).expect("it is sent");
            let mut status = [0; 12];
            stream.read_exact(&mut status).expect("an answer");
        }
        let mut third = server.connect();
        let _may_be_cut = third.write_all(request);
        assert_eq!(read_all(&mut third), "");
        drop(kept);
        wait_until("there is room again", || {
            server.raw("GET /a HTTP/1.0\r\n\r\n").ends_with('a')
        });
    }
}

#[test]
fn answers_go_wrong_to_order() {
    for backend in backends() {
        let flags = format!("--synthetic --idle-timeout 200ms --backend {backend}");
        let server = Served::start(&[], &flags);
        let ask = |query: &str| {
            let mut stream = server.connect();
            let request = format!("GET /.triathlon/synthetic?{query} HTTP/1.1\r\nHost: x\r\n\r\n");
            stream.write_all(request.as_bytes()).expect("it is sent");
            let mut bytes = Vec::new();
            let end = stream.read_to_end(&mut bytes);
            (
                String::from_utf8_lossy(&bytes).into_owned(),
                end.err().map(|error| error.kind()),
            )
        };
        assert_eq!(ask("fault=close"), (String::new(), None));
        let (text, end) = ask("fault=truncate&bytes=200000");
        let answer = Answer::of(&text);
        assert_eq!(
            (answer.length(), answer.body.len(), end),
            (200_000, 100_000, None)
        );
        let (text, end) = ask("fault=stall&bytes=10");
        let answer = Answer::of(&text);
        assert_eq!((answer.length(), answer.body.len(), end), (10, 5, None));
        let (_, end) = ask("fault=reset&bytes=10");
        assert_eq!(end, Some(ErrorKind::ConnectionReset));
        let (text, _) = ask("status=503&bytes=3");
        assert!(
            text.starts_with("HTTP/1.1 503 ") && text.ends_with("012"),
            "{text}"
        );
        let (text, _) = ask("colour=red");
        assert!(
            text.starts_with("HTTP/1.1 400 ") && text.contains("no such key"),
            "{text}"
        );
    }
}
