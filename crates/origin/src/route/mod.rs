//! From the target of a request to a path below the folder that is served, or to the reserved path.
//!
//! A path is decoded exactly once, then its dot segments are resolved; what would leave the folder,
//! contains a NUL or hides a slash is refused here, before the file system hears of it. The kernel
//! checks again when the file is opened. A name is bytes, as on the disk: it need not be UTF-8.

use std::borrow::Cow;

use wire::h1::is_host;

/// Below this path the synthetic responder answers, where it is enabled.
pub(crate) const RESERVED: &str = "/.triathlon/";

/// What a target names.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Route<'a> {
    /// Without a leading slash, decoded, without dot segments; empty for the folder itself.
    pub(crate) path: Cow<'a, [u8]>,
    /// Whether the target asks for a folder: it ends with a slash.
    pub(crate) is_folder: bool,
    /// What follows the question mark, undecoded.
    pub(crate) query: Option<&'a str>,
}

impl Route<'_> {
    /// Whether a step of the path begins with a dot: such names are kept from visitors by custom
    /// (`.git`, `.htpasswd`). `/.well-known/` is there to be asked for (RFC 8615).
    pub(crate) fn is_hidden(&self) -> bool {
        let mut steps = self.path.split(|byte| *byte == b'/');
        let is_first_hidden = steps
            .next()
            .is_some_and(|first| is_hidden(first) && first != b".well-known");
        is_first_hidden || steps.any(is_hidden)
    }
}

/// Whether this is the name of a dot file.
pub(crate) fn is_hidden(name: &[u8]) -> bool {
    name.starts_with(b".")
}

/// Why a target names nothing.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Unroutable {
    /// It is malformed, or leads out of the folder: 400.
    Bad,
    /// It is well-formed but can be no file: 404.
    Nowhere,
}

/// Reads a target in origin-form (RFC 9112 §3.2.1).
pub(crate) fn route(target: &str) -> Result<Route<'_>, Unroutable> {
    if target.contains('#') {
        return Err(Unroutable::Bad); // a fragment is never sent (RFC 9112 §3.2)
    }
    let (path, query) = match target.split_once('?') {
        Some((path, query)) => (path, Some(query)),
        None => (target, None),
    };
    let rest = path.strip_prefix('/').ok_or(Unroutable::Bad)?;
    let is_plain = rest
        .split('/')
        .all(|segment| !matches!(segment, "" | "." | ".."))
        && !rest.contains('%');
    if is_plain {
        return Ok(Route {
            path: Cow::Borrowed(rest.as_bytes()),
            is_folder: false,
            query,
        });
    }
    let is_folder = matches!(rest.rsplit('/').next(), Some("" | "." | ".."));
    Ok(Route {
        path: Cow::Owned(resolve(rest)?),
        is_folder,
        query,
    })
}

/// Strips scheme and authority from an absolute-form. The authority takes the place of `Host` and
/// is held against the same grammar (RFC 9112 §3.2.2); what is `https` is answered over TLS alone
/// (RFC 9110 §7.4).
pub(crate) fn origin_form(target: &str, over_tls: bool) -> Result<&str, Unroutable> {
    if target.starts_with('/') {
        return Ok(target);
    }
    let (scheme, rest) = target.split_once("://").ok_or(Unroutable::Bad)?;
    let is = |name: &str| scheme.eq_ignore_ascii_case(name);
    if !(is("http") || over_tls && is("https")) {
        return Err(Unroutable::Bad);
    }
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    if !is_host(authority.as_bytes()) {
        return Err(Unroutable::Bad);
    }
    Ok(if path.starts_with('/') { path } else { "/" })
}

/// Decodes each segment once, then takes out empty and dot segments (RFC 3986 §5.2.4).
fn resolve(path: &str) -> Result<Vec<u8>, Unroutable> {
    let mut segments: Vec<Vec<u8>> = Vec::new();
    for segment in path.split('/') {
        let segment = decode(segment)?;
        match segment.as_slice() {
            b"" | b"." => {}
            b".." => {
                segments.pop().ok_or(Unroutable::Bad)?;
            }
            _ => segments.push(segment),
        }
    }
    Ok(segments.join(&b'/'))
}

fn decode(segment: &str) -> Result<Vec<u8>, Unroutable> {
    let mut bytes = Vec::with_capacity(segment.len());
    let mut rest = segment.bytes();
    while let Some(byte) = rest.next() {
        let byte = if byte == b'%' {
            let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
            let (Some(high), Some(low)) = (digit(rest.next()), digit(rest.next())) else {
                return Err(Unroutable::Bad);
            };
            u8::try_from(high << 4 | low).map_err(|_| Unroutable::Bad)?
        } else {
            byte
        };
        match byte {
            0 => return Err(Unroutable::Bad),
            b'/' => return Err(Unroutable::Nowhere), // a slash that was hidden names no file
            _ => bytes.push(byte),
        }
    }
    Ok(bytes)
}

/// Writes a decoded path so that it can stand in a `Location` field: always from the root, one
/// slash at its start, so that it never names another host.
pub(crate) fn encode(path: &[u8]) -> String {
    let mut text = String::with_capacity(path.len() + 2);
    text.push('/');
    encode_into(&mut text, path);
    text
}

/// Appends bytes of a path; those that may not stand in one are percent-encoded (RFC 3986 §2.1).
pub(crate) fn encode_into(text: &mut String, path: &[u8]) {
    use std::fmt::Write as _;

    for &byte in path {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            write!(text, "%{byte:02X}").expect("a string takes everything");
        }
    }
}

#[cfg(test)]
mod tests;
