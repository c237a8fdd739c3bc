//! Answers that come from files: whole, in ranges, not modified, elsewhere, or not at all.

use std::fs::File;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

use model::Instant;
use wire::h1::request::RequestHead;
use wire::{Part, Persistence, date};

use super::{Reply, Site};
use crate::conditional::{self, Evaluation, Validators};
use crate::file::{Found, Missing, Served};
use crate::head::{HeadWriter, Today, reason};
use crate::range::{self, Wanted};
use crate::route::{self, Route};

/// Longer targets are not sent back to the client in a `Location` (which may be three times as
/// long).
const LOCATION_LIMIT: usize = 2 * 1024;

impl Site {
    /// Answers a GET or a HEAD.
    pub(super) fn content(
        &mut self,
        request: &RequestHead<'_>,
        target: &Route<'_>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        if target.is_hidden() && !self.dot_files {
            return self.error(request, 404, persistence, out);
        }
        let found = if target.is_folder {
            let separator: &[u8] = if target.path.is_empty() { b"" } else { b"/" };
            let path = [&target.path, separator, self.index.as_bytes()].concat();
            self.files.find(&path, self.now, self.today.second)
        } else {
            self.files.find(&target.path, self.now, self.today.second)
        };
        match found {
            Ok(Found::File(file, holds_until)) => {
                self.file(request, &file, holds_until, persistence, out)
            }
            Ok(Found::Folder) if target.is_folder => self.error(request, 404, persistence, out),
            Ok(Found::Folder) => self.to_folder(request, target, persistence, out),
            Err(Missing::Nothing) if target.is_folder && self.listing => {
                self.list(request, &target.path, persistence, out)
            }
            Err(missing) => self.error(request, status_of(missing), persistence, out),
        }
    }

    fn file(
        &self,
        request: &RequestHead<'_>,
        file: &Rc<Served>,
        holds_until: Instant,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        let validators = Validators {
            etag: &file.etag,
            last_modified: file.last_modified,
        };
        let has_content = request.method == "GET";
        let reply = match conditional::evaluate(request, validators, self.today.second) {
            Evaluation::NotModified => {
                validated(HeadWriter::begin(out, 304, &self.today), file).end(persistence);
                Reply::written(304, 0)
            }
            Evaluation::PreconditionFailed => self.error(request, 412, persistence, out),
            Evaluation::Go { honours_range } => {
                let field = request.field("range").filter(|_| honours_range);
                match range::wanted(field, file.length) {
                    Wanted::All => self.whole(file, has_content, persistence, out),
                    Wanted::Parts(ranges) => match ranges.as_slice() {
                        [range] => self.part(file, range, persistence, out),
                        _ => self.parts(file, &ranges, persistence, out),
                    },
                    Wanted::Unsatisfiable => self.unsatisfiable(file, persistence, out),
                }
            }
        };
        Reply {
            // A condition on dates may turn out otherwise as time goes by, but not before this.
            holds_until: Some(holds_until),
            ..reply
        }
    }

    fn whole(
        &self,
        file: &Served,
        has_content: bool,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        validated(HeadWriter::begin(out, 200, &self.today), file)
            .field("Content-Type", file.media_type)
            .field("Accept-Ranges", "bytes")
            .length(file.length)
            .end(persistence);
        if !has_content {
            return Reply::written(200, 0);
        }
        Reply {
            parts: slice(file, 0..file.length, out),
            ..Reply::written(200, file.length)
        }
    }

    fn part(
        &self,
        file: &Served,
        range: &Range<u64>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        let length = range.end - range.start;
        validated(HeadWriter::begin(out, 206, &self.today), file)
            .field("Content-Type", file.media_type)
            .field("Content-Range", content_range(range, file.length))
            .length(length)
            .end(persistence);
        Reply {
            parts: slice(file, range.clone(), out),
            ..Reply::written(206, length)
        }
    }

    /// RFC 9110 §14.6.
    fn parts(
        &self,
        file: &Served,
        ranges: &[Range<u64>],
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        // Not in the content but by an accident of one in 2^64 that depends on the time.
        let boundary = format!("{:016x}", self.boundary());
        let part_head = |range: &Range<u64>| {
            format!(
                "\r\n--{boundary}\r\nContent-Type: {}\r\nContent-Range: {}\r\n\r\n",
                file.media_type,
                content_range(range, file.length)
            )
        };
        let end = format!("\r\n--{boundary}--\r\n");
        let mut length = end.len() as u64;
        for range in ranges {
            length += part_head(range).len() as u64 + (range.end - range.start);
        }
        validated(HeadWriter::begin(out, 206, &self.today), file)
            .field(
                "Content-Type",
                format!("multipart/byteranges; boundary={boundary}"),
            )
            .length(length)
            .end(persistence);
        let mut parts = Vec::new();
        for range in ranges {
            let mut bytes = part_head(range).into_bytes();
            let rest = slice(file, range.clone(), &mut bytes);
            parts.push(Part::Bytes(bytes));
            parts.extend(rest);
        }
        parts.push(Part::Bytes(end.into_bytes()));
        Reply {
            parts,
            ..Reply::written(206, length)
        }
    }

    fn boundary(&self) -> u64 {
        let mixed = self.now.as_ns() ^ self.today.second.rotate_left(32) ^ self.requests();
        mixed.wrapping_mul(0x9E37_79B9_7F4A_7C15)
    }

    fn unsatisfiable(&self, file: &Served, persistence: Persistence, out: &mut Vec<u8>) -> Reply {
        HeadWriter::begin(out, 416, &self.today)
            .field("Content-Range", format!("bytes */{}", file.length))
            .length(0)
            .end(persistence);
        Reply::written(416, 0)
    }

    /// A folder is asked for with a slash at the end, so that relative links in it work.
    fn to_folder(
        &self,
        request: &RequestHead<'_>,
        target: &Route<'_>,
        persistence: Persistence,
        out: &mut Vec<u8>,
    ) -> Reply {
        if request.target.len() > LOCATION_LIMIT {
            return self.error(request, 414, persistence, out);
        }
        let mut location = route::encode(&target.path);
        location.push('/');
        if let Some(query) = target.query {
            location.push('?');
            location.push_str(query);
        }
        let text = error_text(301);
        let length = text.len() as u64;
        HeadWriter::begin(out, 301, &self.today)
            .field("Location", location)
            .field("Content-Type", "text/plain; charset=utf-8")
            .length(length)
            .end(persistence);
        if request.method == "HEAD" {
            return Reply::written(301, 0);
        }
        out.extend_from_slice(text.as_bytes());
        Reply::written(301, length)
    }
}

