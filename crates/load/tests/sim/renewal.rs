//! Connections that the plan opens one after the other, and closes by age or by chance.

use std::sync::atomic::Ordering;

use model::outcome::Outcome;
use model::plan::{PlanFile, Renewal};
use model::record::Record;
use model::units::{Rate, Span};
use sys::reactor::sim::{Reply, Service, SimServer, Then};

use crate::harness::{
    HELLO, all, closed, count, hello, ms, open, s, simulate, simulate_all, where_kernels_never_fail,
};

/// It closes when it is asked to.
fn polite() -> SimServer {
    const CLOSING: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";
    SimServer::new(Service::Constant(ms(1)), |request| {
        let asked = request.windows(17).any(|part| part == b"Connection: close");
        Some(if asked {
            Reply::new(CLOSING).then(Then::Finish)
        } else {
            Reply::new(HELLO)
        })
    })
}

fn at_a_rate(per_second: u64, plan: PlanFile) -> PlanFile {
    PlanFile {
        renewal: Renewal {
            opened_per_1000_s: Some(Rate::per_second(per_second)),
            ..Renewal::default()
        },
        ..plan
    }
}

fn established(record: &Record) -> u64 {
    all(record).connections.established
}

/// How long the slowest answer took.
fn slowest(record: &Record) -> Span {
    record.response_time.max().expect("some came")
}

#[test]
fn connections_are_opened_one_after_the_other() {
    where_kernels_never_fail(|| {
        let record = simulate(at_a_rate(10, closed(50, s(2))), polite());
        assert!((20..=21).contains(&established(&record)));
        // Who had no connection yet had nothing due: nobody waited for a turn.
        assert!(slowest(&record) < ms(3), "{}", slowest(&record));
        // The first connection asks for two seconds, the last for none.
        let right = record.total.outcomes[Outcome::Ok];
        assert!((19_000..=21_500).contains(&right), "{right}");
    });
}

#[test]
fn workers_take_turns() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            workers: 4,
            ..at_a_rate(100, closed(80, s(2)))
        };
        let record = simulate_all(plan, polite);
        assert_eq!(established(&record), 80, "all of them, within 0.8 s");
        let early = PlanFile {
            workers: 4,
            ..at_a_rate(10, closed(80, s(2)))
        };
        let opened = established(&simulate_all(early, polite));
        assert!((20..=24).contains(&opened), "{opened}");
    });
}

#[test]
fn connections_for_one_request_each_come_no_faster_than_that() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            requests_per_connection: Some(1),
            ..at_a_rate(10, closed(8, s(2)))
        };
        let record = simulate(plan, polite());
        let opened = established(&record);
        assert!((20..=21).contains(&opened), "{opened}");
        assert!(slowest(&record) < ms(3), "{}", slowest(&record));
    });
}

#[test]
fn a_count_is_reached_however_slowly_connections_come() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            requests_per_connection: Some(2),
            ..at_a_rate(50, count(5, 101))
        };
        let record = simulate(plan, polite());
        assert_eq!(record.total.outcomes[Outcome::Ok], 101);
        let opened = established(&record);
        assert!((51..=53).contains(&opened), "{opened}");
        assert!(record.window >= s(1), "{}", record.window);
    });
}

/// In an open loop requests are due whether or not there is a connection.
#[test]
fn an_open_loop_waits_for_its_connections() {
    where_kernels_never_fail(|| {
        let record = simulate(
            at_a_rate(1, open(4, 1_000, s(1))),
            hello(Service::Constant(ms(2))),
        );
        // One connection gives 500 answers in a second, and 1,000 were due.
        assert!(slowest(&record) > ms(400), "{}", slowest(&record));
    });
}

#[test]
fn what_was_not_opened_for_a_while_does_not_come_at_once() {
    where_kernels_never_fail(|| {
        // All connections are there after 40 ms. Each is refused once after a second, all together.
        let plan = PlanFile {
            renewal: Renewal {
                opened_per_1000_s: Some(Rate::per_second(100)),
                lifetime: Some(s(1)),
                ..Renewal::default()
            },
            ..closed(4, ms(1_500))
        };
        let record = simulate(plan, polite());
        assert_eq!(established(&record), 8);
    });
}

#[test]
fn a_connection_of_some_age_is_closed_after_its_next_answer() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            renewal: Renewal {
                lifetime: Some(ms(100)),
                ..Renewal::default()
            },
            ..closed(3, s(1))
        };
        let server = polite();
        let seen = server.counts();
        let record = simulate(plan, server);
        let counts = all(&record).connections;
        // Each lives for 100 ms and the exchange in which it is that old.
        assert!((27..=30).contains(&counts.established), "{counts:?}");
        assert_eq!(seen.connections.load(Ordering::Relaxed), counts.established);
        assert_eq!((counts.closed_by_server, counts.broken), (0, 0));
        assert_eq!(record.total.close_announced, 0, "we asked for it");
        assert_eq!(record.total.outcomes.failures(), 0);
    });
}

#[test]
fn a_share_of_the_requests_is_the_last_on_its_connection() {
    where_kernels_never_fail(|| {
        for (of_million, least, most) in [
            (100_000, 1_850, 2_150),
            (1_000_000, 20_000, 20_003),
            (500, 3, 30),
        ] {
            let plan = PlanFile {
                renewal: Renewal {
                    last_of_million: Some(of_million),
                    ..Renewal::default()
                },
                ..count(3, 20_000)
            };
            let record = simulate(plan, polite());
            let opened = established(&record);
            assert!((least..=most).contains(&opened), "{of_million}: {opened}");
            assert_eq!(record.total.outcomes[Outcome::Ok], 20_000);
            assert_eq!(all(&record).connections.closed_by_server, 0);
        }
    });
}

/// More sources than connections are all used, unless each connection keeps its own.
#[test]
fn a_connection_keeps_its_source() {
    where_kernels_never_fail(|| {
        for (keeps_source, expected) in [(false, 12), (true, 2)] {
            let plan = PlanFile {
                requests_per_connection: Some(1),
                sources: (1..=12).map(|n| [127, 0, 1, n].into()).collect(),
                renewal: Renewal {
                    keeps_source,
                    ..Renewal::default()
                },
                ..count(2, 48)
            };
            let record = simulate(plan, polite());
            let used = record.connections_from.iter().filter(|count| **count > 0);
            assert_eq!(used.count(), expected, "{:?}", record.connections_from);
            assert_eq!(established(&record), 48);
        }
    });
}
