//! Limits, points and the file form.

use super::*;

#[test]
fn a_limit_allows_what_is_left_after_the_fixed_part() {
    let limit = |free, per_1000, fixed| Limit {
        free,
        per_1000,
        fixed,
        ..Limit::default()
    };
    assert_eq!(limit(Some(1_000), 1_000, 100).allows(), 900);
    assert_eq!(limit(Some(1_000), 2_000, 0).allows(), 500);
    assert_eq!(limit(Some(10), 1_000, 100).allows(), 0);
    assert_eq!(limit(None, 1_000, 100).allows(), u64::MAX);
    assert_eq!(limit(Some(5), 0, 0).allows(), u64::MAX);
}

#[test]
fn points_are_numbered_from_one_and_lose_the_cost_of_the_clock() {
    let series = Series::counted("socket", vec![500, 420, 10]);
    assert_eq!(series.points(20.0), vec![(1, 480.0), (2, 400.0), (3, 1.0)]);
    let sampled = Series {
        at: Some(vec![10, 20]),
        ..Series::counted("request", vec![100, 200])
    };
    assert_eq!(sampled.points(0.0), vec![(10, 100.0), (20, 200.0)]);
}

#[test]
fn a_result_survives_its_file_form() {
    let result = ProbeResult {
        probe_format: FORMAT,
        probe: "bind".to_owned(),
        variant: Some("2003-11".to_owned()),
        passes: vec![Pass {
            number: 1,
            timer_cost_ns: 21.5,
            series: vec![Series::counted("bind", vec![1, 2, 3])],
            ..Pass::default()
        }],
        growth: vec![Growth {
            series: "bind".to_owned(),
            classes: vec![Class::Flat, Class::Step],
            curves: vec![Curve::Step {
                a: 1.0,
                b: 2.0,
                at: 3.0,
            }],
            ..Growth::default()
        }],
        ..ProbeResult::default()
    };
    let text = serde_json::to_string(&result).unwrap();
    let again: ProbeResult = serde_json::from_str(&text).unwrap();
    assert_eq!(again, result);
    assert_eq!(again.label(), "bind-2003-11");
    assert_eq!(again.series_names(), ["bind"]);
    assert_eq!(again.growth[0].word(), "between flat and a step");
}

#[test]
fn answers_contradict_each_other_when_no_class_fits_both() {
    let growth = |classes: &[Class]| Growth {
        classes: classes.to_vec(),
        ..Growth::default()
    };
    let flat = growth(&[Class::Flat]);
    let linear = growth(&[Class::Linear]);
    let between = growth(&[Class::Flat, Class::Logarithmic]);
    assert!(flat.agrees_with(&between));
    assert!(!flat.agrees_with(&linear));
    assert!(!linear.agrees_with(&between));
    assert!(growth(&[]).agrees_with(&linear));
}
