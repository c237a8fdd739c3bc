//! Estimates and their intervals, against counting them out and by hand.

use std::collections::BTreeMap;

use model::Random;

use crate::pairs::{Estimate, Precision, Sample, Sharpness, paired, unpaired};
use crate::summary::Rounds;

fn rounds(values: &[f64]) -> BTreeMap<u32, f64> {
    (1..).zip(values.iter().copied()).collect()
}

/// One side has these log ratios to another that is always 1.
fn of_logs(logs: &[f64]) -> Estimate {
    let one: Vec<f64> = logs.iter().map(|log| log.exp()).collect();
    paired(&rounds(&one), &rounds(&vec![1.0; logs.len()])).unwrap()
}

fn near(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9, "{found}, not {expected}");
}

/// Hollander and Wolfe, example 3.1 (depression scores): differences, estimate -0.46, exact p
/// 0.0391 two-sided, 96.1 % interval from -0.786 to -0.010.
#[test]
fn the_example_of_the_textbook() {
    let differences = [
        -0.952, 0.147, -1.022, -0.430, -0.620, -0.590, -0.490, 0.080, -0.010,
    ];
    let found = of_logs(&differences);
    near(found.ratio.ln(), -0.46);
    near(found.p.unwrap(), 20.0 / 512.0);
    let interval = found.interval.unwrap();
    near(interval.low.ln(), -0.786);
    near(interval.high.ln(), -0.010);
    near(interval.coverage, 0.960_937_5);
}

#[test]
fn six_rounds_have_the_extremes_at_their_exact_level() {
    let found = of_logs(&[0.1, 0.5, 0.3, 0.2, 0.6, 0.4]);
    let interval = found.interval.unwrap();
    near(interval.low.ln(), 0.1);
    near(interval.high.ln(), 0.6);
    near(interval.coverage, 0.968_75);
    near(found.p.unwrap(), 0.031_25);
    assert_eq!(of_logs(&[0.1, 0.5, 0.3, 0.2, 0.6]).interval, None);
}

/// The tests count as the definition does: ranks of the absolute differences, signs by their sums.
#[test]
fn p_values_are_those_of_signed_ranks() {
    for seed in 0..200_u64 {
        let mut random = Random::new(seed);
        let pairs = 3 + random.below(8);
        let logs: Vec<f64> = (0..pairs).map(|_| random.unit() - 0.4).collect();
        let at = random.unit() * 0.2 - 0.1;
        let mut shifted: Vec<f64> = logs.iter().map(|log| log - at).collect();
        shifted.sort_by(|a, b| a.abs().total_cmp(&b.abs()));
        let negative: usize = (1..)
            .zip(&shifted)
            .filter(|(_, value)| **value < 0.0)
            .map(|(rank, _)| rank)
            .sum();
        let choices = (0..1_usize << pairs).filter(|signs| {
            let sum: usize = (0..pairs)
                .filter(|i| signs >> i & 1 == 1)
                .map(|i| i + 1)
                .sum();
            sum <= negative
        });
        let expected = choices.count() as f64 / (1_usize << pairs) as f64;
        let found = of_logs(&logs).p_above(at.exp());
        assert!(
            (found - expected).abs() < 1e-9,
            "seed {seed}: {found}, not {expected}"
        );
    }
}

/// A value is outside of an interval where, and only where, the test refuses it.
#[test]
fn an_interval_and_its_test_say_the_same() {
    for seed in 0..300_u64 {
        let mut random = Random::new(seed);
        let mut draw = |count: usize| -> Vec<f64> {
            // Few different values, so that many are equal.
            (0..count)
                .map(|_| 1.0 + (random.unit() * 8.0).floor() / 10.0)
                .collect()
        };
        let (a, b, c) = (draw(8), draw(8), draw(7));
        for found in [
            paired(&rounds(&a), &rounds(&b)).unwrap(),
            unpaired(&a, &c).unwrap(),
        ] {
            let interval = found.interval.unwrap();
            let alpha = 0.05;
            for tested in [0.5, 0.8, 0.9, 1.0, 1.1, 1.25, 2.0] {
                let refused = found.p_above(tested).min(found.p_below(tested)) <= alpha / 2.0;
                assert_eq!(
                    refused,
                    !interval.contains(tested),
                    "seed {seed}: {tested} {found:?}"
                );
            }
        }
    }
}

#[test]
fn ties_and_zeros_count_against_the_claim() {
    // Every round the same: no difference, and the interval is a point.
    let same = paired(&rounds(&[5.0; 8]), &rounds(&[5.0; 8])).unwrap();
    near(same.ratio, 1.0);
    near(same.p.unwrap(), 1.0);
    let interval = same.interval.unwrap();
    assert!(interval.contains(1.0) && interval.low >= 1.0 && interval.high <= 1.0);
    // Seven rounds for it and one without a difference: less sure than eight for it.
    let mut logs = [0.1; 8];
    let p_all = of_logs(&logs).p.unwrap();
    near(p_all, 2.0 / 256.0);
    logs[0] = 0.0;
    assert!(of_logs(&logs).p.unwrap() > p_all);
}

