use proptest::prelude::*;

use super::*;

fn stages(text: &str) -> Vec<Stage> {
    text.split(',').map(|one| one.parse().unwrap()).collect()
}

#[test]
fn stages_mean_what_they_say() {
    let check = |text: &str, total: f64, mean: u64| {
        let all = stages(text);
        let count = Curve::new(Span::ZERO, &all).count_until(length(&all));
        assert!((count - total).abs() < 1e-6 * total, "{text}: {count}");
        assert_eq!(mean_rate(&all), Rate::per_1000_s(mean), "{text}");
    };
    check("30s:1k,2m:5k,30s:0", 450_000.0, 2_500_000);
    check("10s:=100", 1_000.0, 100_000);
    check("10s:=100,10s:200", 2_500.0, 125_000);
    // 100/s for 60 s, and 900/s that decay with a half-life of 5 s: 900 x 5 / ln 2, almost.
    check("60s:=100,60s:!1k/5s", 18_490.543, 154_088);
    // After a flash crowd the rate goes on from where it is.
    check("10s:=100,1s:!200/1s,1s:150", 1_322.135, 110_178);
}

#[test]
fn what_is_written_is_what_is_shown() {
    for text in ["30s:1000", "1500ms:=0.5", "60s:!9000/5s", "30s:0", "7us:=3"] {
        assert_eq!(text.parse::<Stage>().unwrap().to_string(), text);
    }
    for text in [
        "100ms",
        "exp:1s",
        "uniform:50ms-150ms",
        "lognormal:100ms/1.2",
    ] {
        assert_eq!(text.parse::<Think>().unwrap().to_string(), text);
    }
    let stored = serde_json::to_string(&stages("30s:1k")[0]).unwrap();
    assert_eq!(
        stored,
        r#"{"length_ns":30000000000,"kind":"ramp","rate_per_1000_s":1000000}"#
    );
}

#[test]
fn mistakes_are_told() {
    let check = |text: &str, words: &str| {
        let error = text.parse::<Stage>().unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    };
    check("30s", "TIME:RATE");
    check("0s:1k", "more than 0");
    check("30s:!9k", "HALF-LIFE");
    check("30s:!9k/0s", "half-life");
    check("30s:fast", "rate per second");
    check("long:1k", "a time");
    for (text, words) in [
        ("exp", "a time"),
        ("gamma:1s", "not a law"),
        ("uniform:1s", "SHORTEST-LONGEST"),
        ("uniform:2s-1s", "longer than"),
        ("lognormal:1s", "MEDIAN/SIGMA"),
        ("lognormal:1s/9", "0 to 5"),
    ] {
        let error = text.parse::<Think>().unwrap_err();
        assert!(error.contains(words), "{text}: {error}");
    }
}

#[test]
fn a_warm_up_has_the_rate_with_which_the_stages_begin() {
    let curve = |text| Curve::new(Span::from_s(2), &stages(text));
    let until = |curve: Curve, s| curve.count_until(Span::from_s(s));
    assert!(until(curve("1s:=100"), 2) - 200.0 < 1e-9);
    assert!(until(curve("1s:100"), 2) < 1e-9);
    assert!((until(curve("1s:100"), 3) - 50.0).abs() < 1e-9);
    assert!((until(curve("1s:!100/1s"), 2) - 200.0).abs() < 1e-9);
}

fn any_stage() -> impl Strategy<Value = Stage> {
    let form = prop_oneof![
        (0u64..5_000_000).prop_map(|rate| Form::Ramp {
            rate_per_1000_s: Rate::per_1000_s(rate)
        }),
        (0u64..5_000_000).prop_map(|rate| Form::Hold {
            rate_per_1000_s: Rate::per_1000_s(rate)
        }),
        (0u64..5_000_000, 1u64..500).prop_map(|(rate, ms)| Form::Flash {
            peak_per_1000_s: Rate::per_1000_s(rate),
            half_life: Span::from_ms(ms)
        }),
    ];
    (1u64..2_000, form).prop_map(|(ms, form)| Stage {
        length: Span::from_ms(ms),
        form,
    })
}

/// Where the integral of all stages is a whole number, the arrival with that number is due when
/// they are over, and not a rounding before.
#[test]
fn a_whole_integral_is_the_count_of_arrivals() {
    for (tenths, rate) in (1..60).flat_map(|tenths| (1..60).map(move |rate| (tenths, rate))) {
        let up = Stage {
            length: Span::from_ms(tenths * 100),
            form: Form::Ramp {
                rate_per_1000_s: Rate::per_1000_s(rate * 1_000),
            },
        };
        let down = Stage {
            form: Form::Ramp {
                rate_per_1000_s: Rate::per_1000_s(0),
            },
            ..up
        };
        for stages in [vec![up], vec![up, down], vec![up, up, down]] {
            // Twentieths of an arrival for each ramp; the second of three is level.
            let twentieths = match stages.len() {
                1 => tenths * rate,
                2 => tenths * rate * 2,
                _ => tenths * rate * 4,
            };
            if twentieths % 20 > 0 {
                continue;
            }
            let curve = Curve::new(Span::ZERO, &stages);
            #[expect(clippy::cast_precision_loss, reason = "some thousands")]
            let count = (twentieths / 20) as f64;
            assert_eq!(curve.instant_of(count), None, "{stages:?}: {count}");
            assert!(
                curve.instant_of(count - 1.0).is_some(),
                "{stages:?}: {count}"
            );
        }
    }
}

proptest! {
    #[test]
    fn when_is_the_inverse_of_how_many(
        all in proptest::collection::vec(any_stage(), 1..5),
        warmup in 0u64..500,
    ) {
        let curve = Curve::new(Span::from_ms(warmup), &all);
        let end = Span::from_ms(warmup) + length(&all);
        let total = curve.count_until(end);
        let mut last = Span::ZERO;
        for part in 0..200 {
            let count = total * f64::from(part) / 200.0;
            let Some(at) = curve.instant_of(count) else {
                prop_assert!(total < 1e-9, "nothing at {} of {}", count, total);
                continue;
            };
            prop_assert!(last <= at && at <= end, "{at:?} after {last:?}");
            // An instant is rounded down to a nanosecond.
            let (low, high) = (
                curve.count_until(at),
                curve.count_until(at + Span::from_ns(2)),
            );
            prop_assert!(low <= count + 1e-6 && count <= high + 1e-6, "{low} {count} {high}");
            last = at;
        }
        prop_assert_eq!(curve.instant_of(total + 1.0), None);
    }
}
