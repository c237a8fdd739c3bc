//! What the exit code says (ADR 0008).

use std::process::ExitCode;

use fleet::FleetError;
use lab::LabError;

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

/// A sentence about what an interruption ended before there was a result: ends the program with
/// code 130.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Stopped(pub(crate) String);

impl Exit {
    /// The code for an error that ended the program.
    pub(crate) fn of(error: &anyhow::Error) -> Self {
        let is_interrupted = |cause: &(dyn std::error::Error + 'static)| {
            matches!(cause.downcast_ref(), Some(LabError::Interrupted))
                || matches!(cause.downcast_ref(), Some(FleetError::Interrupted))
                || cause.is::<Stopped>()
        };
        if error.chain().any(|cause| cause.is::<UsageError>()) {
            Self::Usage
        } else if error.chain().any(is_interrupted) {
            Self::Interrupted
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_interrupted_did_not_fail() {
        let of = |error: anyhow::Error| Exit::of(&error.context("about it"));
        assert_eq!(of(LabError::Interrupted.into()), Exit::Interrupted);
        assert_eq!(of(FleetError::Interrupted.into()), Exit::Interrupted);
        assert_eq!(of(Stopped(String::new()).into()), Exit::Interrupted);
        assert_eq!(of(UsageError(String::new()).into()), Exit::Usage);
        assert_eq!(of(anyhow::anyhow!("full")), Exit::World);
    }
}
