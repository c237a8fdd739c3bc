use model::point::{CONNECTIONS, Point, PointId, Value};
use model::record::Worker;
use model::trial::{Context, Server};
use model::usage::{CpuUsage, SystemUsage};
use model::{Environment, Record, Span, Usage, Verdict};

use super::*;

fn point(workload: &str, connections: u32) -> PointId {
    PointId {
        workload: workload.to_owned(),
        ..PointId::default()
    }
    .with(CONNECTIONS, Value::Count(connections))
}

fn trial(connections: u32, rate: f64, responder_busy: f64, generator_busy_ms: u64) -> Trial {
    let plan = serde_json::json!({
        "format": 1, "requests": [{ "url": "http://127.0.0.1:1/" }],
        "arrivals": { "kind": "closed" }, "stop": { "count": 1 }, "connections": 1,
        "timeout_ns": 1, "workers": 1
    });
    Trial {
        format: 1,
        point: Some(Point {
            id: point("w", connections),
            ceiling: true,
            ..Point::default()
        }),
        plan: serde_json::from_value(plan).unwrap(),
        environment: Environment::default(),
        record: Record {
            achieved_rate: rate,
            workers: vec![Worker {
                window: Span::from_ms(100),
                busy: Span::from_ms(generator_busy_ms),
                ..Worker::default()
            }],
            ..Record::default()
        },
        usage: Usage {
            system: Some(SystemUsage {
                cpus: vec![CpuUsage {
                    cpu: 0,
                    busy: responder_busy,
                    ..CpuUsage::default()
                }],
                ..SystemUsage::default()
            }),
            ..Usage::default()
        },
        context: Context {
            server: Some(Server {
                cpus: vec![0],
                workers: 1,
                ..Server::default()
            }),
            ..Context::default()
        },
        verdict: Verdict::default(),
        void: None,
        thresholds: Vec::new(),
        recovery: None,
        agents: Vec::new(),
        servers_clock: None,
    }
}

#[test]
fn between_two_counts_it_is_on_the_line_over_the_logarithm() {
    let mut ceilings = Ceilings::default();
    ceilings.add(&trial(1, 1_000.0, 0.5, 100));
    ceilings.add(&trial(100, 3_000.0, 0.5, 100));
    let rate = |connections| ceilings.at(1, &point("w", connections), 0).unwrap().rate;
    let near = |value: f64, expected: f64| assert!((value - expected).abs() < 1e-6, "{value}");
    near(rate(1), 1_000.0);
    near(rate(10), 2_000.0);
    near(rate(100), 3_000.0);
    near(rate(1_000), 3_000.0);
    assert_eq!(ceilings.at(2, &point("w", 1), 0), None);
    assert_eq!(ceilings.at(1, &point("other", 1), 0), None);
}

#[test]
fn each_protocol_and_certificate_has_its_own() {
    let word = |text: &str| Value::Word(text.to_owned());
    let with_tls = |key: &str| {
        let id = point("w", 1).with(PROTOCOL, word("http2-tls"));
        id.with(CERTIFICATE, word(key))
    };
    let mut ceilings = Ceilings::default();
    ceilings.add(&trial(1, 1_000.0, 0.5, 100));
    let mut secure = trial(1, 200.0, 0.5, 100);
    secure.point.as_mut().unwrap().id = with_tls("rsa-2048");
    ceilings.add(&secure);
    let rate = |id: &PointId| ceilings.at(1, id, 0).map(|ceiling| ceiling.rate);
    assert_eq!(rate(&point("w", 1)), Some(1_000.0));
    assert_eq!(rate(&with_tls("rsa-2048")), Some(200.0));
    assert_eq!(rate(&with_tls("ecdsa-p256")), None);
}

#[test]
fn it_is_at_least_where_the_responder_was_the_limit() {
    let check = |responder: f64, generator_ms: u64, expected: bool| {
        let mut ceilings = Ceilings::default();
        ceilings.add(&trial(1, 1.0, responder, generator_ms));
        let ceiling = ceilings.at(1, &point("w", 1), 0).unwrap();
        assert_eq!(ceiling.at_least, expected, "{responder} {generator_ms}");
    };
    check(0.97, 80, true);
    check(0.97, 95, false);
    check(0.90, 80, false);
}

#[test]
fn trials_of_servers_are_no_ceilings() {
    let mut ceilings = Ceilings::default();
    let mut server = trial(1, 1.0, 0.0, 0);
    server.point.as_mut().unwrap().ceiling = false;
    ceilings.add(&server);
    assert_eq!(ceilings.at(1, &point("w", 1), 0), None);
}

#[test]
fn each_attempt_has_the_ceiling_that_was_measured_beside_it() {
    let mut ceilings = Ceilings::default();
    let mut add = |connections, attempt, rate| {
        let mut trial = trial(connections, rate, 0.5, 100);
        trial.point.as_mut().unwrap().attempt = attempt;
        ceilings.add(&trial);
    };
    add(8, 0, 62_000.0);
    add(8, 1, 38_000.0);
    add(64, 0, 70_000.0);
    add(128, 2, 90_000.0);
    let check = |connections, attempt, expected: f64| {
        let found = ceilings.at(1, &point("w", connections), attempt);
        let rate = found.unwrap().rate;
        assert!(
            (rate - expected).abs() < 1e-6,
            "{connections}, {attempt}: {rate}"
        );
    };
    check(8, 0, 62_000.0);
    check(8, 1, 38_000.0);
    // Only what was spoilt is measured again.
    check(8, 2, 38_000.0);
    check(64, 1, 70_000.0);
    check(128, 0, 90_000.0);
}

/// On a machine with one CPU for servers a responder of two cores has one worker.
#[test]
fn the_ceiling_of_more_cores_is_not_that_of_fewer() {
    let mut ceilings = Ceilings::default();
    for (cores, rate) in [(1, 40_000.0), (2, 60_000.0)] {
        let mut trial = trial(8, rate, 0.5, 100);
        let point = trial.point.as_mut().unwrap();
        point.id = point.id.clone().with(CORES, Value::Count(cores));
        ceilings.add(&trial);
    }
    for (cores, expected) in [(1, 40_000.0), (2, 60_000.0)] {
        let rate = ceilings.at(cores, &point("w", 8), 0).unwrap().rate;
        assert!((rate - expected).abs() < 1e-6, "{cores}: {rate}");
    }
}
