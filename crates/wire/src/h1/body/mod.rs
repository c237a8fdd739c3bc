//! The chunked transfer coding (RFC 9112 §7.1), decoded for client and server alike.
//!
//! Incremental and without a buffer: however the bytes are split, the same content comes out, as
//! slices of what came in. Strict where leniency is how requests are smuggled: lines end with CRLF
//! and nothing else, a size is plain hexadecimal, and what surrounds the content is bounded.
//!
//! Cost: a few steps per chunk line; content is not touched.

/// How much may surround the content: chunk extensions of all chunks together, and the trailer
/// section. Enough for every use known, too little to be a way to keep a peer busy for nothing.
pub const SURROUNDINGS_LIMIT: u32 = 16 * 1024;

/// One `u64` in hexadecimal has at most this many digits.
const SIZE_DIGITS: u8 = 16;

/// Decodes one chunked body; a new one is needed for each message.
#[derive(Clone, Debug)]
pub struct ChunkedDecoder {
    state: State,
    /// Content of the current chunk that is still to come; while its size is read, the size so far.
    remaining: u64,
    /// Digits of the size line so far.
    digits: u8,
    /// Bytes of extensions and trailers so far.
    surroundings: u32,
    /// The body is a request's: nothing is forgiven.
    is_request: bool,
}

/// Where in the grammar the next byte is.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum State {
    Size,
    /// Blanks after a size: before an extension (RFC 9112 §7.1.1 calls them bad whitespace), or
    /// because a server pads its sizes.
    Padding,
    Extension(Extension),
    SizeLf,
    Content,
    ContentCr,
    ContentLf,
    TrailerStart,
    TrailerName,
    TrailerValue,
    TrailerLf,
    EndLf,
    End,
}

/// Where in a chunk extension the next byte is (RFC 9112 §7.1.1).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Extension {
    /// After the semicolon.
    Start,
    Name,
    /// Blanks after the name.
    NameEnd,
    /// After the equals sign.
    ValueStart,
    Value,
    Quoted,
    /// After a backslash within quotes.
    QuotedPair,
    /// After the closing quote.
    QuotedEnd,
    /// Blanks after the value.
    ValueEnd,
}

/// What one call decoded.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Decoded<'a> {
    /// The next piece of content; may be empty.
    pub content: &'a [u8],
    /// How many bytes of the input are dealt with, content included.
    pub consumed: usize,
    /// Whether the body is complete; what follows `consumed` belongs to the next message.
    pub is_end: bool,
}

/// Why bytes are not a chunked body.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
pub enum ChunkedError {
    /// The content of a chunk is longer or shorter than its size said.
    #[error("a chunk is not followed by CRLF")]
    ChunkEnd,
    /// A chunk extension that is none: no name, no value after its sign, an open quote.
    #[error("a chunk extension breaks the grammar")]
    Extension,
    /// Extensions or trailers beyond [`SURROUNDINGS_LIMIT`].
    #[error("chunk extensions and trailers exceed {SURROUNDINGS_LIMIT} bytes")]
    Limit,
    /// Not a hexadecimal number, or one beyond 64 bits, or its line does not end with CRLF.
    #[error("a chunk size is not a hexadecimal number that ends with CRLF")]
    Size,
    /// Not a field line.
    #[error("the trailer section has a malformed line")]
    Trailer,
}

impl Default for ChunkedDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl ChunkedDecoder {
    /// At the start of a response's body. Some servers put blanks after a size, which the grammar
    /// does not have; they are ignored.
    pub const fn new() -> Self {
        Self {
            state: State::Size,
            remaining: 0,
            digits: 0,
            surroundings: 0,
            is_request: false,
        }
    }

    /// At the start of a request's body. Blanks after a size are refused, because another reader
    /// of the same bytes may see something else in them.
    pub const fn for_request() -> Self {
        let mut decoder = Self::new();
        decoder.is_request = true;
        decoder
    }

    /// Whether the body is complete.
    pub fn is_end(&self) -> bool {
        self.state == State::End
    }

    /// How many of the next bytes are certainly content, and may be dropped unread; tell it
    /// with [`Self::skip`].
    pub fn skippable(&self) -> u64 {
        if self.state == State::Content {
            self.remaining
        } else {
            0
        }
    }

    /// `count` bytes of content were dropped before they got here.
    pub fn skip(&mut self, count: u64) {
        assert!(
            count <= self.skippable(),
            "only content may be skipped: {count} of {}",
            self.skippable()
        );
        self.take_content(count);
    }

