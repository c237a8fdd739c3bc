//! Users who think, rates that change, and what is given up when it has been due for too long.

use model::outcome::Outcome;
use model::plan::{Arrivals, PlanFile, Stop, pace};
use model::units::Rate;
use sys::reactor::sim::{Reply, Service, Then};

use crate::harness::simulate_all;
use crate::harness::{
    HELLO, all, closed, count, hello, ms, numbered, open, s, simulate, where_kernels_never_fail,
};

const CLOSING: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

/// A user who thinks for 9 ms and is answered within 1 ms asks a hundred times per second, and
/// thinking is no part of what the user waits.
#[test]
fn a_user_thinks_before_each_request() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            think: "9ms".parse().ok(),
            ..closed(4, s(1))
        };
        let record = simulate(plan, hello(Service::Constant(ms(1))));
        let right = record.total.outcomes[Outcome::Ok];
        assert!((388..=404).contains(&right), "{right}");
        let slowest = record.response_time.max().unwrap();
        assert!(slowest < ms(1) + ms(1) / 10, "{slowest}");
        assert_eq!(all(&record).connections.established, 4);
    });
}

/// The asymptotic law of users: connections / (think + response) requests per second.
#[test]
fn users_ask_as_often_as_their_times_say() {
    where_kernels_never_fail(|| {
        for think in ["exp:90ms", "uniform:0ms-180ms", "90ms", "lognormal:90ms/0"] {
            let plan = PlanFile {
                think: think.parse().ok(),
                warmup: s(1),
                ..closed(100, s(10))
            };
            let record = simulate(plan, hello(Service::Constant(ms(10))));
            let rate = record.achieved_rate;
            assert!((rate - 1_000.0).abs() < 30.0, "{think}: {rate}, seed 1");
        }
    });
}

/// A server that closes the connection after each answer does not shorten the thought, and the
/// connection is made when the user asks.
#[test]
fn a_thought_outlives_its_connection() {
    where_kernels_never_fail(|| {
        let plan = || PlanFile {
            think: "50ms".parse().ok(),
            ..closed(2, s(1))
        };
        let closing = numbered(|_| Some(Reply::new(CLOSING).then(Then::Finish)));
        let record = simulate(plan(), closing);
        let right = record.total.outcomes[Outcome::Ok];
        let kept = simulate(plan(), numbered(|_| Some(Reply::new(HELLO))));
        let expected = kept.total.outcomes[Outcome::Ok];
        assert!(expected.abs_diff(right) <= 2, "{right} of {expected}");
        assert_eq!(record.total.outcomes.failures(), 0, "{:?}", record.examples);
    });
}

/// A window that has both a time and a number of requests ends with the first of them.
#[test]
fn a_window_ends_with_its_requests_or_with_its_time() {
    where_kernels_never_fail(|| {
        let plan = |most: u64, length| PlanFile {
            requests_most: Some(most),
            warmup: ms(20),
            ..closed(2, length)
        };
        // Two connections make 2,000 requests in a second.
        let by_count = simulate(plan(1_000, s(5)), hello(Service::Constant(ms(1))));
        assert_eq!(by_count.total.outcomes[Outcome::Ok], 1_000);
        assert!(by_count.window < ms(510), "{}", by_count.window);
        assert_eq!(by_count.drain_phase.outcomes.total(), 0);
        let by_time = simulate(plan(1_000, ms(100)), hello(Service::Constant(ms(1))));
        let right = by_time.total.outcomes[Outcome::Ok];
        assert!((190..=201).contains(&right), "{right}");
        assert_eq!(by_time.window, ms(100));
        let open = |most: u64, length| PlanFile {
            requests_most: Some(most),
            ..open(4, 1_000, length)
        };
        let by_count = simulate(open(300, s(5)), hello(Service::Constant(ms(1))));
        assert_eq!(by_count.total.outcomes[Outcome::Ok], 300);
        assert!(by_count.window <= ms(301), "{}", by_count.window);
        let by_time = simulate(open(300, ms(100)), hello(Service::Constant(ms(1))));
        assert!((99..=101).contains(&by_time.total.due), "{by_time:?}");
        assert_eq!(by_time.window, ms(100));
    });
}

