//! What a client may not do: each ends the connection with the code that the RFC has for it.

use super::network::{FINE, World};
use crate::client::{Broken, Client as _, ProtocolError};
use crate::h3::Code;
use crate::h3::frame::{kind, put_head};

fn frame(kind: u64, payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    put_head(&mut out, kind, payload.len());
    out.extend_from_slice(payload);
    out
}

/// How the server ends a connection on which that is said.
fn check(bytes: &[u8], is_one_way: bool, is_all: bool, expected: Code) {
    let mut world = World::new(1, FINE, 1);
    world.say(bytes, is_one_way, is_all);
    assert!(world.run(|world| world.error.is_some()), "{expected}");
    assert_eq!(world.error, Some(ProtocolError::ClosedHttp3(expected)));
    assert!(world.site.asked.is_empty());
}

#[test]
fn frames_where_they_may_not_be() {
    check(
        &frame(kind::DATA, b"x"),
        false,
        false,
        Code::FRAME_UNEXPECTED,
    );
    check(
        &frame(kind::SETTINGS, b""),
        false,
        false,
        Code::FRAME_UNEXPECTED,
    );
    check(&frame(0x06, b""), false, false, Code::FRAME_UNEXPECTED);
    check(
        &frame(kind::HEADERS, b"\x00\x00\x80"),
        false,
        true,
        Code::DECOMPRESSION,
    );
    // The client has a control stream already, and pushes nothing.
    check(&[0x00], true, false, Code::STREAM_CREATION);
    check(&[0x01], true, false, Code::STREAM_CREATION);
    // The table has no room for an entry.
    check(&[0x02, 0xc1, 0x00], true, false, Code::ENCODER_STREAM);
    check(&[0x02, 0x20], true, true, Code::CLOSED_CRITICAL_STREAM);
    // The stream ends within a frame.
    check(&[0x01, 0x40], false, true, Code::FRAME);
}

#[test]
fn frames_that_bring_nothing_end_the_connection() {
    let block = b"\x00\x00\xd1\xc1\xd7\x50\x01a";
    let mut flood = frame(kind::HEADERS, block);
    for _ in 0..600 {
        flood.extend(frame(0x21, b""));
    }
    check(&flood, false, false, Code::EXCESSIVE_LOAD);
}

/// Rapid reset: requests that are given up as soon as they were asked.
#[test]
fn requests_that_are_given_up_end_the_connection() {
    let mut world = World::new(2, FINE, 1);
    let block = b"\x00\x00\xd1\xc1\xd7\x50\x01a";
    let mut rounds = 0;
    while world.error.is_none() && rounds < 200 {
        let id = world.say(&frame(kind::HEADERS, block), false, false);
        world.give_up(id);
        world.pass(model::Span::from_ms(30));
        rounds += 1;
    }
    let expected = ProtocolError::ClosedHttp3(Code::EXCESSIVE_LOAD);
    assert_eq!(world.error, Some(expected), "after {rounds}");
    assert!(rounds <= 60, "{rounds}");
}

#[test]
fn a_head_that_is_too_large_is_answered() {
    let mut world = World::new(3, FINE, 1);
    let target = format!("/{}", "x".repeat(20_000));
    world.ask("GET", &target, None);
    assert!(world.run(|world| !world.log.ended.is_empty()));
    assert_eq!(world.log.ended, [Ok((431, 0))]);
}

#[test]
fn a_body_that_is_too_large_is_answered() {
    let mut world = World::new(4, FINE, 1);
    world.ask("POST", "/", Some(&vec![b'x'; 200_000]));
    assert!(world.run(|world| !world.log.ended.is_empty()));
    assert_eq!(world.log.ended, [Ok((413, 0))]);
    assert!(world.site.asked.is_empty());
}

/// A request whose body does not come is given up, and its connection goes on.
#[test]
fn a_request_that_stalls_is_given_up() {
    let mut world = World::new(5, FINE, 1);
    let block = b"\x00\x00\xd4\xc1\xd7\x50\x01a";
    world.say(&frame(kind::HEADERS, block), false, false);
    world.pass(model::Span::from_s(21));
    world.ask("GET", "/after", None);
    assert!(world.run(|world| !world.log.ended.is_empty()));
    assert_eq!(world.site.asked, ["GET /after"]);
}

/// An answer with too much content ends there: what is too much and what stands behind it are
/// nobody's.
#[test]
fn what_stands_behind_too_much_content_is_not_read() {
    let mut world = World::new(6, FINE, 1);
    world.ask("GET", "/", None);
    assert!(world.run(|world| world.client.is_established() && world.client.free() == 0));
    // Status 200 and no content.
    let head = frame(kind::HEADERS, b"\x00\x00\xd9\xc4");
    let mut long = Vec::new();
    put_head(&mut long, kind::HEADERS, 1_000_000);
    let bytes = [head, frame(kind::DATA, b"x"), long].concat();
    assert_eq!(world.hear(&bytes), Ok(()));
    assert_eq!(world.log.ended, [Err(Broken::Length)]);
    assert_eq!(world.log.content, 0);
}
