mod certificates;
mod early;
mod exchanges;
mod tickets;

use std::sync::Arc;

use model::tls::{Negotiated, TlsGroup, TlsSuite, TlsVersion};
use model::{Instant, Random};

use self::certificates::Authority;
use super::*;
use crate::client::{Broken, Client, End, ProtocolError, Sink, StreamId, Transmit as Sent};
use crate::h1::client::{Connection, HEAD_BYTES, Shared as H1};
use crate::h1::server::Server;
use crate::message::{Head, Request, RequestId, RequestParts};
use crate::service::{Service, Transmit};
use crate::testing::{BIG, LIMITS, Site};

const NOW: Instant = Instant::ZERO;
/// What the client was told, slices of content joined.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Told {
    Head(u16),
    Content(Vec<u8>),
    Complete,
    Broken(Broken),
}

#[derive(Default)]
struct Log(Vec<Told>);

impl Sink for Log {
    fn first_byte(&mut self, _: StreamId) {}

    fn head(&mut self, _: StreamId, head: &Head<'_>) {
        self.0.push(Told::Head(head.status));
    }

    fn content(&mut self, _: StreamId, bytes: &[u8]) {
        if let Some(Told::Content(content)) = self.0.last_mut() {
            content.extend_from_slice(bytes);
        } else {
            self.0.push(Told::Content(bytes.to_vec()));
        }
    }

    fn skipped(&mut self, _: StreamId, _: u64) {}

    fn complete(&mut self, _: StreamId) {
        self.0.push(Told::Complete);
    }

    fn broken(&mut self, _: StreamId, how: Broken) {
        self.0.push(Told::Broken(how));
    }
}

fn request(id: u16, method: &str, target: &str, content: Option<&[u8]>) -> Request {
    let parts = RequestParts {
        method,
        content,
        ..parts(target)
    };
    Request::compile(RequestId(id), &parts, false)
}

/// What gets `target`.
const fn parts(target: &str) -> RequestParts<'_> {
    RequestParts {
        method: "GET",
        target,
        authority: "a",
        fields: &[],
        content: None,
    }
}

/// What a client demands by default.
fn demands(authority: &Authority) -> Demands<'static> {
    Demands {
        name: "site.test",
        roots: Some(vec![authority.root()]),
        identities: Vec::new(),
        versions: &[],
        suites: &[],
        groups: &[],
        resumes: true,
        mix: None,
    }
}

type Secure = Tls<Connection>;
type Serving = TlsServer<Server<(), &'static str>>;

/// Both sides of connections between one client and one server, and what passed.
struct Pair {
    shared: Shared<Connection>,
    acceptor: Acceptor,
    requests: Vec<Request>,
    site: Site,
    /// In turn, how many bytes go at once.
    cuts: Vec<usize>,
}

impl Pair {
    fn new(demands: Demands<'_>, identity: Identity, requests: Vec<Request>) -> Self {
        let connector = Connector::new(demands).unwrap();
        let inner = H1::new(1, requests.len(), HEAD_BYTES);
        Self {
            shared: connector.shared(inner, requests.iter(), 1_000, Random::new(7)),
            acceptor: Acceptor::new(identity).unwrap(),
            requests,
            site: Site::default(),
            cuts: vec![usize::MAX],
        }
    }

    fn server(&self) -> Serving {
        self.acceptor.accept(Server::new(NOW, LIMITS))
    }

    /// One connection: all requests, one after the other, until nothing moves.
    fn connect(&mut self) -> (Secure, Log, Result<(), ProtocolError>) {
        let mut client = Secure::new(&mut self.shared);
        let mut server = self.server();
        let mut log = Log::default();
        let mut next = 0;
        let mut cuts = self.cuts.clone().into_iter().cycle();
        loop {
            if next < self.requests.len() && client.free() > 0 {
                client.begin(&self.requests[next]).unwrap();
                next += 1;
            }
            let up = sent_by(&mut client);
            let is_quiet = up.is_empty();
            for piece in pieces(&up, &mut cuts) {
                server.handle_bytes(NOW, &piece, &mut self.site);
            }
            let (down, closes) = answered_by(&mut server, &mut self.site);
            for mut piece in pieces(&down, &mut cuts) {
                let told = client.handle_bytes(&mut self.shared, NOW, &mut piece, &mut log);
                if told.is_err() {
                    // An alert may wait.
                    server.handle_bytes(NOW, &sent_by(&mut client), &mut self.site);
                    return (client, log, told);
                }
            }
            if closes {
                client.handle_end(&mut self.shared, NOW, End::Finished, &mut log);
                return (client, log, Ok(()));
            }
            if is_quiet && down.is_empty() {
                return (client, log, Ok(()));
            }
        }
    }

    /// What was negotiated on one more connection.
    fn negotiate(&mut self) -> Negotiated {
        let (client, _, result) = self.connect();
        result.unwrap();
        client.negotiated().unwrap()
    }

    /// Why TLS failed.
    fn failure(&mut self) -> TlsError {
        match self.connect().2 {
            Err(ProtocolError::Tls(error)) => error,
            other => panic!("{other:?}"),
        }
    }
}

fn pieces(bytes: &[u8], cuts: &mut impl Iterator<Item = usize>) -> Vec<Vec<u8>> {
    let mut rest = bytes;
    let mut all = Vec::new();
    while !rest.is_empty() {
        let length = cuts.next().unwrap().clamp(1, rest.len());
        let (piece, after) = rest.split_at(length);
        all.push(piece.to_vec());
        rest = after;
    }
    all
}

fn sent_by(client: &mut Secure) -> Vec<u8> {
    let mut all = Vec::new();
    while client.wants_transmit() {
        let mut out = Vec::new();
        match client.poll_transmit(NOW, &mut out) {
            Sent::Written { .. } => {
                assert!(out.len() <= 1_000, "{} bytes at once", out.len());
                all.append(&mut out);
            }
            other => panic!("{other:?}"),
        }
    }
    all
}

fn answered_by(server: &mut Serving, site: &mut Site) -> (Vec<u8>, bool) {
    let mut all = Vec::new();
    loop {
        let mut out = Vec::new();
        match server.poll_transmit(NOW, &mut out, site) {
            Transmit::Bytes => {
                assert!(out.len() <= 17_000, "{} bytes at once", out.len());
                all.append(&mut out);
            }
            Transmit::Nothing => return (all, false),
            Transmit::Close { .. } => return (all, true),
            other => panic!("{other:?}"),
        }
    }
}
