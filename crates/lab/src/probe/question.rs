//! Experiments that ask the kernel: files with `[[probe]]` tables, and the built-in ones.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use model::probe::ProbesFile;

use super::ProbeError;
use super::select::{Wanted, named};

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
        named(&probe.selector()).map_err(|error| wrong(format!("probe[{index}]: {error}")))?;
        if probe.population == Some(0) {
            return Err(wrong(format!("probe[{index}].population: write 1 or more")));
        }
    }
    Ok(Question { text, file })
}
