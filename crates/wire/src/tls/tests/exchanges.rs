//! Handshakes, answers and ends, whole and in any pieces.

use proptest::prelude::*;

use super::*;

fn usual(requests: Vec<Request>) -> Pair {
    let authority = Authority::new("ours");
    Pair::new(demands(&authority), authority.site(), requests)
}

fn paths(paths: &[&str]) -> Vec<Request> {
    let requests = paths.iter().zip(0..);
    requests
        .map(|(path, id)| request(id, "GET", path, None))
        .collect()
}

fn answer(content: &[u8]) -> Vec<Told> {
    vec![
        Told::Head(200),
        Told::Content(content.to_vec()),
        Told::Complete,
    ]
}

#[test]
fn requests_are_answered() {
    let mut requests = paths(&["/", "/kept", "/big", "/file"]);
    requests.push(request(4, "POST", "/", Some(&[b'x'; 5_000])));
    let (client, log, result) = usual(requests).connect();
    assert_eq!(result, Ok(()));
    let big = vec![b'f'; BIG];
    let expected: [&[u8]; 5] = [b"hello", b"kept", &big, &big, b"hello"];
    let expected: Vec<Told> = expected.into_iter().flat_map(answer).collect();
    assert!(log.0 == expected, "{} events", log.0.len());
    assert!(!client.is_closing());
    assert_eq!(client.free(), 1);
}

#[test]
fn nothing_is_asked_before_the_handshake_is_over() {
    let mut pair = usual(paths(&["/"]));
    let mut client = Secure::new(&mut pair.shared);
    assert!(client.wants_transmit(), "a client speaks first");
    assert_eq!(client.free(), 0);
    assert!(!client.is_established());
    assert!(client.begin(&pair.requests[0]).is_err());
    assert_eq!(client.negotiated(), None);
    let mut server = pair.server();
    server.handle_bytes(NOW, &sent_by(&mut client), &mut pair.site);
    let (mut flight, _) = answered_by(&mut server, &mut pair.site);
    let mut log = Log::default();
    client
        .handle_bytes(&mut pair.shared, NOW, &mut flight, &mut log)
        .unwrap();
    assert!(client.is_established());
    assert_eq!(client.free(), 1);
    assert!(pair.site.asked.is_empty());
}

#[test]
fn what_is_offered_is_negotiated() {
    let authority = Authority::new("ours");
    for group in TlsGroup::ALL {
        let groups = &[*group];
        let demands = Demands {
            groups,
            versions: &[TlsVersion::Tls13],
            ..demands(&authority)
        };
        let mut pair = Pair::new(demands, authority.site(), paths(&["/"]));
        // What no server offers by default is refused by name.
        match pair.connect() {
            (client, _, Ok(())) => {
                let negotiated = client.negotiated().unwrap();
                assert_eq!(negotiated.group.as_deref(), Some(group.name()));
                assert_eq!(negotiated.version, "1.3");
            }
            (_, _, Err(error)) => {
                let error = error.to_string();
                assert!(error.contains("alert HandshakeFailure"), "{group}: {error}");
                assert!(matches!(group, TlsGroup::MlKem768 | TlsGroup::P256MlKem768));
            }
        }
    }
    for suite in TlsSuite::ALL {
        let suites = &[*suite];
        let demands = Demands {
            suites,
            ..demands(&authority)
        };
        let mut pair = Pair::new(demands, authority.site(), paths(&["/"]));
        if suite.name().contains("RSA") && !suite.name().contains("ECDSA") {
            let error = pair.failure().to_string();
            assert!(error.contains("alert HandshakeFailure"), "{suite}: {error}");
            continue;
        }
        let negotiated = pair.negotiate();
        assert_eq!(negotiated.suite, suite.name());
        let is_old = suite.name().contains("_WITH_");
        assert_eq!(negotiated.version, if is_old { "1.2" } else { "1.3" });
        assert_eq!(negotiated.application.as_deref(), Some("http/1.1"));
        assert_eq!(negotiated.key_type.as_deref(), Some("ECDSA P-256"));
        assert!(
            (600..2_000).contains(&negotiated.chain_bytes),
            "{negotiated:?}"
        );
    }
}

