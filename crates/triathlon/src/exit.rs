//! What the exit code says (ADR 0008).

use std::process::ExitCode;

/// How the program ends.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Exit {
    /// Measured, or done what was asked.
    Done,
    /// The world failed: a server, a file, a permission.
    World,
    /// Wrong usage.
    Usage,
    /// Measured, but every claim that the run makes is invalid.
    Invalid,
    /// Measured or compared, and a limit that was given failed.
    Threshold,
    /// Interrupted; what was measured is kept.
    Interrupted,
}

/// A sentence about wrong usage: ends the program with code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct UsageError(pub(crate) String);

impl Exit {
    /// The code for an error that ended the program.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        if error.chain().any(|cause| cause.is::<UsageError>()) {
            Self::Usage
        } else {
            Self::World
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Done => 0,
            Exit::World => 1,
            Exit::Usage => 2,
            Exit::Invalid => 3,
            Exit::Threshold => 4,
            Exit::Interrupted => 130,
        })
    }
}
