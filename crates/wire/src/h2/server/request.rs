//! From the fields of a request to the text that an HTTP/1.1 request would have, which is what
//! handlers read: so there is one set of rules for what is a request.
//!
//! What RFC 9113 §8 calls malformed is refused, and nothing can stand in a field that would be the
//! end of a line.

use crate::h1::body::is_token;
use crate::h1::request::Limits;
use crate::h2::hpack::size_of;

/// Of fields that are no longer stored, so many times the limit is decoded before that is too much.
const PATIENCE: usize = 8;

/// A request whose fields come in.
#[derive(Debug, Default)]
pub(crate) struct Builder {
    method: Vec<u8>,
    path: Vec<u8>,
    authority: Vec<u8>,
    fields: Vec<u8>,
    has_scheme: bool,
    has_host: bool,
    /// A field that is not a pseudo-field has come.
    is_past_pseudo: bool,
    is_malformed: bool,
    pub(crate) length: Option<u64>,
    /// As RFC 9113 §6.5.2 counts.
    size: usize,
}

/// What is wrong with a request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Wrong {
    /// It makes no sense: its stream is reset.
    Malformed,
    /// 414.
    TargetTooLong,
    /// 431.
    TooLarge,
}

impl Builder {
    /// Begins anew.
    pub(crate) fn clear(&mut self) {
        let Self {
            mut method,
            mut path,
            mut authority,
            mut fields,
            ..
        } = std::mem::take(self);
        for part in [&mut method, &mut path, &mut authority, &mut fields] {
            part.clear();
        }
        *self = Self {
            method,
            path,
            authority,
            fields,
            ..Self::default()
        };
    }

    /// Takes the next field.
    pub(crate) fn field(&mut self, name: &[u8], value: &[u8], limits: &Limits) {
        self.size = self.size.saturating_add(size_of(name, value));
        if self.size > limits.head {
            return;
        }
        if name.first() == Some(&b':') {
            self.pseudo(name, value);
        } else {
            self.is_past_pseudo = true;
            self.plain(name, value);
        }
    }

    /// Whether so much was decoded that it can only be meant to harm.
    pub(crate) const fn is_bomb(&self, limits: &Limits) -> bool {
        self.size > limits.head * PATIENCE
    }

    /// RFC 9113 §8.3.1.
    fn pseudo(&mut self, name: &[u8], value: &[u8]) {
        let is_text = |value: &[u8]| value.iter().all(|byte| *byte > b' ' && *byte != 0x7f);
        let is_good = !self.is_past_pseudo && !value.is_empty() && is_text(value);
        let slot = match name {
            b":method" if value.iter().copied().all(is_token) => &mut self.method,
            b":path" => &mut self.path,
            b":authority" => &mut self.authority,
            b":scheme" => {
                self.is_malformed |= !is_good || std::mem::replace(&mut self.has_scheme, true);
                return;
            }
            _ => {
                self.is_malformed = true;
                return;
            }
        };
        self.is_malformed |= !is_good || !slot.is_empty();
        slot.extend_from_slice(value);
    }

    /// RFC 9113 §8.2.
    fn plain(&mut self, name: &[u8], value: &[u8]) {
        let is_name = |byte: &u8| is_token(*byte) && !byte.is_ascii_uppercase();
        let is_good = !name.is_empty()
            && name.iter().all(is_name)
            && !value.iter().any(|byte| matches!(byte, 0 | b'\r' | b'\n'))
            && value.trim_ascii().len() == value.len();
        match name {
            b"connection" | b"keep-alive" | b"proxy-connection" | b"transfer-encoding"
            | b"upgrade" => self.is_malformed = true,
            b"te" => self.is_malformed |= value != b"trailers",
            b"host" => {
                self.is_malformed |= !is_good || std::mem::replace(&mut self.has_host, true);
                if self.authority.is_empty() && is_good {
                    self.authority.extend_from_slice(value);
                } else if self.authority != value {
                    self.is_malformed = true;
                }
                return;
            }
            b"content-length" => {
                let digits = std::str::from_utf8(value).ok();
                let length = digits.and_then(|digits| digits.parse().ok());
                self.is_malformed |= length.is_none() || self.length.is_some();
                self.length = length;
            }
            _ => {}
        }
        self.is_malformed |= !is_good;
        for part in [name, b": ", value, b"\r\n"] {
            self.fields.extend_from_slice(part);
        }
    }

    /// As much of the request line as can be told of what is no request: the method.
    pub(crate) fn line(&self) -> &[u8] {
        &self.method
    }

    /// What came, as text that names this version of HTTP.
    pub(crate) fn write(
        &mut self,
        limits: &Limits,
        version: &[u8; 3],
        out: &mut Vec<u8>,
    ) -> Result<(), Wrong> {
        if self.size > limits.head {
            return Err(Wrong::TooLarge);
        }
        if self.method == b"CONNECT" {
            // It names no path: what is asked is the authority (RFC 9113 §8.5).
            self.is_malformed |= !self.path.is_empty() || self.has_scheme;
            self.path.clone_from(&self.authority);
        } else {
            let is_path = self.path.first() == Some(&b'/')
                || (self.path == b"*" && self.method == b"OPTIONS");
            self.is_malformed |= !is_path || !self.has_scheme;
        }
        if self.is_malformed || self.method.is_empty() || self.path.is_empty() {
            return Err(Wrong::Malformed);
        }
        if self.method.len() + self.path.len() > limits.request_line {
            return Err(Wrong::TargetTooLong);
        }
        let host: &[u8] = if self.authority.is_empty() {
            b""
        } else {
            b"host: "
        };
        let end: &[u8] = if self.authority.is_empty() {
            b""
        } else {
            b"\r\n"
        };
        let parts = [
            &self.method,
            b" ".as_slice(),
            &self.path,
            b" HTTP/",
            version,
            b"\r\n",
            host,
            &self.authority,
            end,
            &self.fields,
            b"\r\n",
        ];
        out.reserve(parts.iter().map(|part| part.len()).sum());
        for part in parts {
            out.extend_from_slice(part);
        }
        Ok(())
    }
}
