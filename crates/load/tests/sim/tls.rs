//! HTTP/1.1 inside TLS: the client is the worker's own, the server wire's, the network simulated.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use load::settings;
use model::outcome::Outcome;
use model::plan::{Plan, PlanFile};
use model::record::Record;
use model::request::RequestFile;
use model::units::Instant;
use sys::reactor::Reactor as _;
use sys::reactor::sim::{Kernel, Reply, Service as Work, Sim, SimServer, Then};
use wire::h1::request::{Limits, RequestHead};
use wire::h1::server::{Server, ServerLimits};
use wire::service::{Handler, Part, Persistence, Repeat, Service as _, Transmit};
use wire::tls::pki_types::PrivateKeyDer;
use wire::tls::{Acceptor, Connector, Demands, Identity, TlsServer};

use crate::harness::{
    HELLO, all, at, audited, count, findings, kernel, ms, s, where_kernels_never_fail,
};

/// Answers hello to everyone.
struct Hello;

impl Handler for Hello {
    type File = ();
    type Kept = ();

    fn repeat(&mut self, _: &[u8]) -> Option<Repeat<(), ()>> {
        None
    }

    fn copy(&mut self, (): &(), _: &mut Vec<u8>) {}

    fn wants_body(&mut self, _: &RequestHead<'_>) -> bool {
        true
    }

    fn answer(&mut self, _: &RequestHead<'_>, _: Persistence, out: &mut Vec<u8>) -> Vec<Part<()>> {
        out.extend_from_slice(HELLO.as_bytes());
        Vec::new()
    }

    fn reject(&mut self, status: u16, _: &[u8], why: &str, _: &mut Vec<u8>) {
        panic!("{status}: {why}");
    }
}

const LIMITS: ServerLimits = ServerLimits {
    head: Limits {
        request_line: 10_000,
        head: 10_000,
    },
    body: 0,
    requests: u64::MAX,
    head_time: s(1_000),
    body_time: s(1_000),
    idle_time: s(1_000),
};

/// How long the records are that stand whole at the start of `bytes`.
fn records(bytes: &[u8]) -> Option<usize> {
    let mut end = 0;
    while let Some([_, _, _, high, low]) = bytes[end..].first_chunk() {
        let next = end + 5 + usize::from(u16::from_be_bytes([*high, *low]));
        if next > bytes.len() {
            break;
        }
        end = next;
    }
    (end > 0).then_some(end)
}

/// A server that has one connection at a time; and whoever trusts it.
fn server() -> (SimServer, Connector) {
    let made = rcgen::generate_simple_self_signed(vec!["sim".to_owned()]).expect("a certificate");
    let acceptor = Acceptor::new(Identity {
        chain: vec![made.cert.der().clone()],
        key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
    });
    let acceptor = acceptor.expect("its key is of a known kind");
    let connector = Connector::new(Demands {
        name: "sim",
        roots: Some(vec![made.cert.der().clone()]),
        identities: Vec::new(),
        versions: &[],
        suites: &[],
        groups: &[],
        resumes: true,
        mix: None,
    });
    let now = Instant::ZERO;
    let accept = move || -> TlsServer<Server<(), ()>> { acceptor.accept(Server::new(now, LIMITS)) };
    let mut connection = accept();
    let server = SimServer::new(Work::Constant(ms(1)), move |bytes| {
        // A handshake in clear is a client's first message.
        if bytes[0] == 22 {
            connection = accept();
        }
        connection.handle_bytes(now, bytes, &mut Hello);
        let mut said = Vec::new();
        loop {
            let mut out = Vec::new();
            match connection.poll_transmit(now, &mut out, &mut Hello) {
                Transmit::Bytes => said.append(&mut out),
                Transmit::Nothing => return (!said.is_empty()).then(|| Reply::new(said)),
                Transmit::Close { .. } => return Some(Reply::new(said).then(Then::Finish)),
                other => panic!("{other:?}"),
            }
        }
    });
    let connector = connector.expect("usual demands");
    (server.with_lengths(records), connector)
}

