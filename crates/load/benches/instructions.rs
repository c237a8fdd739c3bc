//! What an exchange costs in instructions, without a kernel: counted, not timed.
//!
//! `--scenario NAME --count N` runs so many exchanges and ends; who counts runs it twice, under
//! Valgrind, and divides the difference. Without arguments it prints the scenarios.

#![allow(clippy::print_stdout, reason = "a program that prints its scenarios")]

mod http3;

use std::hint::black_box;
use std::sync::Arc;

use load::reference::Findings;
use model::fixture;
use model::plan::{Arrivals, Plan, PlanFile, Protocol, Stop};
use model::record::{Record, Tally};
use model::request::RequestFile;
use model::units::{Instant, Rate, Span};
use sys::reactor::sim::{Reply, Service, Sim, SimServer};
use sys::reactor::{Reactor as _, Settings};
use wire::client::{Broken, Client as _, Sink, StreamId, Transmit};
use wire::h1::client::{Connection, HEAD_BYTES, Shared};
use wire::message::{Head, Request, RequestId, RequestParts};

/// A scenario: its name, and what it does so many times.
type Scenario = (&'static str, fn(u64));

const SCENARIOS: &[Scenario] = &[
    ("client, the same head as before", |count| {
        client(count, &mut [answer("0123456789abcdef", b"1234567")]);
    }),
    ("client, another head each time", |count| {
        let answers = ["0123456789abcdef", "fedcba9876543210"];
        client(count, &mut answers.map(|tag| answer(tag, b"1234567")));
    }),
    ("client, Date, Age and X-Request-Id change", |count| {
        client(count, &mut [0, 1].map(changing));
    }),
    ("client, ten chunks of 1,000 bytes", |count| {
        let chunk = [b"3e8\r\n".as_slice(), &[b'x'; 1_000], b"\r\n"].concat();
        let head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let answer = [head.as_slice(), &chunk.repeat(10), b"0\r\n\r\n"].concat();
        client(count, &mut [answer]);
    }),
    ("client, 100,000 bytes in pieces of 16 KiB", |count| {
        client(count, &mut [answer("0123456789abcdef", &[b'x'; 100_000])]);
    }),
    ("worker and simulated network, closed loop", |count| {
        worker(count, Arrivals::Closed, 64);
    }),
    ("worker and simulated network, open loop", |count| {
        let rate_per_1000_s = Rate::per_second(10_000);
        worker(count, Arrivals::Poisson { rate_per_1000_s }, 64);
    }),
    ("worker with 1,000 URLs, closed loop", |count| {
        urls(count, 1_000);
    }),
    ("worker with 15,000 connections, closed loop", |count| {
        worker(count, Arrivals::Closed, 15_000);
    }),
    ("the same, closed loop, HTTP/2, 1 stream", |count| {
        http2_worker(count, 1);
    }),
    ("the same, closed loop, HTTP/2, 10 streams", |count| {
        http2_worker(count, 10);
    }),
    ("both sides of HTTP/3, 1 stream", |count| {
        http3::run(count, 1, answer("0123456789abcdef", &[b'x'; 600]));
    }),
    ("both sides of HTTP/3, 10 streams", |count| {
        http3::run(count, 10, answer("0123456789abcdef", &[b'x'; 600]));
    }),
    ("the end of an interval, 64 connections", |count| {
        intervals(count, 64);
    }),
    ("the end of an interval, 15,000 connections", |count| {
        intervals(count, 15_000);
    }),
];

/// The answer of a usual server.
fn answer(tag: &str, content: &[u8]) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: test\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\
         Content-Type: text/plain\r\nContent-Length: {}\r\n\
         Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\nConnection: keep-alive\r\n\
         ETag: \"{tag}\"\r\nAccept-Ranges: bytes\r\n\r\n",
        content.len()
    );
    [head.as_bytes(), content].concat()
}

