//! The head of a request, as a server must read it (RFC 9112 §3, §5, §6).
//!
//! Strict wherever two readers could disagree about where a request ends, because a disagreement is
//! how requests are smuggled past the other reader: a bare CR or LF, a folded line, two lengths, a
//! length beside a coding, a coding in HTTP/1.0, a missing, empty or second `Host` are refused,
//! never mended.
//!
//! Finding the end of a head and reading it are two steps, so that a head that arrives byte by
//! byte is looked at once, not once per byte.
//!
//! Cost: one search for line ends, one pass of `httparse`, one look at each field name.

use std::mem::MaybeUninit;

use super::body::is_token;
use super::host::is_host;
use crate::message::Version;

/// How large a head may be before it is refused.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// The request line, in bytes: 414 beyond it.
    pub request_line: usize,
    /// The whole head, in bytes: 431 beyond it.
    pub head: usize,
}

/// Room for fields: 431 beyond them.
pub const FIELDS_LIMIT: usize = 100;

impl Default for Limits {
    /// What nginx and Apache allow, about.
    fn default() -> Self {
        Self {
            request_line: 8 * 1024,
            head: 32 * 1024,
        }
    }
}

/// Why a request is refused before anyone looks at what it asks.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Rejection {
    /// 400.
    #[error("malformed request: {0}")]
    Bad(&'static str),
    /// 417: an expectation other than `100-continue`.
    #[error("unknown expectation")]
    Expectation,
    /// 431.
    #[error("the request head is too large")]
    HeadTooLarge,
    /// 501: a transfer coding other than chunked.
    #[error("unknown transfer coding")]
    TransferCoding,
    /// 414.
    #[error("the request line is too long")]
    TargetTooLong,
    /// 505.
    #[error("not a version of HTTP/1")]
    Version,
}

impl Rejection {
    /// The status that says so.
    pub const fn status(self) -> u16 {
        match self {
            Self::Bad(_) => 400,
            Self::Expectation => 417,
            Self::HeadTooLarge => 431,
            Self::TransferCoding => 501,
            Self::TargetTooLong => 414,
            Self::Version => 505,
        }
    }
}

/// How the end of a request's body is found (RFC 9112 §6.3).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum RequestBody {
    /// By the chunked coding.
    Chunked,
    /// By its length, which is zero where there is none.
    Length(u64),
}

/// The head of a request: valid as HTTP, and nothing said yet about what it asks.
#[derive(Clone, Copy, Debug)]
pub struct RequestHead<'a> {
    /// The whole head, as it came.
    pub bytes: &'a [u8],
    /// As sent; methods are case-sensitive.
    pub method: &'a str,
    /// As sent, undecoded.
    pub target: &'a str,
    /// As sent.
    pub version: Version,
    /// All fields, in order.
    pub fields: &'a [httparse::Header<'a>],
    /// Where the body ends.
    pub body: RequestBody,
    /// Whether the connection may carry another request.
    pub keep_alive: bool,
    /// Whether the client waits for a 100 before it sends the body.
    pub expects_continue: bool,
}

impl<'a> RequestHead<'a> {
    /// The value of the first field of that name, without regard to case.
    pub fn field(&self, name: &str) -> Option<&'a [u8]> {
        self.fields
            .iter()
            .find(|field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value)
    }

    /// The values of all fields of that name.
    pub fn all_fields(&self, name: &str) -> impl Iterator<Item = &'a [u8]> {
        self.fields
            .iter()
            .filter(move |field| field.name.eq_ignore_ascii_case(name))
            .map(|field| field.value)
    }
}

/// Room for the fields of one head while it is looked at; costs nothing to make.
#[derive(Debug)]
pub struct FieldSpace<'a> {
    fields: [MaybeUninit<httparse::Header<'a>>; FIELDS_LIMIT],
    /// The head of a request in a later minor version, as HTTP/1.1; else empty.
    lowered: Vec<u8>,
}

impl Default for FieldSpace<'_> {
    fn default() -> Self {
        Self {
            fields: [const { MaybeUninit::uninit() }; FIELDS_LIMIT],
            lowered: Vec::new(),
        }
    }
}

/// Finds the end of a head in bytes that arrive in pieces.
#[derive(Clone, Copy, Debug, Default)]
pub struct HeadScan {
    /// All before is looked at.
    scanned: usize,
    /// Where the current line starts.
    line_start: usize,
    /// Empty lines before the request line, which are ignored (RFC 9112 §2.2).
    head_start: usize,
}

/// Where a head lies in the bytes given.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct HeadRange {
    /// Where its request line starts.
    pub start: usize,
    /// Where what follows it starts.
    pub end: usize,
}

impl HeadScan {
    /// Whether nothing of the head has been looked at yet.
    pub const fn is_fresh(&self) -> bool {
        self.scanned == 0
    }

