//! The generator's own ceiling beside the servers.

use std::collections::{BTreeMap, BTreeSet};

use model::point::{CERTIFICATE, CORES, HANDSHAKE, PROTOCOL, SOURCES, Values};
use verdict::analysis::{Measure, Standing};
use verdict::words;

use super::{Cell, Digest, Run};
use crate::number::plain;

/// A ceiling by rounds.
type Rounds = BTreeMap<u32, (f64, Standing)>;

impl Run {
    /// Servers that answered more than the ceiling that holds for them, a sentence for each load
    /// and ceiling: a limit that is passed is none.
    pub fn above_ceilings(&self, workload: &str) -> Vec<String> {
        let (cells, shared) = (self.cells(workload), self.ceilings(workload));
        let shared = shared.values().next().filter(|_| shared.len() == 1);
        let mut above: BTreeMap<(&Values, String), Vec<String>> = BTreeMap::new();
        for cell in &cells {
            let own = measure(cell.counting().filter_map(held).collect());
            let ceiling = own.as_ref().or_else(|| shared?.get(cell.place()));
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
                "At {}, {} answered more than the ceiling ({ceiling}/s): the speed of this machine \
                 changed from trial to trial, and the ceiling limits nothing here.",
                place.text(),
                words::list(&servers),
            )
        };
        above.into_iter().map(sentence).collect()
    }

    /// The ceilings of `workload`, each by load, the median over rounds: cores, protocol,
    /// certificate and handshake have a ceiling each, which is named by those of them that differ.
    /// It is that which the servers' trials were held against, or where they carry none, that of
    /// its own trials. Where the responder was the limit, it stands as a bound.
    pub fn ceilings(&self, workload: &str) -> BTreeMap<String, BTreeMap<&Values, Measure>> {
        let of_workload = |digest: &&Digest| digest.id.workload == workload;
        let digests = || self.digests().iter().filter(of_workload);
        let differing = differing(digests());
        let cells = self.cells(workload);
        let counting = cells.iter().flat_map(Cell::counting);
        let mut found: Vec<_> = counting.filter_map(|one| Some((one, held(one)?))).collect();
        // Of what was measured again those that count stand beside the rates that count.
        let key = |one: &Digest| (one.place.clone(), one.round, kind(one, &differing));
        let count = found.iter().filter(|(one, _)| !one.is_left_out());
        let count: BTreeSet<_> = count.map(|(one, _)| key(one)).collect();
        found.retain(|(one, _)| !one.is_left_out() || !count.contains(&key(one)));
        if found.is_empty() {
            let own = digests().filter(|one| one.ceiling && !one.is_left_out());
            found.extend(own.map(|one| (one, (one.round, (one.rate, Standing::Sound)))));
        }
        let mut kinds: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for one in found {
            let kind = kind(one.0, &differing);
            kinds.entry(kind).or_default().push(one);
        }
        let measured = |(kind, all): (String, Vec<_>)| {
            let places = one_each(all.into_iter()).into_iter();
            let places = places.filter_map(|(place, rounds)| Some((place, measure(rounds?)?)));
            (kind, places.collect())
        };
        kinds.into_iter().map(measured).collect()
    }

    /// What the ceiling of `digest` is called among those of its workload.
    pub fn kind_of_ceiling(&self, digest: &Digest) -> String {
        let same = |one: &&Digest| one.id.workload == digest.id.workload;
        kind(digest, &differing(self.digests().iter().filter(same)))
    }

    /// From how many source addresses the ceilings of `workload` were measured, in a sentence,
    /// where servers were asked from other numbers of them, too.
    pub fn sources_of_ceilings(&self, workload: &str) -> Option<String> {
        let sources = |digest: &Digest| digest.id.value(SOURCES)?.number();
        let known: Vec<f64> = self.ceiling_trials(workload).filter_map(sources).collect();
        let first = known.first().copied()?;
        let is_known = |count: f64| known.iter().any(|known| known.total_cmp(&count).is_eq());
        let cells = self.cells(workload);
        let mut asked = cells.iter().flat_map(Cell::counting).filter_map(sources);
        asked.any(|count| !is_known(count)).then(|| {
            format!(
                "The ceiling was measured from {} source addresses; it is taken to be the same \
                 from any other number of them.",
                plain(first)
            )
        })
    }

    /// Each trial of the ceiling itself at `workload`.
    pub fn ceiling_trials(&self, workload: &str) -> impl Iterator<Item = &Digest> {
        let digests = self.digests().iter();
        digests.filter(move |digest| digest.ceiling && digest.id.workload == workload)
    }
}

/// What has a ceiling of its own.
const KINDS: [&str; 4] = [CORES, PROTOCOL, CERTIFICATE, HANDSHAKE];

/// Those in which `digests` differ.
pub(super) fn differing<'a>(
    digests: impl Iterator<Item = &'a Digest> + Clone,
) -> Vec<&'static str> {
    let differs = |name: &&str| {
        let mut values = digests.clone().filter_map(|one| one.id.value(name));
        let first = values.next();
        values.any(|value| Some(value) != first)
    };
    KINDS.into_iter().filter(differs).collect()
}

/// What is said of a ceiling, of what differs: `http2-tls, rsa-2048`.
pub(super) fn kind(digest: &Digest, differing: &[&'static str]) -> String {
    let said = |name: &&'static str| {
        let value = digest.id.value(name)?;
        Some(match *name {
            CORES => words::plural(value.to_string().parse().unwrap_or(0), "core"),
            _ => value.to_string(),
        })
    };
    let parts: Vec<String> = differing.iter().filter_map(said).collect();
    parts.join(", ")
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
