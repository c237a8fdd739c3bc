//! The generator's own ceiling beside the servers.

use std::collections::BTreeMap;

use model::point::Values;
use verdict::analysis::{Measure, Standing};

use super::{Digest, Run};
use crate::number::plain;

/// A ceiling by rounds.
type Rounds = BTreeMap<u32, (f64, Standing)>;

impl Run {
    /// Servers that answered more than the ceiling that holds for them, a sentence for each load
    /// and ceiling: a limit that is passed is none.
    pub fn above_ceilings(&self, workload: &str) -> Vec<String> {
        let (cells, shared) = (self.cells(workload), self.ceilings(workload));
        let mut above: BTreeMap<(&Values, String), Vec<String>> = BTreeMap::new();
        for cell in &cells {
            let own = measure(cell.rounds().iter().filter_map(|one| held(one)).collect());
            let ceiling = own.as_ref().or_else(|| shared.get(cell.place()));
            let (Some(ceiling), Some(rate)) = (ceiling, cell.rate()) else {
                continue;
            };
            if rate.standing != Standing::Struck && rate.median > ceiling.median {
                let said = format!("{} ({}/s)", cell.server(), plain(rate.median));
                let key = (cell.place(), plain(ceiling.median));
                above.entry(key).or_default().push(said);
            }
        }
        let sentence = |((place, ceiling), servers): ((&Values, String), Vec<String>)| {
            format!(
                "At {}, {} answered more than the ceiling ({ceiling}/s): how fast this machine is \
                 changed from trial to trial, and the ceiling limits nothing here.",
                place.text(),
                verdict::words::list(&servers),
            )
        };
        above.into_iter().map(sentence).collect()
    }

    /// The ceiling at each load of `workload`, the median over rounds, where it is the same for all
    /// servers: cores, protocol and certificate have a ceiling each. It is that which the servers'
    /// trials were held against, or where they carry none, that of its own trials. Where the
    /// responder was the limit, it stands as a bound.
    pub fn ceilings(&self, workload: &str) -> BTreeMap<&Values, Measure> {
        let of_workload = |digest: &&Digest| digest.id.workload == workload;
        let digests = || self.digests().iter().filter(of_workload);
        let found = one_each(digests().filter_map(|one| Some((one, held(one)?))));
        let found = if found.is_empty() {
            let own = digests().filter(|one| one.ceiling && !one.is_left_out());
            one_each(own.map(|one| (one, (one.round, (one.rate, Standing::Sound)))))
        } else {
            found
        };
        found
            .into_iter()
            .filter_map(|(place, rounds)| Some((place, measure(rounds?)?)))
            .collect()
    }

    /// Each trial of the ceiling itself at `workload`.
    pub fn ceiling_trials(&self, workload: &str) -> impl Iterator<Item = &Digest> {
        let digests = self.digests().iter();
        digests.filter(move |digest| digest.ceiling && digest.id.workload == workload)
    }
}

/// What a server's trial was held against, with its round.
fn held(digest: &Digest) -> Option<(u32, (f64, Standing))> {
    let ceiling = digest.ceiling_here.as_ref().filter(|_| !digest.ceiling)?;
    let standing = match ceiling.at_least {
        true => Standing::AtLeast,
        false => Standing::Sound,
    };
    Some((digest.round, (ceiling.rate, standing)))
}

/// Ceilings by load; none where there are several in one round.
fn one_each<'a>(
    ceilings: impl Iterator<Item = (&'a Digest, (u32, (f64, Standing)))>,
) -> BTreeMap<&'a Values, Option<Rounds>> {
    let mut found: BTreeMap<&Values, Option<Rounds>> = BTreeMap::new();
    for (digest, (round, ceiling)) in ceilings {
        let place = found.entry(&digest.place);
        let place = place.or_insert_with(|| Some(Rounds::new()));
        let before = place.as_mut().and_then(|all| all.insert(round, ceiling));
        if before.is_some_and(|before| before != ceiling) {
            *place = None;
        }
    }
    found
}

fn measure(rounds: Rounds) -> Option<Measure> {
    let each = rounds.into_iter();
    Measure::over(
        each.map(|(round, (rate, standing))| (round, rate, standing))
            .collect(),
    )
}
