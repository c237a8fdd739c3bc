//! A stream of the peer that goes one way: what kind it is of, and what may come on it.

use quinn_proto::StreamId;

use super::frame::{Piece, Reader, Stop, number};
use super::{Code, frame, kind};

/// The longest frame of a control stream that is read.
const CONTROL: usize = 4_096;

/// A stream of the peer that goes one way.
#[derive(Debug)]
pub(super) struct OneWay {
    pub(super) id: StreamId,
    /// The bytes of its kind that have come.
    start: Vec<u8>,
    kind: Option<u64>,
    reader: Reader,
}

impl OneWay {
    pub(super) fn new(id: StreamId) -> Self {
        Self {
            id,
            start: Vec::new(),
            kind: None,
            reader: Reader::default(),
        }
    }

    /// Whether the connection cannot go on without it (RFC 9114 §6.2.1, RFC 9204 §4.2).
    pub(super) const fn is_critical(&self) -> bool {
        matches!(
            self.kind,
            Some(kind::CONTROL | kind::ENCODER | kind::DECODER)
        )
    }

    /// Takes what has come on it, beside the `others` of the connection. `push` is what is wrong
    /// with a stream of pushed content; the rest of a control stream is returned.
    pub(super) fn take<'a>(
        &mut self,
        bytes: &'a [u8],
        others: &[Self],
        push: Code,
    ) -> Result<Option<&'a [u8]>, Code> {
        let mut rest = bytes;
        if self.kind.is_none() {
            self.start.extend_from_slice(rest);
            let mut start = self.start.as_slice();
            self.kind = number(&mut start);
            if self.kind.is_none() {
                return Ok(None);
            }
            rest = &bytes[bytes.len() - start.len()..];
            self.start = Vec::new();
            if self.is_critical() && others.iter().any(|other| other.kind == self.kind) {
                return Err(Code::STREAM_CREATION);
            }
        }
        match self.kind {
            Some(kind::CONTROL) => Ok(Some(rest)),
            Some(kind::PUSH) => Err(push),
            // All it may say is that the table has no room (RFC 9204 §4.3.1).
            Some(kind::ENCODER) if rest.iter().any(|byte| *byte != 0x20) => {
                Err(Code::ENCODER_STREAM)
            }
            _ => Ok(None),
        }
    }

    /// Takes frames of a control stream.
    pub(super) fn take_control<E: From<Code>>(
        &mut self,
        bytes: &[u8],
        each: impl FnMut(Piece<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let taken = self.reader.take(bytes, CONTROL, each);
        taken.map_err(|stop| match stop {
            Stop::TooLong => E::from(Code::EXCESSIVE_LOAD),
            Stop::Told(error) => error,
        })
    }
}

/// RFC 9114 §6.2.1 and §7.2: which frames may come on a control stream, and when.
pub(super) const fn begin_control(kind: u64, has_settings: bool) -> Result<(), Code> {
    match kind {
        frame::kind::SETTINGS if has_settings => Err(Code::FRAME_UNEXPECTED),
        frame::kind::SETTINGS => Ok(()),
        _ if !has_settings => Err(Code::MISSING_SETTINGS),
        frame::kind::DATA | frame::kind::HEADERS | frame::kind::PUSH_PROMISE => {
            Err(Code::FRAME_UNEXPECTED)
        }
        _ if frame::is_of_http2(kind) => Err(Code::FRAME_UNEXPECTED),
        _ => Ok(()),
    }
}
