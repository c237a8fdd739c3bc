//! One number over the rounds of a point: which of them count, their median, how sharp it is.

use std::collections::BTreeMap;

use crate::pairs::Precision;
use crate::summary::{Rounds, median};

/// How far a number may be believed.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Standing {
    /// As it stands.
    #[default]
    Sound,
    /// The true value is at least this: the generator set the rate, or requests were left without
    /// an answer.
    AtLeast,
    /// Some rule doubts it.
    Doubtful,
    /// Some rule forbids it, or it does not count: shown struck through, never joined to others.
    Struck,
}

/// A number with its interval over the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The median over the rounds that count.
    pub median: f64,
    /// The interval that holds the true median 95 times in 100 or more; none below six rounds.
    pub interval: Option<(f64, f64)>,
    /// Whether its upper end is a bound, above which nothing is known.
    pub is_open_above: bool,
    /// Whether any value that counts is a bound.
    pub has_bounds: bool,
    /// How sharp it is.
    pub precision: Precision,
    /// How far it may be believed.
    pub standing: Standing,
    /// Each value with its round, those that do not count included. A server that several groups
    /// share has several in a round.
    pub rounds: Vec<(u32, f64, Standing)>,
}

impl Measure {
    /// The median of the rounds that are not struck, all of them where none is left; its interval
    /// by order statistics, which asks nothing of the distribution. What was measured several times
    /// in a round counts once, by its middle: it is one round.
    pub fn over(rounds: Vec<(u32, f64, Standing)>) -> Option<Self> {
        let is_bound = |(.., standing): &(u32, f64, Standing)| *standing == Standing::AtLeast;
        let bounds: Vec<bool> = rounds.iter().map(is_bound).collect();
        Self::with_bounds(rounds, &bounds)
    }

    /// The same, where `bounds` says of each value whether the true one is at least that: a bound
    /// stays one whatever rules say of its round.
    pub fn with_bounds(rounds: Vec<(u32, f64, Standing)>, bounds: &[bool]) -> Option<Self> {
        let is_struck = |standing: Standing| standing == Standing::Struck;
        let all_struck = rounds.iter().all(|(_, _, standing)| is_struck(*standing));
        let counting = || {
            let each = rounds.iter();
            each.filter(|(_, _, standing)| all_struck || !is_struck(*standing))
        };
        let bounds: Vec<f64> = rounds
            .iter()
            .zip(bounds)
            .filter(|((.., standing), is_bound)| **is_bound && !is_struck(*standing))
            .map(|((_, value, _), _)| *value)
            .collect();
        let mut of_round: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (round, value, _) in counting() {
            of_round.entry(*round).or_default().push(*value);
        }
        let summary = Rounds::of(of_round.into_values().filter_map(|mut values| {
            values.sort_by(f64::total_cmp);
            median(&values)
        }))?;
        let middle = summary.median;
        // A bound at or below the median makes the median a bound; above it, it does not.
        let has_bound_below = |place: f64| bounds.iter().any(|bound| *bound <= place);
        // The median of an even number lies below the upper of the two in the middle.
        let is_bound = has_bound_below(summary.values[summary.values.len() / 2]);
        // One of three or more leaves their middle where it is, as for the worth of a point.
        let doubted = counting().filter(|(_, _, standing)| *standing == Standing::Doubtful);
        let is_doubted = match doubted.count() {
            0 => false,
            1 => summary.values.len() < 3,
            _ => true,
        };
        let standing = match (all_struck, is_bound, is_doubted) {
            (true, _, _) => Standing::Struck,
            (false, true, _) => Standing::AtLeast,
            (false, false, true) => Standing::Doubtful,
            (false, false, false) => Standing::Sound,
        };
        let interval = summary.interval;
        let is_open_above = interval.is_some_and(|found| has_bound_below(found.high));
        Some(Self {
            median: middle,
            interval: interval.map(|found| (found.low, found.high)),
            is_open_above,
            has_bounds: !bounds.is_empty(),
            precision: match is_open_above {
                // Nobody knows how far it reaches.
                true => Precision::unknown(),
                false => Precision::of(&summary),
            },
            standing,
            rounds,
        })
    }