fn simulate(kernel: Kernel, file: PlanFile, (server, connector): (SimServer, Connector)) -> Record {
    let findings = findings(&file);
    let plan = Plan::try_from(file).expect("a plan that can run");
    let sim = Sim::new(server, &settings(plan.connections_of(0))).with_kernel(kernel);
    let start = sim.now();
    let told = (Arc::default(), Arc::default());
    let connectors = [connector];
    audited(|| {
        load::tls_worker_of(&connectors, &plan, &findings, 0, sim, told.0, told.1).run(start)
    })
}

/// So many exchanges on one connection, `pipeline` at once, of requests with so long a path.
fn plan(exchanges: u64, pipeline: u32, path: usize) -> PlanFile {
    let url = format!("https://sim/{}", "x".repeat(path));
    PlanFile {
        requests: vec![RequestFile::get(url)],
        pipeline,
        ..count(1, exchanges)
    }
}

/// Those that begin together go out together, as far as they find room in one send.
#[test]
fn requests_that_begin_together_are_sent_together() {
    where_kernels_never_fail(|| {
        for (path, is_together) in [(0, true), (900, true), (2_000, false), (3_900, false)] {
            let both = server();
            let seen = both.0.counts();
            let record = simulate(kernel(), plan(400, 4, path), both);
            let examples = &record.examples;
            assert_eq!(record.total.outcomes[Outcome::Ok], 400, "{examples:?}");
            assert_eq!(seen.connections.load(Ordering::Relaxed), 1);
            // One begins with the end of the handshake; the other three stay together.
            let arrivals = seen.arrivals.load(Ordering::Relaxed);
            assert_eq!(arrivals < 250, is_together, "{arrivals} of {path}");
        }
    });
}

/// No record is lost or misplaced where the kernel is late or takes sends in parts: the server
/// would not understand it. Where sends fail, each exchange still ends once.
#[test]
fn what_is_sent_together_is_understood_on_any_kernel() {
    for seed in 0..100 {
        let pipeline = 2 + u32::try_from(seed % 15).expect("a small number");
        let unwilling = Kernel::mixture(seed);
        let slow = Kernel {
            failed_sends_per_1000: 0,
            failed_connects_per_1000: 0,
            ..unwilling
        };
        let both = server();
        let seen = both.0.counts();
        let record = simulate(slow, plan(300, pipeline, 100), both);
        let examples = &record.examples;
        let right = record.total.outcomes[Outcome::Ok];
        assert_eq!(right, 300, "seed {seed}: {examples:?}");
        let connections = seen.connections.load(Ordering::Relaxed);
        assert_eq!(connections, 1, "seed {seed}");
        // What is true on every kernel is looked at there.
        simulate(unwilling, plan(300, pipeline, 100), server());
    }
}

/// A send that fails within the handshake is the end of its connection, and of the exchange that
/// waits for it: each is counted.
#[test]
fn a_handshake_whose_sends_fail_ends_its_connection() {
    for seed in 0..50 {
        let kernel = Kernel {
            seed,
            failed_sends_per_1000: 300,
            ..Kernel::default()
        };
        let record = simulate(kernel, plan(50, 2, 10), server());
        assert!(all(&record).connections.broken > 0, "seed {seed}");
        assert_eq!(record.total.outcomes.total(), 50, "seed {seed}");
    }
}

/// A server that begins its handshakes late is waited for as long as the limit of connects says,
/// however little time an answer may take.
#[test]
fn handshakes_have_a_limit_of_their_own() {
    where_kernels_never_fail(|| {
        for (connect_timeout, right) in [(None, false), (Some(ms(100)), false), (Some(s(1)), true)]
        {
            let (server, connector) = server();
            let frozen = server.frozen(at(s(0)), ms(300));
            let file = PlanFile {
                timeout: ms(100),
                connect_timeout,
                ..plan(10, 1, 10)
            };
            let record = simulate(kernel(), file, (frozen, connector));
            let outcomes = record.total.outcomes;
            assert_eq!(outcomes.total(), 10, "{outcomes:?}");
            assert_eq!(outcomes[Outcome::Ok] == 10, right, "{outcomes:?}");
            let told = record.examples.first().map(|example| example.text.as_str());
            let words = "the TLS handshake was not over within 100 ms";
            assert_eq!(
                told.is_some_and(|told| told.contains(words)),
                !right,
                "{told:?}"
            );
        }
    });
}
