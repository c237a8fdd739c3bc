//! Requests as frames, written once before the run.

use bytes::Bytes;

use crate::h2::client::request::fields;
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
    let mut bytes = Vec::with_capacity(block.len() + 16);
    put_head(&mut bytes, kind::HEADERS, block.len());
    bytes.extend_from_slice(&block);
    if let Some(content) = request.content.filter(|content| !content.is_empty()) {
        put_head(&mut bytes, kind::DATA, content.len());
        bytes.extend_from_slice(content);
    }
    Encoded {
        bytes: bytes.into(),
    }
}
