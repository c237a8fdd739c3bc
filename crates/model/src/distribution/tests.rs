use super::*;

#[test]
fn every_value_falls_into_the_bucket_that_covers_it() {
    for shape in [Shape::TOTAL, Shape::INTERVAL] {
        let mut ns = 0_u64;
        while ns < Shape::HIGHEST.as_ns() {
            let (lowest, width) = shape.range_of(shape.index_of(ns));
            assert!(
                (lowest..lowest + width).contains(&ns),
                "{ns} in {lowest}+{width}"
            );
            ns += 1 + ns / 977;
        }
    }
}

#[test]
fn the_layout_is_hdr_histograms() {
    for shape in [Shape::TOTAL, Shape::INTERVAL] {
        let mut distribution = Distribution::new(shape);
        let mut hdr = hdrhistogram::Histogram::<u64>::new_with_bounds(
            1 << shape.unit_magnitude,
            Shape::HIGHEST.as_ns(),
            shape.digits,
        )
        .unwrap();
        let mut ns = 1_u64;
        while ns < Shape::HIGHEST.as_ns() {
            distribution.record(Span::from_ns(ns));
            hdr.record(ns).unwrap();
            ns += 1 + ns / 53;
        }
        for q in [0.0, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0] {
            let ours = distribution.quantile(q).unwrap().as_ns();
            let theirs = hdr.value_at_quantile(q);
            assert!(hdr.equivalent(ours, theirs), "{q}: {ours} is not {theirs}");
        }
    }
}

#[test]
fn what_is_clamped_or_censored_is_counted() {
    let mut distribution = Distribution::default();
    distribution.record(Span::from_s(4000));
    distribution.record(Span::from_us(10));
    distribution.record_censored();
    distribution.record_censored();
    assert_eq!(
        (
            distribution.count(),
            distribution.clamped(),
            distribution.censored()
        ),
        (2, 1, 2)
    );
    assert_eq!(distribution.value_at_rank(1), Some(Span::from_ns(10_007)));
    assert_eq!(distribution.min(), Some(Span::from_us(10)));
    assert_eq!(distribution.quantile(0.5), Some(Shape::HIGHEST));
    assert_eq!(distribution.quantile(0.75), None);
    assert_eq!(distribution.count_above(Span::from_us(11)), 3);
}

#[test]
fn merging_is_recording_together() {
    let (mut left, mut right, mut both) = (
        Distribution::default(),
        Distribution::default(),
        Distribution::default(),
    );
    for n in 1..5_000 {
        let value = Span::from_ns(n * n);
        if n % 3 == 0 {
            left.record(value);
        } else {
            right.record(value);
        }
        both.record(value);
    }
    right.record_censored();
    both.record_censored();
    let mut reverse = right.clone();
    reverse.merge(&left);
    left.merge(&right);
    assert_eq!(left, both);
    assert_eq!(reverse, both);
}

#[test]
fn the_file_form_loses_nothing() {
    for shape in [Shape::TOTAL, Shape::INTERVAL] {
        let mut distribution = Distribution::new(shape);
        for n in 1..2_000 {
            distribution.record(Span::from_ns(n * 7919));
        }
        distribution.record_censored();
        let json = serde_json::to_string(&distribution).unwrap();
        assert!(json.contains("\"histogram\":\"HISTF"), "{json}");
        let back: Distribution = serde_json::from_str(&json).unwrap();
        assert_eq!(back, distribution);
    }
    let empty = Distribution::default();
    let back: Distribution = serde_json::from_value(serde_json::to_value(&empty).unwrap()).unwrap();
    assert_eq!(back, empty);
}

#[test]
fn a_quantile_is_the_value_below_which_that_share_lies() {
    let mut distribution = Distribution::default();
    for ms in 1..=10 {
        distribution.record(Span::from_ms(ms));
    }
    let check = |q: f64, ms: u64| {
        let value = distribution.quantile(q).unwrap().as_ns();
        let expected = Span::from_ms(ms).as_ns();
        assert!(value.abs_diff(expected) <= expected / 1000, "{q}: {value}");
    };
    check(0.0, 1);
    check(0.1, 1);
    check(0.5, 5);
    check(0.9, 9);
    check(0.91, 10);
    check(1.0, 10);
}

#[test]
fn a_file_tells_no_quantile_that_the_sample_does_not_carry() {
    let mut times = Distribution::new(Shape::TOTAL);
    for us in 1..=1_000 {
        times.record(Span::from_us(us));
    }
    let file = serde_json::to_value(&times).unwrap();
    assert!(file["p99"].is_f64() && file["p99_9"].is_null(), "{file}");
    let mut few = Distribution::new(Shape::TOTAL);
    (1..=10).for_each(|us| few.record(Span::from_us(us)));
    let file = serde_json::to_value(&few).unwrap();
    assert!(file["p50"].is_null() && file["max"].is_f64(), "{file}");
}

#[test]
fn a_thinned_one_reads_the_same_where_it_is_read() {
    let mut random = crate::Random::new(7);
    let mut all = Distribution::default();
    for _ in 0..20_000 {
        all.record(Span::from_ns(50_000 + random.next_u64() % 300_000));
    }
    for ms in [150, 199, 201, 400] {
        all.record_n(Span::from_ms(ms), 3);
    }
    all.record_censored_n(2);
    let quantiles = [0.5, 0.75, 0.9, 0.99, 0.999];
    let exact = Exact {
        quantiles: &quantiles,
        longest: 40,
        above: Span::from_ms(198),
    };
    let thin = all.thinned(&exact);
    for q in quantiles {
        assert_eq!(thin.quantile(q), all.quantile(q), "{q}");
    }
    let bound = Span::from_ms(198);
    assert_eq!(thin.count_above(bound), all.count_above(bound));
    assert_eq!(thin.count_above(bound), 11);
    for back in 0..40 {
        let rank = all.count() - back;
        assert_eq!(thin.value_at_rank(rank), all.value_at_rank(rank), "{back}");
    }
    let whole = |one: &Distribution| (one.count(), one.censored(), one.sum(), one.min(), one.max());
    assert_eq!(whole(&thin), whole(&all));
    assert_eq!(thin.counts.iter().sum::<u64>(), all.count());
    assert!(thin.buckets().count() < 60, "{}", thin.buckets().count());
    let empty = Distribution::default();
    assert_eq!(empty.thinned(&exact), empty);
}

#[test]
fn a_file_whose_values_lie_outside_of_its_ends_is_refused() {
    let mut distribution = Distribution::default();
    (1..=100).for_each(|ms| distribution.record(Span::from_ms(ms)));
    let good = serde_json::to_value(&distribution).unwrap();
    for (end, ns) in [("min_ns", 2_000_000), ("max_ns", 99_000_000)] {
        let mut bad = good.clone();
        bad[end] = ns.into();
        let error = serde_json::from_value::<Distribution>(bad).unwrap_err();
        assert!(error.to_string().contains("not between"), "{error}");
    }
    let mut late = good;
    late["max_ns"] = u64::MAX.into();
    let read: Distribution = serde_json::from_value(late).unwrap();
    assert_eq!(read.max(), Some(Shape::HIGHEST));
    assert_eq!(read.quantile(1.0), Some(Span::from_ns(100_007_935)));
}
