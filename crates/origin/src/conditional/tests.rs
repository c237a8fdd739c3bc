use wire::h1::request::{FieldSpace, parse_request};

use super::*;

const GO: Evaluation = Evaluation::Go {
    honours_range: true,
};
const GO_WHOLE: Evaluation = Evaluation::Go {
    honours_range: false,
};
const NOW: u64 = 784_111_777 + 1_000;
const BEFORE: &str = "Sun, 06 Nov 1994 08:49:36 GMT";
const SAME: &str = "Sun, 06 Nov 1994 08:49:37 GMT";
const AFTER: &str = "Sun, 06 Nov 1994 08:49:38 GMT";

fn evaluate_at(method: &str, fields: &str, now: u64) -> Evaluation {
    let head = format!("{method} / HTTP/1.1\r\nHost: x\r\n{fields}\r\n");
    let mut space = FieldSpace::default();
    let request = parse_request(head.as_bytes(), &mut space).unwrap();
    let file = Validators {
        etag: "\"a,b\"",
        last_modified: 784_111_777,
    };
    evaluate(&request, file, now)
}

#[track_caller]
fn check(fields: &[(&str, &str)], expected: Evaluation) {
    let text: String = fields
        .iter()
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    assert_eq!(evaluate_at("GET", &text, NOW), expected, "{text}");
}

#[test]
fn single_conditions_hold_or_fail() {
    use Evaluation::{NotModified, PreconditionFailed};
    check(&[], GO);
    check(&[("If-None-Match", "\"a,b\"")], NotModified);
    check(&[("If-None-Match", "W/\"a,b\"")], NotModified);
    check(&[("If-None-Match", "*")], NotModified);
    check(&[("If-None-Match", "\"x\", W/\"y\" ,\"a,b\"")], NotModified);
    check(
        &[("If-None-Match", "\"x\""), ("If-None-Match", "\"a,b\"")],
        NotModified,
    );
    check(&[("If-None-Match", "\"x\"")], GO);
    check(&[("If-None-Match", "a,b")], GO);
    check(&[("If-None-Match", "\"a")], GO);
    check(&[("If-Match", "\"a,b\"")], GO);
    check(&[("If-Match", "*")], GO);
    check(&[("If-Match", "\"x\", \"a,b\"")], GO);
    check(&[("If-Match", "W/\"a,b\"")], PreconditionFailed);
    check(&[("If-Match", "\"x\"")], PreconditionFailed);
    check(&[("If-Match", "")], PreconditionFailed);
    check(&[("If-Modified-Since", BEFORE)], GO);
    check(&[("If-Modified-Since", SAME)], NotModified);
    check(&[("If-Modified-Since", AFTER)], NotModified);
    check(
        &[("If-Modified-Since", "Sunday, 06-Nov-94 08:49:37 GMT")],
        NotModified,
    );
    check(&[("If-Modified-Since", "tomorrow")], GO);
    check(&[("If-Unmodified-Since", BEFORE)], PreconditionFailed);
    check(&[("If-Unmodified-Since", SAME)], GO);
    check(&[("If-Unmodified-Since", AFTER)], GO);
    check(&[("If-Unmodified-Since", "yesterday")], GO);
}

#[test]
fn tags_come_before_dates() {
    use Evaluation::{NotModified, PreconditionFailed};
    check(
        &[("If-Match", "\"a,b\""), ("If-Unmodified-Since", BEFORE)],
        GO,
    );
    check(
        &[("If-Match", "\"x\""), ("If-Unmodified-Since", AFTER)],
        PreconditionFailed,
    );
    check(
        &[("If-None-Match", "\"x\""), ("If-Modified-Since", AFTER)],
        GO,
    );
    check(
        &[("If-None-Match", "\"a,b\""), ("If-Modified-Since", BEFORE)],
        NotModified,
    );
    check(
        &[("If-Match", "\"x\""), ("If-None-Match", "\"a,b\"")],
        PreconditionFailed,
    );
    check(
        &[("If-Match", "\"a,b\""), ("If-None-Match", "\"a,b\"")],
        NotModified,
    );
    check(
        &[("If-Unmodified-Since", SAME), ("If-Modified-Since", SAME)],
        NotModified,
    );
}

#[test]
fn a_range_counts_only_for_the_same_file() {
    check(&[("If-Range", "\"a,b\"")], GO);
    check(&[("If-Range", "W/\"a,b\"")], GO_WHOLE);
    check(&[("If-Range", "\"x\"")], GO_WHOLE);
    check(&[("If-Range", SAME)], GO);
    check(&[("If-Range", AFTER)], GO_WHOLE);
    check(&[("If-Range", BEFORE)], GO_WHOLE);
    check(&[("If-Range", "nonsense")], GO_WHOLE);
    // A file of this very second may still change within it.
    let field = format!("If-Range: {SAME}\r\n");
    assert_eq!(evaluate_at("GET", &field, 784_111_777), GO_WHOLE);
    // Ranges are defined for GET alone (RFC 9110 §14.2).
    assert_eq!(evaluate_at("HEAD", "", NOW), GO_WHOLE);
}
