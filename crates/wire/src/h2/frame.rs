//! The frames of HTTP/2 (RFC 9113 §4 and §6): reading their heads, and writing them.

/// How long the head of a frame is.
pub(crate) const HEAD: usize = 9;
/// The longest payload that we take, which is the longest that a peer may send unless told
/// otherwise (RFC 9113 §4.2).
pub(crate) const PAYLOAD: usize = 16 * 1024;

/// Kinds of frames.
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const PRIORITY: u8 = 2;
    pub(crate) const RST_STREAM: u8 = 3;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PUSH_PROMISE: u8 = 5;
    pub(crate) const PING: u8 = 6;
    pub(crate) const GOAWAY: u8 = 7;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// Flags of frames.
pub(crate) mod flag {
    pub(crate) const ACK: u8 = 0x1;
    pub(crate) const END_STREAM: u8 = 0x1;
    pub(crate) const END_HEADERS: u8 = 0x4;
    pub(crate) const PADDED: u8 = 0x8;
    pub(crate) const PRIORITY: u8 = 0x20;
}

/// Why a stream or a connection ends (RFC 9113 §7).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Code(pub u32);

impl Code {
    /// Nothing is wrong.
    pub const NO_ERROR: Self = Self(0);
    /// The protocol was broken in a way that no other code tells.
    pub const PROTOCOL: Self = Self(1);
    /// An endpoint failed.
    pub const INTERNAL: Self = Self(2);
    /// More was sent than the window had room for.
    pub const FLOW_CONTROL: Self = Self(3);
    /// Something came on a stream that is over.
    pub const STREAM_CLOSED: Self = Self(5);
    /// A frame has a length that its kind cannot have.
    pub const FRAME_SIZE: Self = Self(6);
    /// The stream was not processed.
    pub const REFUSED: Self = Self(7);
    /// The stream is not wanted any more.
    pub const CANCEL: Self = Self(8);
    /// The compressed head breaks its coding.
    pub const COMPRESSION: Self = Self(9);
    /// The peer does too much of something.
    pub const CALM: Self = Self(11);

