//! Which bytes of a file a request wants (RFC 9110 §14).

use std::ops::Range;

/// More ranges than this are not honoured: the whole file is sent instead.
pub(crate) const RANGES_LIMIT: usize = 32;

/// What a `Range` field asks of a file of known length.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Wanted {
    /// Everything: there is no such field, or it means nothing, or asks for more than the file.
    All,
    /// These, in the order asked; at least one, none empty.
    Parts(Vec<Range<u64>>),
    /// Nothing that the file has: 416.
    Unsatisfiable,
}

/// Reads a `Range` field for a file of `length` bytes.
pub(crate) fn wanted(field: Option<&[u8]>, length: u64) -> Wanted {
    let Some(specs) = field
        .and_then(|field| std::str::from_utf8(field).ok())
        .and_then(|field| field.split_once('='))
        .filter(|(unit, _)| unit.trim().eq_ignore_ascii_case("bytes"))
        .map(|(_, specs)| specs)
    else {
        return Wanted::All;
    };
    let mut parts = Vec::new();
    let mut count = 0;
    for spec in specs.split(',').map(str::trim).filter(|s| !s.is_empty()) {
        count += 1;
        match one(spec, length) {
            _ if count > RANGES_LIMIT => return Wanted::All,
            None => return Wanted::All, // a malformed field is ignored whole
            Some(range) if range.is_empty() => {}
            Some(range) => parts.push(range),
        }
    }
    let asked: u64 = parts.iter().map(|part| part.end - part.start).sum();
    match (count, parts.is_empty()) {
        (0, _) => Wanted::All,
        (_, true) => Wanted::Unsatisfiable,
        // Overlapping ranges would make much of little (RFC 9110 §17.15).
        _ if parts.len() > 1 && asked > length => Wanted::All,
        _ => Wanted::Parts(parts),
    }
}

/// One range; empty where the file does not reach; none where it is malformed.
fn one(spec: &str, length: u64) -> Option<Range<u64>> {
    let (first, last) = spec.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let suffix = number(last)?;
        return Some(length.saturating_sub(suffix)..length);
    }
    let first = number(first)?;
    let end = if last.is_empty() {
        length
    } else {
        let last = number(last)?;
        if last < first {
            return None;
        }
        last.saturating_add(1).min(length)
    };
    Some(first.min(end)..end)
}

/// Digits; what is beyond 64 bits is as good as the largest number.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