#[test]
fn a_count_of_requests_holds_for_users_too() {
    where_kernels_never_fail(|| {
        for warmup in [ms(0), ms(30)] {
            let plan = PlanFile {
                think: "exp:5ms".parse().ok(),
                warmup,
                workers: 2,
                ..count(6, 101)
            };
            let record = simulate_all(plan, || hello(Service::Constant(ms(1))));
            assert_eq!(record.total.outcomes[Outcome::Ok], 101, "{warmup}");
            assert_eq!(record.total.outcomes.total(), 101, "{warmup}");
        }
    });
}

/// A server that does half of what is asked: half is shed, and no request is sent that has been
/// due for longer than the deadline.
#[test]
fn what_is_overdue_is_given_up_and_counted() {
    where_kernels_never_fail(|| {
        let deadline = ms(50);
        let plan = PlanFile {
            deadline: Some(deadline),
            ..open(1, 200, s(5))
        };
        let record = simulate(plan, hello(Service::Constant(ms(10))));
        let total = record.total;
        let all = all(&record);
        assert_eq!(all.due, 1_000);
        assert_eq!(all.due, all.outcomes.total());
        let shed = total.outcomes[Outcome::Shed];
        assert!((480..=520).contains(&shed), "{shed} shed");
        let slowest = record.response_time.max().unwrap();
        assert!(slowest <= deadline + ms(10) + ms(1), "{slowest}");
        let longest = record.blocked_time.max().unwrap();
        assert!(longest <= deadline + ms(1), "{longest}");
        let texts: Vec<_> = record.examples.iter().map(|one| &one.text).collect();
        assert!(
            texts
                .iter()
                .any(|text| *text == "it was not sent within 50.0 ms of its due time"),
            "{texts:?}"
        );
    });
}

/// Nothing happens on the connection meanwhile: the deadline itself wakes the worker.
#[test]
fn a_server_that_is_silent_sheds_what_waits_in_time() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            deadline: Some(ms(20)),
            timeout: s(2),
            ..open(1, 100, s(1))
        };
        let record = simulate(plan, numbered(|_| None));
        let longest = record.blocked_time.max().unwrap();
        assert!(longest <= ms(21), "{longest}");
        assert_eq!(record.backlog_max, 2, "of 20 ms, one arrival each 10 ms");
        assert!(record.total.outcomes[Outcome::Shed] >= 97);
    });
}

/// The rate goes from 0 to 100/s within two seconds and then down to 10/s at once.
#[test]
fn the_rate_follows_its_stages() {
    where_kernels_never_fail(|| {
        let stages: Vec<_> = ["2s:100", "1s:=10"].map(|one| one.parse().unwrap()).into();
        for workers in [1, 3] {
            let plan = PlanFile {
                arrivals: Arrivals::Fixed {
                    rate_per_1000_s: pace::mean_rate(&stages),
                },
                stop: Stop::DurationNs(s(3)),
                stages: stages.clone(),
                workers,
                ..open(6, 1, s(3))
            };
            let record = simulate_all(plan, || hello(Service::Constant(ms(1))));
            let due: Vec<u64> = record.intervals.iter().map(|one| one.tally.due).collect();
            assert_eq!(due, [25, 75, 10], "{workers}");
            assert_eq!(record.total.outcomes[Outcome::Ok], 110, "{workers}");
        }
    });
}

#[test]
fn arrivals_at_random_in_their_places_are_all_answered() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            arrivals: Arrivals::Uniform {
                rate_per_1000_s: Rate::per_second(1_000),
            },
            workers: 2,
            ..open(8, 1_000, s(2))
        };
        let record = simulate_all(plan, || hello(Service::Constant(ms(1))));
        assert_eq!(record.total.outcomes[Outcome::Ok], 2_000);
    });
}
