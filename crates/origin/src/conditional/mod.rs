//! Whether a request's conditions hold for a file (RFC 9110 §13), in the order of §13.2.2.

use wire::date;
use wire::h1::request::RequestHead;

/// What of a file its conditions look at.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Validators<'a> {
    /// Strong, with its quotes.
    pub(crate) etag: &'a str,
    /// Whole seconds since 1970.
    pub(crate) last_modified: u64,
}

/// What the conditions say.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Evaluation {
    /// Answer as usual. `honours_range`: a `Range` field counts.
    Go {
        /// Not so where `If-Range` names another state of the file.
        honours_range: bool,
    },
    /// 304: the client has it already.
    NotModified,
    /// 412.
    PreconditionFailed,
}

/// Evaluates the conditions of a GET or HEAD at the time `now`, in seconds since 1970.
pub(crate) fn evaluate(request: &RequestHead<'_>, file: Validators<'_>, now: u64) -> Evaluation {
    let date_of = |name| request.field(name).and_then(|text| date::parse(text, now));
    // §13.1.1 and §13.1.4: the date counts only where there is no tag.
    if request.field("if-match").is_some() {
        if !matches_any(request, "if-match", file.etag, Comparison::Strong) {
            return Evaluation::PreconditionFailed;
        }
    } else if let Some(since) = date_of("if-unmodified-since")
        && file.last_modified > since
    {
        return Evaluation::PreconditionFailed;
    }
    // §13.1.2 and §13.1.3, likewise.
    if request.field("if-none-match").is_some() {
        if matches_any(request, "if-none-match", file.etag, Comparison::Weak) {
            return Evaluation::NotModified;
        }
    } else if let Some(since) = date_of("if-modified-since")
        && file.last_modified <= since
    {
        return Evaluation::NotModified;
    }
    Evaluation::Go {
        honours_range: request.method == "GET" && if_range_holds(request, file, now),
    }
}

/// §13.1.5: a strong tag, or exactly the date, if that is old enough to be strong (§8.8.2.2).
fn if_range_holds(request: &RequestHead<'_>, file: Validators<'_>, now: u64) -> bool {
    let Some(field) = request.field("if-range") else {
        return true;
    };
    if field.contains(&b'"') {
        return field == file.etag.as_bytes();
    }
    file.last_modified < now && date::parse(field, now) == Some(file.last_modified)
}

#[derive(Clone, Copy, Eq, PartialEq)]
enum Comparison {
    Strong,
    Weak,
}

/// Whether a list of tags, or `*`, contains `etag` (§8.8.3.2).
fn matches_any(request: &RequestHead<'_>, name: &str, etag: &str, how: Comparison) -> bool {
    request
        .all_fields(name)
        .any(|list| list.trim_ascii() == b"*" || tags(list).any(|tag| is_same(tag, etag, how)))
}

fn is_same(tag: Tag<'_>, etag: &str, how: Comparison) -> bool {
    tag.opaque == etag.as_bytes() && (how == Comparison::Weak || !tag.is_weak)
}

#[derive(Clone, Copy)]
struct Tag<'a> {
    /// With its quotes.
    opaque: &'a [u8],
    is_weak: bool,
}

/// The tags of a list, up to the first that is malformed; a tag may contain commas.
fn tags(list: &[u8]) -> impl Iterator<Item = Tag<'_>> {
    let mut rest = list;
    std::iter::from_fn(move || {
        let start = rest
            .iter()
            .position(|byte| !matches!(byte, b' ' | b'\t' | b','))?;
        rest = &rest[start..];
        let is_weak = rest.starts_with(b"W/");
        if is_weak {
            rest = &rest[2..];
        }
        let body = rest.strip_prefix(b"\"")?;
        let end = body.iter().position(|&byte| byte == b'"')? + 2;
        let (opaque, after) = rest.split_at(end);
        rest = after;
        Some(Tag { opaque, is_weak })
    })
}

#[cfg(test)]
mod tests;
