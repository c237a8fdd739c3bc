//! Connections that read and send slowly, as those of users far away or with bad intentions do.

use serde::{Deserialize, Serialize};

use super::{Backend, PlanError, PlanFile, Protocol, field};

/// A share is written as so many of these.
const ALL: u32 = 1_000_000;

/// What is faster than this is not slow: pieces would follow each other within a millisecond.
const FASTEST: u64 = 10_000_000;

/// How slowly connections read and send.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Slow {
    /// A slow connection reads so many bytes of answers per second; none: as fast as they come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_bytes_per_s: Option<u64>,
    /// A slow connection sends so many bytes of requests per second; none: all at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_bytes_per_s: Option<u64>,
    /// So many of a million connections are slow; none: all are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of_million: Option<u32>,
}

impl Slow {
    /// Whether no connection is.
    pub const fn is_none(&self) -> bool {
        self.read_bytes_per_s.is_none()
            && self.send_bytes_per_s.is_none()
            && self.of_million.is_none()
    }

    /// Whether the connection of this number among all is slow. Slow ones lie evenly among others.
    pub fn is_slow(&self, number: u64) -> bool {
        let share = u64::from(self.of_million.unwrap_or(ALL));
        let before = |number: u64| number.saturating_mul(share) / u64::from(ALL);
        !self.is_none() && before(number + 1) > before(number)
    }
}

/// What is said of slow connections can be done.
pub(super) fn check(file: &PlanFile) -> Result<(), PlanError> {
    let slow = file.slow;
    if slow.is_none() {
        return Ok(());
    }
    let is_slow = |rate: Option<u64>| rate.is_none_or(|rate| (1..=FASTEST).contains(&rate));
    let wrong = |name, why| Err(field(name, why));
    match () {
        () if !is_slow(slow.read_bytes_per_s) => wrong(
            "slow.read_bytes_per_s",
            "give 1 to 10,000,000 bytes per second",
        ),
        () if !is_slow(slow.send_bytes_per_s) => wrong(
            "slow.send_bytes_per_s",
            "give 1 to 10,000,000 bytes per second",
        ),
        () if slow
            .of_million
            .is_some_and(|share| share == 0 || share > ALL) =>
        {
            wrong("slow.of_million", "give more than 0 % and at most 100 %")
        }
        () if slow.read_bytes_per_s.is_none() && slow.send_bytes_per_s.is_none() => wrong(
            "slow.of_million",
            "say how slow these connections are: --slow-read, --slow-send or both",
        ),
        () if file.protocol == Protocol::Http3 => {
            wrong("slow", "HTTP/3 goes over datagrams, which are sent whole")
        }
        () if slow.read_bytes_per_s.is_some() && file.backend == Backend::Uring => wrong(
            "slow.read_bytes_per_s",
            "io_uring receives ahead of a slow reader: choose readiness, or leave it open",
        ),
        () if file.requests_per_connection == Some(0) => wrong(
            "slow",
            "0 requests per connection ask nothing, so nothing is read or sent slowly",
        ),
        () => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;
    use crate::plan::Plan;

    #[test]
    fn what_cannot_be_is_told() {
        let check = |change: fn(&mut PlanFile), expected: &str| {
            let mut file = fixture::plan("http://127.0.0.1:1/", &[]);
            file.slow.read_bytes_per_s = Some(1_000);
            change(&mut file);
            let read = Plan::try_from(file);
            let said = read.map_or_else(|error| error.to_string(), |_| "ok".to_owned());
            assert!(said.contains(expected), "{said}");
        };
        check(|_| {}, "ok");
        check(
            |file| file.slow.read_bytes_per_s = Some(0),
            "slow.read_bytes_per_s: give 1 to",
        );
        check(
            |file| file.slow.send_bytes_per_s = Some(FASTEST + 1),
            "slow.send_bytes_per_s",
        );
        check(|file| file.slow.of_million = Some(0), "at most 100 %");
        check(|file| file.slow.of_million = Some(ALL + 1), "at most 100 %");
        check(|file| file.protocol = Protocol::Http3, "datagrams");
        check(|file| file.backend = Backend::Uring, "choose readiness");
        check(|file| file.requests_per_connection = Some(0), "0 requests");
        let share_alone = |file: &mut PlanFile| {
            file.slow = Slow {
                of_million: Some(1),
                ..Slow::default()
            };
        };
        check(share_alone, "say how slow");
    }

    #[test]
    fn a_share_of_the_connections_is_slow() {
        for (of_million, expected) in [(None, 1_000), (Some(100_000), 100), (Some(1_500), 1)] {
            let slow = Slow {
                read_bytes_per_s: Some(1),
                of_million,
                ..Slow::default()
            };
            let count = (0..1_000).filter(|number| slow.is_slow(*number)).count();
            assert_eq!(count, expected, "{of_million:?}");
        }
        assert!(!Slow::default().is_slow(0));
    }
}
