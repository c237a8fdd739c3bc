//! Both sides of HTTP/2, with HPACK in the heads: whatever comes behind a proper beginning.

use model::Instant;
use wire::client::{Client, End, ProtocolError, StreamId, Transmit};
use wire::h1::request::RequestHead;
use wire::h2::PREFACE;
use wire::h2::client::{Connection, Shared, encode};
use wire::h2::server::Server;
use wire::message::{Request, RequestId, RequestParts};
use wire::service::{Handler, Part, Persistence, Repeat, Service as _};

use crate::pieces;
use crate::request::{LIMITS, drain};
use crate::response::{Log, Told};

/// Heads longer than this are refused here, so that inputs need not be long.
const HEAD_BYTES: usize = 2048;
/// More than this a server never has to say to so few bytes.
const MOST: usize = 4 * 1024 * 1024;
/// Settings of nobody's own.
const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];

/// Answers with content that has to go in pieces where windows are small.
pub(crate) struct Site;

impl Handler for Site {
    type File = ();
    type Kept = ();

    fn repeat(&mut self, _: &[u8]) -> Option<Repeat<(), ()>> {
        None
    }

    fn copy(&mut self, (): &(), _: &mut Vec<u8>) {}

    fn wants_body(&mut self, _: &RequestHead<'_>) -> bool {
        true
    }

    fn answer(
        &mut self,
        request: &RequestHead<'_>,
        _: Persistence,
        out: &mut Vec<u8>,
    ) -> Vec<Part<()>> {
        let line = format!("HTTP/1.1 200 OK\r\nX-Asked: {}\r\n\r\n", request.method);
        out.extend_from_slice(line.as_bytes());
        vec![Part::Bytes(vec![b'x'; 900]), Part::Bytes(vec![b'y'; 90])]
    }

    fn reject(&mut self, status: u16, _: &[u8], _: &str, out: &mut Vec<u8>) {
        assert!((400..600).contains(&status), "{status} is no refusal");
        out.extend_from_slice(format!("HTTP/1.1 {status} No\r\n\r\n").as_bytes());
    }
}

/// The first byte chooses the cuts. Nothing makes the server panic, or say without end.
pub fn server(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first() else {
        return;
    };
    let now = Instant::from_ns(0);
    let mut server = Server::new(now, LIMITS);
    let mut said = Vec::new();
    let beginning = [PREFACE.as_slice(), &SETTINGS].concat();
    for piece in [beginning.as_slice()]
        .into_iter()
        .chain(pieces(bytes, *seed))
    {
        server.handle_bytes(now, piece, &mut Site);
        let is_over = drain(&mut server, now, &mut said, &mut Site);
        assert!(said.len() < MOST, "{} bytes", said.len());
        if is_over {
            return;
        }
    }
    server.handle_end();
    drain(&mut server, now, &mut said, &mut Site);
}

/// The first byte chooses the cuts, the second how many requests are in flight, whether the first
/// is cancelled once the server has greeted, and whether one more begins after that. What is told
/// is the same however the bytes come.
pub fn client(data: &[u8]) {
    let [seed, flight, bytes @ ..] = data else {
        return;
    };
    let (whole, how) = tell([bytes].into_iter(), *flight);
    let (cut, cut_how) = tell(pieces(bytes, *seed).into_iter(), *flight);
    assert_eq!(how.is_ok(), cut_how.is_ok(), "{how:?} {cut_how:?}");
    if how.is_ok() {
        assert_eq!(whole, cut);
    }
}

fn tell<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    flight: u8,
) -> (Vec<Told>, Result<(), ProtocolError>) {
    let parts = ["GET", "HEAD"].map(|method| RequestParts {
        method,
        target: "/",
        authority: "a",
        fields: &[],
        content: None,
    });
    let encoded = encode(&parts, false).into_iter().zip(&parts).zip(0..);
    let requests: Vec<Request> = encoded
        .map(|((encoded, parts), id)| {
            Request::compile(RequestId(id), parts, false).with_h2(encoded)
        })
        .collect();
    let mut shared = Shared::new(4, 4_096, HEAD_BYTES);
    let mut connection = Connection::new(&mut shared);
    let mut log = Log::default();
    let (now, mut out) = (Instant::from_ns(0), Vec::new());
    for exchange in 0..=(flight & 3) {
        let kind = usize::from(flight >> (2 + exchange) & 1);
        if connection.begin(&requests[kind]).is_ok() {
            send(&mut connection, now, &mut out);
        }
    }
    let mut greeting = SETTINGS.to_vec();
    let greeted = connection.handle_bytes(&mut shared, now, &mut greeting, &mut log);
    greeted.expect("settings of nobody's own");
    if flight & 0x40 != 0 {
        assert!(connection.cancel(StreamId(0)), "it is under way");
    }
    if flight & 0x80 != 0 {
        connection.begin(&requests[0]).expect("it has room");
    }
    send(&mut connection, now, &mut out);
    for piece in pieces {
        let mut piece = piece.to_vec();
        if let Err(error) = connection.handle_bytes(&mut shared, now, &mut piece, &mut log) {
            return (log.0, Err(error));
        }
        send(&mut connection, now, &mut out);
    }
    connection.handle_end(&mut shared, now, End::Finished, &mut log);
    (log.0, Ok(()))
}

/// Lets the connection say what it wants to say.
fn send(connection: &mut Connection, now: Instant, out: &mut Vec<u8>) {
    while connection.wants_transmit() {
        out.clear();
        if connection.poll_transmit(now, out) == Transmit::Nothing {
            return;
        }
    }
}
