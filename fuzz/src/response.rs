//! The client side of HTTP/1.1.

use model::Instant;
use wire::client::{Broken, Client, End, ProtocolError, Sink, StreamId, Transmit};
use wire::h1::client::{Connection, Shared};
use wire::h1::known::KnownHeads;
use wire::h1::parse;
use wire::message::{Framing, Head, Request, RequestId, RequestParts};

use crate::pieces;

/// Heads longer than this are refused here, so that inputs need not be long.
const HEAD_BYTES: usize = 2048;

/// What a sink is told; neighbouring slices of content joined.
#[derive(Debug, Eq, PartialEq)]
pub(crate) enum Told {
    Head(u32, u16, Framing, bool),
    Content(u32, Vec<u8>),
    Complete(u32),
    Broken(u32, Broken),
}

#[derive(Default)]
pub(crate) struct Log(pub(crate) Vec<Told>);

impl Sink for Log {
    fn first_byte(&mut self, _: StreamId) {}

    fn head(&mut self, stream: StreamId, head: &Head<'_>) {
        assert!(head.fields().len() <= head.bytes.len());
        let told = Told::Head(stream.0, head.status, head.framing, head.keep_alive);
        self.0.push(told);
    }

    fn content(&mut self, stream: StreamId, bytes: &[u8]) {
        match self.0.last_mut() {
            Some(Told::Content(last, content)) if *last == stream.0 => {
                content.extend_from_slice(bytes);
            }
            _ => self.0.push(Told::Content(stream.0, bytes.to_vec())),
        }
    }

    fn skipped(&mut self, _: StreamId, _: u64) {}

    fn complete(&mut self, stream: StreamId) {
        self.0.push(Told::Complete(stream.0));
    }

    fn broken(&mut self, stream: StreamId, how: Broken) {
        self.0.push(Told::Broken(stream.0, how));
    }
}

/// The first byte chooses the cuts, the second how many requests are in flight and which of them
/// are HEAD. What is told is the same however the bytes come.
pub fn any_split(data: &[u8]) {
    let [seed, flight, bytes @ ..] = data else {
        return;
    };
    let (whole, how) = tell([bytes].into_iter(), *flight);
    let (cut, cut_how) = tell(pieces(bytes, *seed).into_iter(), *flight);
    // Bytes after the last answer are found when they come: before its end is told, or after.
    assert_eq!(how.is_ok(), cut_how.is_ok(), "{how:?} {cut_how:?}");
    if how.is_ok() {
        assert_eq!(whole, cut);
    }
}

fn tell<'a>(
    pieces: impl Iterator<Item = &'a [u8]>,
    flight: u8,
) -> (Vec<Told>, Result<(), ProtocolError>) {
    let requests = ["GET", "HEAD"].map(request);
    let mut shared = Shared::new(4, 1, HEAD_BYTES);
    let mut connection = Connection::new(&mut shared);
    let mut log = Log::default();
    let (now, mut out) = (Instant::from_ns(0), Vec::new());
    for exchange in 0..=(flight & 3) {
        let kind = usize::from(flight >> (2 + exchange) & 1);
        if connection.begin(&requests[kind]).is_ok() {
            while connection.poll_transmit(now, &mut out) != Transmit::Nothing {}
        }
    }
    for piece in pieces {
        let mut piece = piece.to_vec();
        if let Err(error) = connection.handle_bytes(&mut shared, now, &mut piece, &mut log) {
            return (log.0, Err(error));
        }
    }
    connection.handle_end(&mut shared, now, End::Finished, &mut log);
    (log.0, Ok(()))
}

fn request(method: &str) -> Request {
    let parts = RequestParts {
        method,
        target: "/",
        authority: "a",
        fields: &[],
        content: None,
    };
    Request::compile(RequestId(0), &parts, false)
}

/// Two heads, cut where the first byte says. What we accept httparse accepts with the same
/// meaning; and a head that is recognised by its likeness to the last one means what a fresh
/// parse of it means.
pub fn differential(data: &[u8]) {
    let Some((cut, bytes)) = data.split_first() else {
        return;
    };
    let (first, second) = bytes.split_at(usize::from(*cut).min(bytes.len()));
    let mut known = KnownHeads::new(1);
    for bytes in [first, second] {
        let recognised = known.recognise(0, bytes);
        let Ok(Some(end)) = parse::head_end(bytes, 0) else {
            assert!(recognised.is_none(), "recognised where there is no head");
            continue;
        };
        let head = &bytes[..end];
        let fresh = parse::response(head);
        against_httparse(head, fresh.as_ref().map(|head| head.status).ok());
        if let Some((same, length)) = recognised {
            assert_eq!(length, end);
            assert_eq!(Ok(same), fresh.as_ref().copied());
        }
        if let Ok(parsed) = fresh {
            known.remember(0, head, parsed);
        }
    }
}

fn against_httparse(head: &[u8], status: Option<u16>) {
    let mut fields = [httparse::EMPTY_HEADER; 4096];
    let mut response = httparse::Response::new(&mut fields);
    // Folded lines are obsolete, and servers still send them (RFC 9112 §5.2).
    let complete = httparse::ParserConfig::default()
        .allow_obsolete_multiline_headers_in_responses(true)
        .parse_response(&mut response, head)
        .is_ok_and(|status| status.is_complete());
    if let Some(status) = status {
        assert!(complete, "accepted what httparse refuses");
        assert_eq!(response.code, Some(status));
    }
}
