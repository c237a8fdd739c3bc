//! Experiments that ask the kernel: files with `[[probe]]` tables, and the built-in ones.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use model::probe::{ProbeFile, ProbeShown, ProbesFile};

use super::select::{Wanted, named};
use super::{Asked, Probe, ProbeError, Variant};
use crate::experiment::nearest;

/// Experiments of probes that the program brings along, by name.
pub const BUILT_IN: &[(&str, &str)] = &[(
    "scalable-2003",
    include_str!("../../../../experiments/scalable-2003.toml"),
)];

/// An experiment of probes with the text it came from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Question {
    /// As read.
    pub text: String,
    /// What it asks.
    pub file: ProbesFile,
}

impl Question {
    /// The probes, for [`super::select::jobs`].
    pub fn wanted(&self) -> Vec<Wanted> {
        let wanted = self.file.probes.iter().map(|probe| Wanted {
            name: probe.selector(),
            population: probe.population,
            server: probe.server.as_deref().cloned(),
            strict: false,
        });
        wanted.collect()
    }
}

/// The experiment of that path or built-in name; none if it is not one of probes.
pub fn read(name: &str) -> Result<Option<Question>, ProbeError> {
    let text = match fs::read_to_string(Path::new(name)) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            match BUILT_IN.iter().find(|(built_in, _)| *built_in == name) {
                Some((_, text)) => (*text).to_owned(),
                None => return Ok(None),
            }
        }
        // Whoever reads the other kind of experiment says it better.
        Err(_) => return Ok(None),
    };
    let asks_the_kernel =
        toml::from_str::<toml::Table>(&text).is_ok_and(|table| table.contains_key("probe"));
    if !asks_the_kernel {
        return Ok(None);
    }
    parse(name, text).map(Some)
}

/// Reads an experiment of probes; `name` stands in errors.
pub fn parse(name: &str, text: String) -> Result<Question, ProbeError> {
    let wrong = |why: String| ProbeError::Unknown(format!("{name}: {}", why.trim()));
    let file: ProbesFile = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    if !(1..=100).contains(&file.experiment.passes) {
        return Err(wrong("experiment.passes: write 1 to 100".to_owned()));
    }
    for (index, probe) in file.probes.iter().enumerate() {
        if probe.population == Some(0) {
            return Err(wrong(format!("probe[{index}].population: write 1 or more")));
        }
    }
    check_places(&file).map_err(wrong)?;
    Ok(Question { text, file })
}

/// Refuses figures and demands that name no probe of this experiment.
fn check_places(file: &ProbesFile) -> Result<(), String> {
    let mut labels = BTreeSet::new();
    for (index, probe) in file.probes.iter().enumerate() {
        let names = names(probe).map_err(|why| format!("probe[{index}]: {why}"))?;
        labels.extend(names);
    }
    let known = |key: String, name: Option<&String>| match name {
        Some(name) if !labels.contains(name) => {
            let all: Vec<&str> = labels.iter().map(String::as_str).collect();
            let hint = nearest(name, all.iter().copied());
            let hint = hint.map_or_else(String::new, |near| format!("; did you mean '{near}'?"));
            let all = all.join(", ");
            Err(format!(
                "{key}: there is no '{name}'; there are {all}{hint}"
            ))
        }
        _ => Ok(()),
    };
    for (index, figure) in file.published.iter().enumerate() {
        known(format!("published[{index}].probe"), Some(&figure.probe))?;
    }
    for (index, demand) in file.asked.iter().enumerate() {
        let key = format!("asked[{index}]");
        if demand.show.is_some() == demand.not.is_some() {
            return Err(format!("{key}: give one of show and not"));
        }
        if demand.show.is_some() && demand.probe.is_none() {
            return Err(format!("{key}.show: say of which probe"));
        }
        let is_number = demand.show.is_some_and(ProbeShown::is_number);
        if demand.against.is_some() && !is_number {
            return Err(format!(
                "{key}.against: what it shows is not a number, so it has no ratio"
            ));
        }
        known(format!("{key}.probe"), demand.probe.as_ref())?;
        known(format!("{key}.against"), demand.against.as_ref())?;
    }
    Ok(())
}

/// The names of what a table asks for, by which figures and demands call it.
fn names(file: &ProbeFile) -> Result<Vec<String>, String> {
    let ways = named(&file.selector()).map_err(|error| error.to_string())?;
    let name = |(probe, variant): (&Probe, Option<&Variant>)| {
        let way = variant.map_or_else(String::new, |variant| format!(":{}", variant.name));
        let server = file.server.as_deref();
        let population = file.population.unwrap_or(probe.population);
        let asked = server.map(|server| Asked::new(probe, server, population));
        let asked = asked.transpose().map_err(|error| error.to_string())?;
        let whom = asked.map_or_else(String::new, |asked| format!("@{}", asked.label()));
        Ok(format!("{}{way}{whom}", probe.name))
    };
    ways.into_iter().map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "\
[experiment]
name = \"small\"
[[probe]]
name = \"socket\"
[[published]]
probe = \"socket:2003-10\"
then = \"O(1)\"
[[asked]]
who = \"ours\"
demand = \"How does it grow?\"
show = \"growth\"
probe = \"socket:2003-11\"
";

    #[test]
    fn what_names_no_probe_of_the_experiment_is_refused() {
        parse("x.toml", SMALL.to_owned()).unwrap();
        let check = |from: &str, to: &str, said: &str| {
            let error = parse("x.toml", SMALL.replacen(from, to, 1)).unwrap_err();
            let error = error.to_string();
            assert!(error.contains(said), "{error}");
        };
        let from = "probe = \"socket:2003-11\"";
        check(
            "probe = \"socket:2003-10\"",
            "probe = \"socket:2003-100\"",
            "published[0].probe: there is no 'socket:2003-100'; there are socket:2003-10, \
             socket:2003-11, socket:ipv6; did you mean 'socket:2003-10'?",
        );
        check(
            from,
            "probe = \"bind:2003-10\"",
            "asked[0].probe: there is no 'bind:2003-10'",
        );
        check(from, "", "asked[0].show: say of which probe");
        check(
            from,
            &format!("{from}\nnot = \"no\""),
            "asked[0]: give one of show and not",
        );
        check(
            from,
            &format!("{from}\nagainst = \"socket:ipv6\""),
            "asked[0].against: what it shows is not a number",
        );
    }

    #[test]
    fn every_study_of_probes_answers_what_was_asked() {
        for (name, text) in BUILT_IN {
            let question = parse(name, (*text).to_owned()).unwrap();
            assert!(!question.file.asked.is_empty() && !question.file.published.is_empty());
        }
    }
}
