//! The fetches before the run, on the simulated network.

use std::net::SocketAddr;
use std::sync::mpsc::channel;

use load::LoadError;
use load::reference::{Findings, establish};
use load::settings;
use model::Coding;
use model::outcome::Outcome;
use model::plan::{Expectation, Plan, PlanFile};
use sys::Errno;
use sys::reactor::sim::{Reply, Service, Sim, SimServer, Then};

use crate::harness::{HELLO, answering, count, ms, numbered, simulate};
use crate::scripts::script;

fn fetch(
    expect: Expectation,
    addresses: &[&str],
    server: SimServer,
) -> Result<Findings, LoadError> {
    let plan = Plan::try_from(PlanFile {
        expect,
        ..count(1, 1)
    })
    .expect("a plan that can run");
    let addresses: Vec<SocketAddr> = addresses
        .iter()
        .map(|text| text.parse().expect("an address"))
        .collect();
    establish(
        &mut Sim::new(server, &settings(4)),
        &plan,
        &[addresses],
        &mut || false,
    )
}

const ONE: &[&str] = &["127.0.0.1:80"];

#[test]
fn two_equal_answers_are_what_others_are_held_against() {
    let found = fetch(Expectation::default(), ONE, answering(HELLO)).unwrap();
    let reference = found.references[0].clone().unwrap();
    assert_eq!(
        (
            reference.status,
            reference.length,
            reference.framing.as_str(),
            reference.dynamic
        ),
        (200, 5, "length", false)
    );
    assert_eq!(
        reference.sha256,
        "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"
    );
    assert_eq!(*found.expectations[0].content, *b"hello");
    assert_eq!(found.tally.outcomes[Outcome::Ok], 2);
    assert_eq!(found.tally.connections.established, 2);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

#[test]
fn a_dynamic_page_is_checked_by_what_is_stable() {
    let server = numbered(|number| {
        Some(Reply::new(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n<p>hit {number:02}"
        )))
    });
    let found = fetch(Expectation::default(), ONE, server).unwrap();
    assert!(found.references[0].clone().unwrap().dynamic);
    assert_eq!(found.expectations[0].length, Some(9));
    assert_eq!(*found.expectations[0].content, *b"<p>");
    assert_eq!(found.notes.len(), 1);
}

#[test]
fn a_redirect_says_where_it_leads() {
    let check = |head: &str, expected: &str| {
        let answer = format!("HTTP/1.1 {head}\r\nContent-Length: 0\r\n\r\n");
        let found = fetch(Expectation::default(), ONE, answering(&answer)).unwrap();
        assert_eq!(found.notes, [expected]);
    };
    check(
        "301 Moved\r\nLocation: https://me:secret@sim/new",
        "the answer is a redirect, 301 to https://(redacted)@sim/new, and is not followed: ask \
         that URL to measure what users get",
    );
    check(
        "302 Found\r\nlocation: /new",
        "the answer is a redirect, 302 to /new, and is not followed: ask that URL to measure what \
         users get",
    );
    check(
        "304 Not Modified",
        "the answer has status 304, and names no other URL to ask",
    );
}

#[test]
fn how_content_is_encoded_is_part_of_the_reference() {
    let encoded = |field: &str| format!("HTTP/1.1 200 OK\r\n{field}Content-Length: 5\r\n\r\nhello");
    let gzip = encoded("Content-Encoding: gzip\r\n");
    let found = fetch(Expectation::default(), ONE, answering(&gzip)).unwrap();
    assert_eq!(found.expectations[0].coding, Some(Coding::Gzip));
    let checked = found.references[0].clone().unwrap().checked;
    assert!(checked.contains("content-encoding gzip"), "{checked}");
    let plain = encoded("");
    let server = numbered(move |number| {
        Some(Reply::new(match number {
            0 => gzip.clone(),
            _ => plain.clone(),
        }))
    });
    let found = fetch(Expectation::default(), ONE, server).unwrap();
    assert_eq!(found.expectations[0].coding, None);
    assert_eq!(
        found.notes,
        [
            "answers to the same request are encoded differently: content-encoding was gzip, then \
             identity"
        ]
    );
}

#[test]
fn an_address_without_a_listener_is_left_out_and_named() {
    let server =
        || answering(HELLO).refusing(|target, _| target.ip().is_ipv6().then(|| Errno::new(111)));
    let found = fetch(
        Expectation::default(),
        &["[::1]:80", "127.0.0.1:80"],
        server(),
    )
    .unwrap();
    assert_eq!(
        found.targets,
        [["127.0.0.1:80".parse::<SocketAddr>().unwrap()]]
    );
    assert!(found.notes[0].contains("[::1]:80"), "{:?}", found.notes);
    assert_eq!(found.tally.outcomes[Outcome::Connect], 1);
    let nobody = fetch(Expectation::default(), &["[::1]:80"], server());
    assert!(matches!(nobody, Err(LoadError::Unreachable { .. })));
}

