//! When things happened: what users wait, who is to blame, and that it adds up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::outcome::Outcome;
use model::plan::{Arrivals, PlanFile, Spin, Stop};
use model::record::Tally;
use model::units::{Rate, Span};
use sys::reactor::sim::{Reply, Service, SimServer};

use crate::harness::{
    HELLO, at, closed, count, hello, ms, open, run, s, simulate, simulate_all, simulate_slowed,
    where_kernels_never_fail,
};

const MS: Service = Service::Constant(ms(1));

/// The server answers any number at once, each in 1 ms, but freezes for one second. At 1,000
/// arrivals per second about 900 users wait longer than 100 ms. A closed loop in disguise would see
/// a handful.
#[test]
fn a_frozen_server_is_seen_by_everyone_who_waited() {
    where_kernels_never_fail(|| {
        let frozen = || hello(MS).frozen(at(s(5)), s(1));
        let record = simulate(open(2_000, 1_000, s(10)), frozen());
        let slow = record.response_time.count_above(ms(100));
        assert!((895..=905).contains(&slow), "{slow}");
        assert_eq!(record.total.outcomes[Outcome::Ok], 10_000);
        assert_eq!(record.late_time.max(), Some(Span::ZERO));

        // With ten connections the freeze is the same to those who wait in the backlog.
        let record = simulate(open(10, 1_000, s(10)), frozen());
        let slow = record.response_time.count_above(ms(100));
        assert!((895..=1_200).contains(&slow), "{slow}");
        assert!(record.blocked_time.count_above(ms(100)) > 800);
        assert_eq!(
            record.late_time.max(),
            Some(Span::ZERO),
            "the generator is not to blame"
        );
    });
}

/// M/M/1: with arrivals at rate l and service at rate m, response times are exponential with
/// mean 1 / (m - l).
#[test]
fn exponential_service_times_give_the_answer_of_queueing_theory() {
    where_kernels_never_fail(|| {
        let seed = 42;
        let plan = PlanFile {
            arrivals: Arrivals::Poisson {
                rate_per_1000_s: Rate::per_second(700),
            },
            warmup: s(10),
            seed,
            ..open(500, 700, s(250))
        };
        let server = hello(Service::Exponential(ms(1)))
            .one_at_a_time()
            .seeded(seed);
        let record = simulate(plan, server);
        let mean_ms = 1.0 / (1.0 - 0.7);
        for (what, seen, expected) in [
            ("mean", record.response_time.mean(), mean_ms),
            (
                "median",
                record.response_time.quantile(0.5),
                mean_ms * 2f64.ln(),
            ),
            (
                "p99",
                record.response_time.quantile(0.99),
                mean_ms * 100f64.ln(),
            ),
        ] {
            let seen = seen.unwrap().as_us_f64() / 1e3;
            assert!(
                (seen / expected - 1.0).abs() < 0.06,
                "{what}: {seen} ms, not {expected}; seed {seed}"
            );
        }
        let rate = record.achieved_rate;
        assert!((rate / 700.0 - 1.0).abs() < 0.01, "{rate}; seed {seed}");
    });
}

/// Every call costs the generator 200 us and an exchange takes two, so 2,400 arrivals per second
/// keep it 96 % busy: they wait for it, with idle connections at hand. That is its own lateness and
/// nobody's blocking, and it is in the response time.
#[test]
fn a_slow_generator_is_late_and_says_so() {
    where_kernels_never_fail(|| {
        let plan = || PlanFile {
            arrivals: Arrivals::Poisson {
                rate_per_1000_s: Rate::per_second(2_400),
            },
            warmup: s(5),
            ..open(400, 2_400, s(10))
        };
        let record = simulate_slowed(plan(), hello(MS), Span::from_us(200));
        let late = record.late_time.quantile(0.99).unwrap();
        let response = record.response_time.quantile(0.99).unwrap();
        assert!(
            late * 2 > response,
            "{late} late, {response} response: GEN-03 calls that invalid"
        );
        assert_eq!(record.blocked_time.quantile(0.9), Some(Span::ZERO));
        assert!(record.response_time.quantile(0.99).unwrap() >= late);
        let busy = record.workers[0].busy;
        assert!(
            busy > ms(9_300),
            "busy for {busy} of ten seconds: GEN-01 calls that saturated"
        );

        let quick = simulate(plan(), hello(MS));
        assert_eq!(quick.late_time.max(), Some(Span::ZERO));
        assert_eq!(quick.response_time.quantile(0.99), Some(near(ms(1))));
    });
}

