//! What makes a server read its configuration again while it serves: what its folder says, and the
//! command line of it.

use std::time::Duration;

use minijinja::Environment;
use minijinja::value::Value;
use sys::process::Signal;

use super::super::file::ReloadToml;
use super::super::{LaunchCommand, LaunchReload};
use super::read::Reader;
use super::{Process, Product, ServerError, Text};

/// What makes a process read its configuration again.
#[derive(Clone)]
pub(super) enum Reload {
    Signal(Signal),
    Command(Command),
}

/// A program that tells it so.
#[derive(Clone)]
pub(super) struct Command {
    /// Its names, the likeliest first; none: the process's own program.
    programs: Vec<String>,
    arguments: Vec<Text>,
    /// Where its folder says so.
    place: String,
    within: Duration,
}

impl Reader<'_> {
    /// Reads `reload`, the key `at`.
    pub(super) fn reload(
        &self,
        engine: &Environment<'_>,
        written: Option<ReloadToml>,
        at: &str,
    ) -> Result<Option<Reload>, ServerError> {
        let Some(written) = written else {
            return Ok(None);
        };
        let reload = match (written.signal, written.arguments) {
            (Some(signal), None) if written.programs.is_empty() => Reload::Signal(signal.into()),
            (None, Some(arguments)) => Reload::Command(Command {
                programs: written.programs,
                arguments: self.templates(engine, arguments)?,
                place: self.place_of(at),
                within: self.time(written.within)?,
            }),
            _ => {
                return Err(ServerError(format!(
                    "{}: write a signal, or the arguments of a command",
                    self.place_of(at)
                )));
            }
        };
        Ok(Some(reload))
    }
}

impl Product {
    /// What makes it read its configuration again: of a rig, the process that is asked.
    fn reload(&self) -> Option<&Reload> {
        self.processes.last()?.reload.as_ref()
    }

    /// Names of the program that makes it read its configuration again, the likeliest first; empty
    /// where that takes no program, or its own.
    pub fn reloader(&self) -> &[String] {
        match self.reload() {
            Some(Reload::Command(command)) => &command.programs,
            Some(Reload::Signal(_)) | None => &[],
        }
    }

    /// Why it cannot be told to read its configuration again while it serves, if it never can.
    pub fn cannot_reload(&self) -> Option<String> {
        self.reload().is_none().then(|| {
            format!(
                "{} cannot be told to read its configuration again: its folder has no reload",
                self.name
            )
        })
    }

    /// The signal or the command line for that process, if it has one.
    pub(super) fn launch_reload(
        &self,
        process: &Process,
        values: &Value,
    ) -> Result<Option<LaunchReload>, String> {
        let command = match &process.reload {
            None => return Ok(None),
            Some(Reload::Signal(signal)) => return Ok(Some(LaunchReload::Signal(*signal))),
            Some(Reload::Command(command)) => command,
        };
        Ok(Some(LaunchReload::Command(LaunchCommand {
            arguments: self.arguments(&command.arguments, values)?,
            place: command.place.clone(),
            within: command.within,
        })))
    }
}
