//! From the head of an answer, as handlers write it for HTTP/1.1, to a block of fields.

use crate::h2::frame;
use crate::h2::frame::flag;
use crate::h2::hpack::{self, Form};

/// Names up to this length are written in lower case on the stack.
const NAME: usize = 64;

/// Appends the head at the start of `text` to `out`, as frames of `stream`; how long it was. None:
/// there is no whole head.
pub(super) fn write_head(
    text: &[u8],
    stream: u32,
    is_all: bool,
    block: &mut Vec<u8>,
    out: &mut Vec<u8>,
) -> Option<usize> {
    block.clear();
    let from = each_field(text, |name, value| {
        hpack::field(block, name, value, Form::Plain);
    })?;
    let flags = if is_all && from == text.len() {
        flag::END_STREAM
    } else {
        0
    };
    frame::headers(out, stream, block, flags);
    Some(from)
}

/// Hands on the fields of the head at the start of `text`, with `:status` before them and names in
/// lower case; how long the head is. None: there is no whole head.
pub(crate) fn each_field(text: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Option<usize> {
    let status = text.strip_prefix(b"HTTP/1.1 ")?.first_chunk::<3>()?;
    each(b":status", status);
    let mut from = memchr::memchr(b'\n', text)? + 1;
    loop {
        let end = from + memchr::memchr(b'\n', &text[from..])?;
        let line = text[from..end].trim_ascii_end();
        from = end + 1;
        if line.is_empty() {
            return Some(from);
        }
        let colon = memchr::memchr(b':', line)?;
        let (name, value) = line.split_at(colon);
        let mut lower = [0; NAME];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        // It is about connections of HTTP/1.1 (RFC 9113 §8.2.2).
        if lower != b"connection" {
            each(lower, value[1..].trim_ascii_start());
        }
    }
}

/// Appends that the body of the request may come (RFC 9110 §15.2.1).
pub(super) fn write_continue(stream: u32, block: &mut Vec<u8>, out: &mut Vec<u8>) {
    block.clear();
    hpack::field(block, b":status", b"100", Form::Plain);
    frame::headers(out, stream, block, 0);
}