    /// Looks at what is new in `bytes`, which start where the last request ended, and is the same
    /// as last time but longer. Answers where the head lies once it is whole.
    pub fn scan(&mut self, bytes: &[u8], limits: &Limits) -> Result<Option<HeadRange>, Rejection> {
        let window = &bytes[..bytes.len().min(limits.head)];
        for feed in memchr::memchr_iter(b'\n', &window[self.scanned.min(window.len())..]) {
            let feed = self.scanned + feed;
            if feed == 0 || window[feed - 1] != b'\r' {
                self.check_start(window)?;
                self.check_line(feed, limits)?;
                return Err(Rejection::Bad("a line does not end with CRLF"));
            }
            let is_empty = feed - 1 == self.line_start;
            if is_empty && self.line_start == self.head_start {
                self.head_start = feed + 1;
            } else {
                self.check_start(window)?;
                self.check_line(feed, limits)?;
                if is_empty {
                    return Ok(Some(HeadRange {
                        start: self.head_start,
                        end: feed + 1,
                    }));
                }
            }
            self.line_start = feed + 1;
        }
        self.scanned = window.len();
        self.check_start(window)?;
        self.check_line(window.len(), limits)?;
        if bytes.len() >= limits.head {
            return Err(Rejection::HeadTooLarge);
        }
        Ok(None)
    }

    /// What cannot be a request is refused at its first byte: a TLS handshake, for one.
    fn check_start(&self, window: &[u8]) -> Result<(), Rejection> {
        match window.get(self.head_start) {
            Some(&byte) if byte != b'\r' && !is_token(byte) => {
                Err(Rejection::Bad("it does not start with a method"))
            }
            _ => Ok(()),
        }
    }

    /// Whether the request line, if it is the line that goes up to `end`, is short enough.
    fn check_line(&self, end: usize, limits: &Limits) -> Result<(), Rejection> {
        let is_first = self.line_start == self.head_start;
        if is_first && end - self.line_start > limits.request_line {
            return Err(Rejection::TargetTooLong);
        }
        Ok(())
    }
}

/// Reads a head that [`HeadScan`] found whole.
pub fn parse_request<'a>(
    head: &'a [u8],
    space: &'a mut FieldSpace<'a>,
) -> Result<RequestHead<'a>, Rejection> {
    let text: &'a [u8] = match later_minor(head) {
        None => head,
        Some(at) => {
            space.lowered.extend_from_slice(head);
            space.lowered[at] = b'1';
            &space.lowered
        }
    };
    parse_lowered(head, text, &mut space.fields)
}

/// Reads the head of a request of HTTP/2 or HTTP/3, written as text: its version stands there as
/// `HTTP/2.0` or `HTTP/3.0`, and the rules are those of HTTP/1.1.
pub fn parse_translated<'a>(
    head: &'a [u8],
    space: &'a mut FieldSpace<'a>,
) -> Result<RequestHead<'a>, Rejection> {
    let line = request_line(head);
    let rest = line.strip_suffix(b"2.0");
    let Some(rest) = rest.or_else(|| line.strip_suffix(b"3.0")) else {
        return Err(Rejection::Version);
    };
    space.lowered.extend_from_slice(rest);
    space.lowered.extend_from_slice(b"1.1");
    space.lowered.extend_from_slice(&head[line.len()..]);
    parse_lowered(head, &space.lowered, &mut space.fields)
}

/// Reads `text`, which is `head` as HTTP/1.1.
fn parse_lowered<'a>(
    head: &'a [u8],
    text: &'a [u8],
    space: &'a mut [MaybeUninit<httparse::Header<'a>>; FIELDS_LIMIT],
) -> Result<RequestHead<'a>, Rejection> {
    let mut request = httparse::Request::new(&mut []);
    match request.parse_with_uninit_headers(text, space) {
        Ok(httparse::Status::Complete(length)) if length == text.len() => {}
        Ok(_) => return Err(Rejection::Bad("a line does not end with CRLF")),
        Err(error) => return Err(rejection(error, head)),
    }
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, request.version)
    else {
        return Err(Rejection::Bad("no request line"));
    };
    let version = if version == 0 {
        Version::Http10
    } else {
        Version::Http11
    };
    let fields: &'a [httparse::Header<'a>] = request.headers;
    let meaning = Meaning::of(fields)?;
    meaning.check_host(version)?;
    Ok(RequestHead {
        bytes: head,
        method,
        target,
        version,
        fields,
        body: meaning.body(version)?,
        keep_alive: match version {
            Version::Http10 => meaning.keep_alive && !meaning.close,
            Version::Http11 | Version::Http2 | Version::Http3 => !meaning.close,
        },
        expects_continue: meaning.expects_continue && version == Version::Http11,
    })
}

/// Where the minor version stands if it is later than HTTP/1.1, whose rules then hold (RFC 9110
/// §2.5).
fn later_minor(head: &[u8]) -> Option<usize> {
    let (minor, rest) = request_line(head).split_last()?;
    (matches!(minor, b'2'..=b'9') && rest.ends_with(b" HTTP/1.")).then_some(rest.len())
}

fn request_line(head: &[u8]) -> &[u8] {
    &head[..memchr::memchr(b'\r', head).unwrap_or(head.len())]
}

