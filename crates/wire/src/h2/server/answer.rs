//! From the head of an answer, as handlers write it for HTTP/1.1, to a block of fields.

use crate::h2::frame;
use crate::h2::frame::flag;
use crate::h2::hpack::{self, Form};
use crate::h2::settings::TABLE_AT_FIRST;

/// Names up to this length are written in lower case on the stack.
const NAME: usize = 64;

/// The head that an answer on a connection had last, in both forms: the next answer mostly has the
/// same.
///
/// Cost: a comparison where it has; else each of its fields is looked up and written.
#[derive(Debug, Default)]
pub(crate) struct LastHead {
    text: Vec<u8>,
    block: Vec<u8>,
}

impl LastHead {
    /// The block of the head at the start of `text`, as `begin` and `field` write it, and how long
    /// that head is. None: there is no whole head.
    pub(crate) fn block_of(
        &mut self,
        text: &[u8],
        begin: impl FnOnce(&mut Vec<u8>),
        field: impl Fn(&mut Vec<u8>, &[u8], &[u8]),
    ) -> Option<(&[u8], usize)> {
        // A head ends with itself, so what begins with one has that one.
        if self.text.is_empty() || !text.starts_with(&self.text) {
            self.text.clear();
            self.block.clear();
            begin(&mut self.block);
            let length = each_field(text, |name, value| field(&mut self.block, name, value))?;
            self.text.extend_from_slice(&text[..length]);
        }
        Some((&self.block, self.text.len()))
    }
}

/// What the client knows of the table of our encoder, which uses none.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) enum Table {
    /// It has the size of the beginning.
    #[default]
    AsAtFirst,
    /// The client allows less: the next block begins with a change of size (RFC 7541 §4.2).
    Shrunk,
    /// It was told that there is none.
    Empty,
}

impl Table {
    /// The client allows at least so much.
    pub(super) fn allow(&mut self, size: u32) {
        if *self == Self::AsAtFirst && size < TABLE_AT_FIRST {
            *self = Self::Shrunk;
        }
    }

    /// Appends `block` to `out`, as a frame of `stream`.
    fn write(&mut self, stream: u32, block: &[u8], flags: u8, out: &mut Vec<u8>) {
        if *self != Self::Shrunk {
            return frame::headers(out, stream, block, flags);
        }
        *self = Self::Empty;
        let mut told = Vec::with_capacity(block.len() + 1);
        hpack::resize(&mut told, 0);
        told.extend_from_slice(block);
        frame::headers(out, stream, &told, flags);
    }
}

/// Appends the head at the start of `text` to `out`, as frames of `stream`; how long it was. None:
/// there is no whole head.
pub(super) fn write_head(
    text: &[u8],
    stream: u32,
    is_all: bool,
    (last, table): (&mut LastHead, &mut Table),
    out: &mut Vec<u8>,
) -> Option<usize> {
    let (block, from) = last.block_of(
        text,
        |_| {},
        |block, name, value| hpack::field(block, name, value, Form::Plain),
    )?;
    let flags = if is_all && from == text.len() {
        flag::END_STREAM
    } else {
        0
    };
    table.write(stream, block, flags, out);
    Some(from)
}

/// Hands on the fields of the head at the start of `text`, with `:status` before them and names in
/// lower case; how long the head is. None: there is no whole head.
fn each_field(text: &[u8], mut each: impl FnMut(&[u8], &[u8])) -> Option<usize> {
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
pub(super) fn write_continue(stream: u32, table: &mut Table, out: &mut Vec<u8>) {
    let mut block = Vec::new();
    hpack::field(&mut block, b":status", b"100", Form::Plain);
    table.write(stream, &block, 0, out);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// One begins as another does, two differ in the last field, and one never ends.
    const HEADS: [&str; 5] = [
        "HTTP/1.1 200 OK\r\nA: 1\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: 1\r\nb: 2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: 1\r\nb: 3\r\n\r\n",
        "HTTP/1.1 404 Not Found\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: 1\r\n",
    ];

    proptest! {
        #[test]
        fn what_was_written_before_changes_nothing(
            answers in proptest::collection::vec(
                (0..HEADS.len(), "[a-z\r\n]{0,4}", any::<bool>()),
                1..20,
            ),
        ) {
            let mut last = LastHead::default();
            for (head, content, is_all) in answers {
                let text = [HEADS[head], &content].concat();
                let write = |last: &mut LastHead| {
                    let mut out = Vec::new();
                    {
                        let known = (last, &mut Table::default());
                        (write_head(text.as_bytes(), 1, is_all, known, &mut out), out)
                    }
                };
                prop_assert_eq!(write(&mut last), write(&mut LastHead::default()));
            }
        }
    }
}
