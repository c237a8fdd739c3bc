//! Connections: how many requests each carries, who closes, who waits before the next one.

use std::collections::BTreeSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use model::outcome::Outcome;
use model::plan::PlanFile;
use model::record::{ConnectionCounts, Record};
use model::units::Span;
use sys::Errno;
use sys::reactor::sim::{Kernel, Reply, Service, SimServer, Then};

use crate::harness::{
    HELLO, all, answering, closed, count, hello, ms, numbered, open, run, s, simulate, simulate_on,
    where_kernels_never_fail,
};

fn connections(record: &Record) -> ConnectionCounts {
    all(record).connections
}

const CLOSING: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

#[test]
fn client_and_server_count_the_same() {
    where_kernels_never_fail(|| {
        for per_connection in [None, Some(1), Some(7), Some(1_000)] {
            let plan = PlanFile {
                requests_per_connection: per_connection,
                ..count(8, 1_000)
            };
            // As a server does: it closes when it is asked to.
            let server = SimServer::new(Service::Constant(ms(1)), |request| {
                let asked = request.windows(17).any(|part| part == b"Connection: close");
                Some(if asked {
                    Reply::new(CLOSING).then(Then::Finish)
                } else {
                    Reply::new(HELLO)
                })
            });
            let seen = server.counts();
            let record = simulate(plan, server);
            let counts = connections(&record);
            assert_eq!(
                record.total.outcomes[Outcome::Ok],
                1_000,
                "{per_connection:?}"
            );
            assert_eq!(seen.requests.load(Ordering::Relaxed), 1_000);
            assert_eq!(seen.connections.load(Ordering::Relaxed), counts.established);
            assert_eq!(
                seen.bytes.load(Ordering::Relaxed),
                all(&record).bytes_sent.count()
            );
            let least = per_connection.map_or(8, |per| 1_000u64.div_ceil(u64::from(per)));
            assert!(
                (least..=least + 8).contains(&counts.established),
                "{counts:?}"
            );
            assert_eq!(counts.closed_by_client, counts.established);
            assert_eq!((counts.broken, counts.backed_off, counts.failed), (0, 0, 0));
            assert_eq!(record.total.close_announced, 0, "we asked for it");
        }
    });
}

#[test]
fn a_close_after_a_complete_answer_reconnects_at_once() {
    where_kernels_never_fail(|| {
        let announced = numbered(|_| Some(Reply::new(CLOSING).then(Then::Finish)));
        let silent = numbered(|_| Some(Reply::new(HELLO).then(Then::Finish)));
        let delimited =
            numbered(|_| Some(Reply::new("HTTP/1.0 200 OK\r\n\r\nhello").then(Then::Finish)));
        for (server, announces) in [(announced, 100), (silent, 0), (delimited, 100)] {
            let record = simulate(count(4, 100), server);
            let counts = connections(&record);
            assert_eq!(
                record.total.outcomes[Outcome::Ok],
                100,
                "{:?}",
                record.examples
            );
            assert!((100..=104).contains(&counts.established), "{counts:?}");
            assert_eq!((counts.broken, counts.backed_off), (0, 0));
            assert_eq!(all(&record).close_announced, announces);
            assert!(record.window < ms(60), "nobody waited: {}", record.window);
        }
    });
}

/// We asked for the close, and the close is also what ends the content.
#[test]
fn a_close_that_we_asked_for_is_ours_also_where_it_ends_the_content() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            requests_per_connection: Some(1),
            ..count(4, 100)
        };
        let delimited =
            numbered(|_| Some(Reply::new("HTTP/1.1 200 OK\r\n\r\nhello").then(Then::Finish)));
        let record = simulate(plan, delimited);
        let counts = connections(&record);
        assert_eq!(record.total.outcomes[Outcome::Ok], 100);
        assert_eq!(
            (counts.closed_by_client, counts.closed_by_server),
            (counts.established, 0)
        );
        assert_eq!(all(&record).close_announced, 0, "we asked for it");
    });
}

