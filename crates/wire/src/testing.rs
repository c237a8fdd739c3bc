//! What tests of several protocols have in common.

use model::Span;

use crate::h1::request::{Limits, RequestHead};
use crate::h1::server::ServerLimits;
use crate::service::{Handler, Part, Persistence, Repeat};

/// How long `/big` and `/file` are.
pub(crate) const BIG: usize = 200_000;

pub(crate) const LIMITS: ServerLimits = ServerLimits {
    head: Limits {
        request_line: 1_000,
        head: 4_000,
    },
    body: 100_000,
    requests: 10_000,
    head_time: Span::from_s(10),
    body_time: Span::from_s(20),
    idle_time: Span::from_s(30),
};

/// Answers by path: `/file` comes from a file, `/endless` ends with the connection, `/kept` is
/// kept, `/short` and `/break` are not what their heads promise.
#[derive(Debug, Default)]
pub(crate) struct Site {
    /// Methods and targets; not of what was kept.
    pub(crate) asked: Vec<String>,
}

impl Handler for Site {
    type File = ();
    type Kept = &'static str;

    fn repeat(&mut self, bytes: &[u8]) -> Option<Repeat<(), &'static str>> {
        if !bytes.starts_with(b"GET /kept HTTP/") {
            return None;
        }
        let end = memchr::memmem::find(bytes, b"\r\n\r\n")?;
        Some(Repeat {
            request_length: end + 4,
            kept: "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nkept",
            rest: None,
        })
    }

    fn copy(&mut self, kept: &&'static str, out: &mut Vec<u8>) {
        out.extend_from_slice(kept.as_bytes());
    }

    fn read(&mut self, (): &(), _offset: u64, length: usize, out: &mut Vec<u8>) -> bool {
        out.resize(out.len() + length, b'f');
        true
    }

    fn wants_body(&mut self, _: &RequestHead<'_>) -> bool {
        true
    }

    fn answer(
        &mut self,
        request: &RequestHead<'_>,
        _: Persistence,
        out: &mut Vec<u8>,
    ) -> Vec<Part<()>> {
        self.asked
            .push(format!("{} {}", request.method, request.target));
        let (length, parts) = match request.target {
            "/big" => (BIG, vec![Part::Bytes(vec![b'f'; BIG])]),
            "/break" => (9, vec![Part::Close]),
            "/endless" => {
                out.extend_from_slice(b"HTTP/1.1 200 OK\r\n\r\nuntil the end");
                return vec![Part::Close];
            }
            "/file" => {
                let file = Part::File {
                    file: (),
                    offset: 0,
                    length: BIG as u64,
                };
                (BIG, vec![file])
            }
            "/short" => (9, vec![Part::Bytes(b"short".to_vec())]),
            "/slow" => {
                let slow = Part::Bytes(b"slow".to_vec());
                (4, vec![Part::Pause(Span::from_ms(700)), slow])
            }
            "/stall" => (9, vec![Part::Stall]),
            _ => (5, Vec::new()),
        };
        let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n");
        out.extend_from_slice(head.as_bytes());
        if parts.is_empty() {
            out.extend_from_slice(b"hello");
        }
        parts
    }

    fn reject(&mut self, status: u16, _: &[u8], _: &str, out: &mut Vec<u8>) {
        out.extend_from_slice(format!("HTTP/1.1 {status} No\r\n\r\n").as_bytes());
    }
}