/// Little's law at its edges: in flight over the window is what ended in it, less how long that had
/// been under way before, and what is still under way at its end.
#[test]
fn what_is_in_flight_over_a_window_adds_up() {
    where_kernels_never_fail(|| {
        // The window begins in the middle of a freeze and ends in the middle of another one.
        for (warmup, by_due) in [
            (Span::ZERO, false),
            (ms(500), false),
            (Span::ZERO, true),
            (ms(500), true),
        ] {
            let length = s(3) - warmup;
            let plan = PlanFile {
                warmup,
                ..if by_due {
                    open(10, 1_000, length)
                } else {
                    closed(10, length)
                }
            };
            let server = hello(Service::Constant(ms(7)))
                .frozen(at(ms(200)), ms(900))
                .frozen(at(ms(2_700)), s(1));
            let record = simulate(plan, server);
            let worker = &record.workers[0];
            let (start, end) = (worker.age_at_start.unwrap(), worker.age_at_end.unwrap());
            assert!(end > s(2), "ten waited for the second freeze: {end}");
            assert_eq!(
                start > s(2),
                !warmup.is_zero(),
                "and for the first: {start}"
            );
            let ended = match record.total.passed {
                Some(passed) => passed.service,
                None => record.service_time.sum(),
            };
            assert_eq!(record.total.passed.is_some(), by_due);
            let expected = (ended + end).as_ns() - start.as_ns();
            assert_eq!(worker.outstanding_integral_ns, expected);
        }
    });
}

/// A poll of an idle reactor takes a microsecond here: nothing is later than that.
#[test]
fn who_spins_is_punctual_and_says_what_it_spun() {
    where_kernels_never_fail(|| {
        for (spin, least, most) in [
            (Spin::Never, 0, 0),
            // From 100 us before each until its answer after 1 ms, of 10 ms.
            (Spin::Auto, 90, 120),
            (Spin::Always, 990, 1_000),
        ] {
            let plan = PlanFile {
                spin,
                cpus: vec![0],
                ..open(10, 100, s(1))
            };
            let record = simulate(plan, hello(MS));
            assert_eq!(record.total.outcomes[Outcome::Ok], 100, "{spin:?}");
            let late = record.late_time.max().unwrap();
            assert!(late <= Span::from_us(1), "{spin:?}: {late} late");
            let spun = record.workers[0].spin;
            assert!((ms(least)..=ms(most)).contains(&spun), "{spin:?}: {spun}");
        }
    });
}

/// What has waited for longer than 10 ms waits for an answer asleep, and nothing that becomes due
/// meanwhile wakes it up.
#[test]
fn who_is_far_behind_does_not_spin_for_what_has_to_wait() {
    where_kernels_never_fail(|| {
        for (spin, least, most) in [
            (Spin::Never, 0, 0),
            (Spin::Auto, 1, 30),
            (Spin::Always, 1_990, 2_000),
        ] {
            let plan = PlanFile {
                spin,
                cpus: vec![0],
                ..open(1, 1_000, s(2))
            };
            let record = simulate(plan, hello(Service::Constant(ms(5))));
            let outcomes = record.total.outcomes;
            assert_eq!((record.total.due, outcomes.total()), (2_000, 2_000));
            assert!((398..=402).contains(&outcomes[Outcome::Ok]), "{outcomes:?}");
            assert!(record.backlog_max > 1_500, "{}", record.backlog_max);
            let spun = record.workers[0].spin;
            assert!((ms(least)..=ms(most)).contains(&spun), "{spin:?}: {spun}");
        }
    });
}

