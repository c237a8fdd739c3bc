//! What the generator shows of a server that logs how long each request was in it.

use model::plan::{Arrivals, PlanFile};
use model::record::Record;
use model::units::{Rate, Span};
use sys::reactor::sim::{Log, Service, SimServer};

use crate::harness::{at, count, hello, ms, open, s, simulate, where_kernels_never_fail};
use crate::scripts::script;

/// Quantiles of what a server logged, exact to the nanosecond, against those of the record.
#[track_caller]
fn check_against_log(told: &str, record: &Record, log: &Log) {
    let mut times = log.lock().expect("nobody panicked").clone();
    times.sort_unstable();
    let seen = &record.response_time;
    assert_eq!(seen.count(), times.len() as u64, "{told}");
    for per_thousand in [100, 500, 900, 990, 999, 1_000] {
        let rank = (times.len() * per_thousand).div_ceil(1_000).max(1);
        let truth = times[rank - 1].as_us_f64();
        let quantile = f64::from(u32::try_from(per_thousand).expect("small")) / 1e3;
        let shown = seen
            .quantile(quantile)
            .expect("there are answers")
            .as_us_f64();
        assert!(
            (shown / truth - 1.0).abs() < 0.01,
            "{told}, {per_thousand} of 1,000: {shown} us, and in the server {truth}"
        );
    }
}

/// Laws of a server's work, of a millisecond in the mean.
const LAWS: [(&str, Service); 4] = [
    ("constant", Service::Constant(ms(1))),
    ("exponential", Service::Exponential(ms(1))),
    (
        "two values",
        Service::TwoValued(Span::from_us(500), Span::from_us(10_500)),
    ),
    (
        "heavy tail",
        Service::HeavyTailed(Span::from_us(333), ms(50)),
    ),
];

/// Each law of a server that works on one request at a time and logs how long each was in it: as it
/// is, and where it freezes every ten seconds.
fn with_each_law(check: impl Fn(&str, SimServer, &Log)) {
    for (law, service) in LAWS {
        for freezes in [false, true] {
            let log = Log::default();
            let mut server = hello(service).one_at_a_time().logging(&log);
            if freezes {
                server = server.frozen(at(s(2)), ms(300)).frozen(at(s(12)), ms(300));
            }
            check(&format!("{law}, freezes: {freezes}"), server, &log);
            let times = log.lock().expect("nobody panicked");
            let was_met = times.iter().any(|time| *time > ms(250));
            assert_eq!(
                was_met, freezes,
                "{law}: who met a freeze waited for most of it"
            );
        }
    }
}

/// What the generator shows is what such a server logs, at a tenth, a half and four fifths of its
/// capacity.
#[test]
fn quantiles_are_those_of_the_servers_own_log() {
    where_kernels_never_fail(|| {
        for rate in [100, 500, 800] {
            with_each_law(|law, server, log| {
                let plan = PlanFile {
                    arrivals: Arrivals::Poisson {
                        rate_per_1000_s: Rate::per_second(rate),
                    },
                    timeout: s(100),
                    seed: rate,
                    ..open(5_000, rate, s(20))
                };
                let told = format!("{law}, {rate}/s");
                let record = simulate(plan, server.seeded(rate));
                assert_eq!(record.blocked_time.max(), Some(Span::ZERO), "{told}");
                check_against_log(&told, &record, log);
            });
        }
    });
}

/// The same of users who come at a rate, each for one visit with two requests, however long others
/// wait.
#[test]
fn quantiles_of_users_who_come_are_those_of_the_servers_own_log() {
    where_kernels_never_fail(|| {
        for rate in [50, 250, 400] {
            with_each_law(|law, server, log| {
                let text = format!(
                    "user_rate = {rate}\n[[step]]\nget = '/a'\n[[step]]\nwait = 'exp:20ms'\n\
                     [[step]]\nget = '/b'\n"
                );
                let plan = PlanFile {
                    timeout: s(100),
                    seed: rate,
                    ..count(5_000, 10_000)
                };
                let mut plan = script(&text)(plan);
                plan.seat_users();
                let told = format!("{law}, {rate} users/s");
                let record = simulate(plan, server.seeded(rate));
                let users = record.users.as_ref().expect("they come");
                assert_eq!(users.waited, Some(0), "{told}: each found a place");
                check_against_log(&told, &record, log);
            });
        }
    });
}

/// The same of users who follow a script and stay: while the server is frozen, all of them wait.
#[test]
fn quantiles_of_users_are_those_of_the_servers_own_log() {
    let script = script(
        "[[step]]\nget = '/a'\n[[step]]\nwait = 'exp:20ms'\n[[step]]\nget = '/b'\n\
         [[step]]\nwait = '30ms'\n",
    );
    where_kernels_never_fail(|| {
        // Each asks twice in some 52 ms: a fifth, nearly all, and more of what it can do.
        for users in [5, 25, 40] {
            with_each_law(|law, server, log| {
                let plan = PlanFile {
                    timeout: s(100),
                    ..count(users, 10_000)
                };
                let record = simulate(script(plan), server.seeded(7));
                check_against_log(&format!("{law}, {users} users"), &record, log);
            });
        }
    });
}
