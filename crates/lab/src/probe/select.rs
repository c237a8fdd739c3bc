//! Which probes are asked for, and how large they may be.

use std::path::Path;

use model::experiment::ServerFile;
use model::probe::Limit;

use super::limits::limits;
use super::{Asked, PROBES, Probe, ProbeError, Variant};

/// One probe to run, one way.
#[derive(Clone, Debug)]
pub struct Job {
    /// Which.
    pub probe: &'static Probe,
    /// Which way, where there are several.
    pub variant: Option<&'static Variant>,
    /// Who is asked, where that is not our own server.
    pub server: Option<Asked>,
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
    /// The name with the variant and the server: `request:close@lighttpd`.
    pub fn name(&self) -> String {
        match &self.server {
            Some(server) => format!("{}@{}", self.way(), server.label()),
            None => self.way(),
        }
    }

    /// The name with the variant: `bind:2003-11`.
    pub(super) fn way(&self) -> String {
        match self.variant {
            Some(variant) => format!("{}:{}", self.probe.name, variant.name),
            None => self.probe.name.to_owned(),
        }
    }
}

/// A probe that somebody asks for.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Wanted {
    /// Its name (`bind`), or with one variant (`bind:2003-11`).
    pub name: String,
    /// How many; none: the usual number.
    pub population: Option<u32>,
    /// Who is asked, where that is not our own server.
    pub server: Option<ServerFile>,
    /// Whether a population that the machine does not allow is refused. Otherwise, and where it
    /// is the usual one, it is made smaller, and the job says so.
    pub strict: bool,
}

/// All probes, at their usual size.
pub fn everything() -> Vec<Wanted> {
    let all = PROBES.iter().map(|probe| Wanted {
        name: probe.name.to_owned(),
        population: None,
        server: None,
        strict: false,
    });
    all.collect()
}

/// The jobs that `wanted` means: each with all variants unless one is named, none of them twice.
pub fn jobs(wanted: &[Wanted], root: &Path, folder: &Path) -> Result<Vec<Job>, ProbeError> {
    let mut jobs: Vec<Job> = Vec::new();
    for one in wanted {
        for (probe, variant) in named(&one.name)? {
            let mut job = fitted(probe, variant, one, limits(root, probe, folder))?;
            let server = one.server.as_ref();
            let asked = server.map(|server| Asked::new(probe, server, job.population));
            job.server = asked.transpose()?;
            if jobs.iter().all(|other| other.name() != job.name()) {
                jobs.push(job);
            }
        }
    }
    Ok(jobs)
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
        None => {
            let there: Vec<&str> = probe.variants.iter().map(|one| one.name).collect();
            let near = nearest(wanted, there.iter().copied());
            let there = match there.as_slice() {
                [] => "it has none".to_owned(),
                some => format!("there are {}", some.join(", ")),
            };
            Err(ProbeError::Unknown(format!(
                "the probe '{}' has no variant '{wanted}'; {there}{near}",
                probe.name
            )))
        }
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
    wanted: &Wanted,
    limits: Vec<Limit>,
) -> Result<Job, ProbeError> {
    let mut job = Job {
        probe,
        variant,
        server: None,
        asked: wanted.population.unwrap_or(probe.population),
        population: wanted.population.unwrap_or(probe.population),
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
    if wanted.strict && wanted.population.is_some() || allowed == 0 {
        return Err(ProbeError::Limit(format!(
            "{why}; the largest is --population {allowed}"
        )));
    }
    job.note = Some(format!("{why}: measured up to {allowed}"));
    job.population = allowed;
    Ok(job)
}
