//! The generator's own ceiling beside the servers: one number for tables and charts.

use std::collections::BTreeMap;

use model::point::Values;
use verdict::analysis::{Measure, Standing};

use super::Run;
use crate::number::plain;

impl Run {
    /// Servers that answered more than the ceiling, a sentence for each load: a limit that is
    /// passed is none.
    pub fn above_ceilings(&self, workload: &str) -> Vec<String> {
        let ceilings = self.ceilings(workload);
        let cells = self.cells(workload);
        let of_place = |(place, ceiling): (&&Values, &Measure)| {
            let above: Vec<String> = cells
                .iter()
                .filter(|cell| cell.place() == *place)
                .filter_map(|cell| Some((cell.server().to_owned(), cell.rate()?)))
                .filter(|(_, rate)| {
                    rate.standing != Standing::Struck && rate.median > ceiling.median
                })
                .map(|(server, rate)| format!("{server} ({}/s)", plain(rate.median)))
                .collect();
            (!above.is_empty()).then(|| {
                format!(
                    "At {}, {} answered more than the ceiling ({}/s): how fast this machine is \
                     changed from trial to trial, and the ceiling limits nothing here.",
                    place.text(),
                    verdict::words::list(&above),
                    plain(ceiling.median)
                )
            })
        };
        ceilings.iter().filter_map(of_place).collect()
    }

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
