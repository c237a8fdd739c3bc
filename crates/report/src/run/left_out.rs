//! Trials that do not count, whatever they measured: something that is neither generator nor server
//! had their CPUs, or their cell was measured again.

use std::collections::BTreeMap;

use model::Span;
use model::usage::Spender;
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
        let each: Vec<String> = counts
            .iter()
            .filter(|one| one.void > 0)
            .map(|one| format!("{} {} of {}", one.server, one.void, one.trials))
            .collect();
        let of_servers = if each.is_empty() {
            String::new()
        } else {
            format!(" ({})", each.join(", "))
        };
        let is_later = |digest: &Digest, other: &Digest| {
            (&other.id, other.round, other.group) == (&digest.id, digest.round, digest.group)
                && other.attempt > digest.attempt
        };
        let is_again = |digest: &&&Digest| self.digests.iter().any(|d| is_later(digest, d));
        let again = match void.iter().filter(is_again).count() {
            0 => String::new(),
            all if all == void.len() => ", and were measured again beside their rivals".to_owned(),
            some => format!(", and {some} of them were measured again beside their rivals"),
        };
        let mut said = vec![format!(
            "Something else had the CPUs in {} of {}{of_servers}: {}. Those trials do not \
             count{again}.",
            void.len(),
            plural(self.digests.len(), "trial"),
            takers(&void)
        )];
        if let Some(odd) = void_shares(&counts) {
            said.push(format!(
                "Trials of {} were spoilt more often or less often than chance explains: what is \
                 said of it is suspect.",
                odd.server
            ));
        }
        said
    }
}

/// By name, in how many trials, whoever used most CPU time first.
fn takers(void: &[&Digest]) -> String {
    let mut takers: BTreeMap<String, (Span, usize)> = BTreeMap::new();
    for cause in void.iter().filter_map(|digest| digest.void.as_ref()) {
        let mut here: BTreeMap<String, Span> = BTreeMap::new();
        for who in &cause.who {
            *here.entry(name(who)).or_default() += who.cpu;
        }
        if here.is_empty() {
            let unnamed = match cause.rule.as_str() {
                "CPU-01" => "the hypervisor, for other machines",
                _ => "an unknown program",
            };
            here.insert(unnamed.to_owned(), Span::ZERO);
        }
        for (name, cpu) in here {
            let (all, trials) = takers.entry(name).or_default();
            *all += cpu;
            *trials += 1;
        }
    }
    let mut takers: Vec<_> = takers.into_iter().collect();
    takers.sort_by(|(_, one), (_, other)| other.cmp(one));
    let named = takers.iter().take(NAMED);
    let named: Vec<String> = named
        .map(|(name, (_, trials))| format!("{name} in {trials}"))
        .collect();
    words::list(&named)
}

fn name(who: &Spender) -> String {
    if who.short_lived {
        format!("short-lived processes of {}", who.name)
    } else {
        who.name.clone()
    }
}
