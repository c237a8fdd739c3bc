//! Where trials ran: the first one's machine, what others had otherwise, the ends of the way
//! between generator and server, and how far the clocks of several machines were apart.

use std::collections::BTreeMap;

use model::environment::{Environment, PathEnd};
use model::trial::Offset;
use model::{Span, Trial};

/// Whose end it is where one machine makes the load.
const GENERATOR: &str = "the generator";
/// Whose end it is where agents make the load.
const SERVERS: &str = "the servers' machine";

/// What is kept of all trials.
#[derive(Clone, Debug, Default)]
pub(super) struct Surroundings {
    /// The machine of the first trial.
    pub(super) first: Option<Environment>,
    /// Facts that were not the same in all trials, with each value seen.
    pub(super) differences: BTreeMap<&'static str, Vec<String>>,
    /// The ends by whose they are.
    ends: BTreeMap<String, Vec<PathEnd>>,
    /// How far clocks were ahead, by whose they are.
    clocks: BTreeMap<String, Clock>,
    /// By how much windows of two agents may be apart in the worst trial; none where there were no
    /// two.
    pub(super) windows_apart: Option<Span>,
}

/// How far a clock was ahead of that of whoever asked for the load, over all trials.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Clock {
    /// The least and the most, each the middle of what was possible, in nanoseconds.
    pub(crate) offset_ns: [i64; 2],
    /// How far that may be wrong in the worst trial.
    pub(crate) within: Span,
}

impl Surroundings {
    pub(super) fn add(&mut self, trial: &Trial) {
        match &self.first {
            None => self.first = Some(trial.environment.clone()),
            Some(first) => note_differences(&mut self.differences, first, &trial.environment),
        }
        let own = if trial.agents.is_empty() {
            GENERATOR
        } else {
            SERVERS
        };
        self.add_end(own, &trial.environment);
        for share in &trial.agents {
            let whose = format!("agent {}", share.agent);
            self.add_end(&whose, &share.environment);
            self.add_clock(&whose, share.clock());
        }
        if let Some(clock) = trial.servers_clock {
            self.add_clock(SERVERS, clock);
        }
        if trial.agents.len() > 1 {
            let apart = trial.windows_apart_at_most();
            self.windows_apart = self.windows_apart.max(Some(apart));
        }
    }

    fn add_clock(&mut self, whose: &str, clock: Offset) {
        let (ahead, within) = (clock.offset_ns, clock.within);
        let new = Clock {
            offset_ns: [ahead; 2],
            within,
        };
        let known = self.clocks.entry(whose.to_owned()).or_insert(new);
        let [least, most] = known.offset_ns;
        known.offset_ns = [least.min(ahead), most.max(ahead)];
        known.within = known.within.max(within);
    }

    /// How far clocks were ahead, each with whose it is.
    pub(super) fn clocks(&self) -> impl Iterator<Item = (&str, Clock)> {
        let clocks = self.clocks.iter();
        clocks.map(|(whose, clock)| (whose.as_str(), *clock))
    }

    /// An end that was set otherwise before is another one.
    fn add_end(&mut self, whose: &str, environment: &Environment) {
        let Some(end) = &environment.path else {
            return;
        };
        let known = self.ends.entry(whose.to_owned()).or_default();
        let round_trip = end.round_trip_at_most;
        for one in known.iter_mut() {
            let as_set = PathEnd {
                round_trip_at_most: one.round_trip_at_most,
                ..end.clone()
            };
            if *one == as_set {
                one.round_trip_at_most = one.round_trip_at_most.into_iter().chain(round_trip).min();
                return;
            }
        }
        known.push(end.clone());
    }

    /// The ends, each with whose it is, and the shortest round trip of all trials.
    pub(super) fn ends(&self) -> impl Iterator<Item = (&str, &PathEnd)> {
        let ends = self.ends.iter();
        ends.flat_map(|(whose, ends)| ends.iter().map(move |end| (whose.as_str(), end)))
    }
}

