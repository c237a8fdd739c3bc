//! Connections that resume the session of one before them, some with a request before the end of
//! their handshake.

use model::tls::{HandshakeKind, HandshakeMix};
use model::{Mark, Span};

use super::network::{Beginning, FINE, Weather, World};
use crate::client::{Client as _, StreamId};
use crate::testing::LIMITS;

const EAGER: HandshakeMix = HandshakeMix {
    full: 0,
    resumed: 0,
    early: 1,
};

fn world(seed: u64, weather: Weather, mix: Option<HandshakeMix>, takes_early: bool) -> World {
    let how = Beginning {
        resumes: true,
        mix,
        takes_early,
    };
    World::beginning(seed, (weather, 3, "localhost", LIMITS), how)
}

/// With a connection behind it whose sessions have come.
fn begun(mix: Option<HandshakeMix>, takes_early: bool) -> World {
    let mut world = world(1, FINE, mix, takes_early);
    assert_eq!(world.ask_anew("/a"), HandshakeKind::Full);
    world
}

/// Taken early, refused, not possible.
fn early(world: &World) -> (u64, u64, u64) {
    let record = world.tell_tls();
    (record.early(), record.early_refused, record.not_early)
}

#[test]
fn sessions_are_resumed_as_they_come() {
    let mut world = begun(None, false);
    for _ in 0..4 {
        assert_eq!(world.ask_anew("/a"), HandshakeKind::Resumed);
    }
    let record = world.tell_tls();
    assert_eq!(record.full_and_resumed(), (1, 4));
    assert_eq!((record.not_resumed, early(&world)), (0, (0, 0, 0)));
    // Another server of the same name knows none of these sessions.
    world.replace_server(false);
    assert_eq!(world.ask_anew("/a"), HandshakeKind::Full);
}

#[test]
fn kinds_are_drawn() {
    let mix = HandshakeMix {
        full: 1,
        resumed: 1,
        early: 1,
    };
    let mut world = world(2, FINE, Some(mix), true);
    for _ in 0..60 {
        world.ask_anew("/a");
    }
    let record = world.tell_tls();
    let (full, resumed) = record.full_and_resumed();
    assert_eq!(full + resumed, 60, "{record:?}");
    let counts = [full, resumed - record.early(), record.early()];
    assert!(counts.iter().all(|count| *count >= 10), "{counts:?}");
    // Each session is resumed once, and there are two of each connection.
    assert!(record.not_resumed + record.not_early <= 1, "{record:?}");
    assert_eq!(world.site.asked.len(), 60, "each is asked once");
}

#[test]
fn a_request_is_taken_before_the_end_of_the_handshake() {
    let mut world = begun(Some(EAGER), true);
    for _ in 0..4 {
        assert_eq!(world.ask_anew("/a"), HandshakeKind::Early);
    }
    assert_eq!(early(&world), (4, 0, 1));
    assert_eq!(world.site.asked.len(), 5, "each is asked once");
}

/// Whatever the network does, each is asked and answered once.
#[test]
fn a_bad_network_repeats_no_request() {
    for seed in 0..30 {
        let weather = Weather {
            lost: seed % 4 * 5,
            repeated: seed % 3 * 10,
            late: seed % 5 * 8,
            marked: 0,
        };
        let mut world = world(seed, weather, Some(EAGER), true);
        for _ in 0..4 {
            world.ask_anew("/a");
        }
        assert_eq!(world.site.asked.len(), 4, "seed {seed}");
        let (taken, refused, not) = early(&world);
        assert_eq!(taken + refused + not, 4, "seed {seed}");
        assert!(taken > 0, "seed {seed}");
    }
}

#[test]
fn what_is_refused_early_is_asked_again() {
    let mut world = begun(Some(EAGER), true);
    world.replace_server(true);
    assert_eq!(world.ask_anew("/a"), HandshakeKind::Full);
    assert_eq!(early(&world), (0, 1, 1));
    assert_eq!(world.site.asked.len(), 2, "each is asked once");
    // Streams go on behind it.
    for _ in 0..5 {
        world.ask("GET", "/a", None);
    }
    assert!(world.run(|world| world.log.ended.len() == 6));
    assert_eq!(world.log.ended, [Ok((200, 5)); 6]);
}

