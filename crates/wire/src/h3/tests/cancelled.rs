//! Exchanges that are cancelled alone: what is said of them, what becomes of what still comes, and
//! of those beside them.

use model::Span;

use super::network::{FINE, Weather, World};
use crate::client::{Client as _, StreamId};
use crate::testing::BIG;

const FIRST: StreamId = StreamId(0);

/// Its place is free, and the one beside it is answered.
#[test]
fn a_stream_is_cancelled() {
    let mut world = World::new(20, FINE, 2);
    assert!(!world.client.cancel(FIRST), "nothing has begun");
    // The last is asked for first.
    world.ask("GET", "/slow", None);
    world.ask("GET", "/stall", None);
    assert!(world.run(|world| world.site.asked.len() == 2));
    // The server has said that both have come whole.
    world.pass(Span::from_ms(50));
    assert_eq!(world.client.free(), 0);
    assert!(!world.client.wants_transmit());
    assert!(world.client.cancel(FIRST));
    assert!(world.client.wants_transmit(), "the server is told");
    assert_eq!(world.client.free(), 1);
    assert!(!world.client.cancel(FIRST), "it has ended");
    world.ask("GET", "/a", None);
    assert!(
        world.run(|world| world.log.ended.len() == 2),
        "{:?}",
        world.error
    );
    assert_eq!(world.log.ended, [Ok((200, 5)), Ok((200, 4))]);
    // Nothing is left of the request to be given up.
    assert_eq!(world.client.cancelled_raw(), (1, 0));
    assert_eq!((world.error, world.client.is_closing()), (None, false));
    assert_eq!(world.client.free(), 2);
    for place in 0..3 {
        assert!(!world.client.cancel(StreamId(place)), "{place}");
    }
}

/// What comes of it after that, as much as the server had said by then, is nobody's; and it keeps
/// nothing of the window of the connection, which has room for one answer and some.
#[test]
fn what_is_cancelled_keeps_no_window() {
    for seed in 0..6 {
        let weather = Weather {
            lost: seed % 3 * 5,
            late: seed % 2 * 20,
            ..FINE
        };
        let mut world = World::new(30 + seed, weather, 1);
        world.narrow(BIG + BIG / 2);
        let mut cancelled = 0;
        for round in 0..20 {
            let before = world.log.content;
            world.ask("GET", "/big", None);
            let has_begun = world.run(|world| world.log.content > before);
            assert!(has_begun, "seed {seed}, round {round}: {:?}", world.error);
            if world.client.cancel(FIRST) {
                cancelled += 1;
            }
            // More of it comes, or comes too late.
            world.pass(Span::from_ms(round * 7));
        }
        assert!(cancelled > 10, "seed {seed}: {cancelled}");
        world.log.ended.clear();
        world.ask("GET", "/big", None);
        assert!(
            world.run(|world| !world.log.ended.is_empty()),
            "seed {seed}"
        );
        assert_eq!(world.log.ended, [Ok((200, BIG))], "seed {seed}");
        assert_eq!(world.error, None, "seed {seed}");
    }
}

/// What is left of its content is not sent.
#[test]
fn a_request_is_cancelled_while_it_is_sent() {
    let mut world = World::new(21, FINE, 1);
    world.ask("POST", "/b", Some(&[b'x'; 90_000]));
    assert!(world.run(|world| !world.begun.is_empty()));
    assert!(world.client.cancel(FIRST));
    world.said.clear();
    world.ask("GET", "/a", None);
    assert!(
        world.run(|world| !world.log.ended.is_empty()),
        "{:?}",
        world.error
    );
    assert_eq!(world.log.ended, [Ok((200, 5))]);
    assert_eq!(world.client.cancelled_raw(), (1, 1));
    let said: usize = world.said.iter().map(Vec::len).sum();
    assert!(said < 10_000, "{said}");
    assert_eq!(world.site.asked, ["GET /a"]);
}

/// Nothing is said of a stream before the handshake is over, or after the end.
#[test]
fn who_is_not_there_is_told_nothing() {
    let mut world = World::new(22, FINE, 1);
    world.ask("GET", "/stall", None);
    assert!(!world.client.cancel(FIRST));
    assert!(world.run(|world| !world.site.asked.is_empty()));
    let now = world.now;
    world.server.close(now, &mut world.site);
    assert!(world.run(|world| world.client.has_ended()));
    assert!(!world.client.cancel(FIRST));
}
