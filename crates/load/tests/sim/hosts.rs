//! Several servers in one plan: each connection leads to one of them, and carries its requests
//! alone.

use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, channel};

use model::outcome::Outcome;
use model::plan::{PlanFile, Stop};
use model::record::Record;
use model::request::RequestFile;
use sys::Errno;
use sys::reactor::sim::{Kernel, Reply, Service, SimServer, Then};

use crate::harness::{
    HELLO, all, closed, count, hello, ms, open, s, simulate, simulate_on, where_kernels_never_fail,
};
use crate::pages::seated;
use crate::scripts::{hearing, text};

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

/// A page whose parts come from two servers. What the second is asked has a capital letter.
const PAGE: &str = "
    [[step]]
    get = 'http://one.test/front'
    [[step]]
    parts = [
        { get = 'http://one.test/a' }, { get = 'http://two.test/B' }, { get = 'http://two.test/C' },
    ]
    [[step]]
    get = 'http://two.test/D'
";

/// The plan of so many users of a script who ask several servers.
fn paged(text: &str, plan: PlanFile) -> PlanFile {
    PlanFile {
        addresses: Vec::new(),
        ..seated(text, plan)
    }
}

/// A user has a connection to each server: what is asked of both goes out at once, and the next
/// step comes after all of it.
#[test]
fn users_ask_each_server_on_connections_that_lead_to_it() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            samples: 100,
            ..paged(PAGE, count(1, 10))
        };
        assert_eq!(plan.connections, 2);
        let (server, heard) = hearing(|_| Some(Reply::new(HELLO)));
        let (noted, connects) = channel();
        let server = server.refusing(move |target, _| {
            let _is_heard = noted.send(target.to_string());
            None
        });
        let record = simulate(plan, server);
        let connects: Vec<String> = connects.try_iter().collect();
        assert_eq!(connects, ["127.0.0.1:80", "127.0.0.2:80"]);
        assert_eq!(all(&record).connections.established, 2);
        assert_eq!(right(&record), [2; 5], "{:?}", record.examples);
        let heard = text(&heard);
        for page in heard.as_bytes().chunks(5) {
            assert_eq!((page[0], page[3], page[4]), (b'f', b'C', b'D'), "{heard}");
        }
        // Once there are connections: an answer takes a millisecond.
        let mut sent: Vec<i64> = record.samples[5..]
            .iter()
            .map(|one| one.sent_ns.unwrap() / 1_000)
            .collect();
        sent.sort_unstable();
        let from = sent[0];
        let sent: Vec<i64> = sent.iter().map(|sent| sent - from).collect();
        assert_eq!(sent, [0, 1_000, 1_000, 2_000, 3_000]);
    });
}

/// A server that nobody reaches costs what it is asked, and keeps no user from the other one.
#[test]
fn users_go_on_elsewhere_while_a_server_cannot_be_reached() {
    where_kernels_never_fail(|| {
        let plan = PlanFile {
            samples: 100,
            ..paged(PAGE, count(1, 25))
        };
        let (server, _) = noting(Service::Constant(ms(1)), true);
        let record = simulate(plan, server);
        assert_eq!(right(&record), [5, 5, 0, 0, 0]);
        assert_eq!(record.total.outcomes[Outcome::Connect], 15);
        let pages: Vec<_> = record.samples.chunks(5).collect();
        for two in pages.windows(2) {
            let over = two[0].iter().map(|one| one.ended_ns).max();
            let begins = two[1].iter().map(|one| one.due_ns).min();
            assert_eq!(over, begins, "the next page begins when this one is over");
        }
    });
}

/// Whatever the kernel and the servers do, each request ends once, and a count is exact.
#[test]
fn users_of_several_servers_lose_nothing_on_kernels_of_any_kind() {
    for seed in 0..300 {
        let (server, heard) = hearing(move |number| match (seed + number) % 13 {
            1 => None,
            2 => Some(Reply::new(HELLO).then(Then::Finish)),
            3 => Some(Reply::new("HTTP/1.1 200 OK\r\nContent-Le").then(Then::Reset)),
            _ => Some(Reply::new(HELLO)),
        });
        let second: SocketAddr = ([127, 0, 0, 2], 80).into();
        let mut connects = 0;
        let server = server.refusing(move |target, _| {
            connects += 1;
            let is_refused = target == second && (seed + connects) % 4 == 0;
            is_refused.then(|| Errno::new(111))
        });
        let users = 1 + u32::try_from(seed % 3).unwrap();
        let page = match seed % 2 {
            0 => PAGE.to_owned(),
            _ => format!("user_connections = 2\n{PAGE}"),
        };
        let plan = PlanFile {
            seed,
            timeout: ms(20),
            requests_per_connection: (seed % 5 == 0).then_some(3),
            pipeline: if seed % 3 == 0 { 2 } else { 1 },
            stop: match seed % 4 {
                0..=2 => Stop::Count(1 + seed),
                _ => Stop::DurationNs(ms(100)),
            },
            ..paged(&page, closed(users, s(1)))
        };
        let stop = plan.stop;
        let record = simulate_on(Kernel::mixture(seed), plan, server);
        let all = all(&record);
        assert_eq!(all.due, all.outcomes.total(), "seed {seed}");
        if let Stop::Count(count) = stop {
            assert_eq!(record.total.outcomes.total(), count, "seed {seed}");
        }
        drop(heard);
    }
}
