//! The ceiling: how fast the generator could have been, from the same round.

use std::collections::BTreeMap;

use model::Trial;
use model::point::{CERTIFICATE, CORES, HANDSHAKE, NETWORK, PROTOCOL, PointId};
use model::trial::Ceiling;

/// The responder was the limit where its CPUs were busier than this ...
const RESPONDER_BUSY: f64 = 0.95;
/// ... while ours were less busy than this (glossary).
const GENERATOR_BUSY: f64 = 0.90;

/// Ceilings of one round, by what they are the ceiling for, connections, and attempt.
#[derive(Clone, Debug, Default)]
pub struct Ceilings {
    measured: BTreeMap<Place, BTreeMap<u32, Attempts>>,
}

/// By attempt: the rate, and whether it is a lower bound.
type Attempts = BTreeMap<u32, (f64, bool)>;

/// What a ceiling holds for.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd)]
struct Place {
    cores: u32,
    workload: String,
    /// Protocol, certificate, handshake and network; none where nothing is said of them.
    way: [Option<String>; 4],
}

impl Place {
    fn of(id: &PointId, cores: u32) -> Self {
        let word = |name| id.value(name).map(ToString::to_string);
        Self {
            cores,
            workload: id.workload.clone(),
            way: [PROTOCOL, CERTIFICATE, HANDSHAKE, NETWORK].map(word),
        }
    }
}

impl Ceilings {
    /// Adds a trial against the null responder.
    pub fn add(&mut self, trial: &Trial) {
        let Some(point) = trial.point.as_ref().filter(|point| point.ceiling) else {
            return;
        };
        // The responder has no more workers than there are CPUs, whatever was asked for.
        let asked = point.id.value(CORES).map(ToString::to_string);
        let started = trial.context.server.as_ref().map(|server| server.workers);
        let cores = asked.and_then(|text| text.parse().ok()).or(started);
        let cores = cores.unwrap_or(1);
        self.measured
            .entry(Place::of(&point.id, cores))
            .or_default()
            .entry(point.id.connections())
            .or_default()
            .insert(
                point.attempt,
                (trial.record.achieved_rate, responder_was_the_limit(trial)),
            );
    }

    /// The ceiling of a point whose server has so many cores, for what was measured in `attempt`:
    /// between two numbers of connections that were measured, on the straight line over their
    /// logarithm; beyond them, the nearest. Of a number that was measured again it is the attempt
    /// that was made beside it, or the last one before.
    pub fn at(&self, cores: u32, id: &PointId, attempt: u32) -> Option<Ceiling> {
        let connections = id.connections();
        let curve = self.measured.get(&Place::of(id, cores))?;
        let of_attempt = |(connections, attempts): (&u32, &Attempts)| {
            let before = attempts.range(..=attempt).next_back();
            let one = before.or_else(|| attempts.first_key_value())?;
            Some((*connections, *one.1))
        };
        let below = curve.range(..=connections).next_back().and_then(of_attempt);
        let above = curve.range(connections..).next().and_then(of_attempt);
        let (rate, at_least) = match (below, above) {
            (Some((low, (rate_low, least_low))), Some((high, (rate_high, least_high))))
                if low != high =>
            {
                let log = |count: u32| f64::from(count).ln();
                let part = (log(connections) - log(low)) / (log(high) - log(low));
                (
                    rate_low + (rate_high - rate_low) * part,
                    least_low || least_high,
                )
            }
            (Some((_, known)), _) | (None, Some((_, known))) => known,
            (None, None) => return None,
        };
        Some(Ceiling {
            rate,
            at_least,
            same_server: false,
        })
    }
}

/// Whether the responder could not have answered faster, while we could have asked faster.
fn responder_was_the_limit(trial: &Trial) -> bool {
    let cpus = trial
        .context
        .server
        .as_ref()
        .map_or(&[][..], |server| &server.cpus);
    busy_of_responder(trial, cpus).is_some_and(|busy| busy >= RESPONDER_BUSY)
        && trial
            .record
            .busiest_worker()
            .is_some_and(|(_, busy)| busy < GENERATOR_BUSY)
}

/// How busy the responder was: by its own clock, which counts nobody else's work; where that is
/// unreadable, by the kernel's count of its CPUs.
#[expect(clippy::cast_precision_loss, reason = "a handful of CPUs")]
fn busy_of_responder(trial: &Trial, cpus: &[u32]) -> Option<f64> {
    let clocked = trial.usage.server.as_ref().and_then(|server| {
        let whole = server.window.as_s_f64() * cpus.len() as f64;
        (whole > 0.0).then(|| server.cpu.map(|cpu| cpu.as_s_f64() / whole))?
    });
    let counted = || {
        let system = trial.usage.system.as_ref()?;
        let mine: Vec<f64> = system
            .cpus
            .iter()
            .filter(|cpu| cpus.contains(&cpu.cpu))
            .map(|cpu| cpu.busy)
            .collect();
        (!mine.is_empty()).then(|| mine.iter().sum::<f64>() / mine.len() as f64)
    };
    clocked.or_else(counted)
}

#[cfg(test)]
mod tests;