#[test]
fn a_side_that_had_nothing_is_a_value_and_not_a_gap() {
    let found = paired(
        &rounds(&[0.0, 10.0, 10.0, 10.0, 10.0, 10.0]),
        &rounds(&[10.0; 6]),
    )
    .unwrap();
    assert_eq!(
        found.sample,
        Sample::Paired {
            pairs: 6,
            left_out: 0
        }
    );
    assert!(found.interval.unwrap().low < 1e-100);
    // Both had nothing: that round tells nothing.
    let found = paired(&rounds(&[0.0, 10.0]), &rounds(&[0.0, 10.0])).unwrap();
    assert_eq!(
        found.sample,
        Sample::Paired {
            pairs: 1,
            left_out: 1
        }
    );
    assert_eq!(paired(&rounds(&[0.0]), &rounds(&[0.0])), None);
    assert_eq!(paired(&rounds(&[f64::NAN]), &rounds(&[1.0])), None);
}

#[test]
fn a_round_that_one_side_lacks_drops_out_as_a_pair() {
    let one = BTreeMap::from([(1, 10.0), (2, 11.0), (4, 12.0), (5, 13.0)]);
    let other = BTreeMap::from([(1, 5.0), (3, 5.0), (4, 6.0), (5, 6.5)]);
    let found = paired(&one, &other).unwrap();
    assert_eq!(
        found.sample,
        Sample::Paired {
            pairs: 3,
            left_out: 2
        }
    );
    near(found.ratio, 2.0);
    assert_eq!(paired(&one, &BTreeMap::new()), None);
}

/// R: wilcox.test(log(a), log(b), conf.int = TRUE) takes the median of all differences and, for 5
/// and 5 values, the third smallest and third largest of them, with 96.8 %.
#[test]
fn groups_are_compared_by_all_their_differences() {
    let one = [1.0, 2.0, 4.0, 8.0, 16.0];
    let other = [1.0; 5].map(|value| value * 3.0);
    let found = unpaired(&one, &other).unwrap();
    near(found.ratio, 4.0 / 3.0);
    let interval = found.interval.unwrap();
    near(interval.low, 1.0 / 3.0);
    near(interval.high, 16.0 / 3.0);
    near(interval.coverage, 1.0 - 2.0 * 4.0 / 252.0);
    assert_eq!(found.sample, Sample::Unpaired { one: 5, other: 5 });
    // 3 and 3 have no interval, 4 and 4 have one.
    assert_eq!(unpaired(&one[..3], &other[..3]).unwrap().interval, None);
    assert!(unpaired(&one[..4], &other[..4]).unwrap().interval.is_some());
    assert_eq!(unpaired(&[], &other), None);
}

#[test]
fn single_values_have_a_ratio_and_no_more() {
    let found = unpaired(&[3.0], &[2.0]).unwrap();
    near(found.ratio, 1.5);
    assert_eq!(
        (found.interval, found.p, found.sample),
        (None, None, Sample::Single)
    );
}

#[test]
fn precision_is_a_word_for_the_width() {
    let check = |half: f64, word: Sharpness, text: &str| {
        let values = [-1.0, -0.6, -0.2, 0.2, 0.6, 1.0].map(|x| 1_000.0 * (1.0 + half * x));
        let found = Precision::of(&Rounds::of(values).unwrap());
        assert_eq!(found.sharpness, word, "{half}");
        assert_eq!(found.text(), text);
    };
    check(0.02, Sharpness::Sharp, "sharp (within 2.0 %)");
    check(
        0.06,
        Sharpness::Fair,
        "fair (within 6.0 %; about 24 rounds would make it sharp)",
    );
    check(
        0.24,
        Sharpness::Rough,
        "rough (within 24 %; about 384 rounds would make it sharp)",
    );
    let few = Precision::of(&Rounds::of([100.0, 101.0, 99.0]).unwrap());
    assert_eq!(few.sharpness, Sharpness::Rough);
    assert_eq!(
        few.text(),
        "rough (too few rounds for an interval; about 6 rounds would make it sharp)"
    );
    let one = Precision::of(&Rounds::of([100.0]).unwrap());
    assert_eq!(one.text(), "rough (too few rounds for an interval)");
    let ratio = of_logs(&[0.00, 0.01, 0.02, 0.03, 0.04, 0.05]);
    let found = Precision::of_ratio(ratio.interval.as_ref(), ratio.spread, 6);
    assert_eq!(found.text(), "sharp (within 2.5 %)");
}
