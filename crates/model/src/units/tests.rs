use super::*;

#[test]
fn times_are_read_with_their_units() {
    let check =
        |text: &str, expected: Option<Span>| assert_eq!(text.parse().ok(), expected, "{text}");
    check("10", Some(Span::from_s(10)));
    check("10s", Some(Span::from_s(10)));
    check("1.5s", Some(Span::from_ms(1500)));
    check("20ms", Some(Span::from_ms(20)));
    check("250us", Some(Span::from_us(250)));
    check("7ns", Some(Span::from_ns(7)));
    check("2m", Some(Span::from_s(120)));
    check("1h", Some(Span::from_s(3600)));
    check("", None);
    check("ten", None);
    check("-1s", None);
    check("1 fortnight", None);
    check("1e400", None);
}

#[test]
fn rates_are_totals_per_second() {
    let check =
        |text: &str, expected: Option<Rate>| assert_eq!(text.parse().ok(), expected, "{text}");
    check("2000", Some(Rate::per_second(2000)));
    check("12.5k", Some(Rate::per_second(12_500)));
    check("0.5", Some(Rate::per_1000_s(500)));
    check("1M/s", Some(Rate::per_second(1_000_000)));
    check("0", None);
    check("fast", None);
}

#[test]
fn a_rate_over_a_span_is_a_count() {
    assert_eq!(Rate::per_second(2000) * Span::from_ms(1500), 3000);
    assert_eq!(Rate::per_1000_s(1) * Span::from_s(1000), 1);
    assert_eq!(Rate::per_1000_s(1) * Span::from_s(999), 0);
}

#[test]
fn bytes_are_read_in_powers_of_1024() {
    let check = |text: &str, expected: Option<u64>| {
        assert_eq!(text.parse().ok().map(Bytes::count), expected, "{text}");
    };
    check("7", Some(7));
    check("64k", Some(65_536));
    check("64KiB", Some(65_536));
    check("1M", Some(1_048_576));
    check("x", None);
}

#[test]
fn spans_print_in_the_unit_a_person_would_choose() {
    assert_eq!(Span::from_ns(15).to_string(), "15 ns");
    assert_eq!(Span::from_ns(1_500).to_string(), "1.50 µs");
    assert_eq!(Span::from_us(35_600).to_string(), "35.6 ms");
    assert_eq!(Span::from_s(10).to_string(), "10.0 s");
    assert_eq!(Span::from_s(600).to_string(), "10.0 min");
}

#[test]
fn times_are_said_as_people_say_them() {
    let check = |span: Span, expected: &str| assert_eq!(span.people(), expected);
    check(Span::from_ns(1), "1 ns");
    check(Span::from_us(1), "1 µs");
    check(Span::from_us(2_500), "2.5 ms");
    check(Span::from_ms(710), "710 ms");
    check(Span::from_ms(22_100), "22 s");
    check(Span::from_s(100), "100 s");
    check(Span::from_s(133), "2 min 13 s");
    check(Span::from_s(180), "3 min");
    check(Span::from_s(3_600), "1 h");
    check(Span::from_s(3_900), "1 h 5 min");
}
