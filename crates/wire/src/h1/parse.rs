//! Heads of answers: complete, partial or bad.
//!
//! `httparse` knows the grammar. Around it: the end of the head is found first, so that a head that
//! comes byte by byte is parsed once. A head like one that came before is not parsed at all: see
//! [`super::known`].

use std::mem::MaybeUninit;

use model::Coding;

use crate::client::ProtocolError;
use crate::message::{Framing, Version};

/// How answers of HTTP/1.x begin.
const PREFIX: &[u8] = b"HTTP/1.";
/// Fields parsed without allocating; more are parsed the slow way.
const FIELDS: usize = 64;

/// What the head of an answer says about the message and the connection.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ResponseHead {
    /// The status code.
    pub status: u16,
    /// The version.
    pub version: Version,
    /// How its content is framed, were it the answer to a GET with content.
    pub framing: Framing,
    /// How that content is encoded.
    pub coding: Coding,
    /// Whether neither side of the connection is asked to close it.
    pub keep_alive: bool,
}

/// Finds the end of the head that starts `bytes`, not looking before `from`: the position after the
/// empty line. `from` is the length that was searched before, in vain.
///
/// # Errors
///
/// The bytes cannot be the start of an HTTP/1.x answer.
pub fn head_end(bytes: &[u8], from: usize) -> Result<Option<usize>, ProtocolError> {
    let shared = bytes.len().min(PREFIX.len());
    if bytes[..shared] != PREFIX[..shared] {
        // An alert, of whichever version.
        if bytes.starts_with(&[0x15, 0x03]) {
            return Err(ProtocolError::InTls);
        }
        return Err(ProtocolError::NotHttp);
    }
    let from = from.saturating_sub(2);
    for line_end in memchr::memchr_iter(b'\n', &bytes[from..]) {
        match &bytes[from + line_end + 1..] {
            [b'\n', ..] => return Ok(Some(from + line_end + 2)),
            [b'\r', b'\n', ..] => return Ok(Some(from + line_end + 3)),
            _ => {}
        }
    }
    Ok(None)
}

/// The status that the head at the start of `bytes` tells, unparsed; none if it is not there.
#[inline]
pub(crate) fn status_digits(bytes: &[u8]) -> Option<u16> {
    // HTTP/1.x and a blank, then three digits (RFC 9112 §4).
    let digits = bytes.get(PREFIX.len() + 2..PREFIX.len() + 5)?;
    digits.iter().try_fold(0u16, |number, byte| {
        byte.is_ascii_digit()
            .then(|| number * 10 + u16::from(byte - b'0'))
    })
}

/// Parses a complete head: `bytes` ends where [`head_end`] says.
///
/// # Errors
///
/// The head breaks the grammar or contradicts itself.
pub fn response(bytes: &[u8]) -> Result<ResponseHead, ProtocolError> {
    let mut fields = [const { MaybeUninit::uninit() }; FIELDS];
    match parse_with(bytes, &mut fields) {
        Err(httparse::Error::TooManyHeaders) => {
            let lines = memchr::memchr_iter(b'\n', bytes).count();
            let mut fields = vec![MaybeUninit::uninit(); lines];
            interpret(parse_with(bytes, &mut fields))
        }
        parsed => interpret(parsed),
    }
}

type Parsed<'head, 'fields> = (Version, u16, &'fields [httparse::Header<'head>]);

fn parse_with<'head, 'fields>(
    bytes: &'head [u8],
    fields: &'fields mut [MaybeUninit<httparse::Header<'head>>],
) -> Result<Parsed<'head, 'fields>, httparse::Error> {
    let mut response = httparse::Response::new(&mut []);
    let status = httparse::ParserConfig::default()
        .allow_obsolete_multiline_headers_in_responses(true)
        .parse_response_with_uninit_headers(&mut response, bytes, fields)?;
    match (status, response.version, response.code) {
        (httparse::Status::Complete(_), Some(version), Some(code)) => {
            let version = if version == 0 {
                Version::Http10
            } else {
                Version::Http11
            };
            Ok((version, code, response.headers))
        }
        _ => Err(httparse::Error::NewLine),
    }
}

