//! The grammar of a `Host` field (RFC 9112 §3.2, RFC 3986 §3.2.2): a name or an address, and a
//! port.
//!
//! The grammar lets a registered name be empty, and an empty `Host` is what a client sends for a
//! target without an authority. No `http` target has an empty host (RFC 9110 §4.2.1), so a server
//! has nobody to answer for there: it is refused.

use std::net::Ipv6Addr;

/// Whether `value` names a host.
pub fn is_host(value: &[u8]) -> bool {
    match value.strip_prefix(b"[") {
        Some(rest) => {
            let Some(end) = memchr::memchr(b']', rest) else {
                return false;
            };
            is_literal(&rest[..end]) && is_port(&rest[end + 1..])
        }
        None => {
            let end = memchr::memchr(b':', value).unwrap_or(value.len());
            end > 0 && is_name(&value[..end]) && is_port(&value[end..])
        }
    }
}

/// Nothing, or a colon and digits, of which there may be none. No port is above 65,535.
fn is_port(rest: &[u8]) -> bool {
    match rest.split_first() {
        None => true,
        Some((colon, digits)) => {
            let number = digits.iter().try_fold(0_u16, |number, digit| {
                let digit = digit.is_ascii_digit().then(|| u16::from(*digit - b'0'))?;
                number.checked_mul(10)?.checked_add(digit)
            });
            *colon == b':' && number.is_some()
        }
    }
}

/// What stands between brackets: an IPv6 address, or one of a version to come.
fn is_literal(text: &[u8]) -> bool {
    let Some(future) = text.strip_prefix(b"v").or_else(|| text.strip_prefix(b"V")) else {
        let text = std::str::from_utf8(text).ok();
        return text.is_some_and(|text| text.parse::<Ipv6Addr>().is_ok());
    };
    let dot = memchr::memchr(b'.', future).unwrap_or(0);
    let (version, address) = future.split_at(dot);
    !version.is_empty()
        && version.iter().all(u8::is_ascii_hexdigit)
        && address.len() > 1
        && address[1..].iter().all(|&b| b == b':' || is_plain(b))
}

/// A registered name; an IPv4 address is one too, as far as its characters go.
fn is_name(text: &[u8]) -> bool {
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        let is_good = match byte {
            b'%' => {
                let mut is_digit = || bytes.next().is_some_and(u8::is_ascii_hexdigit);
                is_digit() && is_digit()
            }
            _ => is_plain(byte),
        };
        if !is_good {
            return false;
        }
    }
    true
}

/// The unreserved characters and the sub-delimiters (RFC 3986 §2.2, §2.3).
fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=".contains(&byte)
}
