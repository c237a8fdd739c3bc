//! Ranks: who is shown to be better than whom, among all servers of a workload at the declared
//! load.
//!
//! The answer holds each server against one reference. A reader of a list wants more: whether the
//! second of it is really second. So each server has the ranks that it may have: the first is one
//! more than the number of servers that are shown to be better, the last is the number of servers
//! without those that are shown to be worse. Each pair is compared within rounds, beyond the margin
//! of the experiment, and all pairs of a list are one family in Holm's procedure. These are the
//! confidence sets of M. Mogstad, J. P. Romano, A. M. Shaikh and D. Wilhelm, "Inference for Ranks
//! with Applications to Mobility across Neighbourhoods and Academic Achievement across Countries",
//! Review of Economic Studies 91 (2024).
//!
//! To be told apart is not transitive: the first may be shown to be better than the third while the
//! second can be told from neither. So each row names those that its server cannot be told from.

use std::cmp::{Ordering, Reverse};
use std::ops::RangeInclusive;

use model::PointId;

use super::{Racer, Rival};
use crate::pairs::{Answer, Family, ranked_pairs, rounds_needed};
use crate::words;

/// A server in a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranked {
    /// Its label.
    pub server: String,
    /// Those that it may have; none where it could be compared with nobody.
    pub ranks: Option<RangeInclusive<usize>>,
    /// The servers that it was not told apart from, in the order of the list.
    pub not_told_from: Vec<String>,
}

/// All servers of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Ranks {
    /// The best first; of those that may have the same ranks the one with the better median.
    pub servers: Vec<Ranked>,
    /// All pairs of them.
    pub family: Family,
    /// The most rounds that a pair has.
    pub rounds: usize,
}

/// What is known of a pair of servers.
struct Pair {
    one: usize,
    other: usize,
    rival: Rival,
}

/// What the pairs of a server say.
#[derive(Clone, Default)]
struct Place {
    is_compared: bool,
    /// How many are shown to be better.
    better: usize,
    /// How many are shown to be worse.
    worse: usize,
    not_told_from: Vec<usize>,
}

impl Place {
    /// The ranks that its server may have among `compared` servers.
    fn ranks(&self, compared: usize) -> Option<RangeInclusive<usize>> {
        self.is_compared
            .then(|| self.better + 1..=compared - self.worse)
    }
}

impl Ranks {
    /// Ranks `racers`, with the margin of `family` and on the same rounds as its answers; less is
    /// better where `less_is_better`. None where there are only two, whose answer says all.
    pub(super) fn of(
        racers: &[(&PointId, &Racer)],
        family: Family,
        less_is_better: bool,
    ) -> Option<Self> {
        let count = racers.len();
        let comparisons = ranked_pairs(count);
        if comparisons == 0 {
            return None;
        }
        let family_of_pairs = Family {
            comparisons,
            ..family
        };
        let pairs = pairs(racers, rounds_needed(family.comparisons, family.alpha));
        let rounds = pairs.iter().map(|pair| pair.rival.rounds()).max()?;
        let estimates = pairs.iter().map(|pair| pair.rival.estimate.as_ref());
        let estimates: Vec<_> = estimates.collect();
        let answers = family_of_pairs.answers(&estimates);
        let mut places = vec![Place::default(); count];
        for (pair, answer) in pairs.iter().zip(answers) {
            let Some(ratio) = pair.rival.estimate.as_ref().map(|found| found.ratio) else {
                continue;
            };
            for place in [pair.one, pair.other] {
                places[place].is_compared = true;
            }
            let is_said = family_of_pairs.allows(&answer, Some(ratio), pair.rival.bounds);
            let is_more = answer == Answer::More;
            if !(is_said && (is_more || answer == Answer::Less)) {
                places[pair.one].not_told_from.push(pair.other);
                places[pair.other].not_told_from.push(pair.one);
                continue;
            }
            let (best, rest) = match is_more == less_is_better {
                true => (pair.other, pair.one),
                false => (pair.one, pair.other),
            };
            places[rest].better += 1;
            places[best].worse += 1;
        }
        let compared = places.iter().filter(|place| place.is_compared).count();
        let mut order: Vec<usize> = (0..count).collect();
        order.sort_by(|&one, &other| {
            let key = |place: &Place| (!place.is_compared, place.better, Reverse(place.worse));
            let of_ranks = key(&places[one]).cmp(&key(&places[other]));
            let middle = |place: usize| racers[place].1.middle();
            let of_middle = match (middle(one), middle(other)) {
                (Some(one), Some(other)) => one.total_cmp(&other),
                _ => Ordering::Equal,
            };
            of_ranks.then(match less_is_better {
                true => of_middle,
                false => of_middle.reverse(),
            })
        });
        let name = |place: &usize| racers[*place].1.server.clone();
        let servers = order.iter().map(|place| {
            let others = order.iter();
            let others = others.filter(|other| places[*place].not_told_from.contains(other));
            Ranked {
                server: name(place),
                ranks: places[*place].ranks(compared),
                not_told_from: others.map(name).collect(),
            }
        });
        Some(Self {
            servers: servers.collect(),
            family: family_of_pairs,
            rounds,
        })
    }

    /// Whether so many rounds can tell any of its pairs apart.
    pub fn can_tell(&self) -> bool {
        self.rounds >= self.needed()
    }

    fn needed(&self) -> usize {
        rounds_needed(self.family.comparisons, self.family.alpha)
    }

    /// What ranks are here, or why there are none; `better` is `faster` or the like.
    pub fn sentence(&self, better: &str) -> String {
        let servers = words::plural(self.servers.len() as u64, "server");
        let pairs = words::plural(self.family.comparisons as u64, "pair");
        if !self.can_tell() {
            return format!(
                "No ranks: {} cannot tell the {pairs} of {servers} apart; {} are needed.",
                words::plural(self.rounds as u64, "round"),
                words::plural(self.needed() as u64, "round"),
            );
        }
        format!(
            "The ranks that a server may have: the first is 1 more than the number of servers that \
             are shown to be {better} by more than {}, the last is the number of servers without \
             those that it is shown to be {better} than by as much. The chance that any of the \
             {pairs} of {servers} is told apart wrongly is {} at most.",
            words::share(self.family.margin),
            words::share(self.family.alpha),
        )
    }
}

/// All pairs; none of those that differ in more than the server.
fn pairs(racers: &[(&PointId, &Racer)], needed: usize) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (one, (id, racer)) in racers.iter().enumerate() {
        for (other, (other_id, other_racer)) in racers.iter().enumerate().skip(one + 1) {
            if id.is_rival_of(other_id) {
                pairs.push(Pair {
                    one,
                    other,
                    rival: racer.rival_of(other_racer, needed),
                });
            }
        }
    }
    pairs
}
