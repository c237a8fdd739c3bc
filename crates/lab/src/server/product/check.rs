//! How a program tests its own configuration: what its folder says, and the command line of it.

use std::time::Duration;

use minijinja::value::Value;

use super::super::{LaunchCheck, Preset, Setup};
use super::directives::Directives;
use super::{Process, Product, Text, depends_on_preset};

/// How a program tests its configuration.
#[derive(Clone)]
pub(super) struct Check {
    pub(super) arguments: Vec<Text>,
    /// Where its folder says so.
    pub(super) place: String,
    pub(super) within: Duration,
}

impl Product {
    /// The processes that can test their configuration, by name.
    pub fn tested(&self) -> Vec<&str> {
        let tested = self.processes.iter().filter(|one| one.check.is_some());
        tested.map(|one| one.name.as_str()).collect()
    }

    /// The test of that process, if it has one.
    pub(super) fn launch_check(
        &self,
        process: &Process,
        values: &Value,
        setup: &Setup<'_>,
    ) -> Result<Option<LaunchCheck>, String> {
        let Some(check) = &process.check else {
            return Ok(None);
        };
        let mut sources = Vec::new();
        let files = process.files.iter();
        let (main, others): (Vec<_>, Vec<_>) = files.partition(|(_, one)| depends_on_preset(one));
        for (name, source) in main.into_iter().chain(others) {
            let path = match setup.preset {
                Preset::Template { path, .. } if depends_on_preset(source) => path.to_owned(),
                _ => {
                    let file = self.files.get(&source.render(&self.engine, values)?);
                    file.map_or_else(String::new, |file| file.file.clone())
                }
            };
            let sets = |own: &Directives| own.are_in(name) && !setup.directives.is_empty();
            let path = match self.directives.as_ref().is_some_and(sets) {
                true => format!("{path} and what the experiment sets"),
                false => path,
            };
            sources.push((name.clone(), path));
        }
        Ok(Some(LaunchCheck {
            arguments: self.arguments(&check.arguments, values)?,
            place: check.place.clone(),
            within: check.within,
            sources,
        }))
    }
}
