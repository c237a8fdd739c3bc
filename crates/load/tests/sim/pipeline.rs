//! Several exchanges on one connection: what becomes of the others when one of them ends it.

use std::sync::atomic::Ordering;

use model::outcome::Outcome;
use model::plan::PlanFile;
use model::request::RequestFile;
use sys::reactor::sim::{Reply, Service, SimServer, Then};

use crate::harness::{
    HELLO, all, count, hello, ms, numbered, open, s, simulate, where_kernels_never_fail,
};

const CLOSING: &str = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello";

/// The one whose time is up has timed out. Those behind it had time left: they lost their
/// connection.
#[test]
fn a_timeout_is_that_of_the_exchange_whose_time_is_up() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            pipeline: 4,
            timeout: ms(50),
            // Sent at 0, 10, 20 and 30 ms; at 50 ms the first one has waited for too long.
            ..open(1, 100, ms(40))
        };
        let record = simulate(plan, numbered(|_| None));
        let outcomes = record.total.outcomes;
        assert_eq!(outcomes[Outcome::Timeout], 1, "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Read], 3, "{outcomes:?}");
        let texts: Vec<&str> = record
            .examples
            .iter()
            .map(|one| one.text.as_str())
            .collect();
        assert!(
            texts.contains(&"its connection was closed because another exchange on it had failed"),
            "{texts:?}"
        );
    });
}

/// The answer that breaks the protocol is one exchange's.
#[test]
fn a_violation_is_charged_to_the_exchange_whose_answer_it_is() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            pipeline: 4,
            ..count(1, 4)
        };
        let record = simulate(
            plan,
            numbered(|_| Some(Reply::new("garbage").then(Then::Finish))),
        );
        let outcomes = record.total.outcomes;
        assert_eq!(outcomes[Outcome::Protocol], 1, "{outcomes:?}");
        assert_eq!(outcomes[Outcome::Read], 3, "{outcomes:?}");
    });
}

/// RFC 9112 §9.6: a server that announces the close processes no request behind that answer, so
/// each of them is asked again, on another connection, and none is charged.
#[test]
fn requests_behind_an_announced_close_ask_again() {
    where_kernels_never_fail(|| {
        let delimited = "HTTP/1.0 200 OK\r\n\r\nhello";
        for answer in [CLOSING, delimited] {
            let plan = PlanFile {
                pipeline: 4,
                ..count(2, 100)
            };
            let server = numbered(move |_| Some(Reply::new(answer).then(Then::Finish)));
            let seen = server.counts();
            let record = simulate(plan, server);
            let counts = all(&record).connections;
            assert_eq!(
                record.total.outcomes[Outcome::Ok],
                100,
                "{:?}",
                record.examples
            );
            assert_eq!((counts.broken, counts.backed_off), (0, 0), "{counts:?}");
            assert_eq!(record.total.sent, 100, "each counts once");
            assert_eq!(seen.requests.load(Ordering::Relaxed), 100);
            assert_eq!(all(&record).close_announced, counts.closed_by_server);
            let seconds = record.window.as_s_f64();
            let integral = record.workers[0].outstanding_integral_ns as f64 / 1e9;
            let service = record.service_time.sum().as_s_f64();
            assert!(
                (integral - service).abs() < 1e-6,
                "{integral} in flight, {service} of service in {seconds} s"
            );
        }
    });
}

/// What the server says behind the answer that announced the close means nothing.
#[test]
fn answers_behind_an_announced_close_mean_nothing() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            pipeline: 2,
            ..count(1, 10)
        };
        // But for the last one, there is always a request behind.
        let server = numbered(|number| {
            let more = if number < 9 { HELLO } else { "" };
            Some(Reply::new(format!("{CLOSING}{more}")).then(Then::Finish))
        });
        let record = simulate(plan, server);
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            10,
            "{:?}",
            record.examples
        );
    });
}

/// An exchange that is asked again is the same request again: the mix is that of the plan.
#[test]
fn an_exchange_that_asks_again_keeps_its_request() {
    where_kernels_never_fail(|| {
        let request = |path: &str, weight| RequestFile {
            weight,
            ..RequestFile::get(format!("http://sim{path}"))
        };
        let plan = || PlanFile {
            requests: vec![request("/a", 1), request("/b", 2), request("/c", 7)],
            pipeline: 4,
            ..count(3, 1_000)
        };
        let per_class = |plan: PlanFile, server: SimServer| {
            let record = simulate(plan, server);
            assert_eq!(record.total.outcomes[Outcome::Ok], 1_000);
            let classes = record.classes.iter();
            classes
                .map(|class| class.outcomes.total())
                .collect::<Vec<u64>>()
        };
        let steady = per_class(plan(), hello(Service::Constant(ms(1))));
        let closing = per_class(
            plan(),
            numbered(|_| Some(Reply::new(CLOSING).then(Then::Finish))),
        );
        assert_eq!(closing, steady);
        // Without a word, while the next one has begun and was not handed in.
        let silent = |ends: bool| {
            let plan = PlanFile {
                pipeline: 1,
                ..plan()
            };
            per_class(
                plan,
                numbered(move |number| {
                    let reply = Reply::new(HELLO);
                    Some(if ends && number % 5 == 0 {
                        reply.then(Then::Finish)
                    } else {
                        reply
                    })
                }),
            )
        };
        assert_eq!(silent(true), silent(false));
    });
}

