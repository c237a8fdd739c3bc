//! How well a sample carries a quantile.

/// How well a sample carries a quantile.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub enum Support {
    /// Fewer than 10 values beyond it: not shown.
    TooFew,
    /// Fewer than 100 values beyond it: its rank is known within 20 % at best.
    Thin,
    /// At least 100 values beyond it.
    Firm,
}

/// Values beyond a quantile below which it is not shown, and below which it is thin.
const BEYOND_SHOWN: f64 = 10.0;
const BEYOND_FIRM: f64 = 100.0;

/// How well `count` values carry quantile `q`.
#[expect(clippy::cast_precision_loss, reason = "a count below 2^53")]
pub fn support(count: u64, q: f64) -> Support {
    // 1 - 0.99 is a little more than 0.01: a thousand values have ten beyond their p99.
    let beyond = count as f64 * (1.0 - q).min(q) + 1e-6;
    if beyond < BEYOND_SHOWN {
        Support::TooFew
    } else if beyond < BEYOND_FIRM {
        Support::Thin
    } else {
        Support::Firm
    }
}

/// How many values carry quantile `q`, thinly.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number, and what is too large is the largest"
)]
pub fn values_needed(q: f64) -> u64 {
    (BEYOND_SHOWN / (1.0 - q).min(q) - 1e-6).ceil() as u64
}
