//! Redirects: counted always, followed where the plan wants it, and timed as what they are a part
//! of.

use model::outcome::Outcome;
use model::plan::{PlanFile, Stop};
use model::record::Record;
use sys::reactor::sim::{Reply, Service, SimServer, Then};

use crate::harness::{HELLO, all, count, ms, open, s, simulate, where_kernels_never_fail};

/// One that says hello, but sends whoever asks for / on by `head`, and then does `then`.
fn leading(head: &str, then: Option<Then>) -> SimServer {
    let away = format!("HTTP/1.1 {head}\r\nContent-Length: 2\r\n\r\nno");
    SimServer::new(Service::Constant(ms(1)), move |request| {
        if !request.starts_with(b"GET / ") {
            return Some(Reply::new(HELLO));
        }
        let reply = Reply::new(away.clone());
        Some(match then {
            Some(then) => reply.then(then),
            None => reply,
        })
    })
}

fn following(plan: PlanFile, most: u32) -> PlanFile {
    PlanFile {
        follow: Some(most),
        ..plan
    }
}

/// Ten arrivals of an open loop.
fn ten(connections: u32) -> PlanFile {
    PlanFile {
        stop: Stop::Count(10),
        ..open(connections, 100, s(1))
    }
}

#[track_caller]
fn check(record: &Record, expected: Outcome, redirects: u64, followed: u64) {
    let total = all(record);
    assert_eq!(total.outcomes[expected], 10, "{:?}", record.examples);
    assert_eq!(total.outcomes.total(), 10);
    assert_eq!((total.redirects, total.followed), (redirects, followed));
    assert_eq!(total.sent, 10, "an exchange is sent once");
}

#[test]
fn times_are_those_of_all_requests_together() {
    where_kernels_never_fail(|| {
        for plan in [count(2, 10), ten(2)] {
            let record = simulate(
                following(plan, 1),
                leading("302 Found\r\nLocation: /there", None),
            );
            check(&record, Outcome::Ok, 10, 10);
            for times in [&record.response_time, &record.service_time] {
                let most = times.max().expect("a time");
                assert!(most >= ms(2) && most < ms(3), "{most}");
            }
            let blocked = record.blocked_time.max().expect("a time");
            assert!(blocked < ms(1), "{blocked}");
            assert_eq!(record.total.bytes_content.count(), 50, "hello, ten times");
        }
    });
}

#[test]
fn redirects_are_counted_where_they_are_not_followed() {
    where_kernels_never_fail(|| {
        let record = simulate(count(2, 10), leading("302 Found\r\nLocation: /there", None));
        check(&record, Outcome::Status, 10, 0);
        let elsewhere = leading("302 Found\r\nLocation: http://other/there", None);
        let record = simulate(following(count(2, 10), 1), elsewhere);
        check(&record, Outcome::Status, 10, 0);
        // A Location alone is no redirect.
        let record = simulate(count(2, 10), leading("400 Bad\r\nLocation: /there", None));
        check(&record, Outcome::Status, 0, 0);
    });
}

#[test]
fn a_circle_has_an_end() {
    where_kernels_never_fail(|| {
        let circle = || leading("301 Moved\r\nLocation: /", None);
        let record = simulate(following(count(2, 10), 3), circle());
        check(&record, Outcome::Status, 40, 30);
        let record = simulate(following(ten(2), 3), circle());
        check(&record, Outcome::Status, 40, 30);
    });
}

/// Where the server closes, the exchange goes on on another connection, and is still one.
#[test]
fn an_exchange_outlives_the_connection_of_a_redirect() {
    where_kernels_never_fail(|| {
        let head = "301 Moved\r\nConnection: close\r\nLocation: /there";
        for plan in [count(1, 10), count(3, 10), ten(1), ten(3)] {
            let record = simulate(following(plan, 2), leading(head, Some(Then::Finish)));
            check(&record, Outcome::Ok, 10, 10);
            let most = record.service_time.max().expect("a time");
            assert!(most >= ms(2), "{most}");
        }
        // We close ourselves, too.
        for each in [1, 2, 3] {
            let plan = PlanFile {
                requests_per_connection: Some(each),
                ..following(count(2, 10), 1)
            };
            let record = simulate(plan, leading("302 Found\r\nLocation: /there", None));
            check(&record, Outcome::Ok, 10, 10);
        }
    });
}

/// A server that is gone after each redirect: what was to go on has failed, or goes unfinished, and
/// is counted once.
#[test]
fn what_cannot_go_on_ends_once() {
    let head = "301 Moved\r\nLocation: /there";
    for plan in [count(2, 10), ten(2)] {
        let record = simulate(following(plan, 2), leading(head, Some(Then::Reset)));
        let total = all(&record);
        assert_eq!(total.outcomes.total(), 10, "{:?}", record.examples);
        assert!(total.redirects >= 1);
    }
}
