use super::*;

#[test]
fn a_scale_suits_its_values() {
    let check = |values: &[f64], expected: Scale| {
        assert_eq!(Scale::suited(values), expected, "{values:?}");
    };
    check(&[1.0, 16.0, 64.0, 256.0], Scale::Log);
    check(&[10.0, 100.0, 1000.0], Scale::Log);
    let by_ten: Vec<f64> = (1..=100).map(|n| f64::from(n) * 10.0).collect();
    check(&by_ten, Scale::Linear);
    check(&[1.0, 64.0], Scale::Log);
    check(&[32.0, 64.0], Scale::Linear);
    check(&[64.0], Scale::Linear);
    check(&[], Scale::Linear);
    check(&[0.0, 10.0, 1000.0], Scale::Linear);
}

#[test]
fn marks_stand_at_round_values() {
    let check = |scale: Scale, low: f64, high: f64, expected: &[f64]| {
        let ticks = scale.placing(Unit::Count, low, high).ticks();
        assert_eq!(ticks.len(), expected.len(), "{scale:?}: {ticks:?}");
        for (tick, expected) in ticks.iter().zip(expected) {
            assert!(
                (tick - expected).abs() < 1e-6 * expected.max(1.0),
                "{scale:?}: {ticks:?}"
            );
        }
    };
    check(
        Scale::Linear,
        12.0,
        93.0,
        &[0.0, 20.0, 40.0, 60.0, 80.0, 100.0],
    );
    check(
        Scale::Log,
        1.0,
        256.0,
        &[1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0],
    );
    check(
        Scale::Log,
        1.0,
        1e6,
        &[1.0, 10.0, 100.0, 1e3, 1e4, 1e5, 1e6],
    );
    check(Scale::Quantile, 0.5, 0.999, &[0.5, 0.9, 0.99, 0.999]);
    check(
        Scale::Category(vec!["a".into(), "b".into()]),
        0.0,
        1.0,
        &[0.0, 1.0],
    );
}

#[test]
fn bytes_are_marked_by_powers_of_1024() {
    let mebi = 1_048_576.0;
    let ticks = Scale::Linear.placing(Unit::Bytes, 0.0, 4.4 * mebi).ticks();
    assert_eq!(
        ticks,
        [0.0, mebi, 2.0 * mebi, 3.0 * mebi, 4.0 * mebi, 5.0 * mebi]
    );
    let ticks = Scale::Log.placing(Unit::Bytes, mebi, 8.0 * mebi).ticks();
    assert_eq!(ticks, [mebi, 2.0 * mebi, 4.0 * mebi, 8.0 * mebi]);
}

fn labels(placing: &scale::Placing<'_>) -> Vec<String> {
    let ticks = placing.ticks();
    ticks.iter().map(|tick| placing.label(*tick)).collect()
}

#[test]
fn marks_of_equal_steps_have_one_unit() {
    let check = |unit: Unit, high: f64, expected: &[&str]| {
        let placing = Scale::Linear.placing(unit, 0.0, high);
        assert_eq!(labels(&placing), expected, "{unit:?} {high}");
        let (_, end) = placing.ends();
        let last = *placing.ticks().last().unwrap();
        assert!(
            (end - last).abs() < 1e-9 * end,
            "{unit:?}: {last} is not the end, {end}"
        );
    };
    check(Unit::PerSecond, 14_000.0, &["0", "5 k", "10 k", "15 k"]);
    check(Unit::PerSecond, 51_000.0, &["0", "20 k", "40 k", "60 k"]);
    check(
        Unit::Microseconds,
        1_300.0,
        &["0", "0.5 ms", "1 ms", "1.5 ms"],
    );
    check(Unit::Seconds, 1.9, &["0", "0.5 s", "1 s", "1.5 s", "2 s"]);
    let mebi = 1_048_576.0;
    check(
        Unit::Bytes,
        1.9 * mebi,
        &["0", "0.5 MiB", "1 MiB", "1.5 MiB", "2 MiB"],
    );
    check(
        Unit::Bytes,
        500_000.0,
        &["0", "100 KiB", "200 KiB", "300 KiB", "400 KiB", "500 KiB"],
    );
}

/// Below the lowest value and above the highest one stands what they are held against.
#[test]
fn an_axis_of_equal_ratios_ends_at_marks() {
    let check = |low: f64, high: f64, expected: &[&str]| {
        let placing = Scale::Log.placing(Unit::Microseconds, low, high).to_marks();
        assert_eq!(labels(&placing), expected, "{low} {high}");
    };
    check(700.0, 900.0, &["500 µs", "1 ms"]);
    check(
        183.0,
        4_100.0,
        &["100 µs", "200 µs", "500 µs", "1 ms", "2 ms", "5 ms"],
    );
    check(1.0, 1.0, &["1 µs", "2 µs", "5 µs", "10 µs"]);
    let bytes = Scale::Log.placing(Unit::Bytes, 1_500_000.0, 5e6).to_marks();
    assert_eq!(labels(&bytes), ["1 MiB", "2 MiB", "4 MiB", "8 MiB"]);
}

#[test]
fn marks_are_few_whatever_the_range() {
    for low in [0.0, 1e-9, 1.0, 1e3] {
        for high in [1e-6, 1.0, 7.0, 1e4, 1e12] {
            for scale in [Scale::Linear, Scale::Log] {
                let count = scale.placing(Unit::Count, low, high).ticks().len();
                assert!(count <= 12, "{scale:?} {low} {high}: {count} marks");
            }
        }
    }
}

#[test]
fn a_cloud_is_thinned_to_the_pixel() {
    let mut series = Series::new("accept", 0, Kind::Scatter);
    for n in 0..50_000u32 {
        series.cloud.push(Dot {
            x: f64::from(n),
            y: f64::from(n % 10),
            standing: Standing::Sound,
        });
    }
    let axis = |name: &str| Axis {
        name: name.to_owned(),
        unit: Unit::Count,
        scale: Scale::Linear,
    };
    let mut chart = Chart {
        id: "probe".to_owned(),
        title: "accept".to_owned(),
        caption: String::new(),
        x: axis("open"),
        y: axis("time"),
        series: vec![series],
    };
    let extent = chart.extent();
    chart.thin();
    let left = chart.series[0].cloud.len();
    assert!((5_000..=10_000).contains(&left), "{left}");
    let after = chart.extent();
    assert!((after.0.1 - extent.0.1).abs() <= 100.0 && (after.1.1 - extent.1.1).abs() < 1e-9);
}

#[test]
fn the_extent_holds_intervals_clouds_and_stacks() {
    let axis = || Axis {
        name: String::new(),
        unit: Unit::Count,
        scale: Scale::Linear,
    };
    let mut user = Series::new("a", 0, Kind::Bar { stack: 0 });
    user.points.push(Point::new(0.0, 3.0));
    let mut system = Series::new("a", 0, Kind::Bar { stack: 0 });
    system.points.push(Point::new(0.0, 4.0));
    let mut line = Series::new("b", 1, Kind::Line);
    line.points.push(Point {
        interval: Some((1.0, 6.5)),
        ..Point::new(2.0, 5.0)
    });
    let chart = Chart {
        id: String::new(),
        title: String::new(),
        caption: String::new(),
        x: axis(),
        y: axis(),
        series: vec![user, system, line],
    };
    let (x, y) = chart.extent();
    assert!((x.1 - 2.0).abs() < 1e-9 && (y.1 - 7.0).abs() < 1e-9 && (y.0 - 1.0).abs() < 1e-9);
}
