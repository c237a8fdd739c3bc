//! Trials that do not count, whatever they measured: something that is neither generator nor server
//! had their CPUs, or their cell was measured again.

use std::collections::BTreeMap;

use model::Span;
use verdict::analysis::Rival;
use verdict::cause::{VoidCount, void_shares};
use verdict::words;

use super::{Digest, Run};
use crate::number::plural;

/// Of those who were in the way so many are named.
const NAMED: usize = 3;

impl Run {
    /// Takes note that the cell of `digest` was measured again, whichever trial comes first.
    pub(super) fn note_attempt(&mut self, digest: &mut Digest) {
        let key = (digest.id.clone(), digest.round, digest.group);
        let last = self.attempts.get(&key).copied();
        if last.is_some_and(|last| last > digest.attempt) {
            digest.repeated = true;
        }
        if last.is_none_or(|last| last < digest.attempt) {
            self.attempts.insert(key, digest.attempt);
        }
        if last.is_some_and(|last| last < digest.attempt) {
            for other in &mut self.digests {
                let place = |one: &Digest| (one.round, one.group);
                if other.id == digest.id && place(other) == place(digest) {
                    other.repeated |= other.attempt < digest.attempt;
                }
            }
        }
    }

    /// How many trials of each server something else spoilt.
    pub fn void_counts(&self) -> Vec<VoidCount> {
        let count = |server: String| {
            let of_server = || self.digests.iter().filter(|d| d.id.server == server);
            let number = |some: &mut dyn Iterator<Item = &Digest>| some.count() as u64;
            VoidCount {
                void: number(&mut of_server().filter(|digest| digest.void.is_some())),
                trials: number(&mut of_server()),
                server,
            }
        };
        self.labels().into_iter().map(count).collect()
    }

    /// Who was in the way, how often and of whom, in sentences; none where nobody was.
    pub fn in_the_way(&self) -> Vec<String> {
        let void: Vec<&Digest> = self.digests.iter().filter(|d| d.void.is_some()).collect();
        if void.is_empty() {
            return Vec::new();
        }
        let counts = self.void_counts();
        let mut said = vec![format!(
            "Something other than server and generator used the CPUs in {} of {}: {}. By \
             server: {}. {}{}.",
            void.len(),
            plural(self.digests.len(), "trial"),
            takers(&void),
            self.of_whom(&counts),
            self.what_they_count_for(),
            self.measured_again(&void),
        )];
        if let Some(odd) = void_shares(&counts) {
            said.push(format!(
                "Trials of {} were spoilt more often or less often than chance explains: what is \
                 said about this server is suspect.",
                odd.server
            ));
        }
        said
    }

    /// How many trials of each server were void, and of the ceiling: together they are all of them.
    fn of_whom(&self, counts: &[VoidCount]) -> String {
        let ceilings = || self.digests.iter().filter(|digest| digest.ceiling);
        let ceiling = VoidCount {
            server: "the ceiling".to_owned(),
            void: ceilings().filter(|digest| digest.void.is_some()).count() as u64,
            trials: ceilings().count() as u64,
        };
        let each: Vec<String> = counts
            .iter()
            .chain([&ceiling])
            .filter(|one| one.void > 0)
            .map(|one| format!("{} {} of {}", one.server, one.void, one.trials))
            .collect();
        each.join(", ")
    }

    fn what_they_count_for(&self) -> &'static str {
        let comparisons = self.comparisons();
        let mut rivals = comparisons.iter().flat_map(|one| &one.rivals);
        match rivals.any(Rival::is_spoilt) {
            true => "Those trials count only where too few rounds are left without them",
            false => "Those trials do not count",
        }
    }

    /// How many of them were measured again.
    fn measured_again(&self, void: &[&Digest]) -> String {
        let is_later = |digest: &Digest, other: &Digest| {
            (&other.id, other.round, other.group) == (&digest.id, digest.round, digest.group)
                && other.attempt > digest.attempt
        };
        let is_again = |digest: &&&Digest| self.digests.iter().any(|d| is_later(digest, d));
        match void.iter().filter(is_again).count() {
            0 => String::new(),
            all if all == void.len() => {
                ", and were measured again together with their rivals".to_owned()
            }
            1 => ", and 1 of them was measured again together with its rivals".to_owned(),
            some => format!(", and {some} of them were measured again together with their rivals"),
        }
    }
}

/// By name, in how many trials: whoever spoilt most of them first, and of equals whoever used most
/// CPU time.
fn takers(void: &[&Digest]) -> String {
    let mut takers: BTreeMap<&str, (usize, Span)> = BTreeMap::new();
    for (name, cpu) in void.iter().flat_map(|digest| &digest.takers) {
        let (trials, all) = takers.entry(name).or_default();
        *trials += 1;
        *all += *cpu;
    }
    let mut takers: Vec<_> = takers.into_iter().collect();
    takers.sort_by(|(_, one), (_, other)| other.cmp(one));
    let named = takers.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|(name, (trials, _))| format!("{name} in {trials}"))
        .collect();
    words::list(&named)
}

#[cfg(test)]
mod tests;