/// The window ends while requests wait behind a close: none of them is lost or counted twice.
#[test]
fn what_asks_again_at_the_end_of_the_window_is_unfinished() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            pipeline: 8,
            warmup: ms(7),
            ..open(2, 5_000, s(1))
        };
        let record = simulate(
            plan,
            numbered(|_| Some(Reply::new(CLOSING).then(Then::Finish))),
        );
        let all = all(&record);
        assert_eq!(all.due, all.outcomes.total());
        assert_eq!(all.outcomes.failures(), 0, "{:?}", record.examples);
    });
}

/// Four answers come at once, so four requests begin at once: they go out with one send, whether
/// their bytes are those of the plan or not.
#[test]
fn requests_that_begin_together_are_sent_together() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            pipeline: 4,
            ..count(1, 400)
        };
        let answer = Reply::new(HELLO.repeat(4));
        let server = numbered(move |number| (number % 4 == 3).then(|| answer.clone()));
        let seen = server.counts();
        let record = simulate(plan, server);
        let sent = all(&record);
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            400,
            "{:?}",
            record.examples
        );
        assert_eq!(seen.arrivals.load(Ordering::Relaxed), 100);
        assert_eq!(sent.bytes_sent.count(), seen.bytes.load(Ordering::Relaxed));
    });
}

/// A request that is too long to be copied goes out by itself, in its turn.
#[test]
fn a_long_request_keeps_its_place_among_others() {
    where_kernels_never_fail(|| {
        let long = RequestFile {
            method: "POST".to_owned(),
            body_base64: Some("eHh4".repeat(10_000)),
            ..RequestFile::get("http://sim/long".to_owned())
        };
        let plan = PlanFile {
            requests: vec![RequestFile::get("http://sim/short".to_owned()), long],
            pipeline: 4,
            ..count(1, 200)
        };
        let server = SimServer::new(Service::Constant(ms(1)), |_| Some(Reply::new(HELLO)))
            .with_lengths(|bytes| {
                let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
                let content = if bytes.starts_with(b"POST") {
                    30_000
                } else {
                    0
                };
                Some(head + content)
            });
        let seen = server.counts();
        let record = simulate(plan, server);
        assert_eq!(
            record.total.outcomes[Outcome::Ok],
            200,
            "{:?}",
            record.examples
        );
        assert_eq!(seen.requests.load(Ordering::Relaxed), 200);
        assert_eq!(
            all(&record).bytes_sent.count(),
            seen.bytes.load(Ordering::Relaxed)
        );
    });
}

/// More than one send may hold, and requests that fill most of one.
#[test]
fn requests_that_do_not_fit_one_send_keep_their_order() {
    where_kernels_never_fail(|| {
        for (pipeline, length) in [(64, 150), (3, 1_500), (2, 4_090), (4, 5_000)] {
            let path = format!("http://sim/{}", "x".repeat(length));
            let plan = PlanFile {
                requests: vec![RequestFile::get(path)],
                pipeline,
                ..count(2, 640)
            };
            let server = hello(Service::Constant(ms(1)));
            let seen = server.counts();
            let record = simulate(plan, server);
            let outcomes = record.total.outcomes;
            assert_eq!(outcomes[Outcome::Ok], 640, "{:?}", record.examples);
            assert_eq!(seen.connections.load(Ordering::Relaxed), 2);
            assert_eq!(seen.requests.load(Ordering::Relaxed), 640);
            let arrivals = seen.arrivals.load(Ordering::Relaxed);
            assert_eq!(arrivals < 640, length < 4_000, "{arrivals} of {length}");
        }
    });
}

/// Whatever the kernel does, each exchange ends once, and nothing is sent that is not counted.
#[test]
fn what_is_sent_together_ends_once_on_any_kernel() {
    for pipeline in [2, 16] {
        let plan = PlanFile {
            requests: vec![RequestFile::get(format!("http://sim/{}", "x".repeat(400)))],
            pipeline,
            ..count(5, 2_000)
        };
        let server = numbered(|number| {
            let reply = Reply::new(HELLO);
            Some(match number % 50 {
                7 => reply.then(Then::Finish),
                31 => reply.then(Then::Reset),
                _ => reply,
            })
        });
        let seen = server.counts();
        let record = simulate(plan, server);
        let all = all(&record);
        assert_eq!(all.due, all.outcomes.total());
        assert!(seen.bytes.load(Ordering::Relaxed) <= all.bytes_sent.count());
    }
}
