//! Both sides of HTTP/3 on one connection, and nothing between them.

use model::random::Random;
use model::units::{Instant, Span};
use wire::client::{Client as _, Sink, StreamId, Transmit};
use wire::h1::request::{Limits, RequestHead};
use wire::h1::server::ServerLimits;
use wire::h3::client::{Connection, Shared, encode};
use wire::h3::server::Server;
use wire::message::{Head, Request, RequestId, RequestParts};
use wire::tls::pki_types::PrivateKeyDer;
use wire::tls::{Acceptor, Connector, Demands, Identity};
use wire::{Broken, Handler, Part, Persistence, Repeat};

/// What a network takes.
const WAY: Span = Span::from_us(50);

/// Answers every request with this, as one that was answered before.
struct Repeats {
    answer: Vec<u8>,
    spare: Vec<u8>,
}

impl Handler for Repeats {
    type File = ();
    type Kept = ();

    fn repeat(&mut self, bytes: &[u8]) -> Option<Repeat<(), ()>> {
        Some(Repeat {
            request_length: bytes.len(),
            kept: (),
            rest: None,
        })
    }

    fn copy(&mut self, (): &(), out: &mut Vec<u8>) {
        out.extend_from_slice(&self.answer);
    }

    fn lend(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.spare)
    }

    fn take_back(&mut self, mut buffer: Vec<u8>) {
        buffer.clear();
        self.spare = buffer;
    }

    fn wants_body(&mut self, _: &RequestHead<'_>) -> bool {
        false
    }

    fn answer(&mut self, _: &RequestHead<'_>, _: Persistence, _: &mut Vec<u8>) -> Vec<Part<()>> {
        Vec::new()
    }

    fn reject(&mut self, status: u16, _: &[u8], _: &str, _: &mut Vec<u8>) {
        unreachable!("{status}")
    }
}

/// Counts answers.
struct Ended(u64);

impl Sink for Ended {
    fn first_byte(&mut self, _: StreamId) {}

    fn head(&mut self, _: StreamId, _: &Head<'_>) {}

    fn content(&mut self, _: StreamId, _: &[u8]) {}

    fn skipped(&mut self, _: StreamId, _: u64) {}

    fn complete(&mut self, _: StreamId) {
        self.0 += 1;
    }

    fn broken(&mut self, _: StreamId, how: Broken) {
        unreachable!("{how:?}")
    }
}

/// So many exchanges, with so many `streams` at once.
pub(crate) fn run(count: u64, streams: u32, answer: Vec<u8>) {
    let spare = Vec::new();
    let mut site = Repeats { answer, spare };
    let (mut shared, mut server) = sides(streams);
    let mut client = Connection::new(&mut shared);
    let request = request();
    let (mut now, mut begun, mut ended) = (Instant::from_ns(1), 0, Ended(0));
    let (from, mut out) = ("[::1]:9".parse().expect("an address"), Vec::new());
    while ended.0 < count {
        while begun < count && client.free() > 0 {
            client.begin(&request).expect("there is room");
            begun += 1;
        }
        now += WAY;
        while client.wants_transmit() {
            out.clear();
            if client.poll_transmit(now, &mut out) == Transmit::Nothing {
                break;
            }
            for datagram in out.chunks(client.segment()) {
                server.handle_datagram(now, from, None, client.mark(), datagram, &mut site);
            }
        }
        server.handle_timeout(now, &mut site);
        loop {
            out.clear();
            let Some(way) = server.poll_transmit(now, &mut out) else {
                break;
            };
            for datagram in out.chunks_mut(way.segment) {
                client.hear_mark(way.mark);
                let taken = client.handle_bytes(&mut shared, now, datagram, &mut ended);
                taken.expect("right answers");
            }
        }
        if client.poll_timeout().is_some_and(|at| at <= now) {
            client.handle_timeout(now, &mut ended);
        }
    }
}

fn sides(streams: u32) -> (Shared, Server<()>) {
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let made = made.expect("a certificate");
    let root = made.cert.der().to_vec();
    let connector = Connector::new(Demands {
        name: "localhost",
        roots: Some(vec![root.into()]),
        identities: Vec::new(),
        versions: &[],
        suites: &[],
        groups: &[],
        resumes: false,
        mix: None,
    });
    let connector = connector.expect("TLS as it is by default");
    let acceptor = Acceptor::new(Identity {
        chain: vec![made.cert.der().clone()],
        key: PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into()),
    });
    let acceptor = acceptor.expect("its own certificate");
    let limits = ServerLimits {
        head: Limits {
            request_line: 8_192,
            head: 16_384,
        },
        body: 0,
        requests: u64::MAX,
        head_time: Span::from_s(10),
        body_time: Span::from_s(10),
        idle_time: Span::from_s(30),
    };
    let shared = Shared::new(&connector, streams, 16_384, Random::stream(1, 1));
    let server = Server::new(&acceptor, limits, 1);
    let (shared, server) = (shared.expect("QUIC"), server.expect("QUIC"));
    (shared, server)
}

fn request() -> Request {
    let parts = RequestParts {
        method: "GET",
        target: "/",
        authority: "localhost",
        fields: &[],
        content: None,
    };
    Request::compile(RequestId(0), &parts, false).with_h3(encode(&parts))
}