#[test]
fn too_few_connections_block_and_what_never_goes_out_is_shed() {
    where_kernels_never_fail(|| {
        // One connection at 5 ms each carries 200 of 1,000 per second.
        let record = simulate(open(1, 1_000, s(2)), hello(Service::Constant(ms(5))));
        let outcomes = record.total.outcomes;
        assert_eq!(record.total.due, 2_000);
        assert_eq!(outcomes.total(), 2_000);
        assert!((398..=402).contains(&outcomes[Outcome::Ok]), "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Shed], 2_000 - outcomes[Outcome::Ok]);
        assert_eq!(record.response_time.censored(), outcomes[Outcome::Shed]);
        assert!(record.blocked_time.max().unwrap() > s(1));
        assert_eq!(record.late_time.max(), Some(Span::ZERO));
        assert!(record.backlog_max > 1_500, "{}", record.backlog_max);
    });
}

/// What an overloaded warm-up left behind takes its part of the window, and the record says so.
/// A server that answers 200 per second does so however much more is asked of it: the rate is of
/// what passed in the window, not of the arrivals that were due in it.
#[test]
fn an_overloaded_server_has_the_rate_at_which_it_answers() {
    for rate in [150, 300, 1_000, 10_000] {
        let plan = PlanFile {
            warmup: s(1),
            ..open(1, rate, s(4))
        };
        let record = simulate(plan, hello(Service::Constant(ms(5))));
        let expected = if rate < 200 { 150.0 } else { 200.0 };
        assert!(
            (record.achieved_rate - expected).abs() <= 1.0,
            "{rate}: {}",
            record.achieved_rate
        );
        let passed = record
            .total
            .passed
            .expect("an open loop counts what passed");
        assert!(
            passed.sent.abs_diff(passed.ended) <= 1,
            "{rate}: {passed:?}"
        );
        let of_intervals: u64 = record
            .intervals
            .iter()
            .map(|interval| interval.tally.right_in_it())
            .sum();
        assert_eq!(of_intervals, passed.right);
        // In all phases together each right answer passed once.
        let phases = [record.warmup_phase, record.total, record.drain_phase];
        let right = |value: fn(&Tally) -> u64| phases.iter().map(value).sum::<u64>();
        assert_eq!(
            right(Tally::right_in_it),
            right(|tally| tally.outcomes[Outcome::Ok])
        );
    }
}

#[test]
fn an_overload_from_before_the_window_is_told() {
    let plan = |rate| PlanFile {
        warmup: s(1),
        ..open(1, rate, s(4))
    };
    let server = || hello(Service::Constant(ms(5)));
    let record = simulate(plan(400), server());
    assert_eq!(record.notes.len(), 1, "{:?}", record.notes);
    let ok = record.total.outcomes[Outcome::Ok];
    assert!(
        (590..=610).contains(&ok),
        "200 of 800 answers went to the warm-up's: {ok}"
    );
    assert!(simulate(plan(150), server()).notes.is_empty());
}

#[test]
fn a_closed_loop_asks_again_when_its_answer_has_come() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            warmup: s(1),
            ..closed(8, s(2))
        };
        let record = simulate(plan, hello(Service::Constant(ms(2))));
        let ok = record.total.outcomes[Outcome::Ok];
        assert!((7_990..=8_008).contains(&ok), "{ok}");
        assert!(record.warmup_phase.outcomes[Outcome::Ok] >= 3_990);
        assert!(
            record.drain_phase.outcomes[Outcome::Ok] <= 8,
            "what was under way at the end"
        );
        assert_eq!(record.service_time.quantile(0.5), Some(near(ms(2))));
        // Little: eight in flight, all the time.
        let mean = record.workers[0].outstanding_integral_ns / 2_000_000_000;
        assert!((7..=8).contains(&mean), "{mean}");
        assert_eq!(record.intervals.len(), 2);
    });
}

/// What the distribution gives for `span`: within its resolution.
fn near(span: Span) -> Span {
    let mut distribution = model::Distribution::default();
    distribution.record(span);
    distribution.quantile(0.5).expect("one value")
}

#[test]
fn the_same_seed_gives_the_same_record() {
    let plan = |seed| PlanFile {
        arrivals: Arrivals::Poisson {
            rate_per_1000_s: Rate::per_second(2_000),
        },
        seed,
        workers: 2,
        samples: 1_000,
        ..open(16, 2_000, s(1))
    };
    let server = || hello(Service::Exponential(ms(3))).seeded(9);
    let text = |seed| {
        let mut record = simulate_all(plan(seed), server);
        for worker in &mut record.workers {
            // The real thread that ran the simulation.
            worker.thread_id = None;
            worker.cpu_time = None;
            worker.runqueue_wait = None;
        }
        format!("{record:?}")
    };
    assert_eq!(text(3), text(3));
    assert_ne!(text(3), text(4));
}

