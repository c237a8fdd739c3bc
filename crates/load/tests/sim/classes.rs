//! Mixes of requests: each has its weight, its right answer, its distributions; together they are
//! the total.

use model::distribution::Distribution;
use model::outcome::Outcome;
use model::plan::PlanFile;
use model::request::RequestFile;
use sys::reactor::sim::{Reply, Service, SimServer};

use crate::harness::{HELLO, count, ms, simulate, simulate_all, where_kernels_never_fail};

fn request(path: &str, weight: u32) -> RequestFile {
    RequestFile {
        weight,
        ..RequestFile::get(format!("http://sim{path}"))
    }
}

fn plan(connections: u32, exchanges: u64) -> PlanFile {
    PlanFile {
        requests: vec![request("/a", 1), request("/b", 2), request("/c", 7)],
        ..count(connections, exchanges)
    }
}

/// It answers `/b` wrongly.
fn server() -> SimServer {
    SimServer::new(Service::Constant(ms(1)), |request| {
        Some(Reply::new(if request.starts_with(b"GET /b") {
            HELLO.replace("200 OK", "500 Broken")
        } else {
            HELLO.to_owned()
        }))
    })
}

#[test]
fn each_request_has_its_share_and_its_own_record() {
    where_kernels_never_fail(|| {
        let record = simulate(plan(8, 10_000), server());
        let names: Vec<&str> = record
            .classes
            .iter()
            .map(|class| class.name.as_str())
            .collect();
        assert_eq!(names, ["GET /a", "GET /b", "GET /c"]);
        let mut merged = Distribution::default();
        let (mut outcomes, mut sent) = (model::OutcomeCounts::default(), 0);
        for (class, share) in record.classes.iter().zip([0.1, 0.2, 0.7]) {
            let count = class.outcomes.total();
            // Within 4 standard deviations, of which the largest is 46.
            let expected = 10_000.0 * share;
            assert!(
                (count as f64 - expected).abs() < 184.0,
                "{}: {count}",
                class.name
            );
            merged.merge(&class.response_time);
            outcomes.merge(&class.outcomes);
            sent += class.sent;
        }
        assert_eq!(merged, record.response_time);
        assert_eq!(outcomes, record.total.outcomes);
        assert_eq!(sent, record.total.sent);
        let b = &record.classes[1];
        assert_eq!(b.outcomes[Outcome::Status], b.outcomes.total());
        assert_eq!(b.response_time.censored(), b.outcomes.total());
        for right in [&record.classes[0], &record.classes[2]] {
            assert_eq!(right.outcomes[Outcome::Ok], right.outcomes.total());
            assert_eq!(right.bytes_content.count(), right.outcomes.total() * 5);
        }
    });
}

#[test]
fn classes_of_workers_merge_and_one_request_has_none() {
    where_kernels_never_fail(|| {
        let file = PlanFile {
            workers: 3,
            ..plan(9, 3_000)
        };
        let record = simulate_all(file, server);
        let all: u64 = record
            .classes
            .iter()
            .map(|class| class.outcomes.total())
            .sum();
        assert_eq!(all, 3_000);
        assert!(simulate(count(1, 10), server()).classes.is_empty());
    });
}

/// Pipelined requests of several kinds, each held against its own right answer.
#[test]
fn pipelined_exchanges_of_several_classes_keep_apart() {
    where_kernels_never_fail(|| {
        for pipeline in [2, 3, 16, 64] {
            let file = PlanFile {
                pipeline,
                ..plan(2, 2_000)
            };
            let record = simulate(file, server());
            assert_eq!(record.total.outcomes.total(), 2_000, "{pipeline}");
            let b = &record.classes[1];
            assert_eq!(
                b.outcomes[Outcome::Status],
                b.outcomes.total(),
                "{pipeline}"
            );
            let wrong = record.total.outcomes[Outcome::Status];
            assert_eq!(wrong, b.outcomes.total());
            assert_eq!(record.total.outcomes[Outcome::Ok], 2_000 - wrong);
        }
    });
}
