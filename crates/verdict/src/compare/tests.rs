use super::*;

/// Rounds of speeds that both share, and ratios around `ratio` give or take `spread`.
fn pairs(ratio: f64, spread: f64, rounds: u32) -> Vec<(f64, f64)> {
    (0..rounds)
        .map(|round| {
            let speed = 10_000.0 * (1.0 + 0.1 * f64::from(round));
            let sign = if round % 2 == 0 { 1.0 } else { -1.0 };
            let size = 1.0 - 0.1 * f64::from(round / 2);
            (speed * ratio * (1.0 + sign * size * spread), speed)
        })
        .collect()
}

#[test]
fn what_may_be_said() {
    let check = |ratio, spread, expected| {
        let found = compare(&pairs(ratio, spread, 6), SMALLEST).unwrap();
        assert_eq!(found.decision, expected, "{ratio} {spread}: {found:?}");
    };
    check(1.20, 0.01, Decision::MoreClearly);
    check(0.80, 0.01, Decision::LessClearly);
    check(1.03, 0.02, Decision::More);
    check(0.97, 0.02, Decision::Less);
    check(1.00, 0.01, Decision::Equivalent);
    check(1.01, 0.005, Decision::Equivalent);
    check(1.00, 0.10, Decision::Inconclusive { rounds: 196 });
}

#[test]
fn below_six_rounds_nothing_may_be_said() {
    let found = compare(&pairs(2.0, 0.001, 5), SMALLEST).unwrap();
    assert_eq!(found.interval, None);
    assert_eq!(found.decision, Decision::Inconclusive { rounds: 6 });
    assert_eq!(compare(&[], SMALLEST), None);
}