#[test]
fn a_timeout_is_counted_when_it_expires_although_no_answer_ever_comes() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            timeout: ms(100),
            ..closed(4, s(1))
        };
        let record = simulate(plan, SimServer::new(MS, |_| None));
        let timeouts = record.total.outcomes[Outcome::Timeout];
        // Each connection: 100 ms, then a wait before it connects again that doubles from 10 ms.
        assert!((16..=36).contains(&timeouts), "{timeouts}");
        assert_eq!(record.total.outcomes.total(), timeouts);
        assert_eq!(record.response_time.censored(), timeouts);
        assert_eq!(record.total.connections.broken, timeouts);
        assert_eq!(record.response_time.quantile(0.5), None);
        assert_eq!(record.examples[0].text, "no answer within 100 ms");
    });
}

#[test]
fn a_run_in_open_loop_ends_when_the_last_has_timed_out() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            timeout: ms(300),
            ..open(100, 100, s(1))
        };
        let mut asked = 0;
        let server = SimServer::new(MS, move |_| {
            asked += 1;
            (asked <= 50).then(|| Reply::new(HELLO))
        });
        let record = simulate(plan, server);
        assert_eq!(record.total.outcomes[Outcome::Ok], 50);
        assert_eq!(record.total.outcomes[Outcome::Timeout], 50);
        assert_eq!(record.window, s(1));
    });
}

#[test]
fn a_count_is_exact_and_has_no_drain() {
    where_kernels_never_fail(|| {
        for connections in [1, 7, 64] {
            let record = simulate(count(connections, 100), hello(MS));
            assert_eq!(record.total.outcomes[Outcome::Ok], 100);
            assert_eq!(record.total.sent, 100);
            assert_eq!(record.drain_phase.outcomes.total(), 0);
        }
        let plan = PlanFile {
            stop: Stop::Count(100),
            ..open(8, 1_000, s(1))
        };
        let record = simulate(plan, hello(MS));
        assert_eq!(
            (record.total.due, record.total.outcomes[Outcome::Ok]),
            (100, 100)
        );
    });
}

/// Ten at a hundred per second take a tenth of a second: the last gap belongs to the window.
#[test]
fn a_count_in_open_loop_is_as_fast_as_it_was_asked_to_be() {
    where_kernels_never_fail(|| {
        let of = |arrivals, service| {
            let plan = PlanFile {
                stop: Stop::Count(10),
                arrivals,
                ..open(10, 100, s(1))
            };
            let record = simulate(plan, hello(service));
            assert_eq!(record.total.outcomes[Outcome::Ok], 10);
            (record.window, record.achieved_rate)
        };
        let rate_per_1000_s = Rate::per_second(100);
        let fixed = Arrivals::Fixed { rate_per_1000_s };
        let uniform = Arrivals::Uniform { rate_per_1000_s };
        for arrivals in [fixed, uniform] {
            let (window, rate) = of(arrivals, MS);
            assert_eq!(window, ms(100), "{arrivals:?}");
            assert!((rate - 100.0).abs() < 1e-9, "{arrivals:?} {rate}");
        }
        // Answers that take longer end it.
        assert_eq!(of(fixed, Service::Constant(ms(50))).0, ms(140));
        let (window, _) = of(
            Arrivals::Poisson { rate_per_1000_s },
            Service::Constant(Span::from_us(1)),
        );
        assert!(window > ms(20), "{window}");
    });
}

#[test]
fn a_signal_ends_the_run_and_keeps_what_was_measured() {
    where_kernels_never_fail(|| {
        let stop = Arc::new(AtomicBool::new(false));
        let mut asked = 0;
        let seen = Arc::clone(&stop);
        let server = SimServer::new(MS, move |_| {
            asked += 1;
            if asked == 500 {
                seen.store(true, Ordering::Relaxed);
            }
            // From then on one connection in four never answers.
            (asked < 500 || asked % 4 != 0).then(|| Reply::new(HELLO))
        });
        let record = run(closed(10, s(60)), 0, server, Span::ZERO, &stop);
        assert!(record.interrupted);
        assert!(record.window < ms(80), "{}", record.window);
        let ok = record.total.outcomes[Outcome::Ok];
        assert!((480..=510).contains(&ok), "{ok}");
        let left = record.drain_phase.outcomes;
        assert!(left[Outcome::Unfinished] >= 1, "{left:?}");
    });
}
