use model::distribution::Shape;

use super::*;

fn values(n: u64) -> Distribution {
    let mut distribution = Distribution::new(Shape::TOTAL);
    for value in 1..=n {
        distribution.record(Span::from_us(value));
    }
    distribution
}

#[test]
fn a_quantile_needs_ten_values_beyond_it() {
    let check = |count, q, expected| assert_eq!(support(count, q), expected, "{count} {q}");
    check(19, 0.5, Support::TooFew);
    check(20, 0.5, Support::Thin);
    check(200, 0.5, Support::Firm);
    check(999, 0.99, Support::TooFew);
    check(1_000, 0.99, Support::Thin);
    check(9_999, 0.99, Support::Thin);
    check(10_000, 0.99, Support::Firm);
    check(9_999, 0.999, Support::TooFew);
    check(10_000, 0.999, Support::Thin);
    check(0, 0.5, Support::TooFew);
}

#[test]
fn a_quantile_among_the_unanswered_has_no_value() {
    let mut distribution = values(980);
    for _ in 0..20 {
        distribution.record_censored();
    }
    assert_eq!(read(&distribution, 0.99), Reading::Censored);
    assert_eq!(read(&distribution, 0.999), Reading::TooFew);
    assert!(matches!(read(&distribution, 0.5), Reading::Value(_)));
    let (low, high) = quantile_interval(&distribution, 0.97).unwrap();
    assert!(low.is_some());
    assert_eq!(high, None, "the upper end is longer than anything seen");
}

#[test]
fn the_interval_of_a_quantile_is_a_pair_of_ranks() {
    // n = 10,000, p = 0.99: ranks 9,880 and 9,921.
    let (low, high) = quantile_interval(&values(10_000), 0.99).unwrap();
    let near = |span: Option<Span>, us: f64| {
        let got = span.unwrap().as_us_f64();
        assert!((got - us).abs() < us / 500.0, "{got} {us}");
    };
    near(low, 9_880.0);
    near(high, 9_921.0);
}

/// Ranks and coverages computed from the binomial distribution.
#[test]
fn the_interval_of_a_median_over_rounds() {
    let check = |n: u32, expected: Option<(f64, f64, f64)>| {
        let sorted: Vec<f64> = (1..=n).map(f64::from).collect();
        let got = median_interval(&sorted);
        match (got, expected) {
            (None, None) => {}
            (Some(got), Some((low, high, coverage))) => {
                assert_eq!((got.low, got.high), (low, high), "{n}");
                assert!(
                    (got.coverage * 100.0 - coverage).abs() < 0.06,
                    "{n}: {got:?}"
                );
            }
            other => panic!("{n}: {other:?}"),
        }
    };
    for n in 0..6 {
        check(n, None);
    }
    check(6, Some((1.0, 6.0, 96.9)));
    check(7, Some((1.0, 7.0, 98.4)));
    check(8, Some((1.0, 8.0, 99.2)));
    check(9, Some((2.0, 8.0, 96.1)));
    check(10, Some((2.0, 9.0, 97.9)));
    check(12, Some((3.0, 10.0, 96.1)));
    check(15, Some((4.0, 12.0, 96.5)));
    check(20, Some((6.0, 15.0, 95.9)));
    check(30, Some((10.0, 21.0, 95.7)));
}

#[test]
fn a_cost_is_of_what_passed_between_the_readings() {
    let mut trial = model::fixture::open();
    let cost = |trial: &Trial| cpu_per_request(trial).unwrap().total_us;
    let before = cost(&trial);
    // The readings began late: they have seen three quarters of the work.
    let server = trial.usage.server.as_mut().unwrap();
    let whole = server.cpu.unwrap();
    server.cpu = Some(whole / 4 * 3);
    server.covered = Some(trial.record.window / 4 * 3);
    assert!((cost(&trial) / before - 1.0).abs() < 0.001);
    // Arrivals that were never sent cost the server nothing.
    trial.record.total.outcomes[model::Outcome::Shed] += 1_000_000;
    assert!((cost(&trial) / before - 1.0).abs() < 0.001);
    // Twice as many answers as were due in the window.
    trial.record.total.passed.as_mut().unwrap().ended *= 2;
    assert!((cost(&trial) / before - 0.5).abs() < 0.001);
    // A window within a tick of the clock.
    trial.usage.server.as_mut().unwrap().cpu = Some(Span::ZERO);
    assert!(cpu_per_request(&trial).is_none());
}

#[test]
fn an_interval_of_many_rounds_is_wide() {
    for count in [1_000_u32, 1_074, 1_075, 3_000] {
        let values: Vec<f64> = (0..count).map(f64::from).collect();
        let interval = median_interval(&values).unwrap();
        // By the normal approximation, to a few ranks.
        let half = 0.98 * f64::from(count).sqrt();
        let width = (interval.high - interval.low) / 2.0;
        assert!((width - half).abs() < 3.0, "{count}: {interval:?}");
        assert!(
            (0.95..0.96).contains(&interval.coverage),
            "{count}: {interval:?}"
        );
    }
}
