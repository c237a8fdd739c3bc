//! Kernel versions and ranges of them.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// A Linux version: `3.10`, `6.1.0-18-amd64`. Only its first two numbers decide what it has.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub struct Kernel {
    major: u16,
    minor: u16,
}

impl Kernel {
    /// Version `major.minor`.
    pub const fn new(major: u16, minor: u16) -> Self {
        Self { major, minor }
    }
}

/// The text is not a kernel version.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
#[error("'{0}' is not a kernel version: write 3.10 or 6.1.0-18-amd64")]
pub struct ParseKernelError(String);

impl FromStr for Kernel {
    type Err = ParseKernelError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let digits = text
            .trim()
            .trim_start_matches("Linux")
            .trim_start()
            .trim_start_matches('v');
        let mut parts = digits.split(|c: char| !c.is_ascii_digit());
        let mut number = || parts.next().and_then(|part| part.parse().ok());
        match (number(), number()) {
            (Some(major), Some(minor)) => Ok(Self { major, minor }),
            _ => Err(ParseKernelError(text.to_owned())),
        }
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// Kernels from one version on and before another.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct KernelRange {
    from: Option<Kernel>,
    before: Option<Kernel>,
}

impl KernelRange {
    /// All of them.
    pub const ALL: Self = Self {
        from: None,
        before: None,
    };

    /// All before `kernel`.
    pub const fn before(kernel: Kernel) -> Self {
        Self {
            from: None,
            before: Some(kernel),
        }
    }

    /// `kernel` and all later ones.
    pub const fn from(kernel: Kernel) -> Self {
        Self {
            from: Some(kernel),
            before: None,
        }
    }

    /// From the first on and before the second.
    pub const fn between(from: Kernel, before: Kernel) -> Self {
        Self {
            from: Some(from),
            before: Some(before),
        }
    }

    /// Whether `kernel` is one of them.
    pub fn contains(&self, kernel: Kernel) -> bool {
        self.from.is_none_or(|from| from <= kernel) && self.before.is_none_or(|end| kernel < end)
    }

    /// Whether all of them are older than `kernel`, and the version that ended it.
    pub fn ended_before(&self, kernel: Kernel) -> Option<Kernel> {
        self.before.filter(|end| *end <= kernel)
    }
}

impl fmt::Display for KernelRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.from, self.before) {
            (None, None) => f.write_str("all kernels"),
            (Some(from), None) => write!(f, "since {from}"),
            (None, Some(before)) => write!(f, "before {before}"),
            (Some(from), Some(before)) => write!(f, "{from} up to but not {before}"),
        }
    }
}

impl Serialize for KernelRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
