//! Through an HTTP proxy: a tunnel is made before anything is asked and its time is the connect's;
//! where there is none, the connect has failed, and says in words why.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use load::LoadError;
use load::reference::{Findings, establish};
use load::settings;
use model::outcome::Outcome;
use model::plan::{HttpProxy, Plan, PlanFile};
use model::record::Record;
use sys::reactor::Reactor as _;
use sys::reactor::sim::{Kernel, Reply, Service, Sim, SimServer, Then};

use crate::harness::{
    HELLO, all, audited, count, findings, ms, simulate_with, where_kernels_never_fail,
};

const OPEN: &str = "HTTP/1.1 200 Connection established\r\nContent-Length: 7\r\n\r\n";

/// So many exchanges through a proxy.
fn through(tunnel: bool, connections: u32, exchanges: u64) -> PlanFile {
    PlanFile {
        addresses: Vec::new(),
        http_proxy: Some(HttpProxy {
            url: "http://127.0.0.1:3128".to_owned(),
            tunnel,
            authorization: None,
        }),
        ..count(connections, exchanges)
    }
}

/// One that answers each CONNECT so, and says hello in the tunnel.
fn proxy(answer: Option<Reply>) -> SimServer {
    SimServer::new(Service::Constant(ms(1)), move |request| {
        match request.starts_with(b"CONNECT ") {
            true => {
                assert_eq!(request, b"CONNECT sim:80 HTTP/1.1\r\nHost: sim:80\r\n\r\n");
                answer.clone()
            }
            false => {
                assert!(request.starts_with(b"GET / HTTP/1.1\r\nHost: sim\r\n"));
                Some(Reply::new(HELLO))
            }
        }
    })
}

fn at_the_proxy(file: &PlanFile) -> Findings {
    Findings {
        targets: vec![vec![([127, 0, 0, 1], 3128).into()]],
        ..findings(file)
    }
}

fn simulate(file: PlanFile, server: SimServer) -> Record {
    let findings = at_the_proxy(&file);
    simulate_with(file, &findings, server)
}

#[test]
fn the_time_of_a_tunnel_belongs_to_the_connect() {
    where_kernels_never_fail(|| {
        for segment in [1, 5, 64 * 1024] {
            let server = proxy(Some(Reply::new(OPEN)));
            let server = server
                .with_delay(ms(5))
                .in_segments(segment, model::Span::ZERO);
            let seen = server.counts();
            let record = simulate(through(true, 2, 20), server);
            let outcomes = record.total.outcomes;
            assert_eq!(outcomes[Outcome::Ok], 20, "{:?}", record.examples);
            let counts = all(&record).connections;
            assert_eq!((counts.asked, counts.established, counts.failed), (2, 2, 0));
            assert_eq!(seen.requests.load(Ordering::Relaxed), 22);
            // A round trip for the connect, another one for the tunnel, and what the proxy took.
            let connect = record.connect_time.min().expect("there are some");
            assert_eq!(record.connect_time.count(), 2);
            assert!((ms(20)..ms(22)).contains(&connect), "{connect}");
            let service = record.service_time.max().expect("there are some");
            assert!((ms(10)..ms(12)).contains(&service), "{service}");
            let sent = all(&record).bytes_sent.count();
            assert_eq!(sent, seen.bytes.load(Ordering::Relaxed));
        }
    });
}

/// Ten requests, none of which is sent, because the proxy answers CONNECT so.
#[track_caller]
fn check(answer: Option<Reply>, example: &str) {
    let server = proxy(answer);
    let seen = server.counts();
    let record = simulate(through(true, 2, 10), server);
    let outcomes = record.total.outcomes;
    assert_eq!(outcomes[Outcome::Connect], 10, "{outcomes:?}");
    assert_eq!((outcomes.total(), record.total.sent), (10, 0));
    let counts = all(&record).connections;
    assert_eq!((counts.established, counts.broken), (0, 0));
    assert_eq!(counts.failed, counts.asked);
    assert!(record.connect_time.is_empty());
    assert_eq!(record.examples[0].outcome, Outcome::Connect);
    let told = record.examples[0].text.as_str();
    assert!(told.starts_with(example), "{told}");
    let asked = seen.requests.load(Ordering::Relaxed);
    assert_eq!(asked, counts.asked, "nothing is asked but for tunnels");
}