/// What the server did not take early is asked again as soon as it allows a stream; but not what
/// nobody waits for any more by then.
#[test]
fn what_is_cancelled_before_it_can_be_asked_again_is_not() {
    for is_cancelled in [false, true] {
        let mut world = begun(Some(EAGER), true);
        world.replace_server_by_reserved();
        world.reconnect();
        world.ask("GET", "/stale", None);
        assert!(world.run(|world| world.client.is_established()));
        assert_eq!(early(&world), (0, 1, 1));
        world.pass(Span::from_ms(100));
        assert_eq!(world.site.asked, ["GET /a"], "there is no stream yet");
        if is_cancelled {
            assert!(world.client.cancel(StreamId(0)));
        }
        world.allow(2);
        world.ask("GET", "/b", None);
        let (answers, asked) = match is_cancelled {
            true => (1, &["GET /a", "GET /b"][..]),
            false => (2, &["GET /a", "GET /stale", "GET /b"][..]),
        };
        let is_over = |world: &World| world.log.ended.len() == answers;
        assert!(
            world.run(is_over),
            "{:?} {:?}",
            world.log.ended,
            world.error
        );
        world.pass(Span::from_ms(100));
        assert_eq!(world.log.ended, vec![Ok((200, 5)); answers]);
        assert_eq!(world.site.asked, asked);
        assert_eq!(world.error, None);
    }
}

#[test]
fn a_server_that_allows_none_gets_none() {
    let mut world = begun(Some(EAGER), false);
    assert_eq!(world.ask_anew("/a"), HandshakeKind::Resumed);
    assert_eq!(early(&world), (0, 0, 2));
}

/// A safe request is answered at once; any other waits until the client has proven who it is.
#[test]
fn only_what_is_safe_is_answered_before_the_end() {
    for (method, content, is_at_once) in [
        ("GET", None, true),
        ("GET", Some(&b"hi"[..]), false),
        ("POST", Some(&b"hi"[..]), false),
    ] {
        let mut world = begun(Some(EAGER), true);
        world.reconnect();
        world.ask(method, "/a", content);
        let start = world.now;
        // A datagram takes 5 ms.
        world.run(|world| world.now >= start + Span::from_ms(5));
        world.pass(Span::from_ms(2));
        let asked = world.site.asked.len() - 1;
        assert_eq!(asked == 1, is_at_once, "{method}: {asked}");
        assert!(world.run(|world| world.log.ended.len() == 1));
        assert_eq!(world.log.ended, [Ok((200, 5))]);
        assert_eq!(early(&world), (1, 0, 1), "{method}");
        assert_eq!(world.site.asked.len(), 2, "{method}");
    }
}

/// Somebody says again what a client said.
#[test]
fn a_copy_is_not_answered() {
    let mut world = begun(Some(EAGER), true);
    world.said.clear();
    assert_eq!(world.ask_anew("/a"), HandshakeKind::Early);
    let said = std::mem::take(&mut world.said);
    world.reconnect();
    // The server has forgotten the connection.
    world.pass(Span::from_s(5));
    assert_eq!(world.site.asked.len(), 2);
    for datagram in said {
        let from = "[::1]:10".parse().unwrap();
        let (now, site) = (world.now, &mut world.site);
        world
            .server
            .handle_datagram(now, from, None, Mark::NotCapable, &datagram, site);
    }
    assert_eq!(world.site.asked.len(), 2);
}

/// A connection that is of no more use stays until its sessions have come, and not for long.
#[test]
fn sessions_are_waited_for() {
    let mut world = world(5, FINE, None, false);
    assert!(world.run(|world| world.client.is_established()));
    world.client.finish();
    assert!(!world.client.may_part());
    assert!(world.run(|world| world.client.may_part()));
    assert_eq!(world.ask_anew("/a"), HandshakeKind::Resumed);
    // Nothing more comes of the server.
    world.reconnect();
    assert!(world.run(|world| world.client.is_established()));
    world.client.finish();
    world.fill();
    let start = world.now;
    assert!(world.run(|world| world.client.may_part()));
    let waited = world.now - start;
    assert!(
        waited >= Span::from_ms(400) && waited < Span::from_ms(600),
        "{waited}"
    );
}