/// Where the connections of each worker came from, each made anew after every answer.
fn sources_of(connections: u32, workers: u32, addresses: u8) -> Vec<Vec<u8>> {
    let plan = PlanFile {
        workers,
        requests_per_connection: Some(1),
        sources: (1..=addresses).map(|n| [127, 0, 1, n].into()).collect(),
        ..count(connections, 48)
    };
    let of_worker = |index| {
        let server = numbered(|_| Some(Reply::new(CLOSING).then(Then::Finish)));
        let seen = server.counts();
        let record = run(plan.clone(), index, server, Span::ZERO, &Arc::default());
        let seen = seen.sources.lock().expect("nobody panicked");
        let last = |source: &Option<SocketAddr>| match source.map(|source| source.ip()) {
            Some(IpAddr::V4(ip)) => ip.octets()[3],
            other => panic!("a connection came from {other:?}"),
        };
        let seen: Vec<u8> = seen.iter().map(last).collect();
        let counted = |source| seen.iter().filter(|last| **last == source).count() as u64;
        let counted: Vec<u64> = (1..=addresses).map(counted).collect();
        assert_eq!(record.connections_from, counted, "as the server saw them");
        seen
    };
    (0..workers).map(of_worker).collect()
}

#[test]
fn a_connection_that_is_made_anew_keeps_its_source() {
    where_kernels_never_fail(|| {
        // One connection for each worker: all that come after the first come from the same place.
        let sources = sources_of(2, 2, 2);
        for (worker, sources) in sources.iter().enumerate() {
            assert!(sources.len() > 10, "{sources:?}");
            let own = u8::try_from(worker + 1).unwrap();
            assert!(sources.iter().all(|source| *source == own), "{sources:?}");
        }
        // Two of three connections share the first of two sources, and go on to.
        let sources = sources_of(3, 1, 2).concat();
        let first = sources.iter().filter(|source| **source == 1).count();
        let second = sources.len() - first;
        assert!(
            first.abs_diff(2 * second) <= 3,
            "{first} connections from the first source, {second} from the second"
        );
    });
}

#[test]
fn more_sources_than_connections_are_all_used() {
    let mut used: Vec<u8> = sources_of(2, 2, 12).concat();
    used.sort_unstable();
    used.dedup();
    assert_eq!(used, (1..=12).collect::<Vec<u8>>());
}

/// Workers of a plan have their sources by their number among all of them, in whatever process or
/// on whatever machine they run: two agents with two workers each have all, and none twice.
#[test]
fn no_source_is_that_of_two_agents() {
    where_kernels_never_fail(|| {
        // As many sources as connections, fewer than connections, and more.
        for (connections, addresses) in [(8, 8), (16, 8), (4, 8)] {
            let of_workers = sources_of(connections, 4, addresses);
            let used = |workers: &[Vec<u8>]| workers.concat().into_iter().collect::<BTreeSet<u8>>();
            let (one, other) = (used(&of_workers[..2]), used(&of_workers[2..]));
            let told = format!("{connections} connections: {one:?} and {other:?}");
            assert!(one.is_disjoint(&other), "{told}");
            let both: Vec<u8> = one.union(&other).copied().collect();
            assert_eq!(both, (1..=addresses).collect::<Vec<u8>>(), "{told}");
        }
    });
}

#[test]
fn a_broken_connection_waits_before_the_next() {
    where_kernels_never_fail(|| {
        let reset = || {
            numbered(|_| {
                Some(Reply::new("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n").then(Then::Reset))
            })
        };
        let record = simulate(count(1, 6), reset());
        let counts = connections(&record);
        assert_eq!(record.total.outcomes[Outcome::Read], 6);
        assert_eq!(counts.broken, 6);
        assert_eq!(counts.backed_off, 5);
        // 10 + 20 + 40 + 80 + 160 ms of waiting.
        assert!(record.window >= ms(310), "{}", record.window);
        assert!(
            record.examples[0].text.contains("after 0 bytes"),
            "{:?}",
            record.examples
        );
    });
}

#[test]
fn refused_connects_are_counted_and_do_not_spin() {
    let refused = Errno::new(111);
    let server = hello(Service::Constant(ms(1))).refusing(move |_, _| Some(refused));
    let record = simulate(count(2, 10), server);
    let counts = connections(&record);
    assert_eq!(record.total.outcomes[Outcome::Connect], 10);
    assert_eq!(record.total.sent, 0);
    assert_eq!(
        (counts.asked, counts.failed, counts.established),
        (10, 10, 0)
    );
    assert!(record.window >= ms(150), "{}", record.window);
}