#[test]
fn sessions_are_resumed_unless_that_is_not_wanted() {
    let check = |versions: &'static [TlsVersion], resumes: bool, expected: &[bool]| {
        let authority = Authority::new("ours");
        let demands = Demands {
            versions,
            resumes,
            ..demands(&authority)
        };
        let mut pair = Pair::new(demands, authority.site(), paths(&["/"]));
        for resumed in expected {
            let negotiated = pair.negotiate();
            assert_eq!(negotiated.resumed, *resumed, "{negotiated:?}");
            assert_eq!(negotiated.key_type.is_none(), *resumed, "{negotiated:?}");
        }
        let record = Secure::tell(&pair.shared).unwrap();
        let resumed = expected.iter().filter(|resumed| **resumed).count() as u64;
        let full = expected.len() as u64 - resumed;
        assert_eq!(record.full_and_resumed(), (full, resumed));
        assert_eq!(record.failed, 0);
    };
    for versions in [&[TlsVersion::Tls12][..], &[TlsVersion::Tls13]] {
        check(versions, true, &[false, true, true, true]);
        check(versions, false, &[false, false, false]);
    }
}

#[test]
fn a_version_that_the_plan_does_not_allow() {
    let authority = Authority::new("ours");
    let demands = Demands {
        versions: &[TlsVersion::Tls13],
        ..demands(&authority)
    };
    let mut pair = Pair::new(demands, authority.site(), paths(&["/"]));
    let mut client = Secure::new(&mut pair.shared);
    // A ServerHello of TLS 1.2 (RFC 5246 §7.4.1.3).
    let mut hello = vec![0x16, 3, 3, 0, 42, 2, 0, 0, 38, 3, 3];
    hello.extend([7; 32]);
    hello.extend([0, 0xc0, 0x2b, 0]);
    let mut log = Log::default();
    let result = client.handle_bytes(&mut pair.shared, NOW, &mut hello, &mut log);
    let error = result.unwrap_err().to_string();
    assert!(
        error.contains("it chose a version that the plan does not allow"),
        "{error}"
    );
    assert!(client.wants_transmit(), "the server is told");
    assert_eq!(Secure::tell(&pair.shared).unwrap().failed, 1);
}

