//! The server side of HTTP/1.1.

use model::{Instant, Span};
use wire::h1::request::{Limits, RequestHead};
use wire::h1::server::{Server, ServerLimits};
use wire::service::{Handler, Part, Persistence, Repeat, Service, Transmit};

use crate::pieces;

pub(crate) const LIMITS: ServerLimits = ServerLimits {
    head: Limits {
        request_line: 512,
        head: 2048,
    },
    body: 4096,
    requests: 100,
    head_time: Span::from_s(10),
    body_time: Span::from_s(10),
    idle_time: Span::from_s(10),
};

/// Answers with what it was asked, so that answers can be compared.
pub(crate) struct Echo;

impl Handler for Echo {
    type File = ();
    type Kept = ();

    fn repeat(&mut self, _: &[u8]) -> Option<Repeat<(), ()>> {
        None
    }

    fn copy(&mut self, (): &(), _: &mut Vec<u8>) {}

    fn wants_body(&mut self, request: &RequestHead<'_>) -> bool {
        request.method != "BREW"
    }

    fn answer(
        &mut self,
        request: &RequestHead<'_>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Vec<Part<()>> {
        let line = format!(
            "{} {} {:?} {} {persistence:?}\n",
            request.method,
            request.target,
            request.body,
            request.fields.len()
        );
        out.extend_from_slice(line.as_bytes());
        Vec::new()
    }

    fn reject(&mut self, status: u16, _: &[u8], _: &str, out: &mut Vec<u8>) {
        assert!((400..600).contains(&status), "{status} is no refusal");
        out.extend_from_slice(format!("{status}\n").as_bytes());
    }
}

/// The first byte chooses the cuts. The answers are the same however the requests come.
pub fn any_split(data: &[u8]) {
    let Some((seed, bytes)) = data.split_first() else {
        return;
    };
    let whole = serve([bytes].into_iter());
    let cut = serve(pieces(bytes, *seed).into_iter());
    assert_eq!(
        String::from_utf8_lossy(&whole),
        String::from_utf8_lossy(&cut)
    );
}

fn serve<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> Vec<u8> {
    let now = Instant::from_ns(0);
    let mut server = Server::new(now, LIMITS);
    let mut answers = Vec::new();
    for piece in pieces {
        server.handle_bytes(now, piece, &mut Echo);
        if drain(&mut server, now, &mut answers, &mut Echo) {
            return answers;
        }
    }
    server.handle_end();
    drain(&mut server, now, &mut answers, &mut Echo);
    answers
}

/// Takes all that is to be sent; whether the connection is to be closed.
pub(crate) fn drain(
    server: &mut impl Service<File = (), Kept = ()>,
    now: Instant,
    answers: &mut Vec<u8>,
    handler: &mut impl Handler<File = (), Kept = ()>,
) -> bool {
    let mut out = Vec::new();
    loop {
        match server.poll_transmit(now, &mut out, handler) {
            Transmit::Bytes => answers.append(&mut out),
            Transmit::Nothing | Transmit::Pause(_) => return false,
            Transmit::Close { .. } | Transmit::Reset => return true,
            Transmit::File { .. } | Transmit::Kept(()) => unreachable!("no answer has these"),
        }
    }
}
