//! What a right answer looks like, and how closely each is looked at.
//!
//! Status and length of every answer are checked; the content of small ones byte by byte, of large
//! ones in one exchange of a thousand, the rest being drained unread. Encoded content is compared
//! as it was sent, and where the plan says so decoded as well.

use std::sync::Arc;

use model::Coding;
use model::plan::{self, Level};

use crate::exchange::Cause;

/// Content up to this is compared in every answer. At 16 KiB the comparison takes 0.4 us of the
/// 5.9 us of CPU time that such an exchange costs the generator; above it, content that is drained
/// unread is not even copied.
pub const SMALL_BYTES: u64 = 16 * 1024;

/// Of larger content, one in so many is compared.
pub const LARGE_ONE_IN: u64 = 1_000;

/// What a right answer looks like.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Expectation {
    /// The status; none accepts any.
    pub status: Option<u16>,
    /// Whether a status from 400 on is wrong, where none is expected.
    pub no_error: bool,
    /// How the content is encoded; none accepts any.
    pub coding: Option<Coding>,
    /// The length of the content as it is sent; none accepts any.
    pub length: Option<u64>,
    /// How the content begins; shorter than the content where only that much is known or stable.
    /// Workers share it.
    pub content: Arc<[u8]>,
    /// What encoded content is when it is decoded; none: none is decoded.
    pub plain: Option<Plain>,
}

/// What encoded content is when it is decoded.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Plain {
    /// Its length; none accepts any.
    pub length: Option<u64>,
    /// How it begins, as [`Expectation::content`].
    pub content: Arc<[u8]>,
    /// One encoded answer in so many is decoded.
    pub one_in: u32,
}

impl Plain {
    /// Holds `bytes` of decoded content, which start at position `from`, against it.
    pub fn check_content(&self, from: u64, bytes: &[u8]) -> Option<Cause> {
        first_difference(&self.content, from, bytes).map(|at| Cause::DecodedBody { at })
    }

    /// Holds the length of decoded content against it.
    pub fn check_length(&self, actual: u64) -> Option<Cause> {
        match self.length {
            Some(expected) if expected != actual => Some(Cause::DecodedLength { actual, expected }),
            _ => None,
        }
    }

    /// What is checked, in words.
    fn describe(&self) -> String {
        let known = self.content.len() as u64;
        let what = match self.length {
            Some(length) if length == known => format!("all {length} bytes of it"),
            _ if known > 0 => format!("its first {known} bytes"),
            Some(length) => format!("its length {length}"),
            None => "that it decodes".to_owned(),
        };
        match self.one_in {
            0 | 1 => format!("decoded content ({what})"),
            many => format!("decoded content ({what}) in one of every {many} answers"),
        }
    }
}

impl Expectation {
    /// The parts of it that `level` wants checked.
    #[must_use]
    pub fn at_level(mut self, level: Level) -> Self {
        if level < Level::Body {
            self.content = Arc::default();
            self.plain = None;
        }
        if level < Level::Length {
            self.coding = None;
            self.length = None;
        }
        if level < Level::Status {
            self.no_error = false;
            self.status = None;
        }
        self
    }

    /// The parts of it that `expect` wants checked: those of its level, and those that it names.
    #[must_use]
    pub fn as_wanted(self, expect: &plan::Expectation) -> Self {
        let status = self.status.filter(|_| expect.status.is_some());
        let length = self.length.filter(|_| expect.length.is_some());
        let mut wanted = self.at_level(expect.level);
        wanted.status = wanted.status.or(status);
        wanted.length = wanted.length.or(length);
        wanted
    }

    /// Whether the content of the exchange at `position` in its worker is compared.
    #[inline]
    pub fn compares(&self, position: u64) -> bool {
        !self.content.is_empty()
            && (self.length.unwrap_or(self.content.len() as u64) <= SMALL_BYTES
                || position.is_multiple_of(LARGE_ONE_IN))
    }

    /// Holds the status of an answer against it.
    #[inline]
    pub fn check_status(&self, actual: u16) -> Option<Cause> {
        match self.status {
            Some(expected) if expected != actual => Some(Cause::Status { actual, expected }),
            None if self.no_error && actual >= 400 => Some(Cause::ErrorStatus(actual)),
            _ => None,
        }
    }

    /// Holds the encoding of an answer's content against it.
    #[inline]
    pub fn check_coding(&self, actual: Coding) -> Option<Cause> {
        match self.coding {
            Some(expected) if expected != actual => Some(Cause::Coding { actual, expected }),
            _ => None,
        }
    }

    /// Holds `bytes` of content, which start at position `from`, against it.
    #[inline]
    pub fn check_content(&self, from: u64, bytes: &[u8]) -> Option<Cause> {
        first_difference(&self.content, from, bytes).map(|at| Cause::Body { at })
    }

    /// Holds the length of complete content against it.
    #[inline]
    pub fn check_length(&self, actual: u64) -> Option<Cause> {
        match self.length {
            Some(expected) if expected != actual => Some(Cause::Length { actual, expected }),
            _ => None,
        }
    }

    /// What is checked, in words.
    pub fn describe(&self) -> String {
        let mut parts = vec!["framing".to_owned()];
        if let Some(status) = self.status {
            parts.push(format!("status {status}"));
        } else if self.no_error {
            parts.push("status below 400".to_owned());
        }
        if let Some(coding) = self.coding.filter(|coding| *coding != Coding::Identity) {
            parts.push(format!("content-encoding {coding}"));
        }
        if let Some(length) = self.length {
            parts.push(format!("length {length}"));
        }
        let known = self.content.len() as u64;
        if known > 0 {
            let what = if self.length == Some(known) {
                "all bytes of the body".to_owned()
            } else {
                format!("the first {known} bytes of the body")
            };
            parts.push(if self.compares(1) {
                what
            } else {
                format!("{what} in one of every {LARGE_ONE_IN} answers")
            });
        }
        parts.extend(self.plain.as_ref().map(Plain::describe));
        parts.join(", ")
    }
}

/// The first position at which `bytes`, which start at `from`, are not as `content` is, as far as
/// that is known.
#[inline]
fn first_difference(content: &[u8], from: u64, bytes: &[u8]) -> Option<u64> {
    let known = usize::try_from(from)
        .ok()
        .and_then(|from| content.get(from..))
        .unwrap_or_default();
    let shared = known.len().min(bytes.len());
    if known[..shared] == bytes[..shared] {
        return None;
    }
    let same = known
        .iter()
        .zip(bytes)
        .take_while(|(ours, theirs)| ours == theirs)
        .count();
    Some(from + same as u64)
}

#[cfg(test)]
mod tests;