#[test]
fn half_of_the_connects_refused_is_half_of_the_goodput_and_not_more() {
    where_kernels_never_fail(|| {
        let server = hello(Service::Constant(ms(1)))
            .refusing(|_, number| (number % 2 == 0).then(|| Errno::new(111)));
        let plan = PlanFile {
            requests_per_connection: Some(1),
            ..count(4, 100)
        };
        let record = simulate(plan, server);
        let outcomes = record.total.outcomes;
        assert_eq!(outcomes.total(), 100);
        assert!((48..=52).contains(&outcomes[Outcome::Ok]), "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Connect], 100 - outcomes[Outcome::Ok]);
    });
}

#[test]
fn more_connections_than_connects_at_once() {
    where_kernels_never_fail(|| {
        let record = simulate(
            count(600, 1_200),
            hello(Service::Constant(ms(1))).with_delay(ms(1)),
        );
        assert_eq!(connections(&record).established, 600);
        assert_eq!(record.total.outcomes[Outcome::Ok], 1_200);
    });
}

/// What still waits for its connect when the window ends, or when a signal ends it, is counted: it
/// was due, and is unfinished. A connect that is still under way has neither succeeded nor failed.
#[test]
fn exchanges_that_wait_for_a_connect_at_the_end_are_unfinished() {
    where_kernels_never_fail(|| {
        // A connect takes longer than the window.
        let far = || hello(Service::Constant(ms(1))).with_delay(s(1));
        let signal = Arc::new(AtomicBool::new(false));
        let given = Arc::clone(&signal);
        let signalled = far().refusing(move |_, number| {
            given.fetch_or(number == 3, Ordering::Relaxed);
            None
        });
        let ended = [
            simulate(closed(4, ms(100)), far()),
            run(closed(4, s(60)), 0, signalled, Span::ZERO, &signal),
        ];
        for record in ended {
            let all = all(&record);
            assert_eq!((all.due, all.sent), (4, 0), "{all:?}");
            assert_eq!(all.outcomes[Outcome::Unfinished], 4, "{all:?}");
            assert_eq!(all.outcomes.total(), 4, "{all:?}");
            let counts = all.connections;
            let connects = (counts.asked, counts.established, counts.failed);
            assert_eq!(connects, (4, 0, 0));
        }
        // Arrivals of an open loop wait for any connection, and were never begun.
        let all = all(&simulate(open(4, 100, ms(100)), far()));
        assert_eq!(
            (all.due, all.sent, all.outcomes[Outcome::Shed]),
            (10, 0, 10)
        );
        assert_eq!(all.outcomes.total(), 10, "{all:?}");
    });
}

/// The same where each exchange has a connection of its own, and some are answered.
#[test]
fn what_was_begun_is_answered_or_unfinished() {
    where_kernels_never_fail(|| {
        let mut unfinished = 0;
        for delay in 1..30 {
            let plan = PlanFile {
                requests_per_connection: Some(1),
                ..closed(4, ms(100))
            };
            let server = hello(Service::Constant(ms(1))).with_delay(ms(delay));
            let all = all(&simulate(plan, server));
            let outcomes = all.outcomes;
            let ended = outcomes[Outcome::Ok] + outcomes[Outcome::Unfinished];
            assert_eq!((all.due, ended), (outcomes.total(), all.due), "{all:?}");
            assert_eq!(all.sent, outcomes[Outcome::Ok], "{all:?}");
            unfinished += outcomes[Outcome::Unfinished];
        }
        assert!(unfinished > 0);
    });
}

#[test]
fn idle_connections_that_the_server_closes_are_replaced() {
    where_kernels_never_fail(|| {
        // It closes each connection after two answers; arrivals find another one.
        let server = numbered(|number| {
            let reply = Reply::new(HELLO);
            Some(if number % 2 == 1 {
                reply.then(Then::Finish)
            } else {
                reply
            })
        });
        let record = simulate(open(4, 100, s(2)), server);
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            200,
            "{:?}",
            record.examples
        );
        let counts = connections(&record);
        assert_eq!(counts.broken, 0);
        assert!(counts.closed_by_server >= 99, "{counts:?}");
    });
}

