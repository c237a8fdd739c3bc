use model::fixture;

use super::*;

#[test]
fn what_was_said_is_what_is_heard() {
    let check_ask = |ask: Ask| assert_eq!(decode::<Ask>(&encode(&ask)), Ok(ask));
    check_ask(Ask::Clock);
    check_ask(Ask::Hello);
    check_ask(Ask::Lab(Box::new(LabOrder {
        id: "o".to_owned(),
        version: "0.0.0".to_owned(),
    })));
    check_ask(Ask::Line {
        order: "o".to_owned(),
        number: 7,
        text: "{}".to_owned(),
        silence: Span::from_s(3),
    });
    check_ask(Ask::Begin {
        order: "o".to_owned(),
        at_unix_ns: u64::MAX,
    });
    let plan = fixture::plan("http://127.0.0.1/", &[]);
    check_ask(Ask::Order(Box::new(Order {
        id: "o".to_owned(),
        version: "0.0.0".to_owned(),
        workers: 2..4,
        is_watched: true,
        plan: serde_json::to_value(plan).unwrap(),
    })));
    let check_tell = |tell: Tell| assert_eq!(decode::<Tell>(&encode(&tell)), Ok(tell));
    check_tell(Tell::Line {
        order: "o".to_owned(),
        number: 7,
        text: "{}".to_owned(),
    });
    check_tell(Tell::Interval {
        order: "o".to_owned(),
        passed: passed(7),
    });
    check_tell(Tell::Closed {
        order: "o".to_owned(),
        why: Some("x".to_owned()),
    });
    // Its environment has a map whose keys are numbers.
    check_tell(Tell::Trial {
        order: "o".to_owned(),
        trial: Box::new(fixture::closed()),
    });
    check_tell(Tell::Hello(Box::new(Announcement {
        name: "a".parse().unwrap(),
        version: "0.0.0".to_owned(),
        role: Role::Load,
        labels: BTreeMap::new(),
        targets: vec!["127.0.0.0/8".to_owned()],
        may_start_servers: false,
        cpus: vec![0, 1],
        ceiling: Some(Ceiling {
            rate: 150_000.5,
            at_least: true,
            time: "2026-11-20T10:00:00Z".to_owned(),
        }),
        busy: None,
        environment: fixture::environment(),
    })));
}

fn passed(number: u64) -> Passed {
    Passed {
        number,
        length: Span::from_s(1),
        right: 600,
        failed: 3,
        connections: 64,
        bytes_received: Bytes::new(4_200),
        response_time_p99: Some(Span::from_ms(2)),
    }
}

/// A longer one would be in the way of what is measured.
#[test]
fn an_interval_is_a_small_message_whatever_its_numbers() {
    let all = u64::MAX;
    let passed = Passed {
        length: Span::from_ns(all),
        right: all,
        failed: all,
        connections: all,
        bytes_received: Bytes::new(all),
        response_time_p99: Some(Span::from_ns(all)),
        ..passed(all)
    };
    let order = "o".repeat(NAME_MOST);
    let longest = encode(&Tell::Interval { order, passed });
    assert!(longest.len() <= 400, "{} bytes", longest.len());
}

#[test]
fn another_version_is_told_by_its_number_whatever_else_it_says() {
    let check = |text: &str, expected: Unreadable| {
        assert_eq!(decode::<Ask>(text.as_bytes()), Err(expected), "{text}");
    };
    check(
        r#"{"protocol":3,"message":{"dance":7}}"#,
        Unreadable::Protocol(3),
    );
    check(r#"{"protocol":9}"#, Unreadable::Protocol(9));
    let nonsense = |text: &str| {
        let said = decode::<Ask>(text.as_bytes()).unwrap_err();
        assert!(matches!(said, Unreadable::Nonsense(_)), "{text}: {said}");
    };
    nonsense("");
    nonsense("hello");
    nonsense(r#"{"message":"hello"}"#);
    nonsense(r#"{"protocol":2,"message":{"dance":7}}"#);
}

#[test]
fn a_message_that_lies_elsewhere_is_told_from_one_that_does_not() {
    for is_kept in [false, true] {
        let found = elsewhere(&encode_elsewhere("record-7", is_kept)).unwrap();
        assert_eq!(
            (found.object.as_str(), found.is_kept),
            ("record-7", is_kept)
        );
    }
    assert_eq!(elsewhere(&encode(&Ask::Hello)), None);
    assert_eq!(elsewhere(br#"{"protocol":3,"object":"x"}"#), None);
}

#[test]
fn names_are_parts_of_a_subject() {
    let good = |text: &str| assert_eq!(text.parse::<Name>().unwrap().as_str(), text);
    good("a");
    good("gen-01_B");
    let bad = |text: &str| assert!(text.parse::<Name>().is_err(), "{text}");
    bad("");
    bad("a.b");
    bad("a b");
    bad("*");
    bad(">");
    bad(&"a".repeat(65));
    assert_eq!(
        Name::like("gen1.example.net\n").as_str(),
        "gen1-example-net"
    );
    assert_eq!(Name::like("").as_str(), "agent");
}
