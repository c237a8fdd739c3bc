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
    let status = text.strip_prefix(b"HTTP/1.1 ")?.first_chunk::<3>()?;
    block.clear();
    hpack::field(block, b":status", status, Form::Plain);
    let mut from = memchr::memchr(b'\n', text)? + 1;
    loop {
        let end = from + memchr::memchr(b'\n', &text[from..])?;
        let line = text[from..end].trim_ascii_end();
        from = end + 1;
        if line.is_empty() {
            break;
        }
        let colon = memchr::memchr(b':', line)?;
        let (name, value) = line.split_at(colon);
        let mut lower = [0; NAME];
        let lower = lower.get_mut(..name.len())?;
        lower.copy_from_slice(name);
        lower.make_ascii_lowercase();
        // It is about connections of HTTP/1.1 (RFC 9113 §8.2.2).
        if lower != b"connection" {
            hpack::field(block, lower, value[1..].trim_ascii_start(), Form::Plain);
        }
    }
    let flags = if is_all && from == text.len() {
        flag::END_STREAM
    } else {
        0
    };
    frame::headers(out, stream, block, flags);
    Some(from)
}

/// Appends that the body of the request may come (RFC 9110 §15.2.1).
pub(super) fn write_continue(stream: u32, block: &mut Vec<u8>, out: &mut Vec<u8>) {
    block.clear();
    hpack::field(block, b":status", b"100", Form::Plain);
    frame::headers(out, stream, block, 0);
}
