//! The heads of answers: the same fields in the same order, so that what changes is where it was.

use wire::{Persistence, date};

/// How the server names itself.
const SERVER: &str = concat!("triathlon/", env!("CARGO_PKG_VERSION"));

/// The date as of a second, written once for all answers of that second.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Today {
    /// Seconds since 1970.
    pub(crate) second: u64,
    /// As the `Date` field says it.
    pub(crate) text: [u8; date::LENGTH],
}

impl Today {
    /// The date at `second`.
    pub(crate) fn at(second: u64) -> Self {
        Self {
            second,
            text: date::format(second),
        }
    }
}

/// Writes one head; [`HeadWriter::end`] completes it.
#[must_use]
pub(crate) struct HeadWriter<'a> {
    out: &'a mut Vec<u8>,
}

/// Where the date starts, counted from the start of the head.
pub(crate) const fn date_offset(status: u16) -> usize {
    "HTTP/1.1 200 \r\nDate: ".len() + reason(status).len()
}

impl<'a> HeadWriter<'a> {
    /// The status line, and the fields that every answer has.
    pub(crate) fn begin(out: &'a mut Vec<u8>, status: u16, today: &Today) -> Self {
        debug_assert!((100..1_000).contains(&status), "three digits: {status}");
        let start = out.len();
        out.extend_from_slice(b"HTTP/1.1 ");
        number(out, u64::from(status));
        out.push(b' ');
        out.extend_from_slice(reason(status).as_bytes());
        out.extend_from_slice(b"\r\nDate: ");
        debug_assert_eq!(out.len() - start, date_offset(status));
        out.extend_from_slice(&today.text);
        out.extend_from_slice(b"\r\nServer: ");
        out.extend_from_slice(SERVER.as_bytes());
        out.extend_from_slice(b"\r\n");
        Self { out }
    }

    /// A head whose status line stands already.
    pub(crate) fn resume(out: &'a mut Vec<u8>) -> Self {
        Self { out }
    }

    /// One more field.
    pub(crate) fn field(self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b": ");
        self.out.extend_from_slice(value.as_ref());
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// How long the content is.
    pub(crate) fn length(self, length: u64) -> Self {
        self.out.extend_from_slice(b"Content-Length: ");
        number(self.out, length);
        self.out.extend_from_slice(b"\r\n");
        self
    }

    /// What becomes of the connection, and the end of the head.
    pub(crate) fn end(self, persistence: Persistence) {
        self.out.extend_from_slice(match persistence {
            Persistence::Close => b"Connection: close\r\n\r\n".as_slice(),
            Persistence::KeepAlive => b"Connection: keep-alive\r\n\r\n",
            Persistence::Usual => b"\r\n",
        });
    }
}

/// Appends a number in decimal.
pub(crate) fn number(out: &mut Vec<u8>, mut value: u64) {
    let mut digits = [0; 20];
    let mut at = digits.len();
    loop {
        at -= 1;
        digits[at] = b'0' + u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
        if value == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}

/// What a status is called.
pub(crate) const fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        201 => "Created",
        202 => "Accepted",
        204 => "No Content",
        206 => "Partial Content",
        301 => "Moved Permanently",
        302 => "Found",
        303 => "See Other",
        304 => "Not Modified",
        307 => "Temporary Redirect",
        308 => "Permanent Redirect",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        409 => "Conflict",
        410 => "Gone",
        412 => "Precondition Failed",
        413 => "Content Too Large",
        414 => "URI Too Long",
        416 => "Range Not Satisfiable",
        417 => "Expectation Failed",
        418 => "I'm a teapot",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        501 => "Not Implemented",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        505 => "HTTP Version Not Supported",
        _ => "Unnamed",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_written() {
        let mut out = b"before".to_vec();
        HeadWriter::begin(&mut out, 416, &Today::at(784_111_777))
            .field("Content-Range", "bytes */7")
            .length(u64::MAX)
            .end(Persistence::Close);
        let text = format!(
            "beforeHTTP/1.1 416 Range Not Satisfiable\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\n\
             Server: {SERVER}\r\nContent-Range: bytes */7\r\n\
             Content-Length: 18446744073709551615\r\nConnection: close\r\n\r\n"
        );
        assert_eq!(String::from_utf8(out).unwrap(), text);
    }
}