#[test]
fn a_server_that_fails_from_the_start_can_still_be_measured() {
    let server = numbered(|_| Some(Reply::new("HTTP/1.1 2").then(Then::Reset)));
    let found = fetch(Expectation::default(), ONE, server).unwrap();
    assert!(found.references[0].is_none());
    assert_eq!(found.expectations[0].status, Some(200));
    let demanding = Expectation {
        length: Some(5),
        ..Expectation::default()
    };
    let server = numbered(|_| Some(Reply::new("HTTP/1.1 2").then(Then::Reset)));
    let result = fetch(demanding, ONE, server);
    assert!(matches!(result, Err(LoadError::Unexpected(_))));
}

/// What a server hears that answers each request with `answer`, and what is found before the run.
fn look(text: &str, answer: &str) -> (Vec<String>, Result<Findings, LoadError>) {
    let (tell, heard) = channel();
    let answer = answer.to_owned();
    let server = SimServer::new(Service::Constant(ms(1)), move |request| {
        let line = request.split(|byte| *byte == b'\r').next();
        let line = String::from_utf8_lossy(line.unwrap_or_default()).into_owned();
        tell.send(line).expect("the test listens");
        Some(Reply::new(answer.clone()))
    });
    let plan = Plan::try_from(script(text)(count(1, 1))).expect("a plan that can run");
    let addresses = ONE.iter().map(|text| text.parse().expect("an address"));
    let addresses: Vec<SocketAddr> = addresses.collect();
    let mut network = Sim::new(server, &settings(4));
    let found = establish(&mut network, &plan, &[addresses], &mut || false);
    drop(network);
    (heard.iter().collect(), found)
}

const ITEMS: &str = "
    [variables]
    item = { counter = 7 }
    [[step]]
    get = '/item/${item}'
    [[step]]
    get = '/more/${item}'
";

#[test]
fn the_first_request_of_the_first_user_is_looked_at_although_its_bytes_differ() {
    for _ in 0..2 {
        let (heard, found) = look(ITEMS, HELLO);
        assert_eq!(heard, ["GET /item/7 HTTP/1.1"]);
        let found = found.unwrap();
        assert_eq!(found.notes, [""; 0]);
        let [Some(first), None] = found.references.as_slice() else {
            panic!("{:?}", found.references);
        };
        assert_eq!((first.status, first.length, first.dynamic), (200, 5, true));
        assert_eq!(first.checked, "framing, status below 400");
        // Other users get other content.
        assert_eq!(found.expectations[0].length, None);
        assert!(found.expectations[0].content.is_empty());
    }
    let (tell, heard) = channel();
    let server = SimServer::new(Service::Constant(ms(1)), move |request| {
        let _unheard = tell.send(request.starts_with(b"GET /item/7 "));
        Some(Reply::new(HELLO))
    });
    simulate(script(ITEMS)(count(1, 1)), server);
    assert_eq!(heard.iter().next(), Some(true), "the run draws it again");
}

#[test]
fn a_first_answer_that_is_wrong_is_told_and_stops_a_run_that_expects_another() {
    let missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
    let (_, found) = look(ITEMS, missing);
    let told = "before the run 'GET /item/${item}' was sent once, as the first user sends it, and \
                failed: status 404, which is an error";
    assert_eq!(found.unwrap().notes, [told]);
    let expects = |what: &str| {
        let step = format!("get = '/item/${{item}}'\nexpect = {{ {what} }}");
        let text = ITEMS.replace("get = '/item/${item}'", &step);
        let (_, found) = look(&text, HELLO);
        found.map(|_| ()).map_err(|error| error.to_string())
    };
    let wrong = |why: &str| {
        Err(format!(
            "the answer before the run is not the expected one: 'GET /item/${{item}}': {why}"
        ))
    };
    assert_eq!(expects("status = 201"), wrong("status 200 instead of 201"));
    assert_eq!(
        expects("length = 7"),
        wrong("5 bytes of content instead of 7")
    );
    assert_eq!(expects("status = 200, length = 5"), Ok(()));
}

#[test]
fn nothing_is_looked_at_that_may_change_something() {
    let post = ITEMS.replacen("get", "post", 1);
    assert_eq!(look(&post, HELLO).0, [""; 0]);
    let visitors = "cookies = true\n[[step]]\nget = '/'\n[[step]]\nget = '/mine'";
    assert_eq!(look(visitors, HELLO).0, ["GET / HTTP/1.1"]);
}
