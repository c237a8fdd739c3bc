use model::Span;

use super::network::{FINE, Weather, World};
use crate::client::{Broken, Client as _, ProtocolError};
use crate::h1::server::ServerLimits;
use crate::h3::Code;
use crate::testing::{BIG, LIMITS};
use crate::tls::TlsError;

/// Whatever the network does, each exchange has its whole answer.
#[test]
fn a_bad_network_loses_no_answer() {
    for seed in 0..60 {
        let weather = Weather {
            lost: seed % 4 * 5,
            repeated: seed % 3 * 10,
            late: seed % 5 * 8,
            marked: seed % 2 * 5,
        };
        let mut world = World::new(seed, weather, 10);
        let mut expected = Vec::new();
        for (target, length) in [("/a", 5), ("/kept", 4), ("/big", BIG), ("/file", BIG)] {
            for _ in 0..3 {
                world.ask("GET", target, None);
                expected.push(Ok((200, length)));
            }
        }
        world.ask("POST", "/b", Some(&[b'x'; 50_000]));
        expected.push(Ok((200, 5)));
        let is_done = world.run(|world| world.log.ended.len() == 13);
        assert!(
            is_done,
            "seed {seed}: {:?} {:?}",
            world.log.ended, world.error
        );
        world
            .log
            .ended
            .sort_by_key(|ended| ended.unwrap_or_default());
        expected.sort_by_key(|ended: &Result<(u16, usize), Broken>| ended.unwrap_or_default());
        assert_eq!(world.log.ended, expected, "seed {seed}");
        assert_eq!(world.error, None, "seed {seed}");
        assert_eq!(
            world.begun.concat().len(),
            13,
            "seed {seed}: each began once"
        );
        world.part();
        let is_over = world.run(|world| world.server.open() == 0);
        assert!(is_over, "seed {seed}");
        let told = world.tell();
        assert_eq!(told.connections, 1);
        assert_eq!(told.go_aways, 0);
        assert!(
            told.packets_lost > 0 || weather.lost < 15,
            "seed {seed}: {told:?}"
        );
    }
}

/// Who is told that a queue grew too long sends less at once, as if something had been lost.
#[test]
fn marks_of_congestion_are_set_read_and_obeyed() {
    for marked in [0, 30] {
        let mut world = World::new(9, Weather { marked, ..FINE }, 10);
        for _ in 0..50 {
            world.ask("GET", "/a", None);
        }
        assert!(world.run(|world| world.log.ended.len() == 50));
        assert_eq!(world.log.ended, [Ok((200, 5)); 50]);
        world.part();
        let told = world.tell();
        assert_eq!(told.packets_lost, 0, "{told:?}");
        assert_eq!(told.datagrams_marked > 0, marked > 0, "{told:?}");
        assert_eq!(told.congestion_events > 0, marked > 0, "{told:?}");
    }
}

#[test]
fn requests_that_begin_at_once_go_out_at_once() {
    let mut world = World::new(10, FINE, 10);
    world.ask("GET", "/a", None);
    assert!(world.run(|world| world.log.ended.len() == 1));
    world.begun.clear();
    world.said.clear();
    for _ in 0..10 {
        world.ask("GET", "/a", None);
    }
    assert!(world.run(|world| !world.said.is_empty()));
    assert_eq!(world.said.len(), 1, "one datagram");
    assert_eq!(world.begun.len(), 1);
    assert_eq!(world.begun[0].len(), 10);
    assert!(world.run(|world| world.log.ended.len() == 11));
}

/// Whatever a connection was asked before, and however often.
#[test]
fn what_is_asked_again_is_answered_again() {
    let mut world = World::new(14, FINE, 1);
    let mut expected = Vec::new();
    let long = "/a".repeat(700);
    for (method, target, content, ended) in [
        ("GET", "/a", None, (200, 5)),
        ("GET", "/a", None, (200, 5)),
        ("POST", "/b", Some("xyz"), (200, 5)),
        ("POST", "/b", Some("xyz"), (200, 5)),
        ("POST", "/b", Some("x"), (200, 5)),
        ("GET", "/kept", None, (200, 4)),
        ("GET", "/other", None, (200, 5)),
        ("GET", "/other", None, (200, 5)),
        ("GET", &long, None, (414, 0)),
        ("GET", &long, None, (414, 0)),
        ("GET", "/a", None, (200, 5)),
    ] {
        world.ask(method, target, content.map(str::as_bytes));
        expected.push(Ok(ended));
        let is_done = world.run(|world| world.log.ended.len() == expected.len());
        assert!(is_done, "{method} {target}: {:?}", world.error);
    }
    assert_eq!(world.log.ended, expected);
}

#[test]
fn small_answers_to_what_came_at_once_share_datagrams() {
    let mut world = World::new(12, FINE, 10);
    world.ask("GET", "/a", None);
    assert!(world.run(|world| world.log.ended.len() == 1));
    // What QUIC sends of its own, to find out how long datagrams can be, is then over.
    world.pass(Span::from_s(1));
    world.answered.clear();
    for _ in 0..10 {
        world.ask("GET", "/a", None);
    }
    assert!(world.run(|world| world.log.ended.len() == 11));
    let lengths: Vec<usize> = world.answered.iter().map(Vec::len).collect();
    assert_eq!(lengths.len(), 1, "{lengths:?}");
}

