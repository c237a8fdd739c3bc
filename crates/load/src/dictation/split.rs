//! Where the requests of a batch end (RFC 9112 §6): as lenient as can be, because a script may send
//! what no good client would.

use memchr::memmem;

/// What keeps bytes from being requests, and where.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Malformed {
    /// What is wrong, in words.
    pub why: &'static str,
    /// From 1.
    pub line: usize,
    /// From 1.
    pub column: usize,
}

/// How many whole requests `bytes` are.
///
/// # Errors
///
/// They are none, or the last one is incomplete.
pub fn requests(bytes: &[u8]) -> Result<usize, Malformed> {
    let mut rest = bytes;
    let mut count = 0;
    while !rest.is_empty() {
        let Some(length) = length(rest) else {
            return Err(malformed(bytes, bytes.len(), "incomplete request"));
        };
        let line = rest.split(|byte| *byte == b'\r').next().unwrap_or_default();
        let mut words = line.split(|byte| *byte == b' ');
        let is_request = words.next().is_some_and(|method| !method.is_empty())
            && words.next().is_some()
            && line.windows(6).any(|part| part == b" HTTP/");
        if !is_request {
            let at = bytes.len() - rest.len();
            return Err(malformed(bytes, at, "invalid request line"));
        }
        rest = &rest[length..];
        count += 1;
    }
    match count {
        0 => Err(malformed(bytes, 0, "incomplete request")),
        _ => Ok(count),
    }
}

fn malformed(bytes: &[u8], at: usize, why: &'static str) -> Malformed {
    let before = &bytes[..at];
    let line_start = memchr::memrchr(b'\n', before).map_or(0, |feed| feed + 1);
    Malformed {
        why,
        line: memchr::memchr_iter(b'\n', before).count() + 1,
        column: at - line_start + 1,
    }
}

/// Writes where each request ends, and whether it is a HEAD. What cannot be told apart is one.
pub(super) fn ends(batch: &[u8], ends: &mut Vec<(usize, bool)>) {
    let mut start = 0;
    while start < batch.len() {
        let rest = &batch[start..];
        let end = start + length(rest).unwrap_or(rest.len());
        ends.push((end, rest.starts_with(b"HEAD ")));
        start = end;
    }
}

/// How long the request is that `bytes` begin with; none if it is not all there.
fn length(bytes: &[u8]) -> Option<usize> {
    let head = memmem::find(bytes, b"\r\n\r\n")? + 4;
    let mut content = 0;
    for line in bytes[..head].split(|byte| *byte == b'\n').skip(1) {
        let Some(colon) = memchr::memchr(b':', line) else {
            continue;
        };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            content = std::str::from_utf8(value).ok()?.parse().ok()?;
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            content = chunks(&bytes[head..])?;
        }
    }
    let end = head.checked_add(content)?;
    (end <= bytes.len()).then_some(end)
}

/// How long the chunks are that `bytes` begin with, with the trailer behind them.
fn chunks(bytes: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let line = memmem::find(&bytes[at..], b"\r\n")?;
        let size = bytes[at..at + line].split(|byte| *byte == b';').next()?;
        let size = std::str::from_utf8(size.trim_ascii()).ok()?;
        let size = usize::from_str_radix(size, 16).ok()?;
        at += line + 2;
        if size == 0 {
            let end = match bytes[at..].starts_with(b"\r\n") {
                true => 2,
                false => memmem::find(&bytes[at..], b"\r\n\r\n")? + 4,
            };
            return Some(at + end);
        }
        at = at.checked_add(size)?.checked_add(2)?;
        if at > bytes.len() {
            return None;
        }
    }
}
