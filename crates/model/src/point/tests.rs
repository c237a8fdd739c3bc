use serde_json::json;

use super::*;

fn nginx() -> PointId {
    PointId {
        workload: "small".to_owned(),
        server: "nginx".to_owned(),
        ..PointId::default()
    }
    .with(CONNECTIONS, Value::Count(64))
}

fn other(change: impl Fn(PointId) -> PointId) -> PointId {
    let mut id = nginx();
    "lighttpd".clone_into(&mut id.server);
    change(id)
}

#[test]
fn a_point_of_an_earlier_version_is_read_and_adopted() {
    let old = json!({
        "experiment": "first-heat", "server": "nginx", "workload": "small", "connections": 64,
        "axes": { "access_log": "off", "cores": "2", "rate": "2000/s" },
        "round": 3, "sequence": 7, "order_seed": 5, "ceiling": false
    });
    let mut point: Point = serde_json::from_value(old.clone()).unwrap();
    assert_eq!(serde_json::to_value(&point).unwrap(), old);
    assert_eq!(point.id.rate(), Some(Rate::per_second(2_000)));
    assert_eq!(point.id.load.text(), "2,000/s over 64 connections");
    assert_eq!(point.id.load.slug(), "64-2000");
    assert_eq!(point.id.value(CORES), Some(&Value::Count(2)));
    let run = |order_seed| Execution {
        experiment: "first-heat".to_owned(),
        begun: "2026-11-20T10:32:00Z".to_owned(),
        order_seed,
    };
    point.adopt(&run(6));
    assert_eq!(point.id.execution.begun, "", "another seed, another run");
    point.adopt(&run(5));
    assert_eq!(point.id.execution, run(5));
    let stored = serde_json::to_value(&point).unwrap();
    assert_eq!(stored["begun"], "2026-11-20T10:32:00Z");
    assert_eq!(serde_json::from_value::<Point>(stored).unwrap(), point);
}

#[test]
fn a_value_that_its_axis_cannot_read_is_told() {
    let bad = json!({
        "experiment": "x", "server": "s", "workload": "w", "connections": 1,
        "axes": { "cores": "many" }, "round": 1, "sequence": 1, "order_seed": 1
    });
    let error = serde_json::from_value::<Point>(bad)
        .unwrap_err()
        .to_string();
    assert_eq!(error, "axes.cores: 'many' is not a count");
}

#[test]
fn rivals_differ_where_the_table_lets_them() {
    let check = |id: PointId, expected: bool| {
        assert_eq!(nginx().is_rival_of(&id), expected, "{id:?}");
        assert_eq!(id.is_rival_of(&nginx()), expected, "{id:?}");
    };
    check(nginx(), false);
    check(other(|id| id), true);
    let log = |id: PointId| id.with(ACCESS_LOG, Value::Word("on".to_owned()));
    check(other(log), true);
    check(other(|id| id.with(CONNECTIONS, Value::Count(1))), false);
    check(
        other(|id| id.with("tls", Value::Word("1.3".to_owned()))),
        false,
    );
    check(
        other(|mut id| {
            "2026".clone_into(&mut id.execution.begun);
            id
        }),
        false,
    );
}

/// Nobody knows how many cores a server has that somebody else started.
#[test]
fn what_is_not_known_of_a_server_does_not_keep_it_from_being_a_rival() {
    let cores = |count| nginx().with(CORES, Value::Count(count));
    let mut unknown = other(|id| id);
    unknown.axes = unknown.axes.without(CORES).without(ACCESS_LOG);
    let two = other(|id| id.with(CORES, Value::Count(2)));
    assert!(!cores(1).is_rival_of(&two) && cores(2).is_rival_of(&two));
    for known in [cores(1), cores(2)] {
        assert!(known.is_rival_of(&unknown) && unknown.is_rival_of(&known));
    }
    // What the generator does is always known.
    let mut unknown = other(|id| id);
    unknown.load = unknown.load.without(CONNECTIONS);
    assert!(!nginx().is_rival_of(&unknown) && !unknown.is_rival_of(&nginx()));
}

#[test]
fn points_stand_by_server_and_along_connections() {
    let at = |rate: Option<u64>, connections| {
        let id = nginx().with(CONNECTIONS, Value::Count(connections));
        match rate {
            Some(rate) => id.with(RATE, Value::Rate(Rate::per_second(rate))),
            None => id,
        }
    };
    let sorted = [
        at(None, 2),
        at(None, 10),
        at(Some(1_000), 2),
        at(Some(1_000), 10),
        at(Some(2_000), 2),
    ];
    for pair in sorted.windows(2) {
        // In one experiment either every load has a rate or none has.
        assert!(
            pair[0].rate() != pair[1].rate() || pair[0] < pair[1],
            "{pair:?}"
        );
    }
    assert!(at(Some(1_000), 10).is_on_line_of(&at(Some(1_000), 2)));
    assert!(!at(Some(1_000), 10).is_on_line_of(&at(Some(2_000), 10)));
}

/// `sources` is nowhere in this crate but in its row of the table, which stands for tests alone.
#[test]
fn an_axis_is_a_row_of_the_table_and_nothing_more() {
    let few = nginx().with("sources", Value::Count(64));
    let many = nginx().with("sources", Value::Count(12_000));
    assert!(few < many && few != many);
    assert_eq!(many.load.text(), "64 connections, 12,000 source addresses");
    assert_eq!(many.load.slug(), "64-sources-12000");
    let rival = |id: PointId| id.with("sources", Value::Count(12_000));
    assert!(many.is_rival_of(&other(rival)) && !few.is_rival_of(&other(rival)));
    let point = Point {
        id: many,
        ..Point::default()
    };
    let stored = serde_json::to_value(&point).unwrap();
    assert_eq!(stored["axes"], json!({ "sources": "12000" }));
    assert_eq!(serde_json::from_value::<Point>(stored).unwrap(), point);
}

#[test]
fn an_axis_without_a_row_is_carried_along() {
    let id = nginx().with("tls", Value::Word("1.3".to_owned()));
    let point = Point {
        id,
        ..Point::default()
    };
    let stored = serde_json::to_value(&point).unwrap();
    assert_eq!(stored["axes"], json!({ "tls": "1.3" }));
    assert_eq!(serde_json::from_value::<Point>(stored).unwrap(), point);
}