/// What is answered where nothing can be served.
pub(super) const fn status_of(missing: Missing) -> u16 {
    match missing {
        Missing::Forbidden => 403,
        Missing::Later => 503,
        Missing::Nothing => 404,
        Missing::Unreadable => 500,
    }
}

/// Adds what a client needs to ask for changes later.
fn validated<'a>(head: HeadWriter<'a>, file: &Served) -> HeadWriter<'a> {
    head.field("Last-Modified", date::format(file.last_modified))
        .field("ETag", &file.etag)
}

fn content_range(range: &Range<u64>, length: u64) -> String {
    format!("bytes {}-{}/{length}", range.start, range.end - 1)
}

/// Content from memory goes into `out`, larger content is sent from the file.
fn slice(file: &Served, range: Range<u64>, out: &mut Vec<u8>) -> Vec<Part<Arc<File>>> {
    let length = range.end - range.start;
    if length == 0 {
        return Vec::new();
    }
    if let Some(content) = &file.content
        && let (Ok(start), Ok(end)) = (usize::try_from(range.start), usize::try_from(range.end))
    {
        out.extend_from_slice(&content[start..end]);
        return Vec::new();
    }
    vec![Part::File {
        file: Arc::clone(&file.file),
        offset: range.start,
        length,
    }]
}

fn error_text(status: u16) -> String {
    format!("{status} {}\n", reason(status))
}

/// Writes an error that needs no more words; tells how long its content is.
pub(super) fn write_error(
    out: &mut Vec<u8>,
    status: u16,
    today: &Today,
    is_head: bool,
    persistence: Persistence,
) -> u64 {
    let text = error_text(status);
    let mut head = HeadWriter::begin(out, status, today);
    if status == 405 {
        head = head.field("Allow", super::ALLOWED);
    }
    head.field("Content-Type", "text/plain; charset=utf-8")
        .length(text.len() as u64)
        .end(persistence);
    if is_head {
        return 0;
    }
    out.extend_from_slice(text.as_bytes());
    text.len() as u64
}