/// The status of a complete head whose fields say nothing that matters.
///
/// # Errors
///
/// The head breaks the grammar.
pub(crate) fn status(bytes: &[u8]) -> Result<u16, ProtocolError> {
    let lines = memchr::memchr_iter(b'\n', bytes).count();
    let mut fields = vec![MaybeUninit::uninit(); lines];
    match parse_with(bytes, &mut fields) {
        Ok((_, status, _)) => Ok(status),
        Err(error) => Err(ProtocolError::BadHead(reason(error))),
    }
}

/// Reads the fields that frame the message and keep or close the connection (RFC 9112 §6.3, §9.3).
fn interpret(
    parsed: Result<Parsed<'_, '_>, httparse::Error>,
) -> Result<ResponseHead, ProtocolError> {
    let (version, status, fields) =
        parsed.map_err(|error| ProtocolError::BadHead(reason(error)))?;
    let mut length = None;
    let mut coding = None;
    let mut encoded = None;
    let (mut close, mut keep) = (false, false);
    for field in fields {
        match field.name.len() {
            10 if field.name.eq_ignore_ascii_case("connection") => {
                for token in tokens(field.value) {
                    close |= token.eq_ignore_ascii_case(b"close");
                    keep |= token.eq_ignore_ascii_case(b"keep-alive");
                }
            }
            14 if field.name.eq_ignore_ascii_case("content-length") => {
                length = Some(same_length(length, field.value)?);
            }
            16 if field.name.eq_ignore_ascii_case("content-encoding") => {
                encoded = Some(one_more_coding(encoded, field.value));
            }
            17 if field.name.eq_ignore_ascii_case("transfer-encoding") => {
                coding = tokens(field.value).last().or(coding);
            }
            _ => {}
        }
    }
    let framing = match (coding, length) {
        (Some(last), _) if last.eq_ignore_ascii_case(b"chunked") => Framing::Chunked,
        (None, Some(length)) => Framing::Length(length),
        (Some(_), _) | (None, None) => Framing::Close,
    };
    let keep_alive = match version {
        Version::Http11 | Version::Http2 | Version::Http3 => !close,
        Version::Http10 => keep && !close && coding.is_none(),
    };
    Ok(ResponseHead {
        status,
        version,
        framing,
        coding: encoded.unwrap_or_default(),
        keep_alive,
    })
}

/// How content is encoded of which one more field says so, after those `before`.
pub(crate) fn one_more_coding(before: Option<Coding>, value: &[u8]) -> Coding {
    match before {
        None | Some(Coding::Identity) => Coding::read(value),
        Some(_) => Coding::Other,
    }
}

/// The elements of a comma-separated list, without blanks around them and without empty ones.
fn tokens(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    value
        .split(|byte| *byte == b',')
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

/// The number that `value` says once or several times, which must be `before` if that is there.
fn same_length(before: Option<u64>, value: &[u8]) -> Result<u64, ProtocolError> {
    let mut length = before;
    let mut seen = false;
    for token in tokens(value) {
        let number = decimal(token).ok_or(ProtocolError::BadLength)?;
        if length.is_some_and(|length| length != number) {
            return Err(ProtocolError::BadLength);
        }
        length = Some(number);
        seen = true;
    }
    length.filter(|_| seen).ok_or(ProtocolError::BadLength)
}

/// Digits only: no sign, no blank.
fn decimal(token: &[u8]) -> Option<u64> {
    token.iter().try_fold(0u64, |number, byte| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        number.checked_mul(10)?.checked_add(digit)
    })
}

const fn reason(error: httparse::Error) -> &'static str {
    match error {
        httparse::Error::HeaderName => "a field name",
        httparse::Error::HeaderValue => "a field value",
        httparse::Error::NewLine => "a line end",
        httparse::Error::Status => "the status line",
        httparse::Error::Token => "a character that is not allowed",
        httparse::Error::TooManyHeaders => "too many fields",
        httparse::Error::Version => "the version",
    }
}

/// The fields of a complete head, names as received.
pub(crate) fn fields(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let lines = memchr::memchr_iter(b'\n', bytes).count();
    let mut fields = vec![MaybeUninit::uninit(); lines];
    let parsed = parse_with(bytes, &mut fields);
    parsed.map_or_else(
        |_| Vec::new(),
        |(_, _, fields)| {
            fields
                .iter()
                .map(|field| (field.name.to_owned(), field.value.to_vec()))
                .collect()
        },
    )
}
