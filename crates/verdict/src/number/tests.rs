use super::*;

#[test]
fn a_value_is_shown_with_its_unit_and_as_many_digits_as_mean_something() {
    let check = |unit: Unit, value: f64, expected: &str| {
        assert_eq!(unit.show(value), expected, "{unit:?} {value}");
    };
    check(Unit::PerSecond, 128_456.4, "128,456/s");
    check(Unit::PerSecond, 999.7, "1,000/s");
    check(Unit::PerSecond, 12.345, "12.3/s");
    check(Unit::PerSecond, 64.0, "64/s");
    check(Unit::Microseconds, 0.0, "0 µs");
    check(Unit::Microseconds, 0.25, "250 ns");
    check(Unit::Microseconds, 35.61, "35.6 µs");
    check(Unit::Microseconds, 999.9, "1.00 ms");
    check(Unit::Microseconds, 2_500_000.0, "2.50 s");
    check(Unit::Nanoseconds, 1_500.0, "1.50 µs");
    check(Unit::Bytes, 1_536.0, "1.50 KiB");
    check(Unit::Bytes, 7.0, "7.00 B");
    check(Unit::Share, 0.1234, "12 %");
    check(Unit::Share, 0.0234, "2.3 %");
    check(Unit::Count, 1_000_000.0, "1,000,000");
    check(Unit::Count, 0.021_3, "0.0213");
    check(Unit::Count, f64::NAN, "–");
}

#[test]
fn what_is_left_is_never_all_of_it() {
    let check = |part: f64, expected: &str| assert_eq!(all_but(part), expected, "{part}");
    check(0.5, "50 %");
    check(0.05, "95 %");
    check(0.004, "99.6 %");
    check(0.001, "99.9 %");
    check(0.000_4, "99.96 %");
    check(0.0, "100 %");
}

#[test]
fn ratios_are_finest_where_they_say_equal() {
    let check = |ratio: f64, expected: &str| assert_eq!(times(ratio), expected, "{ratio}");
    check(1.0, "1.000");
    check(0.996_4, "0.996");
    check(1.8, "1.80");
    check(0.152_3, "0.152");
    check(18.24, "18.2");
    check(1e9, "no end");
}

#[test]
fn marks_on_axes_are_short() {
    let check = |unit: Unit, value: f64, expected: &str| {
        assert_eq!(unit.tick(value), expected, "{unit:?} {value}");
    };
    check(Unit::PerSecond, 150_000.0, "150 k");
    check(Unit::PerSecond, 1_500_000.0, "1.5 M");
    check(Unit::Count, 1024.0, "1,024");
    check(Unit::Microseconds, 200.0, "200 µs");
    check(Unit::Microseconds, 2000.0, "2 ms");
    check(Unit::Bytes, 10_485_760.0, "10 MiB");
    check(Unit::Share, 0.5, "50 %");
    check(Unit::Microseconds, 0.0, "0");
}

#[test]
fn marks_of_one_axis_have_one_unit() {
    let check = |unit: Unit, value: f64, size: f64, expected: &str| {
        assert_eq!(unit.tick_beside(value, size), expected, "{unit:?} {value}");
    };
    check(Unit::PerSecond, 5_000.0, 15_000.0, "5 k");
    check(Unit::PerSecond, 0.0, 15_000.0, "0");
    check(Unit::Seconds, 0.5, 2.0, "0.5 s");
    check(Unit::Nanoseconds, 500.0, 2_000.0, "0.5 µs");
    check(Unit::Bytes, 1_572_864.0, 1_000_000.0, "1,536 KiB");
}

#[test]
fn rounding_keeps_five_digits() {
    assert!((rounded(123_456.789) - 123_460.0).abs() < 1e-9);
    assert!((rounded(0.000_123_456) - 0.000_123_46).abs() < 1e-12);
}

#[test]
fn evidence_has_no_more_digits_than_anyone_reads() {
    let check = |value: serde_json::Value, expected: &str| assert_eq!(evidence(&value), expected);
    check(serde_json::json!(96_662.162_162_162_16), "96662");
    check(serde_json::json!(0.850_000_000_1), "0.85");
    check(serde_json::json!(-0.000_123_456_7), "-0.00012346");
    check(serde_json::json!(123_456_789_u64), "123456789");
    check(serde_json::json!(3.0), "3");
    check(serde_json::json!("text"), "text");
    check(serde_json::json!(null), "null");
    check(
        serde_json::json!({ "invalid": 0.1 + 0.2, "pairs": [[1, 2.5], [true, "x"]] }),
        "{invalid: 0.3, pairs: [[1, 2.5], [true, x]]}",
    );
}
