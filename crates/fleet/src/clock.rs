//! How far the clock of an agent is ahead of ours, from questions and answers.
//!
//! An answer was given after its question was sent and before it came back, so each round trip
//! bounds the offset from both sides, whatever the ways there and back took. What all of them allow
//! is an interval, which is stated: no assumption is made on how a round trip divides.

use model::Span;
use serde::{Deserialize, Serialize};

/// Clocks may differ by this much: beyond it, one of them is not kept right at all.
pub const OFFSET_MOST: Span = Span::from_s(1);

/// One question and its answer, in nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct RoundTrip {
    /// When the question was sent, on our clock.
    pub sent: u64,
    /// When it was answered, on the agent's clock.
    pub answered: u64,
    /// When the answer came, on our clock.
    pub received: u64,
}

/// How far a clock is ahead of ours.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Clock {
    /// The middle of what is possible, in nanoseconds.
    pub offset_ns: i64,
    /// How far that may be wrong, to either side.
    pub within: Span,
}

impl Clock {
    /// What these round trips say; none where there are none.
    pub fn from_trips(trips: &[RoundTrip]) -> Option<Self> {
        let bounds = trips.iter().map(RoundTrip::bounds);
        let all = bounds
            .clone()
            .reduce(|one, other| (one.0.max(other.0), one.1.min(other.1)))?;
        // A clock that was set in between contradicts itself: then the shortest trip counts.
        let (low, high) = match all.0 <= all.1 {
            true => all,
            false => bounds.min_by_key(|(low, high)| high - low)?,
        };
        Some(Self {
            offset_ns: i64::try_from((low + high) / 2).ok()?,
            within: Span::from_ns(u64::try_from((high - low + 1) / 2).unwrap_or(u64::MAX)),
        })
    }

    /// What that clock shows when ours shows `ours`.
    pub const fn there(self, ours: u64) -> u64 {
        ours.saturating_add_signed(self.offset_ns)
    }

    /// Why no common start can be agreed on with that clock; none where it can.
    pub fn objection(self) -> Option<String> {
        let away = Span::from_ns(self.offset_ns.unsigned_abs());
        let least = away.saturating_sub(self.within);
        let way = if self.offset_ns > 0 {
            "ahead of"
        } else {
            "behind"
        };
        (least > OFFSET_MOST).then(|| {
            format!(
                "its clock is {} {way} this machine's: let both follow a time server (chrony, \
                 systemd-timesyncd)",
                away.people()
            )
        })
    }
}

impl RoundTrip {
    /// The least and the largest offset that it allows.
    fn bounds(&self) -> (i128, i128) {
        let answered = i128::from(self.answered);
        (
            answered - i128::from(self.received),
            answered - i128::from(self.sent),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trip(sent: u64, answered: u64, received: u64) -> RoundTrip {
        RoundTrip {
            sent,
            answered,
            received,
        }
    }

    #[test]
    fn round_trips_bound_the_offset() {
        let check = |trips: &[RoundTrip], offset_ns: i64, within: u64| {
            let clock = Clock::from_trips(trips).unwrap();
            let expected = Clock {
                offset_ns,
                within: Span::from_ns(within),
            };
            assert_eq!(clock, expected, "{trips:?}");
        };
        check(&[trip(1_000, 1_050, 1_100)], 0, 50);
        check(&[trip(1_000, 3_050, 1_100)], 2_000, 50);
        check(&[trip(5_000, 3_050, 5_100)], -2_000, 50);
        // A slow way there and a slow way back: together they say more than either.
        check(
            &[trip(1_000, 1_900, 2_000), trip(3_000, 3_100, 4_000)],
            0,
            100,
        );
        // Whatever the order.
        check(
            &[trip(3_000, 3_100, 4_000), trip(1_000, 1_900, 2_000)],
            0,
            100,
        );
        // The clock was set by a thousand in between.
        check(
            &[trip(1_000, 1_005, 1_010), trip(2_000, 3_050, 2_100)],
            0,
            5,
        );
        assert_eq!(Clock::from_trips(&[]), None);
    }

    #[test]
    fn the_true_offset_is_within_the_stated_interval() {
        let mut random = model::Random::new(7);
        let mut below = |bound: u64| random.next_u64() % bound;
        for _ in 0..1_000 {
            let truth = i64::try_from(below(2_000_000)).unwrap() - 1_000_000;
            let trips: Vec<RoundTrip> = (1..9)
                .map(|nth| {
                    let sent = nth * 10_000_000;
                    let (there, back) = (below(500_000), below(500_000));
                    trip(
                        sent,
                        (sent + there).saturating_add_signed(truth),
                        sent + there + back,
                    )
                })
                .collect();
            let clock = Clock::from_trips(&trips).unwrap();
            let wrong = clock.offset_ns.abs_diff(truth);
            assert!(wrong <= clock.within.as_ns(), "{truth} {clock:?}");
        }
    }

    #[test]
    fn a_clock_an_hour_off_is_objected_to() {
        let of = |offset_s: i64, within: Span| Clock {
            offset_ns: offset_s * 1_000_000_000,
            within,
        };
        let close = Span::from_ms(1);
        assert_eq!(of(0, close).objection(), None);
        assert_eq!(of(1, close).objection(), None);
        // A slow network is no proof.
        assert_eq!(of(3, Span::from_s(4)).objection(), None);
        let ahead = of(3_600, close).objection().unwrap();
        assert!(ahead.contains("1 h ahead of this machine's"), "{ahead}");
        let behind = of(-3_600, close).objection().unwrap();
        assert!(behind.contains("1 h behind this machine's"), "{behind}");
        assert_eq!(of(-2, close).there(5_000_000_000), 3_000_000_000);
    }
}