/// A version that looks like one is not the same as a line that makes no sense.
fn rejection(error: httparse::Error, head: &[u8]) -> Rejection {
    match error {
        httparse::Error::TooManyHeaders => Rejection::HeadTooLarge,
        httparse::Error::Version => {
            let mut words = request_line(head).split(|&byte| byte == b' ').skip(2);
            match (words.next(), words.next()) {
                (Some([b'H', b'T', b'T', b'P', b'/', major, b'.', minor]), None)
                    if major.is_ascii_digit() && minor.is_ascii_digit() =>
                {
                    Rejection::Version
                }
                (_, None) => Rejection::Bad("the request line has no version"),
                (_, Some(_)) => Rejection::Bad("the request line"),
            }
        }
        httparse::Error::HeaderName => Rejection::Bad("a field name"),
        httparse::Error::HeaderValue => Rejection::Bad("a field value"),
        httparse::Error::NewLine => Rejection::Bad("a line end"),
        httparse::Error::Status | httparse::Error::Token => Rejection::Bad("the request line"),
    }
}

/// What the fields say that concern the connection rather than the resource.
#[derive(Default)]
struct Meaning<'a> {
    content_length: Option<&'a [u8]>,
    transfer_coding: Option<&'a [u8]>,
    host: Option<&'a [u8]>,
    close: bool,
    keep_alive: bool,
    expects_continue: bool,
}

impl<'a> Meaning<'a> {
    fn of(fields: &[httparse::Header<'a>]) -> Result<Self, Rejection> {
        let mut meaning = Self::default();
        for field in fields {
            let name = field.name;
            // A look at the length spares most comparisons.
            match name.len() {
                4 if name.eq_ignore_ascii_case("host") => {
                    once(&mut meaning.host, field.value, "two Host fields")?;
                }
                6 if name.eq_ignore_ascii_case("expect") => {
                    if !field.value.eq_ignore_ascii_case(b"100-continue") {
                        return Err(Rejection::Expectation);
                    }
                    meaning.expects_continue = true;
                }
                10 if name.eq_ignore_ascii_case("connection") => {
                    for option in tokens(field.value) {
                        meaning.close |= option.eq_ignore_ascii_case(b"close");
                        meaning.keep_alive |= option.eq_ignore_ascii_case(b"keep-alive");
                    }
                }
                14 if name.eq_ignore_ascii_case("content-length") => {
                    let slot = &mut meaning.content_length;
                    once(slot, field.value, "two Content-Length fields")?;
                }
                17 if name.eq_ignore_ascii_case("transfer-encoding") => {
                    let slot = &mut meaning.transfer_coding;
                    once(slot, field.value, "two Transfer-Encoding fields")?;
                }
                _ => {}
            }
        }
        Ok(meaning)
    }

    /// RFC 9112 §3.2: exactly one in HTTP/1.1, and no more than one at all.
    fn check_host(&self, version: Version) -> Result<(), Rejection> {
        match self.host {
            None if version == Version::Http11 => Err(Rejection::Bad("no Host field")),
            Some(host) if !is_host(host) => Err(Rejection::Bad("the Host field")),
            _ => Ok(()),
        }
    }

    /// RFC 9112 §6.3, without any of its leniency.
    fn body(&self, version: Version) -> Result<RequestBody, Rejection> {
        match (self.transfer_coding, self.content_length) {
            (None, None) => Ok(RequestBody::Length(0)),
            (None, Some(digits)) => length(digits).map(RequestBody::Length),
            (Some(_), Some(_)) => Err(Rejection::Bad("both a length and a transfer coding")),
            (Some(_), None) if version == Version::Http10 => {
                Err(Rejection::Bad("a transfer coding in HTTP/1.0"))
            }
            (Some(coding), None) if coding.eq_ignore_ascii_case(b"chunked") => {
                Ok(RequestBody::Chunked)
            }
            (Some(codings), None) => {
                let mut names = tokens(codings);
                let is_last_chunked = names
                    .next_back()
                    .is_some_and(|name| name.eq_ignore_ascii_case(b"chunked"));
                if !is_last_chunked || names.any(|name| name.eq_ignore_ascii_case(b"chunked")) {
                    return Err(Rejection::Bad(
                        "a transfer coding that does not end the body",
                    ));
                }
                Err(Rejection::TransferCoding)
            }
        }
    }
}

fn once<'a>(
    slot: &mut Option<&'a [u8]>,
    value: &'a [u8],
    twice: &'static str,
) -> Result<(), Rejection> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(Rejection::Bad(twice)),
    }
}

/// The items of a list without parameters (RFC 9110 §5.6.1).
pub fn tokens(value: &[u8]) -> impl DoubleEndedIterator<Item = &[u8]> {
    value
        .split(|&byte| byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|item| !item.is_empty())
}

/// Digits and nothing else: no sign, no blank, no list, no more than 64 bits.
fn length(digits: &[u8]) -> Result<u64, Rejection> {
    let bad = Rejection::Bad("the Content-Length field");
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(bad);
    }
    std::str::from_utf8(digits)
        .ok()
        .and_then(|digits| digits.parse().ok())
        .ok_or(bad)
}

#[cfg(test)]
mod tests;