#[test]
fn a_tunnel_that_is_not_made_is_a_connect_that_failed() {
    where_kernels_never_fail(|| {
        let reply = |bytes: &str| Some(Reply::new(bytes));
        check(
            reply("HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 4\r\n\r\nsorr"),
            "the proxy answered CONNECT with status 407",
        );
        check(
            reply("SSH-2.0-OpenSSH_9.2p1\r\n"),
            "the proxy did not answer CONNECT as HTTP/1.1 requires: the answer does not begin with",
        );
        check(
            reply(&format!("{OPEN}hello")),
            "the proxy sent 5 bytes after its answer to CONNECT",
        );
        check(
            reply(&format!("HTTP/1.1 200 OK\r\nX: {}", "x".repeat(40_000))),
            "the proxy did not answer CONNECT as HTTP/1.1 requires: the head of the answer is longer",
        );
        check(None, "the proxy did not answer CONNECT within 5");
        check(
            reply("HTTP/1.1 100 Continue\r\n\r\n"),
            "the proxy did not answer CONNECT within 5",
        );
        let ended = |then| Some(Reply::new("HTTP/1.1 20").then(then));
        check(
            ended(Then::Finish),
            "the proxy closed the connection before it had answered CONNECT",
        );
        check(
            ended(Then::Reset),
            "the connection broke before the proxy had answered CONNECT: ",
        );
    });
}

/// The fetches before the run.
fn fetch(server: SimServer) -> Result<Findings, LoadError> {
    let plan = Plan::try_from(through(true, 1, 1)).expect("a plan that can run");
    let addresses = [vec![([127, 0, 0, 1], 3128).into()]];
    establish(
        &mut Sim::new(server, &settings(4)),
        &plan,
        &addresses,
        &mut || false,
    )
}

#[test]
fn a_reference_comes_through_a_tunnel() {
    let server = proxy(Some(Reply::new(OPEN))).in_segments(3, model::Span::ZERO);
    let found = fetch(server).expect("it is there");
    assert_eq!(*found.expectations[0].content, *b"hello");
    assert_eq!(found.tally.connections.established, 2);
    assert_eq!(
        found.notes,
        [
            "the proxy http://127.0.0.1:3128 makes a tunnel to the server for each connection \
             (CONNECT): times are those of both together"
        ]
    );
}

#[test]
fn without_a_tunnel_there_is_nothing_to_measure() {
    let check = |answer: Option<Reply>, expected: &str| {
        let error = fetch(proxy(answer)).expect_err("there is no tunnel");
        let told = error.to_string();
        assert!(matches!(error, LoadError::Unreachable { .. }), "{told}");
        assert!(told.contains(expected), "{told}");
        assert!(told.contains("does it let CONNECT through"), "{told}");
    };
    check(
        Some(Reply::new("HTTP/1.1 403 Forbidden\r\n\r\n")),
        "the proxy answered CONNECT with status 403",
    );
    check(
        Some(Reply::new("").then(Then::Finish)),
        "the proxy closed the connection before it had answered CONNECT",
    );
    check(None, "the proxy did not answer CONNECT within 5");
}

#[test]
fn without_a_tunnel_requests_name_the_whole_url() {
    where_kernels_never_fail(|| {
        let server = SimServer::new(Service::Constant(ms(1)), |request| {
            assert!(request.starts_with(b"GET http://sim/ HTTP/1.1\r\nHost: sim\r\n"));
            Some(Reply::new(HELLO))
        });
        let record = simulate(through(false, 2, 10), server);
        assert_eq!(record.total.outcomes[Outcome::Ok], 10);
    });
}

/// Where what is said to the proxy cannot be sent, there is no tunnel, and nobody waits for one:
/// each exchange ends, and each connection.
#[test]
fn a_tunnel_that_cannot_be_asked_for_is_given_up() {
    for seed in 0..50 {
        let kernel = Kernel {
            seed,
            failed_sends_per_1000: 300,
            ..Kernel::default()
        };
        let file = through(true, 2, 50);
        let findings = at_the_proxy(&file);
        let plan = Plan::try_from(file).expect("a plan that can run");
        let room = settings(plan.connections_of(0));
        let sim = Sim::new(proxy(Some(Reply::new(OPEN))), &room).with_kernel(kernel);
        let start = sim.now();
        let told = (Arc::default(), Arc::default());
        let record =
            audited(|| load::worker_of(&plan, &findings, 0, sim, told.0, told.1).run(start));
        assert_eq!(record.total.outcomes.total(), 50, "seed {seed}");
    }
}
