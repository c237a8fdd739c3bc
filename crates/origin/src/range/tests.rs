use super::*;

#[track_caller]
fn check(field: &str, expected: &[Range<u64>]) {
    let found = wanted(Some(field.as_bytes()), 1_000);
    assert_eq!(found, Wanted::Parts(expected.to_vec()), "{field}");
}

#[test]
#[expect(clippy::single_range_in_vec_init, reason = "one range is the case")]
fn ranges_are_read() {
    check("bytes=0-499", &[0..500]);
    check("bytes=500-999", &[500..1_000]);
    check("bytes=-500", &[500..1_000]);
    check("bytes=9-", &[9..1_000]);
    check("bytes=0-0,-1", &[0..1, 999..1_000]);
    check("Bytes= 500-700 , 601-999", &[500..701, 601..1_000]);
    check("bytes=0-99999", &[0..1_000]);
    check("bytes=-99999", &[0..1_000]);
    check("bytes=0-99999999999999999999999", &[0..1_000]);
    check("bytes=5-9,1000-", &[5..10]);
    check("bytes=,,5-9,,", &[5..10]);
    check("bytes=0-999", &[0..1_000]);
}

#[test]
fn what_means_nothing_is_ignored() {
    for field in [
        "",
        "bytes",
        "bytes=",
        "bytes=,",
        "bytes=a-b",
        "bytes=5",
        "bytes=9-5",
        "bytes=--5",
        "bytes=-",
        "bytes=1-2-3",
        "bytes=+1-2",
        "lines=1-2",
        "bytes=0-1,x",
        "bytes=0-,0-,0-",
    ] {
        assert_eq!(
            wanted(Some(field.as_bytes()), 1_000),
            Wanted::All,
            "{field}"
        );
    }
    assert_eq!(wanted(None, 1_000), Wanted::All);
    assert_eq!(wanted(Some(b"bytes=\xff-1"), 1_000), Wanted::All);
}

#[test]
fn the_number_of_ranges_is_bounded() {
    let field = |count: usize| format!("bytes={}", vec!["1-1"; count].join(","));
    let parts = |count| wanted(Some(field(count).as_bytes()), 1_000);
    assert!(matches!(parts(RANGES_LIMIT), Wanted::Parts(parts) if parts.len() == RANGES_LIMIT));
    assert_eq!(parts(RANGES_LIMIT + 1), Wanted::All);
}

#[test]
fn what_the_file_has_not_is_unsatisfiable() {
    for field in [
        "bytes=1000-",
        "bytes=1000-1001",
        "bytes=-0",
        "bytes=2000-,-0",
    ] {
        assert_eq!(
            wanted(Some(field.as_bytes()), 1_000),
            Wanted::Unsatisfiable,
            "{field}"
        );
    }
    assert_eq!(wanted(Some(b"bytes=0-"), 0), Wanted::Unsatisfiable);
    assert_eq!(wanted(Some(b"bytes=-5"), 0), Wanted::Unsatisfiable);
}
