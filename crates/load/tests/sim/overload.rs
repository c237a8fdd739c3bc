//! Open loops that ask more than anybody can do: they end in time, and say what they shed.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use model::outcome::Outcome;
use model::plan::{Arrivals, PlanFile, Spin, Stop};
use model::record::Record;
use model::units::{Rate, Span};
use sys::Errno;
use sys::reactor::sim::{Service, SimServer};

use crate::harness::{all, hello, ms, open, run, s, simulate};

/// Everything that was due has ended, and that is what should have been due.
#[track_caller]
fn check(record: &Record, expected: u64, what: &str) {
    let all = all(record);
    assert_eq!(all.due, all.outcomes.total(), "{what}");
    let off = all.due.abs_diff(expected);
    assert!(off <= expected / 100, "{what}: {} due", all.due);
    let drained = record.drain_phase.passed.expect("an open loop tells it");
    assert_eq!(drained.sent, 0, "nothing begins after the window; {what}");
    assert_eq!(record.response_time.censored(), {
        let total = record.total.outcomes;
        total.total() - total[Outcome::Ok]
    });
}

fn plans(rate: u64, duration: Span) -> impl Iterator<Item = (String, PlanFile)> {
    let rate_per_1000_s = Rate::per_second(rate);
    let kinds = [
        Arrivals::Fixed { rate_per_1000_s },
        Arrivals::Poisson { rate_per_1000_s },
    ];
    let spins = [Spin::Never, Spin::Auto, Spin::Always];
    kinds.into_iter().flat_map(move |arrivals| {
        spins.into_iter().flat_map(move |spin| {
            [Span::ZERO, ms(2)].into_iter().map(move |warmup| {
                let plan = PlanFile {
                    arrivals,
                    spin,
                    warmup,
                    cpus: vec![0],
                    timeout: ms(50),
                    ..open(2, rate, duration)
                };
                (format!("{arrivals:?}, {spin:?}, {warmup}"), plan)
            })
        })
    })
}

#[test]
fn any_rate_ends_in_time_before_a_server_that_never_answers() {
    for rate in [3_000_000, 100_000_000] {
        for (what, plan) in plans(rate, ms(4)) {
            let warmup = plan.warmup;
            let record = simulate(plan, SimServer::new(Service::Constant(ms(1)), |_| None));
            let expected = rate * (ms(4) + warmup).as_ns() / 1_000_000_000;
            check(&record, expected, &what);
            assert_eq!(record.window, ms(4), "{what}");
            assert_eq!(record.total.outcomes[Outcome::Ok], 0);
            assert!(record.total.outcomes[Outcome::Shed] > rate / 300, "{what}");
        }
    }
}

#[test]
fn any_rate_ends_in_time_before_a_server_that_answers_or_refuses() {
    for (what, plan) in plans(100_000_000, ms(4)) {
        let warmup = plan.warmup;
        let expected = 100_000 * (ms(4) + warmup).as_ns() / 1_000_000;
        let record = simulate(plan.clone(), hello(Service::Constant(ms(1))));
        check(&record, expected, &what);
        assert!(all(&record).outcomes[Outcome::Ok] >= 4, "{what}");
        let refusing = hello(Service::Constant(ms(1))).refusing(|_, _| Some(Errno::new(111)));
        let record = simulate(plan, refusing);
        check(&record, expected, &what);
        assert!(all(&record).connections.failed > 0, "{what}");
    }
}

#[test]
fn a_signal_ends_any_rate() {
    for (what, plan) in plans(100_000_000, s(60)) {
        let stop = Arc::new(AtomicBool::new(true));
        let server = SimServer::new(Service::Constant(ms(1)), |_| None);
        let record = run(plan, 0, server, Span::ZERO, &stop);
        assert!(record.interrupted, "{what}");
        let all = all(&record);
        assert_eq!(all.due, all.outcomes.total(), "{what}");
    }
}

#[test]
fn a_count_is_exact_at_any_rate() {
    for (what, plan) in plans(100_000_000, s(1)) {
        let plan = PlanFile {
            stop: Stop::Count(2_000),
            spin: Spin::Never,
            ..plan
        };
        let record = simulate(plan, hello(Service::Constant(ms(1))));
        assert_eq!(record.total.due, 2_000, "{what}");
        assert_eq!(record.total.outcomes.total(), 2_000, "{what}");
    }
}
