//! Curves without noise and edges of the rules; the noisy ones are in `tests/growth.rs`.

use super::*;

/// Five passes over `population`, each point `cost(n, pass)`.
fn passes(population: u32, cost: impl Fn(f64, u32) -> f64) -> Vec<Vec<(u32, f64)>> {
    (0..5)
        .map(|pass| {
            (1..=population)
                .map(|n| {
                    let ripple = 1.0 + 0.01 * f64::from((n * 7 + pass * 3) % 5);
                    (n, cost(f64::from(n), pass) * ripple)
                })
                .collect()
        })
        .collect()
}

fn check(cost: impl Fn(f64, u32) -> f64, expected: &[Class]) {
    let growth = classify("x", &passes(4_000, cost));
    assert_eq!(growth.classes, expected, "{}", growth.sentence);
}

#[test]
fn clean_curves_get_their_names() {
    check(|_, _| 500.0, &[Class::Flat]);
    check(|n, _| 500.0 + 1e-9 * n, &[Class::Flat]);
    check(|n, _| 300.0 + 100.0 * n.ln(), &[Class::Logarithmic]);
    check(|n, _| 500.0 + n, &[Class::Linear]);
    check(|n, _| 500.0 + 0.01 * n * n, &[Class::Worse]);
    check(|n, _| 50.0 + n * n.ln(), &[Class::Worse]);
    check(|n, _| if n < 900.0 { 400.0 } else { 900.0 }, &[Class::Step]);
}

#[test]
fn the_ratio_is_that_of_the_two_costs_beside_it() {
    for slope in [0.0, 1.0] {
        let growth = classify("x", &passes(4_000, |n, _| 500.0 + slope * n));
        let (first, last) = growth.typical_ns;
        let (ratio, ..) = growth.ratio;
        assert!((last / first - ratio).abs() < 1e-9, "{growth:?}");
    }
}

#[test]
fn what_falls_is_not_flat() {
    check(|n, _| 500.0 + 2_000.0 / n.sqrt(), &[Class::Falling]);
    // A little cheaper is still flat; between the two bounds it is between the two classes.
    let falls_to = |share: f64| move |n: f64, _: u32| 500.0 * (1.0 - (1.0 - share) * n / 4_000.0);
    check(falls_to(0.9), &[Class::Flat]);
    let growth = classify("x", &passes(4_000, falls_to(0.66)));
    assert_eq!(
        growth.word(),
        "between falling and flat",
        "{}",
        growth.sentence
    );
}

#[test]
fn what_falls_and_grows_again_is_neither() {
    let valley = |n: f64, _: u32| 200.0 + 8_000.0 / n + n * 0.06;
    let growth = classify("x", &passes(4_000, valley));
    assert!(
        growth.classes.contains(&Class::Falling),
        "{}",
        growth.sentence
    );
    assert!(
        growth.classes.contains(&Class::Linear),
        "{}",
        growth.sentence
    );
}

#[test]
fn points_that_alternate_are_on_two_branches() {
    check(
        |n, pass| {
            if (n + f64::from(pass)) % 3.0 < 1.0 {
                500.0 + n
            } else {
                500.0
            }
        },
        &[Class::TwoBranches],
    );
}

#[test]
fn a_slow_pass_is_not_a_branch() {
    let growth = classify(
        "x",
        &passes(4_000, |_, pass| if pass == 2 { 900.0 } else { 500.0 }),
    );
    assert_eq!(growth.classes, [Class::Flat], "{}", growth.sentence);
}

#[test]
fn a_rare_spike_is_not_a_branch() {
    check(
        |n, _| if n % 16.0 < 1.0 { 5_000.0 } else { 500.0 },
        &[Class::Flat],
    );
}

#[test]
fn two_passes_name_nothing_but_flat_is_possible() {
    let two = &passes(4_000, |n, _| 500.0 + n)[..2];
    let growth = classify("x", two);
    assert!(growth.classes.len() > 1, "{}", growth.sentence);
}

#[test]
fn too_few_points_are_unclear() {
    for points in [vec![], passes(30, |_, _| 5.0), vec![vec![]; 5]] {
        let growth = classify("x", &points);
        assert!(growth.classes.is_empty(), "{}", growth.sentence);
        assert_eq!(growth.word(), "unclear");
    }
}

/// What is advised after a population of 100 is enough, and a fifth less is not.
fn check_advice(points: impl Fn(u32) -> Vec<Vec<(u32, f64)>>) {
    let sentence = classify("x", &points(100)).sentence;
    let advised = sentence.split("--population ").nth(1).expect(&sentence);
    let advised: u32 = advised.split(' ').next().unwrap().parse().unwrap();
    let classes = |population| classify("x", &points(population)).classes;
    assert!(!classes(advised).is_empty(), "{sentence}");
    assert!(classes(advised - advised / 5).is_empty(), "{sentence}");
}

#[test]
fn the_population_that_is_advised_suffices() {
    check_advice(|population| passes(population, |_, _| 500.0));
    check_advice(|population| {
        let points = (1..=population / 10).flat_map(|k| std::iter::repeat_n((k * 10, 9.0), 5));
        vec![points.collect(); 3]
    });
}

#[test]
fn sparse_points_are_binned_by_where_they_are() {
    let sparse: Vec<Vec<(u32, f64)>> = (0..5)
        .map(|_| {
            (1..=500)
                .flat_map(|k| (0..5).map(move |_| (k * 10, 700.0 + f64::from(k) * 20.0)))
                .collect()
        })
        .collect();
    let growth = classify("request", &sparse);
    assert_eq!(growth.classes, [Class::Linear], "{}", growth.sentence);
    assert!(growth.to / growth.from > 30.0);
}

#[test]
fn an_end_that_straddles_the_bounds_is_between() {
    let growth = classify(
        "x",
        &passes(4_000, |n, _| 500.0 * (1.0 + 0.3 * n / 4_000.0)),
    );
    assert!(growth.classes.contains(&Class::Flat), "{}", growth.sentence);
}

#[test]
fn no_growth_is_named_beside_a_busy_stranger() {
    use model::probe::{Pass, Series};
    let pass = |number| Pass {
        number,
        series: vec![Series::counted(
            "fork",
            (1..=4_000).map(|n| 500 + n).collect(),
        )],
        ..Pass::default()
    };
    let mut result = ProbeResult {
        passes: (1..=5).map(pass).collect(),
        ..ProbeResult::default()
    };
    let classes = |result: &ProbeResult| of_result(result)[0].classes.clone();
    assert_eq!(classes(&result), [Class::Linear]);
    result.busy_elsewhere = Some(0.05);
    assert_eq!(classes(&result), [Class::Linear]);
    result.busy_elsewhere = Some(0.5);
    assert_eq!(classes(&result), [Class::Flat, Class::Linear]);
    assert!(
        of_result(&result)[0]
            .sentence
            .contains("other programs used 50 %")
    );
}

#[test]
fn every_answer_survives_its_file_form() {
    for count in 1..=5 {
        let growth = classify("x", &passes(4_000, |n, _| 900.0 - n.ln() * 40.0)[..count]);
        let text = serde_json::to_string(&growth).unwrap();
        let again: Growth = serde_json::from_str(&text).unwrap();
        assert_eq!(again.classes, growth.classes);
    }
}