#[test]
fn what_is_no_tls() {
    let check = |bytes: &[u8]| {
        let mut pair = usual(paths(&["/"]));
        let mut client = Secure::new(&mut pair.shared);
        let mut log = Log::default();
        let mut bytes = bytes.to_vec();
        let result = client.handle_bytes(&mut pair.shared, NOW, &mut bytes, &mut log);
        assert_eq!(result, Err(ProtocolError::Tls(TlsError::NotTls)));
        assert!(client.is_closing());
    };
    check(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    check(b"220 mail.example ESMTP\r\n");
}

#[test]
fn who_asks_without_tls_is_told_so() {
    let pair = usual(paths(&["/"]));
    let check = |pieces: &[&[u8]], is_told: bool| {
        let mut server = pair.server();
        let mut site = Site::default();
        for piece in pieces {
            server.handle_bytes(NOW, piece, &mut site);
        }
        let (answer, closes) = answered_by(&mut server, &mut site);
        assert!(closes, "{pieces:?}");
        let answer = String::from_utf8_lossy(&answer);
        let is_answer = answer.starts_with("HTTP/1.1 400 Bad Request\r\n");
        assert_eq!(is_answer, is_told, "{pieces:?}: {answer:?}");
        if is_told {
            let (head, content) = answer.split_once("\r\n\r\n").unwrap();
            let length = format!("Content-Length: {}\r\n", content.len());
            assert!(
                head.contains(&length) && content.contains("https"),
                "{answer:?}"
            );
        }
    };
    check(&[b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"], true);
    check(&[b"P", b"OST / HTTP/1.1\r\n", b"Host: a\r\n\r\n"], true);
    // Neither a handshake nor a request.
    check(&[b"\x00\x00\x00\x00\x00\x00"], false);
    check(&[b"\x16\x03\x01\x00\x05hello"], false);
}

/// What ends with the connection is whole only if TLS said that the stream ended.
#[test]
fn an_end_is_told_apart_from_a_cut() {
    let mut pair = usual(paths(&["/endless"]));
    let (_, log, _) = pair.connect();
    assert_eq!(log.0, answer(b"until the end"));
    assert_eq!(Secure::tell(&pair.shared).unwrap().closed_without_notify, 0);

    let mut client = Secure::new(&mut pair.shared);
    let mut server = pair.server();
    let mut log = Log::default();
    server.handle_bytes(NOW, &sent_by(&mut client), &mut pair.site);
    let (mut flight, _) = answered_by(&mut server, &mut pair.site);
    let told = client.handle_bytes(&mut pair.shared, NOW, &mut flight, &mut log);
    assert_eq!(told, Ok(()));
    client.begin(&pair.requests[0]).unwrap();
    server.handle_bytes(NOW, &sent_by(&mut client), &mut pair.site);
    let (mut all, closes) = answered_by(&mut server, &mut pair.site);
    assert!(closes);
    // The last record is the goodbye: an alert of two bytes, encrypted.
    all.truncate(all.len() - 24);
    let told = client.handle_bytes(&mut pair.shared, NOW, &mut all, &mut log);
    assert_eq!(told, Ok(()));
    assert!(!client.has_ended());
    client.handle_end(&mut pair.shared, NOW, End::Finished, &mut log);
    assert_eq!(log.0.last(), Some(&Told::Broken(Broken::Cut)));
    assert_eq!(Secure::tell(&pair.shared).unwrap().closed_without_notify, 1);
}

#[test]
fn bytes_that_were_changed_on_the_way_end_the_connection() {
    let mut pair = usual(paths(&["/"]));
    let mut client = Secure::new(&mut pair.shared);
    let mut server = pair.server();
    let mut log = Log::default();
    server.handle_bytes(NOW, &sent_by(&mut client), &mut pair.site);
    let (mut flight, _) = answered_by(&mut server, &mut pair.site);
    let told = client.handle_bytes(&mut pair.shared, NOW, &mut flight, &mut log);
    assert_eq!(told, Ok(()));
    client.begin(&pair.requests[0]).unwrap();
    server.handle_bytes(NOW, &sent_by(&mut client), &mut pair.site);
    let (mut answer, _) = answered_by(&mut server, &mut pair.site);
    *answer.last_mut().unwrap() ^= 1;
    let told = client.handle_bytes(&mut pair.shared, NOW, &mut answer, &mut log);
    let error = told.unwrap_err().to_string();
    assert!(error.contains("a record cannot be decrypted"), "{error}");
    assert_eq!(log.0, []);
}

proptest! {
    #[test]
    fn any_split_of_the_bytes_gives_the_same_events(
        cuts in proptest::collection::vec(1usize..3_000, 1..20),
        is_old in any::<bool>(),
    ) {
        let authority = Authority::new("ours");
        let versions: &[TlsVersion] = if is_old { &[TlsVersion::Tls12] } else { &[] };
        let demands = Demands { versions, ..demands(&authority) };
        let requests = paths(&["/", "/kept", "/file", "/endless"]);
        let mut pair = Pair::new(demands, authority.site(), requests);
        pair.cuts = cuts;
        let (_, log, result) = pair.connect();
        prop_assert_eq!(result, Ok(()));
        let file = vec![b'f'; BIG];
        let expected: [&[u8]; 4] = [b"hello", b"kept", &file, b"until the end"];
        let expected: Vec<Told> = expected.into_iter().flat_map(answer).collect();
        prop_assert!(log.0 == expected);
    }

    #[test]
    fn no_bytes_make_either_side_panic(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        let mut pair = usual(paths(&["/"]));
        let mut client = Secure::new(&mut pair.shared);
        let mut log = Log::default();
        let mut changed = bytes.clone();
        let _whatever = client.handle_bytes(&mut pair.shared, NOW, &mut changed, &mut log);
        client.handle_end(&mut pair.shared, NOW, End::Reset, &mut log);
        let mut server = pair.server();
        let mut hello = sent_by(&mut Secure::new(&mut pair.shared));
        for (place, byte) in hello.iter_mut().zip(&bytes).skip(5) {
            *place ^= *byte;
        }
        server.handle_bytes(NOW, &hello, &mut pair.site);
        server.handle_bytes(NOW, &bytes, &mut pair.site);
        let _whatever = answered_by(&mut server, &mut pair.site);
        prop_assert!(pair.site.asked.is_empty());
    }
}
