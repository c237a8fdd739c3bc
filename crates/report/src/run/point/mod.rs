//! One cell of the grid: its rounds, and what they say together.

use std::collections::{BTreeMap, BTreeSet};

use model::point::Values;
use model::{Claim, Outcome, Status};
use verdict::analysis::worth;
use verdict::summary::Rounds;

use super::digest::Digest;
use crate::chart::Standing;

/// The rounds of one point.
#[derive(Clone, Debug)]
pub struct Cell<'a> {
    /// Each round, in order.
    pub rounds: Vec<&'a Digest>,
}

/// A number with its interval over the rounds.
#[derive(Clone, Debug, PartialEq)]
pub struct Measure {
    /// The median over the rounds that count.
    pub median: f64,
    /// The interval that holds the true median 95 times in 100 or more; none below six rounds.
    pub interval: Option<(f64, f64)>,
    /// How far it may be believed.
    pub standing: Standing,
    /// Each round's value, those that do not count included.
    pub rounds: Vec<(u32, f64, Standing)>,
}

impl<'a> Cell<'a> {
    pub(super) fn new(mut rounds: Vec<&'a Digest>) -> Self {
        rounds.sort_by_key(|digest| (digest.round, digest.sequence));
        Self { rounds }
    }

    /// The server's label.
    pub fn server(&self) -> &str {
        &self.rounds[0].id.server
    }

    /// Where on the grid it stands, its server apart.
    pub fn place(&self) -> &Values {
        &self.rounds[0].id.load
    }

    /// Right answers per second.
    pub fn rate(&self) -> Option<Measure> {
        self.measure(|digest| Some(digest.rate), Digest::rate_standing)
    }

    /// Anything else that a trial has one of, resting on `claim`.
    pub fn value(&self, claim: Claim, value: impl Fn(&Digest) -> Option<f64>) -> Option<Measure> {
        self.measure(value, |digest| digest.standing(claim))
    }

    fn measure(
        &self,
        value: impl Fn(&Digest) -> Option<f64>,
        standing: impl Fn(&Digest) -> Standing,
    ) -> Option<Measure> {
        let rounds: Vec<(u32, f64, Standing)> = self
            .rounds
            .iter()
            .filter_map(|digest| Some((digest.round, value(digest)?, standing(digest))))
            .filter(|(_, value, _)| value.is_finite())
            .collect();
        Measure::over(rounds)
    }

    /// The rounds that count; all of them where none does.
    fn judged(&self) -> impl Iterator<Item = &'a Digest> {
        let all = self.rounds.iter().all(|digest| digest.is_left_out());
        let rounds = self.rounds.iter().copied();
        rounds.filter(move |digest| all || !digest.is_left_out())
    }

    /// What the point is worth for each claim, by all its rounds, and whether that is only partly
    /// known.
    pub fn claims(&self) -> BTreeMap<Claim, (Status, bool)> {
        let made: BTreeSet<Claim> = self
            .rounds
            .iter()
            .flat_map(|d| d.claims.keys().copied())
            .collect();
        let of_claim = |claim: Claim| {
            let rounds = self.judged().filter_map(|digest| {
                let (status, _) = digest.claims.get(&claim)?;
                let because = digest.because.get(&claim).into_iter().flatten();
                Some((*status, because.map(String::as_str).collect()))
            });
            let partial = |digest: &Digest| digest.claims.get(&claim).is_some_and(|c| c.1);
            (worth(rounds), self.judged().any(partial))
        };
        made.into_iter()
            .map(|claim| (claim, of_claim(claim)))
            .collect()
    }

    /// What the point is worth in all: the worst of its claims.
    pub fn status(&self) -> Status {
        let claims = self.claims().into_values();
        claims.map(|(status, _)| status).max().unwrap_or_default()
    }

    /// How many of its rounds have that status.
    pub fn count(&self, status: Status) -> usize {
        self.rounds
            .iter()
            .filter(|digest| digest.status == status)
            .count()
    }

    /// The rules that spoke in any round.
    pub fn rules(&self) -> BTreeSet<&str> {
        self.rounds
            .iter()
            .flat_map(|digest| digest.rules.iter().map(String::as_str))
            .collect()
    }

    /// Exchanges that failed, over all rounds.
    pub fn failures(&self) -> u64 {
        self.rounds
            .iter()
            .map(|digest| digest.outcomes.failures())
            .sum()
    }

    /// Right answers, over all rounds.
    pub fn ok(&self) -> u64 {
        self.rounds
            .iter()
            .map(|digest| digest.outcomes[Outcome::Ok])
            .sum()
    }
}

impl Measure {
    /// The median of the rounds that are not struck, all of them where none is left; its
    /// interval by order statistics, which asks nothing of the distribution.
    pub fn over(rounds: Vec<(u32, f64, Standing)>) -> Option<Self> {
        let pick = |struck: bool| {
            let values: Vec<(f64, Standing)> = rounds
                .iter()
                .filter(|(_, _, standing)| (*standing == Standing::Struck) == struck)
                .map(|(_, value, standing)| (*value, *standing))
                .collect();
            values
        };
        let sound = pick(false);
        let (values, all_struck) = if sound.is_empty() {
            (pick(true), true)
        } else {
            (sound, false)
        };
        let summary = Rounds::of(values.iter().map(|(value, _)| *value))?;
        let median = summary.median;
        let standing = if all_struck {
            Standing::Struck
        } else {
            // A bound at or below the median makes the median a bound; above it, it does not.
            let bounded = values
                .iter()
                .any(|(value, standing)| *standing == Standing::AtLeast && *value <= median);
            let doubted = values
                .iter()
                .any(|(_, standing)| *standing == Standing::Doubtful);
            match (bounded, doubted) {
                (true, _) => Standing::AtLeast,
                (false, true) => Standing::Doubtful,
                (false, false) => Standing::Sound,
            }
        };
        let interval = summary
            .interval
            .map(|interval| (interval.low, interval.high));
        Some(Self {
            median,
            interval,
            standing,
            rounds,
        })
    }

    /// How many rounds do not count.
    pub fn struck(&self) -> usize {
        self.rounds
            .iter()
            .filter(|(_, _, standing)| *standing == Standing::Struck)
            .count()
    }
}

#[cfg(test)]
mod tests;