    /// The value of each round that counts, of several of a round the first; where none does, of
    /// all as they were first measured.
    pub fn counting(&self) -> BTreeMap<u32, f64> {
        let all = self.standing == Standing::Struck;
        let mut found = BTreeMap::new();
        for (round, value, standing) in &self.rounds {
            if all || *standing != Standing::Struck {
                found.entry(*round).or_insert(*value);
            }
        }
        found
    }

    /// How many values do not count.
    pub fn struck(&self) -> usize {
        let is_struck = |(_, _, standing): &&(u32, f64, Standing)| *standing == Standing::Struck;
        self.rounds.iter().filter(is_struck).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn struck_rounds_do_not_count_but_are_kept() {
        let measure = Measure::over(vec![
            (1, 10.0, Standing::Sound),
            (2, 99.0, Standing::Struck),
            (3, 12.0, Standing::Sound),
        ])
        .unwrap();
        assert!((measure.median - 11.0).abs() < 1e-9);
        assert_eq!((measure.struck(), measure.rounds.len()), (1, 3));
        assert_eq!(measure.standing, Standing::Sound);
        let measure = Measure::over(vec![(1, 99.0, Standing::Struck)]).unwrap();
        assert_eq!(measure.standing, Standing::Struck);
    }

    #[test]
    fn a_bound_makes_the_median_a_bound_only_from_below() {
        let check = |rounds: [(u32, f64, Standing); 3], expected: Standing| {
            assert_eq!(Measure::over(rounds.to_vec()).unwrap().standing, expected);
        };
        let (sound, bound) = (Standing::Sound, Standing::AtLeast);
        check([(1, 1.0, bound), (2, 2.0, sound), (3, 3.0, sound)], bound);
        check([(1, 1.0, sound), (2, 2.0, bound), (3, 3.0, sound)], bound);
        check([(1, 1.0, sound), (2, 2.0, sound), (3, 3.0, bound)], sound);
        let two = vec![(1, 1.0, sound), (2, 2.0, bound)];
        assert_eq!(Measure::over(two).unwrap().standing, bound);
    }

    #[test]
    fn one_doubt_of_three_is_none_of_their_median() {
        let of = |doubts: usize, rounds: usize| {
            let each = (0..rounds).map(|round| match round < doubts {
                true => Standing::Doubtful,
                false => Standing::Sound,
            });
            let each = (1..).zip(each).map(|(round, level)| (round, 1.0, level));
            Measure::over(each.collect()).unwrap().standing
        };
        assert_eq!(of(1, 3), Standing::Sound);
        assert_eq!(of(1, 2), Standing::Doubtful);
        assert_eq!(of(2, 11), Standing::Doubtful);
    }

    #[test]
    fn an_interval_that_ends_in_a_bound_is_open() {
        let over = |bound: u32| {
            let each = (1..=8).map(|round| match round {
                round if round == bound => (round, f64::from(round), Standing::AtLeast),
                round => (round, f64::from(round), Standing::Sound),
            });
            Measure::over(each.collect()).unwrap()
        };
        // With eight rounds the interval reaches from the first to the last.
        assert_eq!(over(8).interval, Some((1.0, 8.0)));
        assert!(over(8).is_open_above && over(8).standing == Standing::Sound);
        assert!(!over(9).is_open_above);
        assert_eq!(over(8).precision, Precision::unknown());
    }

    #[test]
    fn a_bound_stays_one_where_a_rule_doubts_its_round() {
        let rounds = (1..=6).map(|round| (round, 5.0, Standing::Doubtful));
        let rounds: Vec<_> = rounds.collect();
        let of = |is_bound| Measure::with_bounds(rounds.clone(), &[is_bound; 6]).unwrap();
        assert_eq!(of(true).standing, Standing::AtLeast);
        assert!(of(true).is_open_above && of(true).has_bounds);
        assert_eq!(of(false).standing, Standing::Doubtful);
        assert!(!of(false).is_open_above);
    }

    #[test]
    fn what_two_groups_share_is_one_round() {
        let rounds = (1..=6).flat_map(|round| {
            let value = 100.0 + f64::from(round);
            [
                (round, value - 1.0, Standing::Sound),
                (round, value + 1.0, Standing::Sound),
            ]
        });
        let twice = Measure::over(rounds.collect()).unwrap();
        let once = (1..=6).map(|round| (round, 100.0 + f64::from(round), Standing::Sound));
        let once = Measure::over(once.collect()).unwrap();
        assert_eq!((twice.median, twice.interval), (once.median, once.interval));
    }
}
