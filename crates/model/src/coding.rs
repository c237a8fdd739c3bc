//! How content is encoded on its way (Content-Encoding, RFC 9110 §8.4).

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::units::Bytes;

/// How the content of an answer is encoded.
#[derive(
    Clone, Copy, Debug, Default, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize,
)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Coding {
    /// It is not.
    #[default]
    Identity,
    /// Brotli (RFC 7932).
    Br,
    /// zlib's format (RFC 1950).
    Deflate,
    /// The format of gzip (RFC 1952).
    Gzip,
    /// Zstandard (RFC 8878).
    Zstd,
    /// In another way, or in several.
    Other,
}

impl Coding {
    /// All of them, in order.
    pub const ALL: [Self; 6] = [
        Self::Identity,
        Self::Br,
        Self::Deflate,
        Self::Gzip,
        Self::Zstd,
        Self::Other,
    ];

    /// The name that stands in fields.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Br => "br",
            Self::Deflate => "deflate",
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Other => "another coding",
        }
    }

    /// What the value of a Content-Encoding field says.
    pub fn read(value: &[u8]) -> Self {
        let value = value.trim_ascii();
        let is = |name: &str| value.eq_ignore_ascii_case(name.as_bytes());
        match () {
            () if value.is_empty() => Self::Identity,
            // RFC 9110 §8.4.1.3: the older name means the same.
            () if is("x-gzip") => Self::Gzip,
            () => {
                let known = Self::ALL.into_iter().find(|coding| is(coding.name()));
                known.unwrap_or(Self::Other)
            }
        }
    }
}

impl fmt::Display for Coding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Complete answers that were encoded in one way.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Coded {
    /// How many.
    pub answers: u64,
    /// Their content as it was sent.
    pub bytes: Bytes,
}

impl Coded {
    /// Adds those of `other`.
    pub fn merge(&mut self, other: Self) {
        self.answers += other.answers;
        self.bytes += other.bytes;
    }
}

/// Complete answers by how they were encoded.
pub type Codings = BTreeMap<Coding, Coded>;

/// Adds `theirs` to `mine`.
pub fn merge(mine: &mut Codings, theirs: &Codings) {
    for (coding, coded) in theirs {
        mine.entry(*coding).or_default().merge(*coded);
    }
}

/// Encoded answers that were decoded.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Decoded {
    /// How many, right and wrong.
    pub answers: u64,
    /// What those came to whose content was right.
    pub bytes: Bytes,
    /// Those that were to be decoded and had more content than is kept.
    #[serde(default)]
    pub left_out: u64,
}

impl Decoded {
    /// Adds those of `other`.
    pub fn merge(&mut self, other: Self) {
        self.answers += other.answers;
        self.bytes += other.bytes;
        self.left_out += other.left_out;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_read() {
        let check = |value: &str, expected| assert_eq!(Coding::read(value.as_bytes()), expected);
        check("", Coding::Identity);
        check("identity", Coding::Identity);
        check(" GZip ", Coding::Gzip);
        check("x-gzip", Coding::Gzip);
        check("br", Coding::Br);
        check("zstd", Coding::Zstd);
        check("deflate", Coding::Deflate);
        check("gzip, br", Coding::Other);
        check("aes128gcm", Coding::Other);
        check("another coding", Coding::Other);
    }
}
