//! The flags that say how connections come and go, whatever the server does.

use model::plan::Renewal;
use model::units::{Rate, Span};

/// A share is kept in so many parts.
const PARTS: f64 = 1_000_000.0;

/// How connections come and go.
#[derive(clap::Args, Debug)]
pub(super) struct Renewals {
    /// Ramp up softly: open at most this many connections per second, from the first on: 100, 2k
    /// or 0.5. The warm-up is then a second longer than all of them take, unless --warmup or
    /// --requests is given
    #[arg(long, value_name = "RATE", conflicts_with = "think")]
    connect_rate: Option<Rate>,

    /// Close connections of this age: the next request on one is its last, and another connection
    /// is made in its place
    #[arg(long, value_name = "TIME")]
    connection_lifetime: Option<Span>,

    /// Make this share of all requests, at random, the last on their connection: 10%
    #[arg(long, value_name = "SHARE", value_parser = share)]
    reconnect: Option<u32>,
}

impl Renewals {
    /// As a plan has it.
    pub(super) const fn written(&self, keeps_source: bool) -> Renewal {
        Renewal {
            opened_per_1000_s: self.connect_rate,
            lifetime: self.connection_lifetime,
            last_of_million: self.reconnect,
            keeps_source,
        }
    }
}

/// A share in per cent, in millionths.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "from 0 to a million"
)]
pub(super) fn share(text: &str) -> Result<u32, &'static str> {
    let wrong = "write a share above 0% and up to 100%, as in 10% or 0.5%";
    let number = text.strip_suffix('%').ok_or(wrong)?;
    let share: f64 = number.trim().parse().map_err(|_| wrong)?;
    let parts = (share / 100.0 * PARTS).round();
    if (1.0..=PARTS).contains(&parts) {
        Ok(parts as u32)
    } else {
        Err(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage() {
        for (text, expected) in [
            ("10%", Some(100_000)),
            ("0.5 %", Some(5_000)),
            ("100%", Some(1_000_000)),
            ("0%", None),
            ("101%", None),
            ("0.00001%", None),
            ("10", None),
            ("x%", None),
        ] {
            assert_eq!(share(text).ok(), expected, "{text}");
        }
    }
}
