//! What makes a server read its configuration again while it serves: a signal, or a command that
//! talks to it, such as `caddy reload`.
//!
//! The command runs on the CPUs of the server and in its control group, if it has one, so that it
//! is metered with it: that is what a reload costs.

use std::fs::{self, File};
use std::io;
use std::time::Duration;

use model::Span;
use sys::process::{Child, Confinement, Signal};

use super::super::{LaunchCommand, LaunchReload};
use super::{Running, check};
use crate::error::LabError;

/// A command that was started to make a server read its configuration again.
#[derive(Debug)]
pub(super) struct Reloading {
    /// How long after the beginning of the window that was.
    after: Span,
    command: LaunchCommand,
    /// None: it did not start.
    child: io::Result<Child>,
}

impl Running {
    /// Tells it to read its configuration again, `after` so much of the window, if it can do that
    /// while it serves.
    pub fn reload(&mut self, after: Duration) {
        let after = Span::from_ns(u64::try_from(after.as_nanos()).unwrap_or(u64::MAX));
        let Some(front) = self.processes.last_mut() else {
            return;
        };
        match front.launch.reload.clone() {
            None => {}
            // One that has ended is told of elsewhere.
            Some(LaunchReload::Signal(signal)) => {
                self.facts.reloaded = front.child.signal(signal).ok().map(|()| after);
            }
            Some(LaunchReload::Command(command)) => {
                let child = self.start_reload(&command);
                self.reloading = Some(Reloading {
                    after,
                    command,
                    child,
                });
            }
        }
    }

    fn start_reload(&self, reload: &LaunchCommand) -> io::Result<Child> {
        let launch = &self.front().launch;
        let mut command = match &self.installed.reloader {
            Some(program) => self.command_of(program, launch),
            None => self.command(launch),
        };
        let said = File::create(self.directory.path().join(SAID))?;
        command
            .args(&reload.arguments)
            .stdout(said.try_clone()?)
            .stderr(said);
        let confinement = Confinement {
            cpus: &self.facts.cpus,
            leaf: self.leaf.as_ref(),
            orphaned: Signal::Kill,
            is_alone: false,
        };
        sys::process::start(&mut command, confinement)
    }

    /// Waits for the command that makes it read its configuration again, if there is one: a trial
    /// in which that fails shows nothing of what was asked.
    pub fn end_reload(&mut self) -> Result<(), LabError> {
        let Some(reloading) = self.reloading.take() else {
            return Ok(());
        };
        let Reloading {
            after,
            command,
            child,
        } = reloading;
        let doing = "start what makes it read its configuration again";
        let mut child = child.map_err(LabError::server(&self.label, doing))?;
        let ended = child.wait(command.within);
        // It alone: the server is in the same control group.
        child.stop(Signal::Kill, Duration::ZERO, None);
        let path = self.directory.path().join(SAID);
        let said = check::tail(&path).unwrap_or_default();
        let _removed = fs::remove_file(&path);
        if ended.is_some_and(|ended| ended.is_success()) {
            self.facts.reloaded = Some(after);
            return Ok(());
        }
        Err(self.failed(format!(
            "the command that makes it read its configuration again {}{}",
            check::outcome(ended, command.within, &command.place),
            check::words(&self.shortened(&said))
        )))
    }
}

/// Where the command says what it has to say, in the private folder of the server.
const SAID: &str = "reload.log";
