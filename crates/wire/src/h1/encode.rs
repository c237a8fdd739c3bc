//! Messages as HTTP/1.1 sends them (RFC 9112 §2, §3).

use crate::message::RequestParts;

/// The whole request message. A Host field among the fields takes the place of ours.
pub(crate) fn request(parts: &RequestParts<'_>, closes: bool) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256 + parts.content.map_or(0, <[u8]>::len));
    let mut line = |pieces: &[&str]| {
        for piece in pieces {
            bytes.extend_from_slice(piece.as_bytes());
        }
        bytes.extend_from_slice(b"\r\n");
    };
    line(&[parts.method, " ", parts.target, " HTTP/1.1"]);
    let is_host = |name: &str| name.eq_ignore_ascii_case("host");
    if !parts.fields.iter().any(|(name, _)| is_host(name)) {
        line(&["Host: ", parts.authority]);
    }
    for (name, value) in parts.fields {
        line(&[name, ": ", value]);
    }
    if let Some(content) = parts.content {
        line(&["Content-Length: ", &content.len().to_string()]);
    }
    if closes {
        line(&["Connection: close"]);
    }
    line(&[]);
    bytes.extend_from_slice(parts.content.unwrap_or_default());
    bytes
}
