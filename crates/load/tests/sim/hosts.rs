//! Several servers in one plan: each connection leads to one of them, and carries its requests
//! alone.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};

use model::outcome::Outcome;
use model::plan::PlanFile;
use model::record::Record;
use model::request::RequestFile;
use sys::Errno;
use sys::reactor::sim::{Kernel, Service, SimServer};

use crate::harness::{
    closed, count, hello, ms, open, s, simulate, simulate_on, where_kernels_never_fail,
};

/// Three of four requests are asked of the first server.
fn asking_two(file: PlanFile) -> PlanFile {
    let request = |url: &str, weight| RequestFile {
        weight,
        ..RequestFile::get(url)
    };
    PlanFile {
        requests: vec![
            request("http://one.test/a", 1),
            request("http://two.test/b", 1),
            request("http://one.test/c", 2),
        ],
        addresses: Vec::new(),
        ..file
    }
}

/// A server that notes which address each connect leads to, and refuses those to the second where
/// it is told to.
fn noting(service: Service, refuses_second: bool) -> (SimServer, Receiver<SocketAddr>) {
    let (noted, connects) = channel();
    let second: SocketAddr = ([127, 0, 0, 2], 80).into();
    let server = hello(service).refusing(move |target, _| {
        // Not every test looks.
        let _is_heard = noted.send(target);
        (refuses_second && target == second).then(|| Errno::new(111))
    });
    (server, connects)
}

fn right(record: &Record) -> Vec<u64> {
    let classes = record.classes.iter();
    classes.map(|class| class.outcomes[Outcome::Ok]).collect()
}

#[test]
fn connections_share_themselves_out_by_weight() {
    where_kernels_never_fail(|| {
        let (server, connects) = noting(Service::Constant(ms(1)), false);
        let record = simulate(asking_two(closed(8, s(1))), server);
        let connects: Vec<SocketAddr> = connects.try_iter().collect();
        let to = |last: u8| {
            let of_it = |target: &&SocketAddr| target.to_string() == format!("127.0.0.{last}:80");
            connects.iter().filter(of_it).count()
        };
        assert_eq!((to(1), to(2)), (6, 2));
        let [a, b, c] = right(&record)[..] else {
            panic!("three requests: {record:?}");
        };
        // Each connection asks a thousand times a second.
        assert!((1_980..=2_001).contains(&b), "{b}");
        assert!((5_950..=6_003).contains(&(a + c)), "{a} {c}");
        let share = a as f64 / (a + c) as f64;
        assert!((share - 1.0 / 3.0).abs() < 0.04, "{share}");
    });
}

/// What is asked of a server that nobody reaches fails, and nothing else does.
#[test]
fn a_server_that_refuses_costs_its_own_requests_alone() {
    where_kernels_never_fail(|| {
        let (server, _) = noting(Service::Constant(ms(1)), true);
        let record = simulate(asking_two(open(8, 1_000, s(2))), server);
        let [a, b, c] = &record.classes[..] else {
            panic!("three requests: {record:?}");
        };
        assert_eq!(b.outcomes[Outcome::Ok], 0);
        let lost = b.outcomes[Outcome::Connect] + b.outcomes[Outcome::Shed];
        assert!((400..600).contains(&lost), "{:?}", b.outcomes);
        for class in [a, c] {
            let right = class.outcomes[Outcome::Ok];
            assert_eq!(class.outcomes.total(), right, "{:?}", class.outcomes);
            let longest = class.response_time.max().unwrap();
            assert!(
                longest < ms(3),
                "{longest}: nobody waits for another server"
            );
        }
        let of_first = a.outcomes.total() + c.outcomes.total();
        assert!((1_400..1_600).contains(&of_first), "{of_first}");
    });
}

#[test]
fn a_count_is_exact_over_all_servers() {
    for exchanges in [1, 2, 7, 100] {
        let record = simulate(
            asking_two(count(4, exchanges)),
            noting(Service::Constant(ms(1)), false).0,
        );
        let all: u64 = record.classes.iter().map(|one| one.outcomes.total()).sum();
        assert_eq!(all, exchanges);
        assert_eq!(record.total.outcomes.total(), exchanges);
    }
}

/// Whatever the kernel does, each arrival ends once: the harness looks.
#[test]
fn kernels_of_any_kind_lose_nothing() {
    for seed in 0..100 {
        for is_refused in [false, true] {
            let server = |service| noting(service, is_refused).0;
            let kernel = || Kernel::mixture(seed);
            let file = asking_two(open(6, 2_000, ms(300)));
            simulate_on(kernel(), file, server(Service::Exponential(ms(2))));
            let file = PlanFile {
                requests_per_connection: Some(3),
                ..asking_two(closed(6, ms(300)))
            };
            simulate_on(kernel(), file, server(Service::Constant(ms(1))));
        }
    }
}
