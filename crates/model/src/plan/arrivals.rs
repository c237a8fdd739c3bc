//! How exchanges become due: one after the other, or at a rate.

use serde::{Deserialize, Serialize};

use crate::units::Rate;

/// How exchanges become due.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Arrivals {
    /// Closed loop: at the end of the previous one on the same connection.
    #[default]
    Closed,
    /// Open loop: evenly spaced, the k-th at k / rate.
    Fixed {
        /// In total, over all workers.
        rate_per_1000_s: Rate,
    },
    /// Open loop: independent exponential gaps of mean 1 / rate.
    Poisson {
        /// In total, over all workers.
        rate_per_1000_s: Rate,
    },
    /// Open loop: the k-th at a random instant between k / rate and (k + 1) / rate.
    Uniform {
        /// In total, over all workers.
        rate_per_1000_s: Rate,
    },
}

impl Arrivals {
    /// Whether nothing comes but what follows an answer.
    pub const fn is_closed(&self) -> bool {
        matches!(self, Self::Closed)
    }

    /// The same at another rate, which follows from its own.
    #[must_use]
    pub fn with_rate(self, of: impl Fn(Rate) -> Rate) -> Self {
        let rate_per_1000_s = of(self.rate().unwrap_or_default());
        match self {
            Self::Closed => Self::Closed,
            Self::Fixed { .. } => Self::Fixed { rate_per_1000_s },
            Self::Poisson { .. } => Self::Poisson { rate_per_1000_s },
            Self::Uniform { .. } => Self::Uniform { rate_per_1000_s },
        }
    }

    /// The intended load; none in a closed loop.
    pub const fn rate(self) -> Option<Rate> {
        match self {
            Self::Closed => None,
            Self::Fixed { rate_per_1000_s }
            | Self::Poisson { rate_per_1000_s }
            | Self::Uniform { rate_per_1000_s } => Some(rate_per_1000_s),
        }
    }
}