    /// Decodes up to and including the next piece of content, or the end, or all of `bytes`.
    /// Call it again with the rest until that is empty or the end is reached.
    pub fn decode<'a>(&mut self, bytes: &'a [u8]) -> Result<Decoded<'a>, ChunkedError> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::End {
            if self.state == State::Content {
                let here = bytes.len() - at;
                let length = usize::try_from(self.remaining).map_or(here, |size| size.min(here));
                self.take_content(length as u64);
                return Ok(Decoded {
                    content: &bytes[at..at + length],
                    consumed: at + length,
                    is_end: false,
                });
            }
            self.step(bytes[at])?;
            at += 1;
        }
        Ok(Decoded {
            content: &[],
            consumed: at,
            is_end: self.state == State::End,
        })
    }

    fn take_content(&mut self, count: u64) {
        debug_assert!(count <= self.remaining);
        self.remaining -= count;
        if self.remaining == 0 {
            self.state = State::ContentCr;
        }
    }

    /// One byte outside content.
    fn step(&mut self, byte: u8) -> Result<(), ChunkedError> {
        self.state = match (self.state, byte) {
            (State::Size, b'\r' | b';' | b' ' | b'\t') if self.digits == 0 => {
                return Err(ChunkedError::Size);
            }
            (State::Padding, b'\r') if self.is_request => return Err(ChunkedError::Size),
            (State::Size | State::Padding, b'\r') => State::SizeLf,
            (State::Size | State::Padding, b';') => State::Extension(Extension::Start),
            (State::Size | State::Padding, b' ' | b'\t') => {
                self.surround()?;
                State::Padding
            }
            (State::Size, digit) => self.digit(digit)?,
            (State::Padding, _) => return Err(ChunkedError::Size),
            (State::Extension(state), byte) => {
                self.surround()?;
                state.after(byte).ok_or(ChunkedError::Extension)?
            }
            (State::SizeLf, b'\n') => {
                self.digits = 0;
                if self.remaining == 0 {
                    State::TrailerStart
                } else {
                    State::Content
                }
            }
            (State::SizeLf, _) => return Err(ChunkedError::Size),
            (State::ContentCr, b'\r') => State::ContentLf,
            (State::ContentLf, b'\n') => State::Size,
            (State::ContentCr | State::ContentLf, _) => return Err(ChunkedError::ChunkEnd),
            (State::TrailerStart, b'\r') => State::EndLf,
            (State::TrailerName, b':') => State::TrailerValue,
            (State::TrailerStart | State::TrailerName, byte) if is_token(byte) => {
                self.surround()?;
                State::TrailerName
            }
            (State::TrailerValue, b'\r') => State::TrailerLf,
            (State::TrailerValue, byte) if is_text(byte) => {
                self.surround()?;
                State::TrailerValue
            }
            (State::TrailerLf, b'\n') => State::TrailerStart,
            (State::EndLf, b'\n') => State::End,
            (
                State::TrailerStart
                | State::TrailerName
                | State::TrailerValue
                | State::TrailerLf
                | State::EndLf,
                _,
            ) => return Err(ChunkedError::Trailer),
            (State::Content | State::End, _) => unreachable!("decode() deals with these"),
        };
        Ok(())
    }

    fn digit(&mut self, byte: u8) -> Result<State, ChunkedError> {
        let value = char::from(byte).to_digit(16).ok_or(ChunkedError::Size)?;
        if self.digits == SIZE_DIGITS {
            return Err(ChunkedError::Size);
        }
        self.digits += 1;
        self.remaining = self.remaining << 4 | u64::from(value);
        Ok(State::Size)
    }

    fn surround(&mut self) -> Result<(), ChunkedError> {
        self.surroundings += 1;
        if self.surroundings > SURROUNDINGS_LIMIT {
            return Err(ChunkedError::Limit);
        }
        Ok(())
    }
}

impl Extension {
    /// What comes after `byte`; none if it has no place here.
    fn after(self, byte: u8) -> Option<State> {
        Some(State::Extension(match (self, byte) {
            (Self::Name | Self::Value | Self::QuotedEnd, b'\r') => return Some(State::SizeLf),
            (Self::Name | Self::NameEnd | Self::Value | Self::QuotedEnd | Self::ValueEnd, b';') => {
                Self::Start
            }
            (Self::Name | Self::NameEnd, b'=') => Self::ValueStart,
            (Self::Start | Self::ValueStart, b' ' | b'\t') => self,
            (Self::Name | Self::NameEnd, b' ' | b'\t') => Self::NameEnd,
            (Self::Value | Self::QuotedEnd | Self::ValueEnd, b' ' | b'\t') => Self::ValueEnd,
            (Self::Start | Self::Name, byte) if is_token(byte) => Self::Name,
            (Self::ValueStart, b'"') => Self::Quoted,
            (Self::ValueStart | Self::Value, byte) if is_token(byte) => Self::Value,
            (Self::Quoted, b'"') => Self::QuotedEnd,
            (Self::Quoted, b'\\') => Self::QuotedPair,
            (Self::Quoted | Self::QuotedPair, byte) if is_text(byte) => Self::Quoted,
            _ => return None,
        }))
    }
}

/// What may stand in a field value or within quotes: tab, and all that is not a control character
/// (RFC 9110 §5.5).
fn is_text(byte: u8) -> bool {
    byte == b'\t' || (byte >= 0x20 && byte != 0x7f)
}

/// What a field name is made of (RFC 9110 §5.6.2).
pub(crate) fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
}

#[cfg(test)]
mod tests;