/// The same with fields whose values change from answer to answer.
fn changing(number: u32) -> Vec<u8> {
    let head = format!(
        "HTTP/1.1 200 OK\r\nServer: test\r\nDate: Thu, 01 Jan 1970 00:00:0{number} GMT\r\n\
         Content-Type: text/plain\r\nContent-Length: 7\r\nAge: 100{number}\r\n\
         Last-Modified: Thu, 01 Jan 1970 00:00:00 GMT\r\nConnection: keep-alive\r\n\
         X-Request-Id: 0123456789abcde{number}\r\nAccept-Ranges: bytes\r\n\r\n1234567"
    );
    head.into_bytes()
}

fn main() {
    let words: Vec<String> = std::env::args().filter(|word| word != "--bench").collect();
    let [_, _, name, _, count] = words.as_slice() else {
        for (name, _) in SCENARIOS {
            println!("{name}");
        }
        return;
    };
    let (_, run) = SCENARIOS
        .iter()
        .find(|(known, _)| known == name)
        .expect("one of those printed without arguments");
    run(count.parse().expect("--count takes a number"));
}

/// Looks at nothing, but is told everything.
struct Blind;

impl Sink for Blind {
    fn first_byte(&mut self, _: StreamId) {}

    fn head(&mut self, _: StreamId, head: &Head<'_>) {
        black_box(head.status);
    }

    fn content(&mut self, _: StreamId, bytes: &[u8]) {
        black_box(bytes);
    }

    fn skipped(&mut self, _: StreamId, _: u64) {}

    fn complete(&mut self, stream: StreamId) {
        black_box(stream);
    }

    fn broken(&mut self, _: StreamId, how: Broken) {
        unreachable!("{how:?}")
    }
}

/// Asks on one connection; what is received is these in turn, in pieces.
fn client(count: u64, answers: &mut [Vec<u8>]) {
    let request = Request::compile(
        RequestId(0),
        &RequestParts {
            method: "GET",
            target: "/",
            authority: "a",
            fields: &[],
            content: None,
        },
        false,
    );
    let mut shared = Shared::new(1, 1, HEAD_BYTES);
    let mut connection = Connection::new(&mut shared);
    let (now, mut out) = (Instant::ZERO, Vec::new());
    for _ in 0..count / answers.len() as u64 {
        for answer in &mut *answers {
            connection.begin(&request).expect("nothing is in flight");
            while connection.poll_transmit(now, &mut out) != Transmit::Nothing {}
            for piece in answer.chunks_mut(16 * 1024) {
                connection
                    .handle_bytes(&mut shared, now, piece, &mut Blind)
                    .expect("right answers");
            }
        }
    }
}

/// The connections ask the same again and again.
fn plan(count: u64, arrivals: Arrivals, connections: u32) -> PlanFile {
    PlanFile {
        arrivals,
        stop: Stop::Count(count),
        connections,
        ..fixture::plan("http://sim/", &[([127, 0, 0, 1], 80).into()])
    }
}

fn findings(plan: &PlanFile) -> Findings {
    let right = load::expectation::Expectation {
        status: Some(200),
        length: Some(7),
        content: (*b"1234567").into(),
        no_error: false,
        coding: None,
        plain: None,
    };
    Findings {
        expectations: vec![right; plan.requests.len()],
        references: vec![None; plan.requests.len()],
        targets: vec![plan.addresses.clone()],
        tally: Tally::default(),
        notes: Vec::new(),
    }
}

fn worker(count: u64, arrivals: Arrivals, connections: u32) {
    let record = run(plan(count, arrivals, connections));
    assert_eq!(record.total.outcomes.total(), count, "all were made");
}

/// Connections that ask for so many URLs.
fn urls(count: u64, urls: u64) {
    let request = |number| RequestFile::get(format!("http://sim/item/{number}"));
    let record = run(PlanFile {
        requests: (0..urls).map(request).collect(),
        ..plan(count, Arrivals::Closed, 64)
    });
    assert_eq!(record.total.outcomes.total(), count, "all were made");
}

