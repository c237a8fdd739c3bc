//! Which probes are asked for, and how large they may be.

use std::path::Path;

use model::probe::Limit;

use super::limits::limits;
use super::{PROBES, Probe, ProbeError, Variant};

/// One probe to run, one way.
#[derive(Clone, Debug)]
pub struct Job {
    /// Which.
    pub probe: &'static Probe,
    /// Which way, where there are several.
    pub variant: Option<&'static Variant>,
    /// How many were asked for.
    pub asked: u32,
    /// How many it will be.
    pub population: u32,
    /// Why that is less.
    pub note: Option<String>,
    /// What was read.
    pub limits: Vec<Limit>,
}

impl Job {
    /// The name with the variant: `bind:2003-11`.
    pub fn name(&self) -> String {
        match self.variant {
            Some(variant) => format!("{}:{}", self.probe.name, variant.name),
            None => self.probe.name.to_owned(),
        }
    }
}

/// The probes that `names` name (`bind`, `bind:2003-11`), all of them where it is empty, each with
/// all its variants unless one is named.
///
/// A `population` that was asked for and that the machine does not allow is refused; the usual one
/// is made smaller, and the job says so.
pub fn jobs(
    names: &[String],
    population: Option<u32>,
    root: &Path,
    folder: &Path,
) -> Result<Vec<Job>, ProbeError> {
    let mut chosen = Vec::new();
    for name in names {
        chosen.extend(named(name)?);
    }
    if names.is_empty() {
        chosen.extend(PROBES.iter().flat_map(|probe| ways(probe)));
    }
    chosen
        .into_iter()
        .map(|(probe, variant)| fitted(probe, variant, population, limits(root, probe, folder)))
        .collect()
}

/// The probe and the variant of a name.
pub fn named(name: &str) -> Result<Vec<(&'static Probe, Option<&'static Variant>)>, ProbeError> {
    let (name, wanted) = match name.split_once(':') {
        Some((name, variant)) => (name, Some(variant)),
        None => (name, None),
    };
    let Some(probe) = PROBES.iter().find(|probe| probe.name == name) else {
        let all = PROBES.iter().map(|probe| probe.name);
        return Err(ProbeError::Unknown(format!(
            "there is no probe '{name}'{}; 'triathlon probe --list' shows all",
            nearest(name, all)
        )));
    };
    let Some(wanted) = wanted else {
        return Ok(ways(probe));
    };
    match probe.variants.iter().find(|one| one.name == wanted) {
        Some(variant) => Ok(vec![(probe, Some(variant))]),
        None => Err(ProbeError::Unknown(format!(
            "the probe '{}' has no variant '{wanted}'{}",
            probe.name,
            nearest(wanted, probe.variants.iter().map(|one| one.name))
        ))),
    }
}

fn ways(probe: &'static Probe) -> Vec<(&'static Probe, Option<&'static Variant>)> {
    if probe.variants.is_empty() {
        return vec![(probe, None)];
    }
    probe
        .variants
        .iter()
        .map(|variant| (probe, Some(variant)))
        .collect()
}

fn nearest<'a>(wrong: &str, right: impl Iterator<Item = &'a str>) -> String {
    right
        .map(|name| (strsim::damerau_levenshtein(wrong, name), name))
        .filter(|(distance, _)| *distance <= 3)
        .min()
        .map_or_else(String::new, |(_, name)| format!(", did you mean '{name}'?"))
}

/// A job that the limits allow.
pub(super) fn fitted(
    probe: &'static Probe,
    variant: Option<&'static Variant>,
    asked: Option<u32>,
    limits: Vec<Limit>,
) -> Result<Job, ProbeError> {
    let mut job = Job {
        probe,
        variant,
        asked: asked.unwrap_or(probe.population),
        population: asked.unwrap_or(probe.population),
        note: None,
        limits,
    };
    let Some(tightest) = job.limits.iter().min_by_key(|limit| limit.allows()) else {
        return Ok(job);
    };
    let allowed = u32::try_from(tightest.allows()).unwrap_or(u32::MAX);
    if allowed >= job.population {
        return Ok(job);
    }
    let why = format!(
        "{}: {} {} are more than {} ({}) leaves room for",
        job.name(),
        job.population,
        probe.axis,
        tightest.name,
        tightest.source
    );
    if asked.is_some() || allowed == 0 {
        return Err(ProbeError::Limit(format!(
            "{why}; the largest is --population {allowed}"
        )));
    }
    job.note = Some(format!("{why}: measured up to {allowed}"));
    job.population = allowed;
    Ok(job)
}