    /// Its name in RFC 9113 §7; none for a code that it does not have.
    pub const fn name(self) -> Option<&'static str> {
        Some(match self.0 {
            0 => "NO_ERROR",
            1 => "PROTOCOL_ERROR",
            2 => "INTERNAL_ERROR",
            3 => "FLOW_CONTROL_ERROR",
            4 => "SETTINGS_TIMEOUT",
            5 => "STREAM_CLOSED",
            6 => "FRAME_SIZE_ERROR",
            7 => "REFUSED_STREAM",
            8 => "CANCEL",
            9 => "COMPRESSION_ERROR",
            10 => "CONNECT_ERROR",
            11 => "ENHANCE_YOUR_CALM",
            12 => "INADEQUATE_SECURITY",
            13 => "HTTP_1_1_REQUIRED",
            _ => return None,
        })
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "code {}", self.0),
        }
    }
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct FrameHead {
    /// Of the payload.
    pub(crate) length: usize,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl FrameHead {
    #[inline]
    pub(crate) fn read(bytes: [u8; HEAD]) -> Self {
        let [a, b, c, kind, flags, stream @ ..] = bytes;
        Self {
            length: u32::from_be_bytes([0, a, b, c]) as usize,
            kind,
            flags,
            // The highest bit means nothing (RFC 9113 §4.1).
            stream: u32::from_be_bytes(stream) & 0x7fff_ffff,
        }
    }

    #[inline]
    pub(crate) fn write(self, out: &mut Vec<u8>) {
        debug_assert!(self.length <= PAYLOAD, "{self:?}");
        let [.., a, b, c] = self.length.to_be_bytes();
        let [d, e, f, g] = self.stream.to_be_bytes();
        out.extend_from_slice(&[a, b, c, self.kind, self.flags, d, e, f, g]);
    }

    #[inline]
    pub(crate) const fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// Appends the fields of a block, in as many frames as they need.
pub(crate) fn headers(out: &mut Vec<u8>, stream: u32, block: &[u8], flags: u8) {
    let mut rest = block;
    let mut kind = kind::HEADERS;
    let mut flags = flags;
    loop {
        let (piece, after) = rest.split_at(rest.len().min(PAYLOAD));
        if after.is_empty() {
            flags |= flag::END_HEADERS;
        }
        let head = FrameHead {
            length: piece.len(),
            kind,
            flags,
            stream,
        };
        head.write(out);
        out.extend_from_slice(piece);
        if after.is_empty() {
            return;
        }
        (rest, kind, flags) = (after, kind::CONTINUATION, 0);
    }
}

/// Appends the head of content that follows.
pub(crate) fn data(out: &mut Vec<u8>, stream: u32, length: usize, is_last: bool) {
    let head = FrameHead {
        length,
        kind: kind::DATA,
        flags: if is_last { flag::END_STREAM } else { 0 },
        stream,
    };
    head.write(out);
}

/// Appends a frame whose payload is a few numbers.
fn small(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let head = FrameHead {
        length: payload.len(),
        kind,
        flags,
        stream,
    };
    head.write(out);
    out.extend_from_slice(payload);
}

/// Appends settings: numbers with their values.
pub(crate) fn settings(out: &mut Vec<u8>, values: &[(u16, u32)]) {
    let head = FrameHead {
        length: values.len() * 6,
        kind: kind::SETTINGS,
        flags: 0,
        stream: 0,
    };
    head.write(out);
    for (number, value) in values {
        out.extend_from_slice(&number.to_be_bytes());
        out.extend_from_slice(&value.to_be_bytes());
    }
}

/// Appends that the peer's settings hold from here on.
pub(crate) fn settings_ack(out: &mut Vec<u8>) {
    small(out, kind::SETTINGS, flag::ACK, 0, &[]);
}

/// Appends the answer to a PING.
pub(crate) fn ping_ack(out: &mut Vec<u8>, payload: &[u8]) {
    small(out, kind::PING, flag::ACK, 0, payload);
}

/// Appends that so many more bytes may come on `stream`, or on all where it is 0.
pub(crate) fn window_update(out: &mut Vec<u8>, stream: u32, more: u32) {
    small(out, kind::WINDOW_UPDATE, 0, stream, &more.to_be_bytes());
}

/// Appends the end of one stream.
pub(crate) fn reset(out: &mut Vec<u8>, stream: u32, code: Code) {
    small(out, kind::RST_STREAM, 0, stream, &code.0.to_be_bytes());
}

/// Appends the end of the connection: nothing after `last` was or will be processed.
pub(crate) fn go_away(out: &mut Vec<u8>, last: u32, code: Code) {
    let [a, b, c, d] = last.to_be_bytes();
    let [e, f, g, h] = code.0.to_be_bytes();
    small(out, kind::GOAWAY, 0, 0, &[a, b, c, d, e, f, g, h]);
}

/// The number at the start of a payload, without its highest bit.
pub(crate) fn number(payload: &[u8]) -> Option<u32> {
    let first = payload.first_chunk::<4>()?;
    Some(u32::from_be_bytes(*first) & 0x7fff_ffff)
}

/// The code at `from` in a payload.
pub(crate) fn code_at(payload: &[u8], from: usize) -> Option<Code> {
    let first = payload.get(from..)?.first_chunk::<4>()?;
    Some(Code(u32::from_be_bytes(*first)))
}

/// What is left of a payload without padding and priority (RFC 9113 §6.2).
pub(crate) fn without_padding(head: FrameHead, payload: &[u8]) -> Option<&[u8]> {
    let mut rest = payload;
    let mut padding = 0;
    if head.has(flag::PADDED) {
        let (&length, after) = rest.split_first()?;
        (rest, padding) = (after, usize::from(length));
    }
    if head.has(flag::PRIORITY) {
        rest = rest.get(5..)?;
    }
    rest.get(..rest.len().checked_sub(padding)?)
}