/// The whole worker, with connections to a simulated server that takes a millisecond.
fn run(file: PlanFile) -> Record {
    let findings = findings(&file);
    let plan = Plan::try_from(file).expect("a plan that can run");
    let reply = Reply::new(answer("0123456789abcdef", b"1234567"));
    let server = SimServer::new(Service::Constant(Span::from_ms(1)), move |_| {
        Some(reply.clone())
    });
    let sim = Sim::new(server, &load::settings(plan.connections_of(0)));
    let start = sim.now();
    let worker = load::worker_of(&plan, &findings, 0, sim, Arc::default(), Arc::default());
    worker.run(start)
}

/// So many intervals end while all connections but one stand idle.
fn intervals(count: u64, connections: u32) {
    let rate_per_1000_s = Rate::per_second(1);
    let interval = Span::from_ms(1);
    let file = PlanFile {
        stop: Stop::DurationNs(interval * count),
        interval,
        ..plan(0, Arrivals::Fixed { rate_per_1000_s }, connections)
    };
    let record = run(file);
    assert_eq!(record.total.connections.broken, 0, "none was lost");
}

/// The same over HTTP/2, with so many streams on each connection.
fn http2_worker(count: u64, streams: u32) {
    const HEADERS: u8 = 1;
    let file = PlanFile {
        protocol: Protocol::Http2,
        streams,
        ..plan(count, Arrivals::Closed, 64)
    };
    let findings = findings(&file);
    let plan = Plan::try_from(file).expect("a plan that can run");
    let answer = move |bytes: &[u8]| match bytes {
        [b'P', b'R', b'I', ..] => Some(Reply::new([0, 0, 0, 4, 0, 0, 0, 0, 0])),
        [_, _, _, HEADERS, _, stream @ ..] => {
            let stream = stream.first_chunk::<4>()?;
            Some(Reply::new(http2_answer(*stream)))
        }
        _ => None,
    };
    let server = SimServer::new(Service::Constant(Span::from_ms(1)), answer);
    let server = server.with_lengths(|bytes| match bytes {
        [b'P', b'R', b'I', ..] => Some(24),
        [a, b, c, _, _, _, _, _, _, ..] => Some(9 + u32::from_be_bytes([0, *a, *b, *c]) as usize),
        _ => None,
    });
    let settings = Settings {
        copies: 1_000,
        copy_bytes: 8_192,
        ..load::settings(plan.connections_of(0))
    };
    let sim = Sim::new(server, &settings);
    let start = sim.now();
    let told = (Arc::default(), Arc::default());
    let worker = load::http2_worker_of(&plan, &findings, 0, sim, told.0, told.1);
    let record = worker.run(start);
    assert_eq!(record.total.outcomes.total(), count, "all were made");
}

/// The answer of a usual server: its head without a table, then its content.
fn http2_answer(stream: [u8; 4]) -> Vec<u8> {
    const NAMES: [(u8, &[u8]); 7] = [
        (54, b"test"),
        (33, b"Thu, 01 Jan 1970 00:00:00 GMT"),
        (31, b"text/plain"),
        (28, b"7"),
        (44, b"Thu, 01 Jan 1970 00:00:00 GMT"),
        (34, b"\"0123456789abcdef\""),
        (18, b"bytes"),
    ];
    let length = |bytes: &[u8]| u8::try_from(bytes.len()).expect("a short head");
    let mut block = vec![0x88];
    for (name, value) in NAMES {
        // A name of the static table, and a value that enters no table (RFC 7541 §6.2.2).
        block.extend_from_slice(&[0x0f, name - 15, length(value)]);
        block.extend_from_slice(value);
    }
    let head = [&[0, 0, length(&block), 1, 4][..], &stream, &block].concat();
    [&head, &[0, 0, 7, 0, 1][..], &stream, b"1234567"].concat()
}
