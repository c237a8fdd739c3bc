use std::collections::BTreeSet;

use model::Plan;

use super::*;
use crate::experiment;

fn target() -> Target {
    Target {
        port: 4711,
        path: "/small/7.html".to_owned(),
        length: 7,
        sha256: Some("ab".repeat(32)),
    }
}

fn first_heat(overrides: &[&str]) -> Experiment {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    experiment::read("first-heat", &overrides)
        .unwrap()
        .experiment
}

#[test]
fn every_plan_of_a_lab_can_run() {
    let experiment = first_heat(&["mode=open", "rate=[\"2k\", 500]"]);
    let workload = &experiment.workloads()[0];
    for load in [
        Load::one_exchange(experiment.timeout(), 1),
        Load::warmup(&experiment, Span::from_ms(100), 2),
        Load::of_cell(&experiment, workload, 1, None, 3),
        Load::of_cell(&experiment, workload, 64, Some(Rate::per_second(2_000)), 4),
    ] {
        let plan = Plan::try_from(plan(&target(), &load, &[1, 2, 3])).unwrap();
        assert_eq!(plan.request().url.path, "/small/7.html");
        assert_eq!(plan.is_open_loop(), load.rate.is_some());
    }
}

#[test]
fn there_are_never_more_workers_than_connections() {
    let workers = |connections| {
        let load = Load {
            connections,
            ..Load::one_exchange(Span::from_s(1), 1)
        };
        plan(&target(), &load, &[1, 2, 3]).workers
    };
    assert_eq!((workers(1), workers(2), workers(64)), (1, 2, 3));
}

#[test]
fn trials_never_share_a_source_address() {
    let mut seen = BTreeSet::new();
    for number in 1..=2_000 {
        let mut load = Load::one_exchange(Span::from_s(1), number);
        load.requests_per_connection = (number % 2 == 0).then_some(1);
        load.connections = 30_000;
        let own = sources(&load);
        assert_eq!(own.len(), if number % 2 == 0 { 32 } else { 2 });
        for address in own {
            assert!(seen.insert(address), "{address} twice, trial {number}");
            assert!(address.is_loopback());
        }
    }
}

#[test]
fn short_windows_are_cut_into_tenths() {
    let check = |stop, expected| assert_eq!(interval(stop), expected);
    check(Stop::DurationNs(Span::from_ms(350)), Span::from_ms(35));
    check(Stop::DurationNs(Span::from_ms(20)), Span::from_ms(10));
    check(Stop::DurationNs(Span::from_s(60)), Span::from_s(1));
    check(Stop::Count(5), Span::from_s(1));
}