/// Notes facts that should be the same in all trials and are not.
fn note_differences(
    differences: &mut BTreeMap<&'static str, Vec<String>>,
    first: &Environment,
    other: &Environment,
) {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "unknown".to_owned());
    for (fact, one, two) in [
        ("kernel", text(&first.kernel), text(&other.kernel)),
        ("CPU", text(&first.cpu_model), text(&other.cpu_model)),
        ("governor", text(&first.governor), text(&other.governor)),
        (
            "clock source",
            text(&first.clocksource),
            text(&other.clocksource),
        ),
        (
            "program",
            first.tool.version.clone(),
            other.tool.version.clone(),
        ),
    ] {
        if one != two {
            let values = differences.entry(fact).or_insert_with(|| vec![one]);
            if !values.contains(&two) {
                values.push(two);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use model::{Span, fixture};

    use super::*;

    #[test]
    fn clocks_are_told_with_all_that_trials_said_of_them() {
        let trial = |clocks: &[(&str, i64, u64)]| {
            let mut trial = fixture::closed();
            let shares = clocks.iter().map(|(name, offset, within)| {
                let mut share = fixture::share(name, 0..1, fixture::closed());
                share.clock_offset_ns = *offset;
                share.clock_offset_within = Span::from_ns(*within);
                share
            });
            trial.agents = shares.collect();
            trial
        };
        let mut surroundings = Surroundings::default();
        surroundings.add(&trial(&[("a", 5, 10)]));
        assert_eq!(surroundings.windows_apart, None, "there is one");
        surroundings.add(&trial(&[("a", -7, 20), ("b", 3, 4), ("c", 1, 30)]));
        surroundings.add(&Trial {
            servers_clock: Some(Offset {
                offset_ns: 9,
                within: Span::from_ns(2),
            }),
            ..trial(&[("a", 0, 12), ("b", 4, 4)])
        });
        let told: Vec<_> = surroundings
            .clocks()
            .map(|(whose, clock)| (whose, clock.offset_ns, clock.within.as_ns()))
            .collect();
        let expected = [
            ("agent a", [-7, 5], 20),
            ("agent b", [3, 4], 4),
            ("agent c", [1, 1], 30),
            (SERVERS, [9, 9], 2),
        ];
        assert_eq!(told, expected);
        assert_eq!(surroundings.windows_apart, Some(Span::from_ns(50)));
    }

    #[test]
    fn an_end_is_told_once_for_each_way_it_was_set() {
        let end = |mtu: u64, round_trip: u64| PathEnd {
            link: "eth0".to_owned(),
            mtu: Some(mtu),
            round_trip_at_most: Some(Span::from_us(round_trip)),
            ..PathEnd::default()
        };
        let trial = |mtu: u64, round_trip: u64| {
            let mut share = fixture::closed();
            share.environment.path = Some(end(mtu, round_trip));
            let mut trial = fixture::closed();
            trial.environment.path = Some(PathEnd {
                round_trip_at_most: None,
                ..end(1_500, 0)
            });
            trial.agents = vec![fixture::share("a", 0..1, share)];
            trial
        };
        let mut surroundings = Surroundings::default();
        for (mtu, round_trip) in [(1_500, 90), (1_500, 70), (1_500, 80), (9_000, 60)] {
            surroundings.add(&trial(mtu, round_trip));
        }
        let told = |(whose, end): (&str, &PathEnd)| {
            let round_trip = end.round_trip_at_most.map(Span::as_ns);
            (whose.to_owned(), end.mtu, round_trip)
        };
        let told: Vec<_> = surroundings.ends().map(told).collect();
        let expected = [
            ("agent a".to_owned(), Some(1_500), Some(70_000)),
            ("agent a".to_owned(), Some(9_000), Some(60_000)),
            (SERVERS.to_owned(), Some(1_500), None),
        ];
        assert_eq!(told, expected);
        let mut alone = Surroundings::default();
        let mut one = fixture::closed();
        alone.add(&one);
        assert_eq!(alone.ends().count(), 0);
        one.environment.path = Some(end(1_500, 50));
        alone.add(&one);
        assert_eq!(alone.ends().next().map(|(whose, _)| whose), Some(GENERATOR));
    }
}