#[test]
fn an_answer_in_any_pieces_is_the_same_answer() {
    where_kernels_never_fail(|| {
        let whole = simulate(count(2, 20), answering(HELLO));
        for bytes in 1..HELLO.len() {
            let server = answering(HELLO).in_segments(bytes, ms(1));
            let record = simulate(count(2, 20), server);
            assert_eq!(
                record.total.outcomes, whole.total.outcomes,
                "{bytes} at a time"
            );
            assert_eq!(record.total.bytes_received, whole.total.bytes_received);
        }
    });
}

/// The server closes with its first answer, when the last exchange has just begun on that
/// connection. The other connection is free by then: no third one is made.
#[test]
fn a_request_that_was_not_sent_goes_to_a_connection_that_stands_idle() {
    where_kernels_never_fail(|| {
        let server = numbered(|number| {
            let reply = Reply::new(HELLO);
            Some(if number == 0 {
                reply.then(Then::Finish)
            } else {
                reply
            })
        });
        let record = simulate(count(2, 3), server);
        assert_eq!(record.total.outcomes[Outcome::Ok], 3);
        assert_eq!(connections(&record).established, 2);
    });
}

/// Each connect fails within the call that begins it. The stack does not grow with their number.
#[test]
fn connects_that_fail_at_once_are_counted_one_after_the_other() {
    let kernel = Kernel {
        failed_connects_per_1000: 1_000,
        ..Kernel::default()
    };
    let small_stack = std::thread::Builder::new().stack_size(256 * 1024);
    let run = move || {
        simulate_on(
            kernel,
            count(30_000, 30_000),
            hello(Service::Constant(ms(1))),
        )
    };
    let record = small_stack.spawn(run).unwrap().join().unwrap();
    assert_eq!(record.total.outcomes[Outcome::Connect], 30_000);
    let counts = connections(&record);
    assert_eq!((counts.asked, counts.failed), (30_000, 30_000));
}

#[test]
fn a_time_without_connections_is_told_with_its_start_and_length() {
    where_kernels_never_fail(|| {
        let refused = Errno::new(111);
        for plan in [closed(1, s(2)), open(1, 400, s(2))] {
            let kind = plan.arrivals;
            let plan = PlanFile {
                requests_per_connection: Some(1),
                ..plan
            };
            let closing = move |_: &[u8]| Some(Reply::new(CLOSING).then(Then::Finish));
            let server = SimServer::new(Service::Constant(ms(1)), closing)
                .refusing(move |_, number| (100..105).contains(&number).then_some(refused));
            let record = simulate(plan, server);
            let outages = record.outages();
            assert_eq!(outages.len(), 1, "{kind:?}: {outages:?}");
            // Waits of 10, 20, 40, 80 and 160 ms.
            let backed_off: Span = record.workers.iter().map(|worker| worker.backed_off).sum();
            assert_eq!(backed_off, ms(310), "{kind:?}");
            let outage = outages[0];
            assert!(outage.start > ms(50) && outage.start < s(1), "{outage:?}");
            assert!(
                outage.length >= ms(310) && outage.length < ms(330),
                "{outage:?}"
            );
        }
    });
}

/// The connection that was idle for longest is asked first: as many arrivals as there are
/// connections go over each of them once, and those after them over all of them again.
#[test]
fn each_idle_connection_is_asked_before_one_is_asked_again() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            samples: 1_000,
            ..open(50, 100, s(1))
        };
        let record = simulate(plan, hello(Service::Constant(ms(1))));
        assert_eq!(record.total.outcomes[Outcome::Ok], 100);
        assert_eq!(connections(&record).established, 50);
        let mut samples = record.samples;
        samples.sort_unstable_by_key(|one| one.due_ns);
        let first = samples.iter().map(|one| one.connect_ns.is_some());
        let expected: Vec<bool> = (0..100).map(|arrival| arrival < 50).collect();
        assert_eq!(first.collect::<Vec<_>>(), expected);
    });
}
