//! What both sides of every protocol talk about: requests, response heads, how content is framed.

use std::fmt;

use model::Coding;

use crate::h1;
use crate::h2;
use crate::h3;

/// Names a request among those of a plan, so that whoever sends it finds its bytes.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub struct RequestId(pub u16);

/// One request, compiled to the bytes of every protocol before the run. Of many there are, little
/// is to be touched where one begins: what all protocols ask of it is here, the bytes elsewhere.
#[derive(Clone, Debug)]
pub struct Request {
    forms: Box<Forms>,
    id: RequestId,
    is_head: bool,
    closes: bool,
    /// In which place the heads of its answers are remembered, modulo what is kept.
    heads: u8,
}

/// A request as each protocol sends it.
#[derive(Clone, Debug)]
struct Forms {
    /// The whole message in HTTP/1.1.
    h1: Vec<u8>,
    /// Empty where nobody speaks it.
    h2: h2::client::Encoded,
    /// The same.
    h3: h3::client::Encoded,
}

/// What a request says, before it is compiled.
#[derive(Clone, Copy, Debug)]
pub struct RequestParts<'a> {
    /// The method token.
    pub method: &'a str,
    /// From the slash on, with the query.
    pub target: &'a str,
    /// As it stands in the Host field.
    pub authority: &'a str,
    /// Names and values, sent after Host and in this order.
    pub fields: &'a [(String, String)],
    /// The content; none sends no Content-Length.
    pub content: Option<&'a [u8]>,
}

impl Request {
    /// Compiles `parts`; `closes` asks the server to close the connection after its answer.
    pub fn compile(id: RequestId, parts: &RequestParts<'_>, closes: bool) -> Self {
        let forms = Forms {
            h1: h1::encode::request(parts, closes),
            h2: h2::client::Encoded::default(),
            h3: h3::client::Encoded::default(),
        };
        Self {
            forms: Box::new(forms),
            id,
            is_head: parts.method == "HEAD",
            closes,
            heads: id.0.to_le_bytes()[0],
        }
    }

    /// The same, and the heads of its answers are remembered in this place. Without this it is that
    /// of its name: requests of different servers need no places apart.
    #[must_use]
    pub fn with_heads_in(self, place: usize) -> Self {
        Self {
            heads: place.to_le_bytes()[0],
            ..self
        }
    }

    /// In which place the heads of its answers are remembered, modulo what is kept.
    #[inline]
    pub(crate) const fn heads(&self) -> u8 {
        self.heads
    }

    /// The same, to be sent in HTTP/2 as `encoded`.
    #[must_use]
    pub fn with_h2(mut self, encoded: h2::client::Encoded) -> Self {
        self.forms.h2 = encoded;
        self
    }

    /// The same, to be sent in HTTP/3 as `encoded`.
    #[must_use]
    pub fn with_h3(mut self, encoded: h3::client::Encoded) -> Self {
        self.forms.h3 = encoded;
        self
    }

    /// As HTTP/3 sends it.
    pub const fn h3(&self) -> &h3::client::Encoded {
        &self.forms.h3
    }

    /// As HTTP/2 sends it.
    pub const fn h2(&self) -> &h2::client::Encoded {
        &self.forms.h2
    }

    /// The whole message as HTTP/1.1 sends it.
    pub fn h1_bytes(&self) -> &[u8] {
        &self.forms.h1
    }

    /// Its name.
    pub const fn id(&self) -> RequestId {
        self.id
    }

    /// Whether the answer has no content whatever its head says (RFC 9110 §9.3.2).
    pub const fn is_head(&self) -> bool {
        self.is_head
    }

    /// Whether it asks for the connection to be closed after the answer.
    pub const fn closes(&self) -> bool {
        self.closes
    }
}

/// The version of HTTP that an answer names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Version {
    /// HTTP/1.0.
    Http10,
    /// HTTP/1.1.
    Http11,
    /// HTTP/2.
    Http2,
    /// HTTP/3.
    Http3,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Http10 => "HTTP/1.0",
            Self::Http11 => "HTTP/1.1",
            Self::Http2 => "HTTP/2",
            Self::Http3 => "HTTP/3",
        })
    }
}

/// How the end of the content is told.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Framing {
    /// In chunks, the last one empty.
    Chunked,
    /// The end of the connection is the end of the content.
    Close,
    /// By a frame that says so in HTTP/2, by the end of the stream in HTTP/3.
    Frames,
    /// So many bytes.
    Length(u64),
    /// There is none, whatever the fields say: HEAD, 204, 304.
    None,
}

impl Framing {
    /// The bytes of the content, where they are told.
    pub(crate) const fn length(self) -> Option<u64> {
        match self {
            Self::Length(length) => Some(length),
            _ => None,
        }
    }

    /// The name used in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Chunked => "chunked",
            Self::Close => "close",
            Self::Frames => "frames",
            Self::Length(_) => "length",
            Self::None => "none",
        }
    }
}

/// The head of a final answer.
#[derive(Clone, Copy, Debug)]
pub struct Head<'a> {
    /// The status code.
    pub status: u16,
    /// The version it names.
    pub version: Version,
    /// How its content is framed.
    pub framing: Framing,
    /// How its content is encoded.
    pub coding: Coding,
    /// Whether the connection may carry another exchange.
    pub keep_alive: bool,
    /// As received, or from HTTP/2 and HTTP/3 as HTTP/1.1 would have it, and empty there if the
    /// same came before on the connection; the fields are read from it on demand.
    pub bytes: &'a [u8],
}

impl Head<'_> {
    /// Field names and values in the order received: for fetches before a run, not for the loop.
    pub fn fields(&self) -> Vec<(String, Vec<u8>)> {
        h1::parse::fields(self.bytes)
    }
}
