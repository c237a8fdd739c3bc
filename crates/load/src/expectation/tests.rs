use model::plan::{self, Level};

use super::Expectation;
use crate::exchange::Cause;

fn hello() -> Expectation {
    Expectation {
        status: Some(200),
        length: Some(5),
        content: (*b"hello").into(),
        no_error: false,
        coding: None,
        plain: None,
    }
}

#[test]
fn content_is_compared_piece_by_piece() {
    let check = |from, bytes: &str, expected| {
        assert_eq!(
            hello().check_content(from, bytes.as_bytes()),
            expected,
            "{bytes} at {from}"
        );
    };
    check(0, "hello", None);
    check(0, "he", None);
    check(2, "llo", None);
    check(0, "help", Some(Cause::Body { at: 3 }));
    check(3, "xo", Some(Cause::Body { at: 3 }));
    check(5, "what comes after is a matter of length", None);
}

#[test]
fn status_and_length_are_held_against_it() {
    assert_eq!(hello().check_status(200), None);
    assert_eq!(
        hello().check_status(503),
        Some(Cause::Status {
            actual: 503,
            expected: 200
        })
    );
    assert_eq!(hello().check_length(5), None);
    assert_eq!(
        hello().check_length(4),
        Some(Cause::Length {
            actual: 4,
            expected: 5
        })
    );
}

#[test]
fn a_level_keeps_what_it_names() {
    let none = hello().at_level(Level::None);
    assert_eq!(none, Expectation::default());
    assert_eq!(none.check_status(503), None);
    let status = hello().at_level(Level::Status);
    assert_eq!((status.status, status.length), (Some(200), None));
    let length = hello().at_level(Level::Length);
    assert_eq!(length.length, Some(5));
    assert!(!length.compares(0));
    assert_eq!(hello().at_level(Level::Body), hello());
}

#[test]
fn what_is_named_is_checked_at_any_level() {
    let wanted = |level| plan::Expectation {
        status: Some(200),
        length: Some(5),
        level,
        ..plan::Expectation::default()
    };
    for level in [Level::None, Level::Status, Level::Length] {
        let found = hello().as_wanted(&wanted(level));
        assert_eq!((found.status, found.length), (Some(200), Some(5)));
        assert!(found.content.is_empty());
    }
    let nothing = plan::Expectation {
        level: Level::None,
        ..plan::Expectation::default()
    };
    assert_eq!(hello().as_wanted(&nothing), Expectation::default());
}

#[test]
fn large_content_is_compared_once_in_a_thousand() {
    let large = Expectation {
        length: Some(1 << 20),
        content: vec![b'x'; 1 << 20].into(),
        ..hello()
    };
    assert!(large.compares(0) && large.compares(2_000));
    assert!(!large.compares(1) && !large.compares(1_999));
    assert!(hello().compares(1));
    assert!(
        large
            .describe()
            .ends_with("all bytes of the body in one of every 1000 answers"),
        "{}",
        large.describe()
    );
    assert_eq!(
        hello().describe(),
        "framing, status 200, length 5, all bytes of the body"
    );
}
