//! Requests that go out before the handshake is over.

use model::tls::{HandshakeKind, HandshakeMix};

use super::*;

/// The most that a server of these tests takes early.
const BYTES: u32 = 1_000;

/// Of which every connection that can begins with its request, to a server that takes that.
fn eager(requests: Vec<Request>) -> (Pair, Authority) {
    let authority = Authority::new("ours");
    let mix = HandshakeMix {
        early: 1,
        ..HandshakeMix::default()
    };
    let demands = Demands {
        mix: Some(mix),
        ..demands(&authority)
    };
    let mut pair = Pair::new(demands, authority.site(), requests);
    pair.acceptor = Acceptor::with_early_data(authority.site(), BYTES).unwrap();
    (pair, authority)
}

fn get() -> Vec<Request> {
    vec![request(0, "GET", "/", None)]
}

fn hello() -> Vec<Told> {
    let content = Told::Content(b"hello".to_vec());
    vec![Told::Head(200), content, Told::Complete]
}

/// Connects once, and says of which kind that was.
#[track_caller]
fn connect(pair: &mut Pair) -> HandshakeKind {
    let (client, log, result) = pair.connect();
    assert_eq!(result, Ok(()));
    assert_eq!(log.0, hello());
    client.handshake()
}

fn tally(pair: &Pair) -> (u64, u64, u64) {
    let record = Secure::tell(&pair.shared).unwrap();
    (record.early(), record.early_refused, record.not_early)
}

#[test]
fn it_is_taken_whatever_the_pieces_are() {
    for cuts in [&[usize::MAX][..], &[1], &[7, 300, 1, 90]] {
        let (mut pair, _) = eager(get());
        pair.cuts = cuts.to_vec();
        assert_eq!(connect(&mut pair), HandshakeKind::Full);
        for _ in 0..3 {
            assert_eq!(connect(&mut pair), HandshakeKind::Early);
        }
        assert_eq!(tally(&pair), (3, 0, 1));
        assert_eq!(pair.site.asked.len(), 4, "each is asked once");
    }
}

#[test]
fn it_goes_again_where_the_session_is_not_known() {
    let (mut pair, authority) = eager(get());
    connect(&mut pair);
    // Another server of the same name knows none of these sessions.
    pair.acceptor = Acceptor::with_early_data(authority.site(), BYTES).unwrap();
    assert_eq!(connect(&mut pair), HandshakeKind::Full);
    assert_eq!(tally(&pair), (0, 1, 1));
    assert_eq!(pair.site.asked.len(), 2, "each is asked once");
}

#[test]
fn a_server_that_allows_none_gets_none() {
    let (mut pair, authority) = eager(get());
    pair.acceptor = Acceptor::new(authority.site()).unwrap();
    assert_eq!(connect(&mut pair), HandshakeKind::Full);
    assert_eq!(connect(&mut pair), HandshakeKind::Resumed);
    assert_eq!(tally(&pair), (0, 0, 2));
}

#[test]
fn what_is_too_long_for_it_waits() {
    let (mut pair, authority) = eager(get());
    pair.acceptor = Acceptor::with_early_data(authority.site(), 20).unwrap();
    connect(&mut pair);
    assert_eq!(connect(&mut pair), HandshakeKind::Resumed);
    assert_eq!(tally(&pair), (0, 0, 2));
}

/// The close that an early answer ends with waits for the end of the handshake: what follows that
/// are the sessions of the connections to come.
#[test]
fn a_close_waits_for_the_end_of_the_handshake() {
    let closing = |target| Request::compile(RequestId(0), &parts(target), true);
    for target in ["/", "/file", "/endless"] {
        let (mut pair, _) = eager(vec![closing(target)]);
        for turn in 0..10 {
            let (client, log, result) = pair.connect();
            assert_eq!(result, Ok(()));
            assert_eq!(log.0.last(), Some(&Told::Complete), "{target} {turn}");
            let kind = client.handshake();
            assert_eq!(kind == HandshakeKind::Early, turn > 0, "{target} {turn}");
        }
    }
}

/// Whoever does not end the handshake is not waited for longer than anybody else.
#[test]
fn a_close_does_not_wait_for_ever() {
    let (mut pair, _) = eager(vec![Request::compile(RequestId(0), &parts("/"), true)]);
    pair.connect().2.unwrap();
    let mut client = Secure::new(&mut pair.shared);
    client.begin(&pair.requests[0]).unwrap();
    let mut server = pair.server();
    server.handle_bytes(NOW, &sent_by(&mut client), &mut pair.site);
    assert_eq!(pair.site.asked.len(), 2, "it was answered early");
    let (answer, closes) = answered_by(&mut server, &mut pair.site);
    assert!(!answer.is_empty() && !closes);
    assert!(server.poll_timeout() <= NOW + LIMITS.idle_time);
    server.handle_timeout(&mut pair.site);
    assert_eq!(answered_by(&mut server, &mut pair.site), (Vec::new(), true));
}

/// A second client that says the same bytes again.
#[test]
fn a_copy_is_not_answered() {
    let (mut pair, _) = eager(get());
    connect(&mut pair);
    let mut client = Secure::new(&mut pair.shared);
    client.begin(&pair.requests[0]).unwrap();
    let said = sent_by(&mut client);
    for (turn, asked) in [("first", 2), ("copy", 2)] {
        let mut server = pair.server();
        server.handle_bytes(NOW, &said, &mut pair.site);
        assert_eq!(pair.site.asked.len(), asked, "{turn}");
    }
}

/// A safe request is answered at once; any other waits until the client has proven who it is.
#[test]
fn only_what_is_safe_is_answered_before_the_end() {
    let post = || vec![request(0, "POST", "/", Some(b"hi"))];
    for (requests, is_at_once) in [(get(), true), (post(), false)] {
        let (mut pair, _) = eager(requests);
        connect(&mut pair);
        let mut client = Secure::new(&mut pair.shared);
        assert!(client.may_begin_early(NOW));
        client.begin(&pair.requests[0]).unwrap();
        let mut server = pair.server();
        server.handle_bytes(NOW, &sent_by(&mut client), &mut pair.site);
        let before = pair.site.asked.len();
        assert_eq!(before == 2, is_at_once, "{before}");
        let mut log = Log::default();
        let (mut flight, _) = answered_by(&mut server, &mut pair.site);
        let heard = client.handle_bytes(&mut pair.shared, NOW, &mut flight, &mut log);
        heard.unwrap();
        assert_eq!(log.0.is_empty(), !is_at_once);
        server.handle_bytes(NOW, &sent_by(&mut client), &mut pair.site);
        assert_eq!(pair.site.asked.len(), 2);
        let (mut rest, _) = answered_by(&mut server, &mut pair.site);
        let heard = client.handle_bytes(&mut pair.shared, NOW, &mut rest, &mut log);
        heard.unwrap();
        assert_eq!(log.0, hello());
    }
}
