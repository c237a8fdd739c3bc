//! A request whose bytes are not fixed: what stands in it, and where values go.

use model::plan::{self, Url};
use model::units::Span;
use wire::{Request, RequestId, RequestParts};

use super::decimal;
use super::jar::Jar;
use crate::redirect::resolve;

/// Content-Length, Connection, the empty line.
const AROUND: usize = 64;

/// A part of a request.
#[derive(Clone, Debug, Eq, PartialEq)]
enum Piece {
    Text(Box<[u8]>),
    /// The value of the variable in this position.
    Value(usize),
    /// Where the variable in this position leads, which was taken from a Location: the path of that
    /// URL, if it is one of the server that is asked.
    Location(usize),
}

/// Where in a request a value stands: what it may not hold there differs.
#[derive(Clone, Copy, Debug)]
enum Where<'a> {
    Content,
    Field,
    /// Of a request to the server of this URL.
    Target(&'a Url),
}

/// A request whose bytes are not fixed.
#[derive(Clone, Debug)]
pub(super) struct Template {
    /// The method, a blank, the target.
    target: Box<[Piece]>,
    /// How many bytes of the target stand before its path.
    origin: usize,
    /// The rest of the head, but for what is known when it is written.
    fields: Box<[Piece]>,
    /// The cookies that it has of its own, where users keep cookies, too.
    cookies: Box<[Piece]>,
    content: Option<Box<[Piece]>>,
    /// The target as far as it is fixed, without its query.
    path: Box<[u8]>,
    /// The host that it names, in lower case: cookies know no ports (RFC 6265 §8.5).
    host: Box<[u8]>,
    /// Whether it is asked over TLS.
    over_tls: bool,
    /// Whose paths a Location may name.
    url: Url,
}

/// The variables that stand in requests.
#[derive(Debug)]
pub(super) struct Names<'a> {
    /// By position.
    pub(super) all: Vec<&'a str>,
    /// Those that are taken from a Location.
    pub(super) locations: Vec<usize>,
}

impl Template {
    /// `origin` is what stands before the path; `keeps` says whether users keep cookies.
    pub(super) fn new(
        request: &plan::Request,
        origin: &str,
        names: &Names<'_>,
        keeps: bool,
    ) -> Self {
        let (names, locations) = (names.all.as_slice(), names.locations.as_slice());
        let target = format!("{origin}{}", request.url.path);
        let is_cookie = |(name, _): &&(String, String)| name.eq_ignore_ascii_case("cookie");
        let (own, fields): (Vec<_>, Vec<_>) =
            (request.headers.iter()).partition(|field| keeps && is_cookie(field));
        let fields: Vec<(String, String)> = fields.into_iter().cloned().collect();
        let own: Vec<&str> = own.iter().map(|(_, value)| value.as_str()).collect();
        let parts = RequestParts {
            method: &request.method,
            target: &target,
            authority: &request.url.authority,
            fields: &fields,
            content: None,
        };
        let compiled = Request::compile(RequestId(0), &parts, false);
        let head = compiled.h1_bytes();
        // Its empty line comes later.
        let head = &head[..head.len() - 2];
        let end = request.method.len() + 1 + target.len();
        let content = request.body.as_deref().map(|body| pieces(body, names));
        let before = request.method.len() + 1 + origin.len();
        let mut target = pieces(&head[..end], names);
        lead(&mut target, before, locations);
        Self {
            target,
            origin: origin.len(),
            fields: pieces(&head[end..], names),
            cookies: pieces(own.join("; ").as_bytes(), names),
            content,
            path: path(&request.url.path),
            host: host(request).to_ascii_lowercase().into_bytes().into(),
            over_tls: request.url.is_secure,
            url: request.url.clone(),
        }
    }

    /// Where cookies belong by default: to the host that is asked, and to the target as far as it
    /// is fixed, without its query.
    pub(super) fn place(&self) -> (&[u8], &[u8]) {
        (&self.host, &self.path)
    }

    /// The most bytes of it, but for cookies, where values have at most so many.
    pub(super) fn longest(&self, most: &[usize]) -> usize {
        let of = |pieces: &[Piece], times: usize| -> usize {
            let pieces = pieces.iter().map(|piece| match piece {
                Piece::Text(text) => text.len(),
                Piece::Value(index) => times * most[*index],
                Piece::Location(index) => times * most[*index] + 1,
            });
            pieces.sum()
        };
        let content = self.content.as_deref().unwrap_or_default();
        let head = of(&self.target, 3) + of(&self.fields, 1) + of(&self.cookies, 1);
        head + of(content, 1) + AROUND
    }

