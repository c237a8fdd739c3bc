//! The fetches before the run, on the simulated network.

use std::net::SocketAddr;

use load::LoadError;
use load::reference::{Findings, establish};
use load::settings;
use model::Coding;
use model::outcome::Outcome;
use model::plan::{Expectation, Plan, PlanFile};
use sys::Errno;
use sys::reactor::sim::{Reply, Sim, SimServer, Then};

use crate::harness::{HELLO, answering, count, numbered};

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