/// In the order in which they were asked for, of all that came at once.
#[test]
fn answers_to_what_came_at_once_go_out_in_order() {
    let mut world = World::new(13, FINE, 6);
    world.ask("GET", "/a", None);
    assert!(world.run(|world| world.log.ended.len() == 1));
    world.log.ended.clear();
    // The last is asked for first.
    for target in ["/a", "/a", "/a", "/kept", "/kept", "/a"] {
        world.ask("GET", target, None);
    }
    assert!(world.run(|world| world.log.ended.len() == 6));
    let lengths: Vec<usize> = (world.log.ended.iter())
        .map(|ended| ended.unwrap().1)
        .collect();
    assert_eq!(lengths, [5, 4, 4, 5, 5, 5]);
}

/// Each begins with the datagrams that have its first byte.
#[test]
fn long_requests_begin_as_they_go_out() {
    let mut world = World::new(11, FINE, 3);
    for _ in 0..3 {
        world.ask("POST", "/b", Some(&[b'x'; 50_000]));
    }
    assert!(world.run(|world| world.log.ended.len() == 3));
    assert_eq!(world.begun.concat().len(), 3);
}

#[test]
fn streams_answer_in_any_order() {
    let mut world = World::new(1, FINE, 2);
    world.ask("GET", "/quick", None);
    world.ask("GET", "/slow", None);
    assert!(world.run(|world| world.log.ended.len() == 2));
    assert_eq!(world.log.ended, [Ok((200, 5)), Ok((200, 4))]);
    assert_eq!(world.site.asked, ["GET /slow", "GET /quick"]);
}

#[test]
fn what_an_answer_lacks_is_told() {
    let mut world = World::new(2, FINE, 1);
    world.ask("GET", "/short", None);
    assert!(world.run(|world| world.log.ended.len() == 1));
    assert_eq!(world.log.ended, [Err(Broken::Length)]);
}

#[test]
fn a_connection_that_the_server_closes_has_ended() {
    let mut world = World::new(3, FINE, 1);
    world.ask("GET", "/break", None);
    assert!(world.run(|world| world.client.has_ended()));
    assert_eq!(world.error, None);
}

/// A server that is to end answers what it was asked, and says that it takes no more.
#[test]
fn a_server_that_ends_says_so() {
    let mut world = World::new(4, FINE, 2);
    world.ask("GET", "/slow", None);
    assert!(world.run(|world| !world.site.asked.is_empty()));
    let now = world.now;
    let (server, site) = (&mut world.server, &mut world.site);
    server.finish(now, site);
    assert!(world.run(|world| world.client.has_ended()));
    assert_eq!(world.log.ended, [Ok((200, 4))]);
    assert!(world.log.is_closing);
    assert_eq!(world.server.open(), 0);
}

#[test]
fn as_many_requests_as_the_server_takes() {
    let limits = ServerLimits {
        requests: 3,
        ..LIMITS
    };
    let mut world = World::with_name(5, FINE, 1, "localhost", limits);
    for _ in 0..5 {
        world.ask("GET", "/a", None);
    }
    assert!(world.run(|world| world.client.has_ended()));
    assert_eq!(world.log.ended, [Ok((200, 5)); 3]);
}

#[test]
fn a_certificate_for_another_name_is_refused() {
    let mut world = World::with_name(6, FINE, 1, "elsewhere", LIMITS);
    assert!(world.run(|world| world.error.is_some()));
    let Some(ProtocolError::Tls(TlsError::Certificate(why))) = world.error else {
        panic!("{:?}", world.error);
    };
    assert!(why.contains("another name"), "{why}");
    assert!(world.run(|world| world.server.open() == 0));
}

#[test]
fn more_connections_than_there_may_be_are_refused() {
    let mut world = World::new(7, FINE, 1);
    world.fill();
    assert!(world.run(|world| world.error.is_some()));
    let text = world.error.unwrap().to_string();
    assert_eq!(text, "the server refused the QUIC connection");
}

/// A client that connects and asks nothing is let go of.
#[test]
fn an_idle_connection_is_closed_in_time() {
    let mut world = World::new(8, FINE, 1);
    assert!(world.run(|world| world.client.is_established()));
    let start = world.now;
    assert!(world.run(|world| world.client.has_ended()));
    let idle = world.now - start;
    assert!(
        idle >= LIMITS.idle_time && idle < LIMITS.idle_time * 2,
        "{idle}"
    );
    assert_eq!(Code::NO_ERROR.to_string(), "H3_NO_ERROR");
    assert_eq!(world.server.open(), 0);
}

#[test]
fn a_server_that_closes_has_no_connection_left() {
    let mut world = World::new(9, FINE, 1);
    assert!(world.run(|world| world.client.is_established()));
    assert_eq!(world.server.open(), 1);
    world.server.close(world.now, &mut world.site);
    assert_eq!(world.server.open(), 0);
    assert!(world.run(|world| world.client.has_ended()));
}
