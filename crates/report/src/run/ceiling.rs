//! The generator's own ceiling beside the servers: one number for tables and charts.

use std::collections::BTreeMap;

use model::point::Values;
use verdict::analysis::{Measure, Standing};

use super::Run;

impl Run {
    /// The ceiling at each load of `workload`, the median over rounds: that which the servers'
    /// trials were held against, or where they carry none, that of its own trials. Where the
    /// responder was the limit, it stands as a bound.
    pub fn ceilings(&self, workload: &str) -> BTreeMap<&Values, Measure> {
        let mut held: BTreeMap<&Values, BTreeMap<u32, (f64, Standing)>> = BTreeMap::new();
        for digest in self.digests() {
            if digest.ceiling || digest.id.workload != workload {
                continue;
            }
            if let Some(ceiling) = &digest.ceiling_here {
                let standing = if ceiling.at_least {
                    Standing::AtLeast
                } else {
                    Standing::Sound
                };
                // Every server of a round carries the same ceiling: once is enough.
                let rounds = held.entry(&digest.place).or_default();
                rounds
                    .entry(digest.round)
                    .or_insert((ceiling.rate, standing));
            }
        }
        if held.is_empty() {
            for digest in self.digests() {
                if digest.ceiling && digest.id.workload == workload && !digest.is_left_out() {
                    let rounds = held.entry(&digest.place).or_default();
                    rounds.insert(digest.round, (digest.rate, Standing::Sound));
                }
            }
        }
        let measure = |rounds: BTreeMap<u32, (f64, Standing)>| {
            let each = rounds.into_iter();
            Measure::over(
                each.map(|(round, (rate, standing))| (round, rate, standing))
                    .collect(),
            )
        };
        held.into_iter()
            .filter_map(|(place, rounds)| Some((place, measure(rounds)?)))
            .collect()
    }

    /// Each trial of the ceiling itself at `workload`.
    pub fn ceiling_trials(&self, workload: &str) -> impl Iterator<Item = &super::Digest> {
        let digests = self.digests().iter();
        digests.filter(move |digest| digest.ceiling && digest.id.workload == workload)
    }
}
