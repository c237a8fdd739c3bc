//! Frames of HTTP/3 (RFC 9114 §7), read however a stream is cut.
//!
//! Content is handed on as it comes; every other frame that has a meaning is handed on whole, up to
//! a limit, and what has none is dropped unread.

use super::Code;

pub(super) mod kind {
    pub(crate) const DATA: u64 = 0x00;
    pub(crate) const HEADERS: u64 = 0x01;
    pub(crate) const CANCEL_PUSH: u64 = 0x03;
    pub(crate) const SETTINGS: u64 = 0x04;
    pub(crate) const PUSH_PROMISE: u64 = 0x05;
    pub(crate) const GOAWAY: u64 = 0x07;
    pub(crate) const MAX_PUSH_ID: u64 = 0x0d;
}

/// Whether this is the number of a frame that only HTTP/2 has (RFC 9114 §7.2.8).
pub(super) const fn is_of_http2(kind: u64) -> bool {
    matches!(kind, 0x02 | 0x06 | 0x08 | 0x09)
}

/// The longest number (RFC 9000 §16).
const NUMBER: usize = 8;

/// What is read of a stream.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Piece<'a> {
    /// A frame of this kind begins.
    Begin(u64),
    /// A slice of the content of a DATA frame.
    Content(&'a [u8]),
    /// All of a frame of another kind.
    Whole(u64, &'a [u8]),
}

/// Why a stream is not read on.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Stop<E> {
    /// A frame is longer than we read.
    TooLong,
    /// Who was handed a piece wants no more.
    Told(E),
}

/// A stream of frames.
#[derive(Debug, Default)]
pub(super) struct Reader {
    state: State,
    /// The start of a head that has not come whole.
    head: [u8; 2 * NUMBER],
    head_length: u8,
    /// The payload of a frame that has not come whole.
    held: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
enum State {
    #[default]
    Head,
    Payload {
        kind: u64,
        left: u64,
    },
}

const fn is_dropped(kind: u64) -> bool {
    !matches!(
        kind,
        kind::HEADERS
            | kind::CANCEL_PUSH
            | kind::SETTINGS
            | kind::PUSH_PROMISE
            | kind::GOAWAY
            | kind::MAX_PUSH_ID
    )
}

impl Reader {
    /// Whether no frame is under way.
    pub(super) fn is_between(&self) -> bool {
        self.state == State::Head && self.head_length == 0
    }

    /// How much memory it holds.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }

    /// Reads `bytes`. No frame that is handed on whole is longer than `most`.
    pub(super) fn take<E>(
        &mut self,
        mut bytes: &[u8],
        most: usize,
        mut each: impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), Stop<E>> {
        loop {
            let (kind, left) = match self.state {
                State::Payload { kind, left } => (kind, left),
                State::Head => {
                    let Some((kind, length)) = self.read_head(&mut bytes) else {
                        return Ok(());
                    };
                    each(Piece::Begin(kind)).map_err(Stop::Told)?;
                    if kind != kind::DATA && !is_dropped(kind) && length > most as u64 {
                        return Err(Stop::TooLong);
                    }
                    self.state = State::Payload { kind, left: length };
                    (kind, length)
                }
            };
            let count = usize::try_from(left).map_or(bytes.len(), |left| left.min(bytes.len()));
            let (piece, rest) = bytes.split_at(count);
            bytes = rest;
            let left = left - count as u64;
            self.state = State::Payload { kind, left };
            if kind == kind::DATA {
                if !piece.is_empty() {
                    each(Piece::Content(piece)).map_err(Stop::Told)?;
                }
            } else if !is_dropped(kind) {
                if left > 0 {
                    self.held.extend_from_slice(piece);
                } else if self.held.is_empty() {
                    each(Piece::Whole(kind, piece)).map_err(Stop::Told)?;
                } else {
                    self.held.extend_from_slice(piece);
                    let held = std::mem::take(&mut self.held);
                    each(Piece::Whole(kind, &held)).map_err(Stop::Told)?;
                }
            }
            if left > 0 {
                return Ok(());
            }
            self.state = State::Head;
        }
    }

    /// Kind and length of the next frame, once both have come.
    fn read_head(&mut self, bytes: &mut &[u8]) -> Option<(u64, u64)> {
        if self.head_length == 0 {
            let mut rest = *bytes;
            if let (Some(kind), Some(length)) = (number(&mut rest), number(&mut rest)) {
                *bytes = rest;
                return Some((kind, length));
            }
        }
        while let Some((&first, after)) = bytes.split_first() {
            self.head[usize::from(self.head_length)] = first;
            self.head_length += 1;
            *bytes = after;
            let mut head = &self.head[..usize::from(self.head_length)];
            if let (Some(kind), Some(length)) = (number(&mut head), number(&mut head)) {
                self.head_length = 0;
                return Some((kind, length));
            }
        }
        None
    }
}

/// Reads a number at the start of `bytes`, if it is there whole (RFC 9000 §16).
#[inline]
pub(super) fn number(bytes: &mut &[u8]) -> Option<u64> {
    let first = *bytes.first()?;
    let length = 1usize << (first >> 6);
    let (number, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    let start = u64::from(first & 0x3f);
    let after = number[1..].iter();
    Some(after.fold(start, |value, byte| value << 8 | u64::from(*byte)))
}

/// Appends a number in its shortest form.
pub(super) fn put_number(out: &mut Vec<u8>, value: u64) {
    debug_assert!(value < 1 << 62, "{value}");
    let bytes = value.to_be_bytes();
    let (length, mark) = match value {
        0..0x40 => (1, 0x00),
        0x40..0x4000 => (2, 0x40),
        0x4000..0x4000_0000 => (4, 0x80),
        _ => (8, 0xc0),
    };
    let start = out.len();
    out.extend_from_slice(&bytes[NUMBER - length..]);
    out[start] |= mark;
}

/// Appends the head of a frame.
pub(super) fn put_head(out: &mut Vec<u8>, kind: u64, length: usize) {
    put_number(out, kind);
    put_number(out, length as u64);
}

/// How long such a head is, of a kind that has a meaning here.
pub(super) const fn head_length(length: usize) -> usize {
    1 + match length {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// What both sides say first on their control stream: its kind, and settings that change nothing.
/// Without them the peer may use no dynamic table (RFC 9204 §5).
pub(super) fn greeting() -> Vec<u8> {
    let mut out = Vec::with_capacity(4);
    put_number(&mut out, super::kind::CONTROL);
    put_head(&mut out, kind::SETTINGS, 0);
    out
}

/// Checks the settings of a peer (RFC 9114 §7.2.4): none of them matters here.
pub(super) fn check_settings(mut payload: &[u8]) -> Result<(), Code> {
    while !payload.is_empty() {
        let name = number(&mut payload).ok_or(Code::FRAME)?;
        number(&mut payload).ok_or(Code::FRAME)?;
        if matches!(name, 0x02..=0x05) {
            // They are settings of HTTP/2.
            return Err(Code::SETTINGS);
        }
    }
    Ok(())
}
