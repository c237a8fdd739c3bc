//! Requests as frames, written once before the run, or when they begin.

use bytes::Bytes;

use crate::h2::client::request::{fields, transcribe};
use crate::h3::frame::{kind, put_head};
use crate::h3::qpack::{self, Form};
use crate::message::RequestParts;

/// One request, as it is sent: its head, and its content if there is some, in a frame each.
#[derive(Clone, Debug, Default)]
pub struct Encoded {
    pub(super) bytes: Bytes,
}

/// Writes a request.
pub fn encode(request: &RequestParts<'_>) -> Encoded {
    let mut block = Vec::new();
    qpack::begin(&mut block);
    for (name, value) in fields(request, true) {
        let (name, value) = (name.as_bytes(), value.as_bytes());
        qpack::field(&mut block, name, value, Form::Coded);
    }
    Encoded {
        bytes: framed(&block, request.content.unwrap_or_default()),
    }
}

/// Writes a whole message as HTTP/1.1 has it.
pub(super) fn transcribed(message: &[u8]) -> Bytes {
    let mut block = Vec::new();
    qpack::begin(&mut block);
    let from = transcribe(message, true, |name, value| {
        qpack::field(&mut block, name, value, Form::Coded);
    });
    framed(&block, &message[from..])
}

fn framed(block: &[u8], content: &[u8]) -> Bytes {
    let mut bytes = Vec::with_capacity(block.len() + content.len() + 32);
    put_head(&mut bytes, kind::HEADERS, block.len());
    bytes.extend_from_slice(block);
    if !content.is_empty() {
        put_head(&mut bytes, kind::DATA, content.len());
        bytes.extend_from_slice(content);
    }
    bytes.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is written when a request begins is what would have been written before the run.
    #[test]
    fn a_message_is_transcribed_as_it_is_encoded() {
        let fields = [("X-Word", "a b"), ("Connection", "x"), ("TE", "trailers")];
        let fields = fields.map(|(name, value)| (name.to_owned(), value.to_owned()));
        for content in [None, Some(&b"seven!\n"[..])] {
            let parts = RequestParts {
                method: "POST",
                target: "/a?b",
                authority: "h:1",
                fields: &fields,
                content,
            };
            for closes in [false, true] {
                let message = crate::h1::encode::request(&parts, closes);
                assert_eq!(transcribed(&message), encode(&parts).bytes);
            }
        }
    }
}