    /// Writes the request to the end of `out`, with what the jar has `now`, since 1970.
    pub(super) fn write(
        &self,
        values: &[Vec<u8>],
        (jar, now): (&Jar, Span),
        closes: bool,
        out: &mut Vec<u8>,
    ) {
        let start = out.len();
        write(&self.target, values, Where::Target(&self.url), out);
        let end = out.len();
        write(&self.fields, values, Where::Field, out);
        // The method ends with the first blank.
        let blank = out[start..end].iter().position(|byte| *byte == b' ');
        let from = start + blank.map_or(0, |at| at + 1) + self.origin;
        let own = |out: &mut Vec<u8>| write(&self.cookies, values, Where::Field, out);
        jar.write((&self.host, self.over_tls, now), from..end, own, out);
        if let Some(content) = &self.content {
            let length = content.iter().map(|piece| match piece {
                Piece::Text(text) => text.len(),
                Piece::Value(index) | Piece::Location(index) => values[*index].len(),
            });
            out.extend_from_slice(b"Content-Length: ");
            decimal(length.sum::<usize>() as u64, out);
            out.extend_from_slice(b"\r\n");
        }
        if closes {
            out.extend_from_slice(b"Connection: close\r\n");
        }
        out.extend_from_slice(b"\r\n");
        if let Some(content) = &self.content {
            write(content, values, Where::Content, out);
        }
    }
}

/// The host that `request` names, without a port: a Host field of its own stands above the URL.
fn host(request: &plan::Request) -> &str {
    let mut fields = request.headers.iter();
    let field = fields.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    let Some((_, value)) = field else {
        return &request.url.host;
    };
    match value.rsplit_once(':') {
        Some((host, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => host,
        _ => value,
    }
}

fn path(target: &str) -> Box<[u8]> {
    let fixed = target.split("${").next().unwrap_or_default();
    let path = fixed.split('?').next().unwrap_or_default();
    path.as_bytes().into()
}

/// Cuts `text` where a variable stands in it: `${name}`. Other names are text, and so is `$${name}`
/// without its first sign.
fn pieces(text: &[u8], names: &[&str]) -> Box<[Piece]> {
    let mut all = Vec::new();
    let mut plain = Vec::new();
    let mut rest = text;
    while let Some(at) = rest.windows(2).position(|two| two == b"${") {
        plain.extend_from_slice(&rest[..at]);
        let name = rest[at + 2..].split(|byte| *byte == b'}').next();
        let found = name.and_then(|name| names.iter().position(|one| one.as_bytes() == name));
        match found {
            Some(_) if at > 0 && plain.last() == Some(&b'$') => {
                plain.extend_from_slice(b"{");
                rest = &rest[at + 2..];
            }
            Some(index) => {
                if !plain.is_empty() {
                    all.push(Piece::Text(std::mem::take(&mut plain).into()));
                }
                all.push(Piece::Value(index));
                rest = &rest[at + 3 + names[index].len()..];
            }
            None => {
                plain.extend_from_slice(b"${");
                rest = &rest[at + 2..];
            }
        }
    }
    plain.extend_from_slice(rest);
    if !plain.is_empty() {
        all.push(Piece::Text(plain.into()));
    }
    all.into()
}

fn write(pieces: &[Piece], values: &[Vec<u8>], place: Where<'_>, out: &mut Vec<u8>) {
    for piece in pieces {
        match (piece, place) {
            (Piece::Text(text), _) => out.extend_from_slice(text),
            (Piece::Location(index), Where::Target(url)) => {
                write_location(&values[*index], url, out);
            }
            (Piece::Value(index) | Piece::Location(index), Where::Content) => {
                out.extend_from_slice(&values[*index]);
            }
            (Piece::Value(index) | Piece::Location(index), Where::Field) => {
                // RFC 9110 §5.5: a field has no line ends; what follows one would be another field.
                let is_text = |byte: &&u8| **byte >= b' ' && **byte != 0x7f;
                out.extend(values[*index].iter().filter(is_text));
            }
            (Piece::Value(index), Where::Target(_)) => escape(&values[*index], out),
        }
    }
}

/// What stands in a target behind its first slash alone, taken from a Location, stands for the
/// slash, too. So many bytes of the target stand before its path.
fn lead(target: &mut [Piece], before: usize, locations: &[usize]) {
    if let [Piece::Text(text), value, ..] = target
        && let Piece::Value(index) = *value
        && locations.contains(&index)
        && text.len() == before + 1
    {
        *text = text[..before].into();
        *value = Piece::Location(index);
    }
}

/// A path, or the path of a whole URL of the same server. What leads to another server is a path
/// here: nobody is asked there.
fn write_location(value: &[u8], url: &Url, out: &mut Vec<u8>) {
    let text = std::str::from_utf8(value).ok();
    match text.and_then(|text| resolve(url, "/", text)) {
        Some(target) => escape(target.as_bytes(), out),
        None => {
            out.push(b'/');
            escape(value, out);
        }
    }
}

/// What may stand in a target stays (RFC 3986), a percent sign among it: a value may have been
/// encoded before.
fn escape(value: &[u8], out: &mut Vec<u8>) {
    const HEX: &[u8; 16] = b"0123456789ABCDEF";
    for byte in value {
        let stays = matches!(byte, b'!'..=b'~') && !b"\"#<>\\^`{|}".contains(byte);
        if stays {
            out.push(*byte);
        } else {
            let (high, low) = (usize::from(byte >> 4), usize::from(byte & 15));
            out.extend_from_slice(&[b'%', HEX[high], HEX[low]]);
        }
    }
}
