use model::fixture;

use super::super::tests::given;
use super::*;

#[test]
fn numbers_are_read_as_wrk_reads_them() {
    let check = |text: &str, count: Option<&str>, seconds: Option<&str>| {
        assert_eq!(metric(text).ok().as_deref(), count, "{text}");
        assert_eq!(time(text).ok().as_deref(), seconds, "{text}");
    };
    check("10", Some("10"), Some("10"));
    check("1k", Some("1000"), None);
    check("2M", Some("2000000"), Some("120"));
    check("2m", Some("2000000"), Some("120"));
    check("3s", None, Some("3"));
    check("1h", None, Some("3600"));
    check("0", None, None);
    check("", None, None);
    check("1.5s", None, None);
    check("500ms", None, None);
    check("2ss", None, None);
    check("2S", None, Some("2"));
}

#[test]
fn numbers_are_shown_as_wrk_shows_them() {
    let check = |is: String, should: &str| assert_eq!(is, should);
    check(time_us(635.91), "635.91us");
    check(time_us(850.0), "0.85ms");
    check(time_us(12_920.0), "12.92ms");
    check(time_us(999_000.0), "999.00ms");
    check(time_us(30_000_000.0), "30.00s");
    check(time_us(60_000_000.0), "1.00m");
    check(binary(636_000_000.0), "606.54M");
    check(binary(100.0), "100.00");
    check(seconds_of(30), "30s");
    check(seconds_of(60), "1m");
    check(padded("635.91us", 8), "635.91us");
    check(padded("56.20k", 8), " 56.20k ");
    check(padded("56.20", 8), " 56.20  ");
}

/// The lines that programs look for, each in its form.
#[test]
fn the_text_has_the_lines_of_wrk() {
    let given = given(&TOOL, "-c 64 -d 10 -t 2 --latency http://h/");
    let text = told(&given, "http://h/", &fixture::closed()).expect("it is told");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "Running 10s test @ http://h/");
    assert_eq!(lines[1], "  2 threads and 64 connections");
    assert_eq!(
        lines[2],
        "  Thread Stats   Avg      Stdev     Max   +/- Stdev"
    );
    assert!(lines[3].starts_with("    Latency   ") && lines[3].ends_with('%'));
    assert!(lines[4].starts_with("    Req/Sec   ") && lines[4].len() == lines[3].len());
    assert_eq!(lines[5], "  Latency Distribution");
    assert!(lines[6].starts_with("     50%  "), "{text}");
    assert!(lines[9].starts_with("     99%  "), "{text}");
    assert!(lines[10].contains(" requests in ") && lines[10].ends_with("B read"));
    assert!(text.contains("\nRequests/sec: ") && text.contains("\nTransfer/sec: "));
}
